// RUN: %tool/parse_dump %s > %t && FileCheck %s < %t
// RUN: not grep refused %t
// A definition begins at the first token a reader would call its own, and ends at
// its closing brace, whatever hides `__global__`.
#define EMPTY
#define KERNEL __global__ void
#define EXPORT_C extern "C"
#define LINKAGE static
namespace outer {
namespace {
// CHECK: kernel outer::anonymous(float *) at [[@LINE+3]]:1 internal
// CHECK-NEXT: name_expression outer::anonymous
// CHECK: at: {{[0-9+]+}} `__global__ void anonymous(float *x) { x[0] = 1; }`
__global__ void anonymous(float *x) { x[0] = 1; }
}
namespace inner {
// CHECK: kernel outer::inner::named(float *) at [[@LINE+2]]:1
// CHECK-NEXT: name_expression outer::inner::named
__global__ void named(float *x) { x[0] = 1; }
}
}
// CHECK: kernel hidden(float *) at [[@LINE+2]]:1{{$}}
// CHECK: at: {{[0-9+]+}} `KERNEL hidden(float *x) { x[0] = 1; }`
KERNEL hidden(float *x) { x[0] = 1; }
// CHECK: kernel behind_empty(float *) at [[@LINE+2]]:1
// CHECK: at: {{[0-9+]+}} `EMPTY KERNEL behind_empty(float *x) { x[0] = 1; }`
EMPTY KERNEL behind_empty(float *x) { x[0] = 1; }
// CHECK: kernel one_c(float *) at [[@LINE+3]]:1 extern-C
// CHECK-NEXT: name_expression one_c
// CHECK: at: {{[0-9+]+}} `extern "C" __global__ void one_c(float *x) { x[0] = 1; }`
extern "C" __global__ void one_c(float *x) { x[0] = 1; }
// CHECK: kernel macro_c(float *) at [[@LINE+2]]:1 extern-C
// CHECK: at: {{[0-9+]+}} `EXPORT_C __global__ void macro_c(float *x) { x[0] = 1; }`
EXPORT_C __global__ void macro_c(float *x) { x[0] = 1; }
extern "C" {
// CHECK: kernel block_c(float *) at [[@LINE+2]]:1 extern-C
// CHECK: at: {{[0-9+]+}} `__global__ void block_c(float *x) { x[0] = 1; }`
__global__ void block_c(float *x) { x[0] = 1; }
}
// CHECK: kernel attribute(float *) at [[@LINE+2]]:1 internal
// CHECK: at: {{[0-9+]+}} `{{\[\[}}maybe_unused]] static __global__ ... attribute(float *x) { x[0] = 1; }`
[[maybe_unused]] static __global__ void attribute(float *x) { x[0] = 1; }
// CHECK: kernel gnu(float *) at [[@LINE+3]]:1
// CHECK: name: {{[0-9+]+}} `gnu`
// CHECK-NEXT: params: {{[0-9+]+}} `(float *x)`
__attribute__((noinline)) __global__ void __launch_bounds__(128) gnu(float *x) { x[0] = 1; }
// CHECK: kernel macro_static(float *) at [[@LINE+1]]:1 internal
LINKAGE __global__ void macro_static(float *x) { x[0] = 1; }
__global__ void declared_only(float *x);
__device__ void no_kernel(float *x) { x[0] = 1; }
// CHECK-NOT: kernel declared_only
// CHECK-NOT: kernel no_kernel
