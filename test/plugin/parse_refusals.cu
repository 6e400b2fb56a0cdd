// RUN: %tool/parse_dump --brief %s | FileCheck %s --match-full-lines
// What cannot be taken is refused by name and reason; the others are not.
#define BODY(b) { b }
#define OPEN {
#define CLOSE }
#define NAMED(x) x##_kernel
#define PARAMS (float *x)
#define WHOLE(name) __global__ void name(float *x) { x[0] = 1; }

__global__ void body(float *x) BODY(x[0] = 1;)
// CHECK: kernel body(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:32: its body's first brace comes from a macro (BODY, line [[@LINE-2]])
__global__ void open(float *x) OPEN x[0] = 1; }
// CHECK: kernel open(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:32: its body's first brace comes from a macro (OPEN, line [[@LINE-2]])
__global__ void close(float *x) { x[0] = 1; CLOSE
// CHECK: kernel close(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:49: its body's last brace comes from a macro (CLOSE, line [[@LINE-2]])
__global__ void NAMED(foo)(float *x) { x[0] = 1; }
// CHECK: kernel foo_kernel(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:17: its name comes from a macro (NAMED, line [[@LINE-2]])
__global__ void params PARAMS { x[0] = 1; }
// CHECK: kernel params(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:17: its parameter list comes from a macro (PARAMS, line [[@LINE-2]])
WHOLE(whole)
// CHECK: kernel whole(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:7: its name comes from a macro (WHOLE, line [[@LINE-2]])
template <typename... T> __global__ void packed(T *...x) {}
// CHECK: kernel packed<typename T>({{.*}}) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:1: template parameter packs are not there yet
template <template <class> class C> __global__ void nested(C<int> *x) {}
// CHECK: kernel nested<template C>({{.*}}) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:1: template template parameters (`C`) are not there yet
template <int *P> __global__ void pointed(int *x) { x[0] = *P; }
// CHECK: kernel pointed<int * P>({{.*}}) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:1: template parameters of type int * (`P`) are not there yet
template <typename T, T V> __global__ void hanging(T *x) { x[0] = V; }
// CHECK: kernel hanging<typename T, T V>(T *) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:1: template parameters of type T (`V`) are not there yet
template <auto V> __global__ void automatic(int *x) { x[0] = V; }
// CHECK: kernel automatic<auto V>(int *) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:1: template parameters of type auto (`V`) are not there yet
template <typename T> __global__ void two(T *x) {}
// CHECK: kernel two<typename T>(T *) at [[@LINE-1]]:1 template
// CHECK-NEXT:   refused [[@LINE-2]]:39: overloaded kernels are not there yet (`two` is also at line [[@LINE+1]])
template <typename T> __global__ void two(T *x, int n) {}
// CHECK: kernel two<typename T>(T *, int) at [[@LINE-1]]:1 template
template <typename T> __global__ void generic(T *x) { x[0] = 1; }
template <> __global__ void generic<float>(float *x) { x[0] = 2; }
// CHECK: kernel generic(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:1: explicit specialisations of templates are not there yet
template __global__ void generic<double>(double *);
__global__ void branches(int *x, int n) {
// CHECK: kernel branches(int *, int) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#ifdef` at line [[@LINE+1]] stands in it: only the branch that is compiled here could be judged
#ifdef OTHER
  if (n > 1) {
#else
  if (n > 2) {
#endif
    x[0] = 1;
  }
}
__global__ void including(int *x) {
// CHECK: kernel including(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#include` at line [[@LINE+1]] stands in it: an included file is not there yet
#include "no_such_file.inc"
  x[0] = 1;
}
__global__ void whole_branches(int *x) {
// CHECK: kernel whole_branches(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#if` at line [[@LINE+1]] stands in it: only the branch that is compiled here could be judged
#if OTHER
  x[0] = 2;
#else
  x[0] = 1;
#endif
}
__global__ void head_branches(int *x
// CHECK: kernel head_branches(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:3: `#ifndef` at line [[@LINE+1]] stands in it: only the branch that is compiled here could be judged
  # ifndef OTHER
) {
#else
, int) {
#endif
  x[0] = 1;
}
__global__ void defining(int *x) {
// CHECK: kernel defining(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#define` at line [[@LINE+1]] stands in it: code behind it may use the macro
#define INSIDE 1
  x[0] = INSIDE;
}
__global__ void popping(int *x) {
// CHECK: kernel popping(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#pragma` at line [[@LINE+1]] stands in it: code behind it may use the macro
#pragma push_macro("INSIDE")
  x[0] = 1;
}
__global__ void unrolling(int *x) {
// CHECK: kernel unrolling(int *) at [[@LINE-1]]:1
// CHECK-NOT: refused
#pragma unroll
  for (int i = 0; i < 4; i++)
    x[i] = 1;
}
__global__ void over(int *x) { x[0] = 1; }
// CHECK: kernel over(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:17: overloaded kernels are not there yet (`over` is also at line [[@LINE+1]])
__global__ void over(float *x) { x[0] = 1; }
// CHECK: kernel over(float *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:17: overloaded kernels are not there yet (`over` is also at line [[@LINE-5]])
__global__ void unknown(float *x, Missing m) { x[0] = 1; }
// CHECK: kernel unknown(float *, int) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:35: the type of its parameter `m` is not known here (unknown type name 'Missing')
__global__ void for_architectures(int *x) {
// CHECK: kernel for_architectures(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:1: `#if` at line [[@LINE+1]] stands in it: only the branch that is compiled here could be judged
#if __CUDA_ARCH__ >= 800
  x[0] = 1;
#else
  x[0] = 2;
#endif
}
__global__ void trying(int *x) try { x[0] = 1; } catch (...) {}
// CHECK: kernel trying(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:1: its body's first brace is not found, because line [[@LINE-2]] does not parse (cannot use 'try' in __global__ function)
__global__ void digraphs(int *x) <% x[0] = 1; %>
// CHECK: kernel digraphs(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:34: its body's first brace is written in a way that is not there yet
__global__ void (bracketed)(int *x) { x[0] = 1; }
// CHECK: kernel bracketed(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE-2]]:18: its parameter list is written in a way that is not there yet
__global__ void never_closed(int *x) {
// CHECK: kernel never_closed(int *) at [[@LINE-1]]:1
// CHECK-NEXT:   refused [[@LINE+1]]:11: its body's last brace is not found, because line [[@LINE+1]] does not parse (expected '}')
  x[0] = 1;
