// RUN: %tool/parse_dump --no-slices --want='sums:sizeof(float)' --instance='sums:float, 128' --instance='sums:Pair, 64, false, Mode::kA' --instance='sums:float' --instance='sums:double, 7' --instance='sums:double, 8); int x = (0' %s > %t
// RUN: FileCheck %s < %t
// RUN: %tool/parse_dump --no-slices --want='heads:HEAD_DIM' --want='heads:Traits<HEAD_DIM>::kTile' --want='heads:nowhere' --instance='heads:2 * kHalf' --instance='heads:66' --instance='heads:32' %s > %t.heads
// RUN: FileCheck %s --check-prefix=HEADS < %t.heads
// RUN: %tool/parse_dump --no-slices --want='mapped:F::kCost' --instance='mapped:nn::Twice' %s | FileCheck %s --check-prefix=LATER
// RUN: %tool/parse_dump --slices %s | FileCheck %s --check-prefix=SLICE
//
// What is told of a template: its parameters, the arguments it is launched with,
// also out of templates that this file instantiates, and what it is under others.
struct Pair { float a, b; };
constexpr int kHalf = 64;
template <int N> struct Traits { static constexpr int kTile = N / 4; };
namespace nn {
enum class Mode { kA, kB = 3 };
template <typename T, int B, bool SCALE = true, Mode M = Mode::kB>
__global__ void sums(const T *x, T *part, int n, T scale)
{
  __shared__ T red[B];
  int i = blockIdx.x * B + threadIdx.x;
  red[threadIdx.x] = i < n ? x[i] * (SCALE ? scale : T(1)) : T(0);
  if (B == 7)
    static_assert(B != 7 || sizeof(T) < 8, "not seven");
  part[blockIdx.x] = red[0];
}
} // namespace nn
// CHECK: kernel nn::sums<typename T, int B, bool SCALE, Mode M>(const T *, T *, int, T) at {{[0-9]+}}:1 template
// CHECK: tparam T type
// CHECK-NEXT: tparam B integer
// CHECK-NEXT: tparam SCALE bool default
// CHECK-NEXT: tparam M enum default
// CHECK-NEXT: launched <float, 256, true, nn::Mode::kB> {{.*}}.cu:[[@LINE+36]] sites 1
// CHECK-NEXT: launched <double, 128, true, nn::Mode::kB> {{.*}}.cu:[[@LINE+27]] sites 0

template <int HEAD_DIM> __global__ void heads(const float *q, float *o, int seq, int count)
{
  static_assert(HEAD_DIM % 4 == 0, "whole float4");
  o[threadIdx.x] = q[HEAD_DIM];
}
template <> __global__ void heads<32>(const float *q, float *o, int seq, int count) { o[0] = 1; }
template <int HEAD_DIM> static void run(float *q, float *o, int seq, int count)
{
  dim3 grid(seq, count);
  heads<HEAD_DIM><<<grid, 128>>>(q, o, seq, count);
  heads<HEAD_DIM><<<seq / HEAD_DIM, HEAD_DIM>>>(q, o, seq, count);
}
// CHECK: kernel heads<int HEAD_DIM>
// CHECK: launched <2 * kHalf> {{.*}}.cu:[[@LINE+25]] by name sites
// CHECK-NEXT: launched <64> {{.*}}.cu:[[@LINE-5]] sites 0 1
// CHECK-NEXT: launched <128> {{.*}}.cu:[[@LINE-6]] sites 0 1
// CHECK-NEXT: launched <16> {{.*}}.cu:[[@LINE+10]] sites 2
// CHECK: geometry: grid(seq, count, 1) block(128)
// CHECK: geometry: grid(seq / HEAD_DIM) block(HEAD_DIM)
// CHECK: geometry: grid(1) block(HEAD_DIM)
// CHECK: kernel heads(const float *, float *, int, int)
// CHECK-NEXT: refused {{.*}} explicit specialisations of templates are not there yet

template <class T> struct Runner {
  T *p;
  void go(int n) { nn::sums<T, 128><<<n, 128>>>(p, p, n, T(1)); }
  template <int K> void small() { heads<K><<<1, K>>>(0, 0, 1, 1); }
};
void host(float *a, double *b)
{
  run<64>(a, a, 10, 2);
  run<128>(a, a, 10, 2);
  heads<32><<<1, 1>>>(a, a, 1, 1);
  nn::sums<float, 256><<<1, 256>>>(a, a, 5, 1.f);
  Runner<double> r{b};
  r.go(3);
  r.small<16>();
}
template __global__ void heads<2 * kHalf>(const float *, float *, int, int);

namespace nn {
template <typename F> __global__ void mapped(float *x, F f) { x[threadIdx.x] = f(x[threadIdx.x]); }
struct Twice { // known only behind the template
  float by;
  static constexpr int kCost = 2;
  __device__ float operator()(float v) const { return by * v; }
};
void map(float *x) { mapped<<<1, 32>>>(x, Twice{2.f}); }
// LATER: launched <nn::Twice>
// LATER: instance <nn::Twice> = nn::Twice(0) nn::mapped<nn::Twice>(float *, nn::Twice)
// LATER: f nn::Twice size=4 align=4 by@0:f32
// LATER: F::kCost = 2
// LATER: use x: read write
} // namespace nn
// CHECK: instance <float, 128> = float(0) 128(128) true(1) nn::Mode::kB(3) nn::sums<float, 128, true, nn::Mode::kB>(const float *, float *, int, float)
// CHECK-NEXT: x const float * size=8
// CHECK: scale float size=4
// CHECK: use x: read
// CHECK-NEXT: use part: write
// CHECK: instance <Pair, 64, false, Mode::kA> unknown: line {{[0-9]+}}: no matching conversion
// CHECK: instance <float> unknown: they are not the arguments of this template
// CHECK: instance <double, 7> unknown: line {{[0-9]+}}: static assertion failed{{.*}} not seven
// CHECK: instance <double, 8); int x = (0> unknown: it is no list of template arguments

// HEADS: constant HEAD_DIM unknown: use of undeclared identifier 'HEAD_DIM'
// HEADS: instance <2 * kHalf> = 128(128) heads<128>(const float *, float *, int, int)
// HEADS: HEAD_DIM = 128
// HEADS-NEXT: Traits<HEAD_DIM>::kTile = 32
// HEADS-NEXT: nowhere unknown: use of undeclared identifier 'nowhere'
// HEADS: instance <66> unknown: line {{[0-9]+}}: static assertion failed{{.*}} whole float4
// HEADS: instance <32> unknown: line [[#]] specialises it, which is a kernel of its own
// SLICE: /* mapped */
// SLICE-SAME: {{$}}
// SLICE: struct Twice {
