#ifndef CHAIN_A
#define CHAIN_A
#include "chain_b.cuh"
__device__ inline int chain_high(int x) { return chain_low(x) + 1; }
#include <string>
inline std::string chain_host() { return "x"; }
#endif
