#pragma once
#include "chain_c.h"
__device__ inline int chain_low(int x) { return CHAIN_SCALE * x; }
