// REQUIRES: cuda-build
// RUN: %tool/slice_dump --project=%S %s k > %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %if nvrtc %{ %tool/nvrtc_compile -arch=sm_90 -q -name=k %t.cu %}

// Typedefs, aliases, a forward declaration, several names in one declaration.

// CHECK: struct Node;
// CHECK: typedef struct {
// CHECK: } Pair, *PairRef;
// CHECK: using real = float;
// CHECK: struct Node {
// CHECK: union Bits
// CHECK-NOT: Unused
struct Node;
struct Unused;
typedef struct {
  int a, b;
} Pair, *PairRef;
using real = float;
struct Node {
  real value;
  Node *next;
};
union Bits {
  float f;
  unsigned u;
};
__global__ void k(Node *list, PairRef pairs)
{
  Bits b;
  b.f = list->value;
  pairs[0].a = b.u + sizeof(Pair);
}
