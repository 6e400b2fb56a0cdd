// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// What only the host can run is blanked out of classes, lines and all kept, and
// what it drags along stays behind.

// CHECK-NOT: std::vector
// CHECK: struct View {
// CHECK-NEXT: float *data;
// CHECK-NEXT: int n;
// CHECK-NOT: resize
// CHECK-NOT: ostream
// CHECK: View() = default;
// CHECK: __host__ __device__ float at(int i) const
// CHECK: __host__ __device__ constexpr int size() const
// CHECK: __device__ int half() const;
// CHECK: __device__ int View::half() const { return n / 2; }
// CHECK-NOT: View::print
#include <ostream>
#include <vector>
struct View {
  float *data;
  int n;
  View() = default;
  explicit View(std::vector<float> &v) : data(v.data()), n((int)v.size()) {}
  __host__ void resize(int m);
  void fill(float x)
  {
    std::vector<float> v(n, x);
  }
  __host__ __device__ float at(int i) const { return data[i]; }
  constexpr int size() const { return n; }
  __device__ int half() const;
#ifdef NEVER
  void print() const { a();
#else
  void print() const;
  void log() const {
#endif
  }
  friend std::ostream &operator<<(std::ostream &o, const View &v) { return o << v.n; }
};
__device__ int View::half() const { return n / 2; }
void View::print() const {}
__global__ void k(View v) { v.data[0] = v.at(v.half()) + v.size(); }
