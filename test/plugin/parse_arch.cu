// RUN: %tool/parse_dump --arch=sm_80 --want=k:ARCH %s | FileCheck %s --check-prefix=OLD
// RUN: %tool/parse_dump --arch=sm_120a --want=k:ARCH %s | FileCheck %s --check-prefix=NEW
// RUN: %tool/parse_dump --arch=nonsense --want=k:ARCH %s | FileCheck %s --check-prefix=NEW
// An architecture that clang does not know is parsed as the nearest one it knows.
#define ARCH __CUDA_ARCH__
__global__ void k(float *x) { x[0] = 1; }
// OLD: constant ARCH = 800
// NEW: constant ARCH = 900
