// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Tables, constants of every spelling, and enumerators that are lengths.

// CHECK: __constant__ float table[4] = {1.0f, 2.0f,
// CHECK-NEXT: 3.0f, 4.0f};
// CHECK: __device__ int counter;
// CHECK: static const int kFirst = 1, kSecond = 2;
// CHECK: constexpr int kSum = kFirst + kSecond;
// CHECK: enum { kBins = 8,
// CHECK: enum class Mode : unsigned char
// CHECK-NOT: kUnused
__constant__ float table[4] = {1.0f, 2.0f,
                               3.0f, 4.0f};
__device__ int counter;
static const int kFirst = 1, kSecond = 2;
constexpr int kSum = kFirst + kSecond;
constexpr int kUnused = 9;
enum { kBins = 8, kMore };
enum class Mode : unsigned char { fast, slow };
constexpr int kBlock = 128;
__global__ void __launch_bounds__(kBlock) k(float *y, Mode m)
{
  __shared__ int bins[kBins];
  bins[threadIdx.x % kBins] = kSum;
  atomicAdd(&counter, 1);
  __syncthreads();
  y[threadIdx.x] = m == Mode::slow ? table[bins[0] & 3] : 0.0f;
}
