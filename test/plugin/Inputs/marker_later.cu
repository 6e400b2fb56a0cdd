// What the language has and this version has not is refused by name.

// kevin: optimize let(n = 4) scratch(w[n])
__global__ void k01(int n) { }
// kevin: optimize let(n = 4) cluster(2)
__global__ void k02(int n) { }
// kevin: optimize workload("big.kevin")
__global__ void k04(int n) { }
// kevin: optimize let(n = 4) compare(y = first(3))
__global__ void k05(int n) { }
// kevin: optimize let(n = 4) compare(unordered)
__global__ void k06(int n) { }
// kevin: optimize let(n = 4) in(x[n] as half)
__global__ void k07(int n) { }
// kevin: optimize let(p = {.rows = 3, .cols = 4})
__global__ void k08(int n) { }
// kevin: optimize let(n = 4) in(x[n] = {.re = 1, .im = 0})
__global__ void k09(int n) { }
// kevin: optimize let(n = 4) in(x[n] = sorted(uniform(0, 1)))
__global__ void k10(int n) { }
// kevin: optimize let(n = 4) in(x[n][n] = sym(uniform(-1, 1)))
__global__ void k11(int n) { }
// kevin: optimize let(n = 4) in(x[n] = bits(3))
__global__ void k12(int n) { }
// kevin: optimize let(n = 4) in(x[n] = file("x.npy"))
__global__ void k13(int n) { }
// kevin: optimize let(n = 4) inout(x[n] = curand(5))
__global__ void k14(int n) { }
