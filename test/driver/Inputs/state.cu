// What outlives a launch is refused; what does not is taken.
__constant__ float taps[9];
__constant__ float fixed_taps[3] = {1, 2, 3};
__device__ int counter;
__device__ float table[4] = {1, 2, 3, 4};
static __device__ float helper(int i) { return taps[i]; }

// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void one(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * helper(i % 9); }

// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void two(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * fixed_taps[i % 3]; }

// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void three(const float *x, float *y, int n) { int i = atomicAdd(&counter, 1); if (i < n) y[i] = x[i]; }

// kevin: optimize let(n = 64) in(taps[9], x[n]) out(y[n]) block(64) grid(1)
__global__ void four(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * taps[i % 9]; }

// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void five(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * table[i % 4]; }
struct __align__(8) Pair { float a, b; static __device__ int twice(int x) { return 2 * x; } };
__device__ const float ctab[2] = {1, 2};
__device__ constexpr float ctab2[2] = {1, 2};
namespace ns { __device__ float inner; __constant__ Pair pairs[2] = {{1, 2}, {3, 4}}; enum E { kA = 3 }; }
using ns::inner;
static __device__ float count_up() { static int calls = 0; return ++calls; }
template <int N> __device__ float tt(float x) { static __shared__ float b[N]; b[0] = x; static const int k = 3; float z[2] = {1, 2}; for (int i = 0; i < 3; i++) { z[0] += i; } return b[0] + k + z[1]; }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void six(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * ctab[i % 2] + ctab2[i % 2] + ns::pairs[0].a + Pair::twice(ns::kA) + tt<4>(2.f); }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void seven(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * ns::inner; }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void eight(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * count_up(); }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void nine(const float *x, float *y, int n) { extern __shared__ float s[]; __shared__ Pair p[4], q; static int seen; seen++; int i = threadIdx.x; s[i] = 1; if (i < n) y[i] = x[i] * q.a + seen; }
__device__ const float *where;
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void ten(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * where[i]; }
#define CONST_MEM __constant__
#define HD __host__ __device__
#define GLOBAL_COUNTER(name) HD int name
#define DEVICE_FUNCTION(name) static __device__ float name(float x)
CONST_MEM float filled_later[4];
HD inline float twice(float x) { return 2 * x; }
DEVICE_FUNCTION(thrice) { return 3 * x; }
GLOBAL_COUNTER(hidden);
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void eleven(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * filled_later[i % 4]; }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void twelve(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = twice(x[i]) + thrice(x[i]); }
// kevin: optimize let(n = 64) in(x[n]) out(y[n]) block(64) grid(1)
__global__ void thirteen(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = hidden++; }
// kevin: optimize let(n = 64) out(y[n]) block(64) grid(1)
__global__ void fourteen(float *y, int n) { extern __shared__ float s[]; s[0] = 1; if (n) y[0] = s[0]; }
