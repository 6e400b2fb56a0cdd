// Where markers stand, and what is none.

// kevin optimise let(n = 4)
__global__ void p01(int n) { }

// Kevin: optimize let(n = 4)
__global__ void p02(int n) { }

// kevin:optimze let(n = 4)
__global__ void p03(int n) { }

/* kevin: optimize let(n = 4) */
__global__ void p04(int n) { }

/// kevin: optimize let(n = 4)
__global__ void p05(int n) { }

int behind; // kevin: optimize let(n = 4)
__global__ void p06(int n) { }

// kevin: let(n = 4)
__global__ void p07(int n) { }

#pragma kevin: optimize let(n = 4)
__global__ void p08(int n) { }

#pragma kevin optimise let(n = 4)
__global__ void p09(int n) { }

#define A_MARKER _Pragma("kevin optimize let(n = 4)") // kevin: optimize let(n = 4)
#define LINES \
  // kevin: optimize let(n = 4) \
  __global__ void in_a_macro(int n) { }

// kevin: optimize let(n = 4)
// kevin: optimize let(n = 8)
__global__ void p10(int n) { }

// kevin: optimize let(n = 4)

#pragma kevin off("too small")
__global__ void p11(int n) { }

// kevin: optimize let(n = 4)
__global__ void p12(int n);

// kevin: optimize let(n = 4)
extern "C" __global__ void never_defined(int n);

template <int B>
// kevin: optimize let(n = 4)
__global__ void p13(int n) { }

extern "C"
// kevin: optimize let(n = 4)
__global__ void p14(int n) { }

static __global__ void __launch_bounds__(256)
// kevin: optimize let(n = 4)
p15(int n) { }

__global__ void p12(int n)
{
  if (n > 3) { }
}

template <int B> __global__ void p16(int n) { }
// kevin: optimize let(n = 4)
template __global__ void p16<3>(int n);

// kevin: optimize let(n = 4)
#if 1
__global__ void good01(int n) { }
#endif

namespace {
// Prose stands before. kevin: optimize let(n = 4)
// and prose behind.
__global__ void good02(int n) { }
}

extern "C" {
// kevin: optimize
// let(n = 4) More prose.
template <> __global__ void __launch_bounds__(128) good03<4>(int n) { }
}

// kevin: off("not worth it")
MY_KERNEL(good04)(int n) { }

// He said that kevin: is a name. The word kevin alone is fine; kevin
// optimizes kernels.
int plain;

// kevin: optimize let(n = 4)
