// REQUIRES: nvcc, nvrtc, cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: %nvcc -std=c++17 -arch=sm_90 -ptx -o %t.whole.ptx %s
// RUN: %nvcc -std=c++17 -arch=sm_90 -ptx -o %t.slice.ptx %t.cu
// RUN: %tool/nvrtc_compile -arch=sm_90 -q -name=k -o %t.rtc.ptx %t.cu -- -std=c++17
// RUN: python3 %source/test/tools/same_code.py %t.whole.ptx %t.slice.ptx k
// RUN: python3 %source/test/tools/same_code.py %t.whole.ptx %t.rtc.ptx k

// NVRTC has a pow(float, int) and a pow(double, int) of its own that compute
// otherwise than what nvcc takes, and refuses other mixtures.
#include <cmath>
__global__ void k(float *y, int n, double d)
{
  y[0] = pow(y[0], 2);
  y[1] = pow(n, y[1]);
  y[2] = pow(d, n);
  y[3] = std::pow(y[3], 3.0);
}
