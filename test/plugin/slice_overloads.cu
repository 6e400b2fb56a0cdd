// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Of an overload set what the calls take; of one that a template names, all.

// CHECK-NOT: Unrelated
// CHECK: struct Box
// CHECK: __device__ Box operator+
// CHECK: __device__ float pick(float x)
// CHECK-NOT: int pick
// CHECK: __device__ int some(int x)
// CHECK: __device__ float some(float x)
// CHECK: template <typename T>
// CHECK: some(x)
#include <map>
template <typename T> struct Unrelated {
  std::map<T, T> m;
};
template <typename T> constexpr bool operator==(const Unrelated<T> &a, const Unrelated<T> &b) { return a.m == b.m; }
struct Box {
  float v;
};
// What a template adds is known when it is instantiated: device operators come along.
__device__ Box operator+(Box a, Box b) { return Box{a.v + b.v}; }
template <typename T> __device__ T plus(T a, T b) { return a + b; }
__device__ int pick(int x) { return x; }
__device__ float pick(float x) { return x; }
__device__ int some(int x) { return x + 1; }
__device__ float some(float x) { return x + 2; }
void some(const char *);
template <typename T> __device__ T both(T x) { return some(x); }
template <> __device__ double both<double>(double x) { return 2 * x; }
__global__ void k(float *y) { y[0] = pick(y[0]) + both(y[1]) + both(1.0) + plus(Box{1}, Box{2}).v; }
