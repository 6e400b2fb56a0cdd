// RUN: %tool/parse_dump %s | FileCheck %s
// What a body does with what its pointers point to.
struct View { const float *x; float *y; int *at; int n; };
__device__ int load(const int *p, int i) { return __ldg(p + i); }
__device__ void put(float *o, int at, float v) { o[at] = v; }

// CHECK-LABEL: kernel plain(
// CHECK: use in: read{{$}}
// CHECK: use out: write{{$}}
// CHECK: use both: read write{{$}}
// CHECK: use hist: atomic{{$}}
// CHECK: use unused:{{$}}
__global__ void plain(const float *in, float *out, float *both, unsigned *hist, int *unused)
{
  const float *row = in + 4;
  float *dst = &out[2];
  dst[threadIdx.x] = row[threadIdx.x];
  both[0] += 1.0f;
  atomicAdd(&hist[3], 1u);
}

// CHECK-LABEL: kernel subscripts(
// CHECK: use idx: read subscript(line [[@LINE+7]])
// CHECK: use ptr: read subscript(line [[@LINE+10]])
// CHECK: use x: read{{$}}
// CHECK: use y: write{{$}}
__global__ void subscripts(const int *idx, const int *ptr, const float *x, float *y)
{
  int i = idx[threadIdx.x];
  y[i * 2 + 1] = 0;
  float sum = 0;
  int end = ptr[1];
  for (int j = ptr[0]; j < end; j++)
    sum += x[j];
  y[0] = sum;
}

// CHECK-LABEL: kernel through_functions(
// CHECK: use idx: read subscript
// CHECK: use x: read{{$}}
// CHECK: use y: write{{$}}
__global__ void through_functions(const int *idx, const float *x, float *y)
{
  put(y, load(idx, threadIdx.x), x[0]);
}

// CHECK-LABEL: kernel null_tests(
// CHECK: use a: read null-test
// CHECK: use b: read null-test
// CHECK: use c: read null-test
// CHECK: use d: write{{$}}
__global__ void null_tests(const float *a, const float *b, const float *c, float *d)
{
  if (a)
    d[0] = a[0];
  if (b != nullptr)
    d[1] = b[0];
  d[2] = !c ? 0.0f : c[0];
}

// CHECK-LABEL: kernel members(
// CHECK: use v.x: read{{$}}
// CHECK: use v.y: write{{$}}
// CHECK: use v.at: read subscript(line [[@LINE+3]])
__global__ void members(View v)
{
  v.y[v.at[v.n]] = v.x[0];
}

// CHECK-LABEL: kernel vectors(
// CHECK: use x: read{{$}}
// CHECK: use y: write{{$}}
__global__ void vectors(const float *x, float *y)
{
  float4 v = reinterpret_cast<const float4 *>(x)[threadIdx.x];
  v.x *= 2;
  reinterpret_cast<float4 *>(y)[threadIdx.x] = v;
}
