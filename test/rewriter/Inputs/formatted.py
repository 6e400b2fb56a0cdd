"""A formatter makes nothing stale: marker, provenance and body of rewritten
files read the same after clang-format in several styles and widths.
usage: formatted.py TOOL FOLDER CORPUS"""
import os
import shutil
import subprocess
import sys

clang_format = shutil.which("clang-format-19") or shutil.which("clang-format")

tool, folder, corpus = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
target, variant = os.path.join(folder, "k.cu"), os.path.join(folder, "variant")
rounds = 0
for name, kernel in (("saxpy", "saxpy"), ("stencil5", "stencil5"), ("layer_norm", "layer_norm"),
                     ("transpose", "transpose"), ("block_reduce", "block_reduce"), ("row_softmax", "row_softmax")):
    shutil.copy(os.path.join(corpus, name + ".cu"), target)
    with open(target, encoding="latin-1") as f:
        text = f.read()
    # The kernel's own text, with a helper, and prose where formatters join.
    start = text.index(kernel + "(", text.index("kevin: optimize"))
    start = text.rindex("\n", 0, text.rindex("__global__", 0, start)) + 1
    depth, end = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
        if not depth:
            break
    for lead in ("", "// Prose about the kernel that is so long that a formatter will want to break it somewhere.\n"):
        shutil.copy(os.path.join(corpus, name + ".cu"), target)
        with open(variant, "w", encoding="latin-1") as f:
            f.write("// A helper, which adds two numbers and is told about at length in this comment above it.\n"
                    "__device__ __forceinline__ float %s_add(float a, float b)\n{\n  return a + b;\n}\n\n%s%s\n"
                    % (kernel, lead, text[start:end].lstrip()))
        subprocess.run([tool, "-i", "--shown=verified 1.83x [1.79, 1.87] on NVIDIA H200 sm_90: 64.3 -> 35.2 us",
                        target, kernel, variant], check=True, stdout=subprocess.DEVNULL)
        with open(target, "rb") as f:
            written = f.read()
        read = lambda: subprocess.run([tool, "--read", target, kernel], capture_output=True, text=True)
        want = read()
        if want.returncode or "verified 1.83x" not in want.stdout or "\n0 errors\n" not in want.stdout:
            sys.exit("%s is not read back: %s%s" % (name, want.stdout, want.stderr))
        for style in ("LLVM", "Google", "WebKit", "Mozilla", "GNU"):
            for columns in (60, 78, 100, 120):
                with open(target, "wb") as f:
                    f.write(written)
                subprocess.run([clang_format, "-i", "--style={BasedOnStyle: %s, ColumnLimit: %d, SortIncludes: false}"
                                % (style, columns), target], check=True)
                got = read()
                if got.stdout != want.stdout:
                    sys.exit("%s, %s at %d columns:\n%s%s\nnot\n%s" % (name, style, columns, got.stdout, got.stderr, want.stdout))
                rounds += 1
print("%d formattings make nothing stale" % rounds)
