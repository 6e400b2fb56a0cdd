"""Formats markers that stand among prose in four styles and many widths, and
compares what is read back with what was written: reformat.py CLANG_FORMAT
MARKER_DUMP FOLDER. Prints the number of combinations, or the first that differs."""
import itertools
import os
import random
import subprocess
import sys

clang_format, dump, folder = sys.argv[1:4]

MARKERS = [
    "kevin: optimize let(n = 1 << 24, a = 2) data(*[n])",
    "kevin: optimize let(rows = 4096, cols = {1000, 4096})\n"
    "kevin: in(x[rows][cols], bias[cols] = {normal(0, 1), null}) out(y[rows][cols])",
    "kevin: optimize let(n = 1 << 24) in(keys[n]) inout(bins[256] = 0)",
    "kevin: optimize let(tokens = 8192, dim = 768) fix(vocab = 32000) require(dim % 8 == 0)\n"
    "kevin: in(id[tokens] = index(vocab), table[vocab][dim]) out(y[tokens][dim]) align(16)",
    "kevin: optimize let(m = 1 << 17, nnz = 16 * m) block(32, 8) grid(ceil_div(m, block.y))\n"
    "kevin: in(row[m + 1] = offsets(nnz), col[nnz] = index(m), val[nnz], x[m]) out(y[m])",
    "kevin: optimize let(w = 1920, h = 1080, pitch = 2048) require(w <= pitch)\n"
    "kevin: in(src[-R : h * pitch + 2 * R]) out(dst[h][pitch]) compare(dst = tol(1e-3, 1e-6))",
    "kevin: optimize let((rows, cols) = {(8192, 4096), (30000, 1001)}, from = 3, by = 4)\n"
    "kevin: in(x[rows][cols],\n"
    "kevin:    from[n] = uniform(-1.5, 1.5), by[4] = &x[2]) out(y[rows][cols])\n"
    "kevin: launch(tunable) min_speedup(1.05) shared(block.x * sizeof(float))",
    'kevin: off("the driver\'s own copy is faster on every machine that we have tried so far")',
    "kevin: verified 1.83x [1.79, 1.87] on NVIDIA H200 sm_90: 64.3 -> 35.2 us\n"
    "kevin: by kevin-32b, turn 6/8; max error 1.2e-07; kevin-rewrite 0.1.0\n"
    "kevin: from 3f9a41c2e07b body ab12cd34ef56 marker 77aa01bc99de",
]
STYLES = ["LLVM", "Google", "Mozilla", "WebKit"]
WIDTHS = [60, 76, 100, 120]
WORDS = ("the of kernel each thread adds one row (see below) it's fast; a block in shared memory, "
         "reads x[i] and writes out of order: 3.5 GB/s. Don't touch! uniform values, let us say "
         "in a grid that fits").split()


def prose(rng):
    lines = []
    for _ in range(rng.randint(0, 3)):
        lines.append(" ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 22))))
    return lines


def text(rng, marker):
    lines = prose(rng) + marker.split("\n") + prose(rng)
    indent = rng.choice(["", "  "])
    body = "".join("%s// %s\n" % (indent, line) for line in lines)
    return ("namespace a {\n%s%s__global__ void k(int n, const float *x, float *y) { y[n] = x[n]; }\n}\n"
            % (body, indent))


def read(paths):
    """The hashes of each file's items, and all that was said."""
    run = subprocess.run([dump, "--hash"] + paths, capture_output=True, text=True, check=False)
    out = {path: [] for path in paths}
    for line in run.stdout.splitlines():
        path, _, rest = line.partition(" ")
        if path in out:
            out[path].append(rest)
    return out, run.stdout


rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
os.makedirs(folder, exist_ok=True)
done = 0
for style, width in itertools.product(STYLES, WIDTHS):
    before = {}
    for i, marker in enumerate(MARKERS):
        path = os.path.join(folder, "m%d.cu" % i)
        before[path] = text(rng, marker)
        with open(path, "w") as f:
            f.write(before[path])
        items = marker.count("kevin: ") if "verified" in marker else 1
        got = read([path])[0][path]
        if len(got) != items:
            sys.exit("not read as it was written:\n%s\n%s" % (before[path], read([path])[1]))
    paths = list(before)
    want = read(paths)[0]
    config = "{BasedOnStyle: %s, ColumnLimit: %d}" % (style, width)
    # Twice: what a formatter makes of its own output must read the same too.
    for _ in range(2):
        subprocess.run([clang_format, "-i", "--style=" + config] + paths, check=True)
        got = read(paths)[0]
        for path in paths:
            if got[path] != want[path]:
                with open(path) as f:
                    sys.exit("%s at %d columns:\n%s\nbecame\n%s\n%s" %
                             (style, width, before[path], f.read(), read([path])[1]))
    done += len(paths)
print("%d combinations read back" % done)
