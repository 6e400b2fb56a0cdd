// RUN: %tool/parse_dump %s | grep geometry: | FileCheck %s --match-full-lines --strict-whitespace
// Geometry in the kernel's own parameters and the program's constants. Below each
// launch stands what is read of it.
#include <algorithm>
#include <cmath>
#include <vector>
#define BLOCK 256
#define ALIAS BLOCK
#define TWICE (ALIAS * 2)
#define OPEN 16 + 2
#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
#define GRID(n) DIV_UP(n, BLOCK)
constexpr int kThreads = 128;
constexpr int kHalf = BLOCK / 2;
enum { kWarps = 8 };
namespace cfg { struct Traits { static constexpr int kN = 4; }; }
struct Shape { int rows, cols; };
static inline int ceil_to(int a, int b) { return (a + b - 1) / b; }
template <typename T> constexpr T halved(T v) { return v >> 1; }

__global__ void k(float *x, int n, long m) {}
__global__ void s(float *x, Shape shape) {}
constexpr int kLate = 64;

struct Props { int count; };
int global_count;

void host(float *x, int n, long m, Shape sh, Props props, const std::vector<float> &v)
{
  k<<<n, 256>>>(x, n, m);
  //CHECK:    geometry: grid(n) block(256) shared(0)
  k<<<(n + 255) / 256, 256, 4 * n, 0>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid((n + 255) / 256) block(256) shared(4 * n)
  k<<<GRID(n), BLOCK>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid((n + BLOCK - 1) / BLOCK) block(BLOCK) shared(0)
  k<<<DIV_UP(n, TWICE), TWICE>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid((n + BLOCK * 2 - 1) / (BLOCK * 2)) block(BLOCK * 2) shared(0)
  k<<<n / kThreads + 1, kThreads>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n / kThreads + 1) block(kThreads) shared(0)
  k<<<kHalf, kWarps * 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(BLOCK / 2) block(kWarps * 32) shared(0)
  k<<<n, kLate>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n) block(64) shared(0)
  k<<<ceil_to(n, cfg::Traits::kN), halved(64)>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid((n + cfg::Traits::kN - 1) / cfg::Traits::kN) block(64 >> 1) shared(0)
  k<<<std::min(n, 1024), std::max(32, 64)>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(min(n, 1024)) block(max(32, 64)) shared(0)
  k<<<(int)ceil((double)n / 256), 256>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(ceil_div(n, 256)) block(256) shared(0)
  k<<<n > 0 ? n : 1, 1>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n > 0 ? n : 1) block(1) shared(0)
  k<<<dim3(n, m, 2), dim3(8, 8)>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n, m, 2) block(8, 8, 1) shared(0)
  dim3 grid(n / 16, m), block;
  block.x = 16;
  block.y = 2;
  k<<<grid, block>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n / 16, m, 1) block(16, 2, 1) shared(0)
  dim3 assigned;
  assigned = dim3(n, m);
  k<<<assigned, 1>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(n, m, 1) block(1) shared(0)
  dim3 maybe(n);
  if (n > 5)
    maybe = dim3(m);
  k<<<maybe, 1>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `maybe` (`maybe` is assigned to more than once, or not always)
  int later;
  later = (n * 2 + 31) / 32;
  const int threads = 32;
  const size_t bytes = threads * sizeof(float);
  k<<<later, threads, bytes>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid((n * 2 + 31) / 32) block(32) shared(32 * 4)
  k<<<n * 2, 32>>>(x, n * 2, m);
  //CHECK-NEXT:    geometry: grid(n) block(32) shared(0)
  k<<<(v.size() + 31) / 32, 32>>>(x, v.size(), m);
  //CHECK-NEXT:    geometry: grid((n + 31) / 32) block(32) shared(0)
  s<<<sh.rows, sh.cols>>>(x, sh); // printed after all launches of `k`
  k<<<props.count * 2, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `props.count * 2` (member `count` is not passed to the kernel)
  k<<<global_count, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `global_count` (`global_count` is none of the kernel's parameters or constants)
  k<<<OPEN, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `OPEN` (macro `OPEN` is not one number or an expression in brackets)
  k<<<(int)ceil((float)n / 256), 256>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `(int)ceil((float)n / 256)` (it is computed in float, which rounds)
  int moving = n / 2;
  moving++;
  k<<<moving, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `moving` (`moving` is assigned to more than once, or not always)
  int sometimes = 1;
  if (n > 5)
    sometimes = n;
  k<<<sometimes, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-1]]: `sometimes` (`sometimes` is assigned to more than once, or not always)
}

void shadowed(float *x, int n, long m)
{
  k<<<n, rand()>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the block at line [[@LINE-1]]: `rand()` (it calls `rand`)
  {
    int shadow = n;
    int n = 5;
    k<<<shadow, 32>>>(x, n, m);
    //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-3]]: `n` (`n` is none of the kernel's parameters or constants)
  }
}

void moved(float *x, int n, long m)
{
  int before = m / 4;
  m = m + 1;
  k<<<before, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: cannot read the grid at line [[@LINE-3]]: `m / 4` (what is passed for `m` may change before the launch)
  k<<<m / 4, 32>>>(x, n, m);
  //CHECK-NEXT:    geometry: grid(m / 4) block(32) shared(0)
  //CHECK-NEXT:    geometry: grid(shape.rows) block(shape.cols) shared(0)
}
