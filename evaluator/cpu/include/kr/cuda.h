#ifndef KR_CUDA_H
#define KR_CUDA_H

// A small CUDA of our own: what device code, and in clang's CUDA mode host code
// too, needs where no toolkit is used. It serves in two modes.
//
//  - Run (`-x c++ -fdeclspec -nostdinc`): the CPU back end. Kernels are plain
//    functions; what a thread asks of the machine goes to the runtime through
//    the few __kr_* functions below.
//  - Parse (`-x cuda -nocudainc -nocudalib`): kevin-parse without a toolkit. The
//    same names, declared __device__, and the host API around launches. Nothing
//    of it is ever run.
//
// It is force-included; every toolkit header a file may name forwards to it.

#if defined(__CUDA__)
#define KR_PARSE 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#define __cluster_dims__(...)
#include <stddef.h>
#include <stdint.h>
#else
#define KR_PARSE 0
#define __global__
#define __device__
#define __host__
#define __constant__
// Block scope makes it static; extern arrays stay legal. The compiler driver
// turns every thread-local variable into memory of the block.
#define __shared__ thread_local
#define __launch_bounds__(...)
#define __grid_constant__
// The vetting of bitcode tells what is not there by the name of such a section.
#define __managed__ __attribute__((section("kr.unsupported.__managed__")))
#define __cluster_dims__(...) __attribute__((section("kr.unsupported.__cluster_dims__")))
#include "../std/stddef.h"
#include "../std/stdint.h"
#endif

#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __CUDA_ALIGN__(n) __attribute__((aligned(n)))
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __CUDA_ARCH__
#if !KR_PARSE || defined(__CUDA_DEVICE_ONLY__)
#define __CUDA_ARCH__ 900
#endif
#endif
#ifndef CUDART_VERSION
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#endif

// Inline in both modes.
#define KR_FN static __device__ __inline__ __attribute__((always_inline, unused))
#define KR_HD static __host__ __device__ __inline__ __attribute__((always_inline, unused))
#define KR_NOT_YET(what)                                                                           \
  __attribute__((unavailable(what " is not there yet on the CPU back end")))

// Functions that are exact here and approximate on a GPU: what is counted sees by
// the flag which were meant.
#ifdef KR_COUNTED
#define KR_FAST _Pragma("clang fp reciprocal(on)")
#else
#define KR_FAST
#endif

#include "types.h"
#if KR_PARSE
#include "host.h"
#endif
#include "machine.h"
#include "math.h"
#include "device.h"

#if KR_PARSE
// What nvcc has read before the first line of a file: INFINITY, INT_MAX, memcpy and
// the like need no #include there. Without the host's headers nothing is missed that
// could be had.
#if __has_include(<math.h>)
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#endif
#else
// A kernel is counted as it is checked: nothing tells one compilation from the other.
#undef KR_COUNTED
#undef KR_FAST
#undef __has_feature
#undef __has_extension
#define __has_feature(x) 0
#define __has_extension(x) 0
// Text may not reach an assembler. Directives of pragmas are not seen by macro
// pastes either: a poisoned name is refused however it came about.
#pragma GCC poison asm __asm__ __asm
#endif

#endif
