// RUN: %tool/parse_dump --want=k:TILE --want=k:HALF --want=k:kN --want=k:kEps --want=k:kBins \
// RUN:   --want=k:Traits::kM --want=k:nn::Traits::kM --want=k:E::X '--want=k:sizeof(float4)' \
// RUN:   '--want=k:sizeof(Traits::T)' --want=k:kBig --want=k:var --want=k:LATE '--want=k:(1;2)' \
// RUN:   --want=later:LATE %s | grep ^constant | FileCheck %s --match-full-lines
// Constants are evaluated where the kernel stands.
#define TILE 16
#define HALF (TILE / 2)
constexpr int kN = TILE * 4;
constexpr float kEps = 0.5f;
enum { kBins = 256 };
enum class E { X = 3 };
int var;
namespace nn {
struct Traits { static constexpr int kM = 7; using T = double; };
constexpr unsigned long long kBig = 1ull << 63;
extern "C" {
__global__ void k(float *x) { x[0] = TILE; }
}
}
#define LATE 5
__global__ void later(float *x) { x[0] = TILE; }
// CHECK: constant TILE = 16
// CHECK-NEXT: constant HALF = 8
// CHECK-NEXT: constant kN = 64
// CHECK-NEXT: constant kEps = 0.5
// CHECK-NEXT: constant kBins = 256
// CHECK-NEXT: constant Traits::kM = 7
// CHECK-NEXT: constant nn::Traits::kM = 7
// CHECK-NEXT: constant E::X = 3
// CHECK-NEXT: constant sizeof(float4) = 16
// CHECK-NEXT: constant sizeof(Traits::T) = 8
// CHECK-NEXT: constant kBig unknown: it does not fit a signed 64-bit integer
// CHECK-NEXT: constant var unknown: constexpr variable 'kr_probe_11' must be initialized by a constant expression
// CHECK-NEXT: constant LATE unknown: use of undeclared identifier 'LATE'
// CHECK-NEXT: constant (1;2) unknown: it is no name of a constant
// CHECK-NEXT: constant LATE = 5
