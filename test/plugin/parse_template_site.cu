// RUN: %tool/parse_dump %s | FileCheck %s
// A launch inside a template is one for every instantiation: it is not edited.
__global__ void k(float *x, int n) {}
template <int B> void generic(float *x, int n) { k<<<n, B>>>(x, n); }
void use(float *x) { generic<32>(x, 3); }
// CHECK: site {{.*}} in=generic not editable: it depends on template arguments
