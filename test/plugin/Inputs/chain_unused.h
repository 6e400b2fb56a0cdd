#define CHAIN_UNUSED 1
__device__ inline int chain_unused(int x) { return x; }
