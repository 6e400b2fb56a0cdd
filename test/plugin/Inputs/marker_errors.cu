// Everything that one marker can do wrong by itself; each stands above a kernel.

// kevin: optimize copyn(x[n])
__global__ void k01(int n, const float *x);
// kevin: optimize let(n = 4) exact
__global__ void k02(int n) { }
// kevin: optimize let(n = 4) tolerance(1e-3)
__global__ void k03(int n) { }
// kevin: optimize let(n = 4) init(x: zeros)
__global__ void k04(int n) { }
// kevin: optimize let(n = 4) in(x[n+1:])
__global__ void k05(int n, const float *x) { }
// kevin: optimize let(n = 4) in(x[])
__global__ void k06(int n, const float *x) { }
// kevin: optimize let(n = 4) in(x[0:n:2])
__global__ void k07(int n, const float *x) { }
// kevin: optimize let(n = 4) in(x[4:n])
__global__ void k08(int n, const float *x) { }
// kevin: optimize let(n)
__global__ void k09(int n) { }
// kevin: optimize let(n == 4)
__global__ void k10(int n) { }
// kevin: optimize let(n = 4, n = 5)
__global__ void k11(int n) { }
// kevin: optimize let((m, n) = {(1, 2), (3)})
__global__ void k12(int m, int n) { }
// kevin: optimize let((m, n) = (1, 2))
__global__ void k13(int m, int n) { }
// kevin: optimize let((m, n) = {(1, 2, 3)})
__global__ void k14(int m, int n) { }
// kevin: optimize let(n = {})
__global__ void k15(int n) { }
// kevin: optimize let(n = {1, })
__global__ void k16(int n) { }
// kevin: optimize let(n = 4 5)
__global__ void k17(int n) { }
// kevin: optimize let(n = 4 +)
__global__ void k18(int n) { }
// kevin: optimize let(n = cdiv(4, 2))
__global__ void k19(int n) { }
// kevin: optimize let(n = ceil_dv(4, 2))
__global__ void k20(int n) { }
// kevin: optimize let(n = ceil_div(4))
__global__ void k21(int n) { }
// kevin: optimize let(n = uniform(0, 1))
__global__ void k22(int n) { }
// kevin: optimize let(n = null)
__global__ void k23(int n) { }
// kevin: optimize let(n = (int)4)
__global__ void k24(int n) { }
// kevin: optimize let(n = "four")
__global__ void k25(int n) { }
// kevin: optimize let(n = 'c')
__global__ void k26(int n) { }
// kevin: optimize let(n = 4 /* four */)
__global__ void k27(int n) { }
// kevin: optimize let(n = 4) \
// kevin: in(x[n])
__global__ void k28(int n) { }
// kevin: optimize let(n = 4,
// kevin: m = 5
__global__ void k29(int n) { }
// kevin: optimize in(x[n)
__global__ void k30(int n) { }
// kevin: optimize let(n = 4) in (x[n])
__global__ void k31(int n) { }
// kevin: optimize let(n = 4) fast
__global__ void k32(int n) { }
// kevin: optimize let(n = 4)
// kevin: block 256
__global__ void k33(int n) { }
// kevin: optimize let(n = 4)
// some prose, and then blok(256)
__global__ void k34(int n) { }
// kevin: optimize let(n = 4)
// some prose
// kevin: block(256)
__global__ void k35(int n) { }
// kevin: optimize let(n = 4) launch(tuneable)
__global__ void k36(int n) { }
// kevin: optimize let(n = 4) launch(fixed, tunable)
__global__ void k37(int n) { }
// kevin: optimize let(n = 4) compare(exactly)
__global__ void k38(int n) { }
// kevin: optimize let(n = 4) compare(tol)
__global__ void k39(int n) { }
// kevin: optimize let(n = 4) compare(tol(1e-3), exact)
__global__ void k40(int n) { }
// kevin: optimize let(n = 4) block(1, 2, 3, 4)
__global__ void k41(int n) { }
// kevin: optimize let(n = 4) block(32) block(64)
__global__ void k42(int n) { }
// kevin: optimize let(n = 4) require(n = 4)
__global__ void k43(int n) { }
// kevin: optimize let() in(x[4])
__global__ void k44(int n) { }
// kevin: optimize let(n = 4) in(x[n]) out(x[n])
__global__ void k45(int n) { }
// kevin: optimize let(n = 4) out(y[n] = 0)
__global__ void k46(int n) { }
// kevin: optimize let(n = 4) in(p = nullptr)
__global__ void k47(int n) { }
// kevin: optimize let(n = 4) in(p = &)
__global__ void k48(int n) { }
// kevin: optimize let(n = 4) align(16, 32)
__global__ void k49(int n) { }
// kevin: off because it is slow
__global__ void k50(int n) { }
// kevin: off(slow)
__global__ void k51(int n) { }
// kevin: optimize let(1 = 2)
__global__ void k52(int n) { }
// kevin: optimize in(3)
__global__ void k53(int n) { }
// kevin: optimize let(n = 4) in(x[n]), out(y[n])
__global__ void k54(int n) { }
// kevin: optimize let(n = 4) in(x[n] = {0, 1)
__global__ void k55(int n) { }
// kevin: optimize let(n = 3 = 4)
__global__ void k56(int n) { }
// kevin: optimize let(n = 4) in(x: n)
__global__ void k57(int n) { }
// kevin: optimize let(n = "abc)
__global__ void k58(int n) { }
// kevin: optimize let(n = 4) out(y[n]) threads(256)
__global__ void k59(int n) { }
// kevin: optimize instantiate()
template <int B> __global__ void t01(int n) { }
// kevin: optimize instantiate(B = )
template <int B> __global__ void t02(int n) { }
// kevin: optimize instantiate(B = {64, 128, 64})
template <int B> __global__ void t03(int n) { }
// kevin: optimize instantiate(B = 64, B = 128)
template <int B> __global__ void t04(int n) { }
// kevin: optimize instantiate(T = float, 128)
template <typename T, int B> __global__ void t05(int n) { }
// kevin: optimize instantiate(B = {64, })
template <int B> __global__ void t06(int n) { }
// kevin: optimize instantiate(B = 64 = 128)
template <int B> __global__ void t07(int n) { }
// kevin: optimize instantiate(T = int{}; B)
template <typename T> __global__ void t08(int n) { }
// kevin: optimize template(T = float)
template <typename T> __global__ void t09(int n) { }
// kevin: optimize instantiate(T = "float")
template <typename T> __global__ void t10(int n) { }
