// RUN: %tool/parse_dump %s | FileCheck %s
// Layouts of parameters, down to scalars and pointers.
#include <cstdint>
struct Pair { float re, im; };
struct __align__(16) Inner { Pair p; unsigned char w[3]; };
struct View { const float *x; float *__restrict__ y; int rows; Inner in; struct { short a; }; };
struct Bits { int a : 3; };
struct Base { int b; };
struct Derived : Base { int d; };
union Either { int i; float f; };
enum Mode : unsigned char { A, B };
struct Node { Node *next; long long v; };

// CHECK-LABEL: kernel scalars(
// CHECK: param a (bool) = bool size=1 align=1 0:bool
// CHECK: param b (signed char) = signed char size=1 align=1 0:i8
// CHECK: param c (uint16_t) = unsigned short size=2 align=2 0:u16
// CHECK: param d (unsigned int) = unsigned int size=4 align=4 0:u32
// CHECK: param e (int64_t) = long size=8 align=8 0:i64
// CHECK: param f (size_t) = unsigned long size=8 align=8 0:u64
// CHECK: param g (double) = double size=8 align=8 0:f64
// CHECK: param m (Mode) = Mode size=1 align=1 0:u8
__global__ void scalars(bool a, signed char b, uint16_t c, unsigned d, int64_t e, size_t f,
                        double g, Mode m) {}

// CHECK-LABEL: kernel structs(
// CHECK: param v (View) = View size=64 align=16 x@0:ptr(const float) y@8:ptr(float restrict) rows@16:i32 in.p.re@32:f32 in.p.im@36:f32 in.w[0]@40:u8 in.w[1]@41:u8 in.w[2]@42:u8 a@48:i16
// CHECK: param q (float4) = float4 size=16 align=16 x@0:f32 y@4:f32 z@8:f32 w@12:f32
// CHECK: param b (Bits) = Bits size=4 align=4 0:opaque
// CHECK: param d (Derived) = Derived size=8 align=4 0:opaque
// CHECK: param e (Either) = Either size=4 align=4 0:opaque
// CHECK: use v.x:
// CHECK: use v.y:
__global__ void structs(View v, float4 q, Bits b, Derived d, Either e) {}

// CHECK-LABEL: kernel pointers(
// CHECK: param x (const float *__restrict) = const float * size=8 align=8 0:ptr(const float restrict)
// CHECK: param p (void *) = void * size=8 align=8 0:ptr(void)
// CHECK: param pp (float *const *) = float *const * size=8 align=8 0:ptr(const float *)
// CHECK: param n (Node *) = Node * size=8 align=8 0:ptr(Node)
// CHECK: type float size=4 align=4 0:f32
// CHECK: type void size=0 align=1 0:void
// CHECK: type float * size=8 align=8 0:ptr(float)
// CHECK: type Node size=16 align=8 next@0:ptr(Node) v@8:i64
__global__ void pointers(const float *__restrict__ x, void *p, float *const *pp, Node *n) {}

// CHECK-LABEL: kernel arrays(
// CHECK: param x (float *) = float * size=8 align=8 0:ptr(float)
// CHECK: param y (const int *) = const int * size=8 align=8 0:ptr(const int)
__global__ void arrays(float x[], const int y[4]) {}
