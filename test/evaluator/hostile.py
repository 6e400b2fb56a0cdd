"""Hostile candidates in a row, with no screen before them: each must have a verdict that
turns it away, and an honest one is judged right between them and at the end.

  hostile.py BACKEND N

On a GPU nothing of ours may be left behind: the memory in use is what it was.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "hacks"))
import judge  # noqa: E402

HEAD = """// kevin: optimize let(n = 5000) data(*[n]) launch(tunable)
__global__ void axpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
void run(int n, float a, const float *x, float *y) { axpy<<<(n + 255) / 256, 256>>>(n, a, x, y); }
"""
SIGNATURE = "__global__ void axpy(int n, float a, const float *x, float *y)\n"
HONEST = SIGNATURE + """{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
"""


def body(text, before=""):
    return before + SIGNATURE + "{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + text + "\n  if (i < n) y[i] = a * x[i] + y[i];\n}\n"


KINDS = [
    lambda k: body("for (int v = %d; v >= 0; v = (v + (atomicOr((int *)y, 0) & 1)) %% 1000) ;" % k),
    lambda k: body("while (((volatile float *)y)[i %% n] != %d.5f) ;" % (1000 + k)),
    lambda k: body("if (i == %d) __trap();" % (k % 5000)),
    lambda k: body("if (i == %d) *(volatile int *)(size_t)%d = 1;" % (k % 5000, 16 * k)),
    lambda k: body("if (i == 0) y[%dll << 24] = 1;" % (k + 1)),
    lambda k: body("if (i == 0) y[-(%dll << 24)] = 1;" % (k + 1)),
    lambda k: body("if (i == 0) for (long long v = 0; v < 1ll << 40; v += 4096) y[v] = %d;" % k),
    lambda k: body("__shared__ float s[%d]; s[threadIdx.x] = a; __syncthreads(); y[0] += s[(threadIdx.x + 1) %% 256] > 1e30f;" % (60000 + k * 1000)),
    lambda k: "// launch: grid(ceil_div(n, 256)) block(256) shared(%d)\n" % (300000 + k) + body("extern __shared__ float axpy_s[]; axpy_s[threadIdx.x] = a;"),
    lambda k: "// launch: grid(ceil_div(n, 256)) block(%d)\n" % (1025 + k) + body(""),
    lambda k: body("i += axpy_bomb<%d>::value > 0;" % k,
                   "template <int N> struct axpy_bomb { static constexpr int value = axpy_bomb<N + 1>::value; };\n"),
    lambda k: body("i += axpy_tree<%d, 0>::value > 1e30;" % (20 + k % 20),
                   "template <int D, int P> struct axpy_tree { static constexpr double value = axpy_tree<D - 1, 2 * P>::value + "
                   "axpy_tree<D - 1, 2 * P + 1>::value; };\ntemplate <int P> struct axpy_tree<0, P> { static constexpr double value = P; };\n"),
    lambda k: body("i += M%d > 0;" % (24 + k % 6),
                   "#define M0 1\n" + "".join("#define M%d (M%d + M%d)\n" % (n, n - 1, n - 1) for n in range(1, 31))),
    lambda k: body("#include \"/dev/zero\"\n"),
    lambda k: body("i += axpy_down(%d + n) > 1e30f;" % (1 << 28),
                   "__device__ __noinline__ float axpy_down(int n) { volatile float v[64]; v[n & 63] = n; return n < 0 ? v[3] : axpy_down(n - 1) + v[n & 63]; }\n"),
    lambda k: body("volatile float v[%d]; for (int c = 0; c < n; c++) v[c * 17] = a; y[0] += v[i] > 1e30f;" % (20000000 + k)),
    lambda k: SIGNATURE + "{" * (2000 + k),
    lambda k: SIGNATURE + "{ y[0] = " + "(" * (3000 + k) + "1" + ")" * (3000 + k) + "; }\n",
    lambda k: body("if (threadIdx.x == %d) __syncthreads(); if (threadIdx.x < 32) while (atomicAdd((int *)y, 0) != %d) ;" % (k % 256, 77777 + k)),
    lambda k: SIGNATURE + "{ y[%d] = 0; }\n" % k,
    lambda k: SIGNATURE + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i] / %d; }\n" % (k + 1),
    lambda k: "",
    lambda k: "\x00\xff" * 50 if k % 2 else "__global__ void other() { }\n",
    lambda k: body("constexpr auto f = [](int v) constexpr { while (true) v++; return v; }; static_assert(f(%d) > 0);" % k),
]


def memory_in_use():
    out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"],
                         capture_output=True, text=True)
    return int(out.stdout.split()[0])


def main():
    backend, n = sys.argv[1], int(sys.argv[2])
    before = memory_in_use() if backend == "cuda" else 0
    counts, bad, order, began = {}, [], random.Random(1), time.time()
    with tempfile.TemporaryDirectory() as folder:
        j = judge.Judge(backend, judge.contract("axpy.cu", HEAD, folder), "400")
        for k in range(n):
            kind = k % len(KINDS) if k < len(KINDS) else order.randrange(len(KINDS))
            code = KINDS[kind](k)
            v = j.ask(code.replace("\x00", " "))
            status = v.get("status", "no verdict")
            counts[status] = counts.get(status, 0) + 1
            if status in ("ok", "no verdict", "environment"):
                bad.append("%d, kind %d: %s: %s" % (k, kind, status, v.get("log")))
            if k % 50 == 49:
                v = j.ask(HONEST)
                if v.get("status") != "ok":
                    bad.append("honest after %d: %s: %s" % (k, v.get("status"), v.get("log")))
        v = j.ask(HONEST)
        if v.get("status") != "ok":
            bad.append("honest at the end: %s: %s" % (v.get("status"), v.get("log")))
        if j.close():
            bad.append("judge_lines failed")
    print("%d candidates on %s in %.0f s: %s" % (n, backend, time.time() - began, json.dumps(counts, sort_keys=True)))
    if backend == "cuda":
        for _ in range(20):
            left = memory_in_use() - before
            if left <= 64:
                break
            time.sleep(0.5)
        print("%d MiB of the GPU's memory more in use than before" % left)
        if left > 64:
            bad.append("%d MiB of the GPU's memory are left in use" % left)
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
