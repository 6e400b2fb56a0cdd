// RUN: %tool/parse_dump %s | FileCheck %s
// Launch sites: the spans an edit needs, and why one cannot be edited.
#define LAUNCH(k, n, ...) k<<<n, 32>>>(__VA_ARGS__)
#define CHECKED(x) do { x; } while (0)
#define NEVER_USED(k) k<<<7, 7>>>(nullptr, 7)
struct Pair { int a, b; };
int counter();
__global__ void k(float *x, int n) {}
__global__ void by_value(Pair p) {}
__global__ void as_value(float *x) {}
template <typename T> void generic(T *x, int n) { k<<<n, 1>>>(x, n); }

void plain(float *x, int n, Pair p)
{
  k<<<n / 2, 32, 0, nullptr>>>(x, n + counter());
  // CHECK: site {{.*}}parse_sites.cu:[[@LINE-1]]:3 in=plain{{$}}
  // CHECK-NEXT: at: {{[0-9+]+}} `k<<<n / 2, 32, 0, nullptr>>>(x, n + counter())`
  // CHECK-NEXT: config: {{[0-9+]+}} `<<<n / 2, 32, 0, nullptr>>>`
  // CHECK-NEXT: grid_at: {{[0-9+]+}} `n / 2`
  // CHECK-NEXT: block_at: {{[0-9+]+}} `32`
  // CHECK-NEXT: shared_at: {{[0-9+]+}} `0`
  // CHECK-NEXT: stream_at: {{[0-9+]+}} `nullptr`
  // CHECK-NEXT: arg {{[0-9+]+}} `x` same_as=x
  // CHECK-NEXT: arg {{[0-9+]+}} `n + counter()` effects same_as=-
  k<< <n, /* threads */ 32>> >(x, n++);
  // CHECK: config: {{[0-9+]+}} `<< <n, /* threads */ 32>> >`
  // CHECK-NEXT: grid_at: {{[0-9+]+}} `n`
  // CHECK-NEXT: block_at: {{[0-9+]+}} `32`
  // CHECK-NEXT: arg {{[0-9+]+}} `x` same_as=x
  // CHECK-NEXT: arg {{[0-9+]+}} `n++` effects same_as=-
  LAUNCH(k, n, x, n);
  // CHECK: site {{.*}}:[[@LINE-1]]:{{[0-9]+}} in=plain not editable: its `<<<` comes from macro LAUNCH
  CHECKED((k<<<1, 2>>>(x, n)));
  // CHECK: site {{.*}}:[[@LINE-1]]:12 in=plain not editable: it stands in an argument of macro CHECKED
  // CHECK-NEXT: at: {{[0-9+]+}} `k<<<1, 2>>>(x, n)`
  by_value<<<p.a, p.b>>>(p);
  as_value<<<1, 1>>>(x);
  auto f = as_value;
  f<<<2, 2>>>(x);
  Missing gone = 1; as_value<<<3, 3>>>(x);
#if 0
  as_value<<<4, 4>>>(x);
#endif
}
void use(float *x) { generic(x, 3); }
// CHECK: kernel by_value
// CHECK: arg {{[0-9+]+}} `p` same_as=p
// CHECK-NEXT: geometry: grid(p.a) block(p.b) shared(0)
// CHECK: lost: {{[0-9+]+}} `k<<<`
// CHECK-NEXT: lost: {{[0-9+]+}} `as_value`
// CHECK-NEXT: lost: {{[0-9+]+}} `as_value<<<`
