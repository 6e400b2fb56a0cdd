"""Compiling the patched text before it is written. usage: prove_cases.py TOOL FOLDER nvcc|clang"""
import os
import shutil
import subprocess
import sys

tool, folder, how = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(os.path.join(folder, "src"))
tmp = os.path.join(folder, "tmp")
os.makedirs(tmp)
original, patched, header = (os.path.join(folder, "src", n) for n in ("k.cu", "patched", "local.cuh"))
env = dict(os.environ, TMPDIR=tmp, OPENAI_API_KEY="secret", NVCC_APPEND_FLAGS="-DBROKEN", CPATH=folder)
if how == "clang":
    env["PATH"] = os.path.join(folder, "bin")
    os.makedirs(env["PATH"])
    for n in ("env",):
        os.symlink(shutil.which(n), os.path.join(env["PATH"], n))


def put(path, text):
    with open(path, "wb") as f:
        f.write(text)


def prove(text, want, *words, flags=()):
    put(patched, text)
    cuda = "/usr/local/cuda" if how == "nvcc" and not shutil.which("nvcc") else "-"
    r = subprocess.run([tool, original, patched, cuda, *flags], capture_output=True, text=True, env=env)
    said = r.stdout + r.stderr
    if r.returncode != want or any(w not in said for w in words):
        print("exit %d, not %d: %s" % (r.returncode, want, said))
        sys.exit(1)
    if os.listdir(tmp):
        print("left in the temporary folder: %s" % os.listdir(tmp))
        sys.exit(1)


SOURCE = b"""#include "local.cuh"
#ifdef BROKEN
#error the environment reached the compiler
#endif
__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = VALUE; }
"""
HOST = b"void run(float *x, int n) { k<<<1, 256>>>(x, n); }\n"
put(header, b"#define VALUE 1.0f\n")
put(original, SOURCE + (HOST if how == "nvcc" else b""))
if how == "nvcc":
    prove(SOURCE + HOST.replace(b"1, 256", b"(n + 127) / 128, 128"), 0, "compiles")
    prove(SOURCE + HOST.replace(b"1, 256", b"(m + 127) / 128, 128"), 1, "src/k.cu", '"m" is undefined')
    # A BOM and CRLF are no error.
    prove(b"\xef\xbb\xbf" + (SOURCE + HOST).replace(b"\n", b"\r\n"), 0, "compiles")
    # The kernel may change, and what it alone reaches; nothing else may.
    REST = b"""#include <cassert>
__device__ float shade(float v) { return v * 2; }
__constant__ float table[4] = {1, 2, 3, 4};
static __global__ void other(float *x, int n) { assert(n > 3); x[n] = shade(sinf(x[n])) + table[n & 3]; }
template <int N> __global__ void third(float *x) { x[N] = shade(x[N]); }
void more(float *x, int n) { other<<<1, 1>>>(x, n); third<3><<<1, 1>>>(x); k<<<1, 256>>>(x, n); }
"""
    put(original, SOURCE + REST)
    FASTER = SOURCE.replace(b"x[threadIdx.x] = VALUE", b"x[threadIdx.x] = VALUE * k_twice(n)")
    FASTER = b"\n\n__device__ float k_twice(int v) { return 2 * v; }\n" + FASTER
    both = ("-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90")
    prove(FASTER + REST, 0, "compiles", flags=both)
    prove(FASTER + REST.replace(b"v * 2", b"v * 3"), 1, "change more than its kernel", "other")
    prove(FASTER + REST.replace(b"{1, 2, 3, 4}", b"{1, 2, 3, 5}"), 1, "change more than its kernel", "constants")
    prove(FASTER.replace(b"__global__ void k(", b"__global__ void kk(float *x) { *x = 1; }\n__global__ void k(") + REST, 1,
          "change more than its kernel", "2kk")
    prove(b"#define sinf cosf\n" + FASTER + REST, 1, "change more than its kernel", "5other")
    put(original, SOURCE + HOST)
else:
    prove(SOURCE, 0, "compiles")
prove(SOURCE.replace(b"VALUE;", b"VALUES;"), 1, "the rewritten", "src/k.cu", "VALUES")
prove(SOURCE.replace(b"VALUE", b"EXTRA"), 0, "compiles", flags=("-DEXTRA=2.0f", "-std=c++17"))
put(header, b"#error broken\n")
prove(SOURCE, 2, "even before the rewrite", "broken")
if how == "clang":
    env["PATH"] = "/nonexistent"
    prove(SOURCE, 2, "no nvcc and no clang")
if sorted(os.listdir(os.path.join(folder, "src"))) != ["k.cu", "local.cuh", "patched"]:
    print("something was left beside the source")
    sys.exit(1)
print("as promised")
