// RUN: %tool/parse_dump %s | FileCheck %s
// Errors outside of a kernel do not matter to it.
#include "no_such_header.h"
#include <no/such/system_header>
Logger logger("x");
// CHECK: kernel fine(float *, int)
// CHECK-NOT: refused
// CHECK: site {{.*}} in=host
__global__ void fine(float *x, int n) { x[0] = n; }
// CHECK: kernel broken(float *)
// CHECK: error [[@LINE+1]]:43: use of undeclared identifier 'MissingConstant'
__global__ void broken(float *x) { x[0] = MissingConstant; }
void host(float *x, int n) { fine<<<1, n>>>(x, n); }
// CHECK: unit-error 3:10: 'no_such_header.h' file not found
