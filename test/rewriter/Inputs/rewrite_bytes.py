"""Bytes of rewritten files. usage: rewrite_bytes.py TOOL FOLDER CASE

Every case says the whole file before and after by hand; then the rewrite is
taken back and the bytes must be the old ones, also after edits elsewhere.
"""
import os
import shutil
import subprocess
import sys

tool, folder, case = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
target, variant, undo = (os.path.join(folder, n) for n in ("k.cu", "variant", "undo"))
PROV = (b"// kevin: verified 2.00x [1.90, 2.10] on GPU: 2.0 -> 1.0 us\n"
        b"// kevin: by m, turn 1/8; exact; kevin-rewrite 0.1.0\n"
        b"// kevin: from 000000000000 body 111111111111 marker 222222222222\n")


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def fail(text):
    print("%s: %s" % (case, text))
    sys.exit(1)


def run(*args, code=0, kernel="add"):
    r = subprocess.run([tool, *args], capture_output=True)
    if r.returncode != code:
        fail("%s exits %d: %s" % (args, r.returncode, r.stderr.decode()))
    return r.stderr.decode()


def rewrite(before, code, after, *options, kernel="add"):
    put(target, before)
    put(variant, code)
    run("-i", "--undo=" + undo, *options, target, kernel, variant)
    got = get(target)
    if got != after:
        print(got.decode("latin-1"))
        fail("wrong bytes:\n%r\nnot\n%r" % (got, after))
    run("-i", "--take-back=" + undo, target)
    if get(target) != before:
        fail("taken back: %r" % get(target))
    # Lines elsewhere may move.
    put(target, b"// a new first line\n" + after + b"\n// a new last line\n")
    run("-i", "--take-back=" + undo, target)
    if get(target) != b"// a new first line\n" + before + b"\n// a new last line\n":
        fail("taken back after edits elsewhere: %r" % get(target))


def refused(before, code, *words, options=(), kernel="add"):
    put(target, before)
    put(variant, code)
    said = run("-i", *options, target, kernel, variant, code=2)
    for w in words:
        if w not in said:
            fail("%r is not said in %r" % (w, said))
    if get(target) != before:
        fail("refused and written")


HEAD = b"#include <cuda_runtime.h>\n\n"
MARK = b"// kevin: optimize let(n = 4) data(*[n])\n"
OLD = b"__global__ void add(float *x, int n)\n{\n  x[threadIdx.x] += 1;\n}"
NEW = b"__global__ void add(float *x, int n)\n{\n  if (threadIdx.x < n)\n    x[threadIdx.x] += 1;\n}"
HOST = b"\n\nvoid run(float *x, int count)\n{\n  add<<<1, 256>>>(x, count);\n}\n"
crlf = lambda b: b.replace(b"\n", b"\r\n")

if case == "plain":
    rewrite(HEAD + MARK + OLD + HOST, NEW + b"\n", HEAD + MARK + PROV + NEW + HOST)
elif case == "crlf":
    rewrite(crlf(HEAD + MARK + OLD + HOST), NEW, crlf(HEAD + MARK + PROV + NEW + HOST))
    # A model's own CRLF does not double.
    rewrite(crlf(HEAD + MARK + OLD + HOST), crlf(NEW), crlf(HEAD + MARK + PROV + NEW + HOST))
elif case == "mixed-endings":
    before = HEAD + crlf(MARK + OLD) + HOST
    rewrite(before, NEW, HEAD + crlf(MARK + PROV + NEW) + HOST)
    # Mixed inside the kernel: taken back byte for byte all the same.
    mixed = OLD.replace(b"{\n", b"{\r\n")
    rewrite(HEAD + MARK + mixed + HOST, NEW, HEAD + MARK + PROV + NEW + HOST)
elif case == "bom":
    rewrite(b"\xef\xbb\xbf" + MARK + OLD + HOST, NEW, b"\xef\xbb\xbf" + MARK + PROV + NEW + HOST)
    helper = b"__device__ float add_one(float v) { return v + 1; }\n"
    rewrite(b"\xef\xbb\xbf" + MARK + OLD + HOST, helper + NEW,
            b"\xef\xbb\xbf" + helper + b"\n" + MARK + PROV + NEW + HOST)
elif case == "latin1-outside":
    pre, post = b"// \xe9\xe8 caf\xe9 \xff\n", b"\nconst char *s = \"\xfc\";\n"
    rewrite(pre + MARK + OLD + post, NEW, pre + MARK + PROV + NEW + post)
elif case == "no-final-newline":
    rewrite(HEAD + MARK + OLD, NEW, HEAD + MARK + PROV + NEW)
elif case == "tabs-and-trailing-blanks":
    pre = b"int\ta; \t \n\n\tnamespace n {\t\n"
    rewrite(pre + b"\t" + MARK + b"\t" + OLD.replace(b"\n", b"\n\t") + b"\t\n}\n", NEW,
            pre + b"\t" + MARK + b"".join(b"\t" + l + b"\n" for l in PROV.splitlines())
            + b"\t" + NEW.replace(b"\n", b"\n\t") + b"\t\n}\n")
elif case == "helpers-above-the-marker":
    helper = b"// Adds one.\n__device__ __forceinline__ float add_one(float v)\n{\n  return v + 1;\n}\n\nstruct add_pair { float a, b; };"
    lead = b"// Two lines\n// about the kernel.\n"
    prose = b"/* What add does. */\n// More of it.\n//\n"
    rewrite(HEAD + b"int before;\n\n" + prose + MARK + OLD + HOST,
            helper + b"\n\n" + lead + NEW + b"\n// end\n",
            HEAD + b"int before;\n\n" + helper + b"\n\n" + prose + MARK + PROV + b"//\n" + lead + NEW + HOST)
    # With no empty line between the code before and the prose.
    rewrite(b"int before; // its comment\n" + prose + MARK + OLD + HOST, helper + b"\n" + NEW,
            b"int before; // its comment\n" + helper + b"\n\n" + prose + MARK + PROV + NEW + HOST)
    # A directive is the block's edge.
    rewrite(b"#define A 1\n" + MARK + OLD, helper + b"\n" + NEW,
            b"#define A 1\n" + helper + b"\n\n" + MARK + PROV + NEW)
elif case == "conditional-between":
    between = b"\n#if A\n// one\n#endif\n"
    rewrite(HEAD + MARK + between + OLD + HOST, NEW, HEAD + MARK + between + PROV + NEW + HOST)
elif case == "pragma-carrier":
    mark = b"#pragma kevin optimize let(n = 4) \\\n  data(*[n])\n"
    rewrite(HEAD + mark + OLD + HOST, b"__device__ int add_k;\n" + NEW,
            HEAD + b"__device__ int add_k;\n\n" + mark + PROV + NEW + HOST)
elif case == "extern-c-and-static":
    for word in (b"extern \"C\" ", b"static ", b"template <int B>\n"):
        rewrite(HEAD + MARK + word + OLD + HOST, word + NEW, HEAD + MARK + PROV + word + NEW + HOST)
elif case == "provenance-replaced":
    older = PROV.replace(b"2.00x", b"1.10x").replace(b"by m", b"by older")
    rewrite(HEAD + MARK + older + OLD + HOST, NEW, HEAD + MARK + PROV + NEW + HOST)
    # With prose below it, and as a formatter may have left it.
    rewrite(HEAD + MARK + older + b"//\n// prose\n" + OLD + HOST, NEW,
            HEAD + MARK + b"//\n// prose\n" + PROV + NEW + HOST)
elif case == "launches":
    host = (b"\n\nvoid run(float *x, int count, cudaStream_t s)\n{\n  dim3 grid(4), block(64);\n"
            b"  add<<<grid, block>>>(x, count);\n  other<<<grid, block>>>(x);\n"
            b"  add<<<(count + 63) / 64, 64, 0, s>>>(x, count - 1);\n}\n")
    after = (b"\n\nvoid run(float *x, int count, cudaStream_t s)\n{\n  dim3 grid(4), block(64);\n"
             b"  add<<<(count + 255) / 256, 256>>>(x, count);\n  other<<<grid, block>>>(x);\n"
             b"  add<<<((count - 1) + 255) / 256, 256, 0, s>>>(x, count - 1);\n}\n")
    rewrite(HEAD + MARK + OLD + host, NEW, HEAD + MARK + PROV + NEW + after,
            "--grid=ceil_div(n, 256)", "--block=256")
    # Two dimensions, shared memory, and names of each other.
    want = host.replace(b"<<<grid, block>>>(x, count)", b"<<<dim3((count + 32 - 1) / 32, 2), dim3(32, 8), (32) * 8 * sizeof(float)>>>(x, count)")
    want = want.replace(b"<<<(count + 63) / 64, 64, 0, s>>>",
                        b"<<<dim3(((count - 1) + 32 - 1) / 32, 2), dim3(32, 8), (32) * 8 * sizeof(float), s>>>")
    want = want.replace(b"(32) * 8", b"32 * 8")
    rewrite(HEAD + MARK + OLD + host, NEW, HEAD + MARK + PROV + NEW + want,
            "--grid=ceil_div(n, block.x);2", "--block=32;8", "--shared=block.x * block.y * sizeof(float)")
    # What was evaluated in 64 bits does not overflow in the argument's type, nor wrap.
    want = host.replace(b"<<<grid, block>>>(x, count)", b"<<<(((long long)count) * 4096 + 1048575) / 1048576, 256>>>(x, count)")
    want = want.replace(b"<<<(count + 63) / 64, 64, 0, s>>>",
                        b"<<<(((long long)(count - 1)) * 4096 + 1048575) / 1048576, 256, 0, s>>>")
    rewrite(HEAD + MARK + OLD + host, NEW, HEAD + MARK + PROV + NEW + want,
            "--grid=(n * 4096 + 1048575) / 1048576", "--block=256")
elif case == "launch-refused":
    src = lambda arg, pre=b"": HEAD + pre + MARK + OLD + b"\nvoid run(float *x, int c, double d)\n{\n  add<<<1, 64>>>(x, " + arg + b");\n}\n"
    opts = ("--grid=ceil_div(n, 256)", "--block=256")
    for arg, word in ((b"next()", "side effects"), (b"c++", "side effects"), (b"d", "not an integer"),
                      (b"2.5", "not an integer")):
        refused(src(arg), NEW, "k.cu:", arg.decode(), word, options=opts)
    # An argument that the geometry does not need may be anything.
    rewrite(src(b"next()"), NEW, src(b"next()").replace(OLD, PROV + NEW).replace(b"<<<1, 64>>>", b"<<<4, 256>>>"),
            "--grid=4", "--block=256")
    refused(src(b"c"), NEW, "`sms`", options=("--grid=2 * sms", "--block=256"))
    refused(src(b"c"), NEW, "`grid.x`", options=("--grid=4", "--block=grid.x"))
    refused(src(b"c"), NEW, "sqrt", options=("--grid=sqrt(n)", "--block=256"))
    refused(src(b"c"), NEW, "not in integers", options=("--grid=1e3", "--block=256"))
    refused(src(b"c"), NEW, "`m`", options=("--grid=m", "--block=256"))
    refused(src(b"c", b"#define T 4\n#undef T\n#define T 8\n"), NEW, "more than one meaning",
            options=("--grid=T", "--block=256", "--constant=T=4"))
    one = src(b"c", b"#define T 4\n")
    rewrite(one, NEW, one.replace(OLD, PROV + NEW).replace(b"<<<1, 64>>>", b"<<<T, 256>>>"),
            "--grid=T", "--block=256", "--constant=T=4")
    refused(HEAD + MARK + OLD, NEW, "no launch of add is known", options=opts)
elif case == "twice-and-missing":
    refused(HEAD + MARK + OLD, b"__device__ void add_f() {}\n", "not its helpers followed by its definition")
    refused(HEAD + MARK + OLD, NEW + b"\n" + NEW, "defines it twice")
    refused(HEAD + MARK + OLD, NEW + b"\nint add_y;\n", "not its helpers followed by its definition")
    refused(HEAD + MARK + OLD, NEW + b"}", "not its helpers followed by its definition")
elif case == "take-back-refused":
    put(target, HEAD + MARK + OLD + HOST)
    put(variant, NEW)
    run("-i", "--undo=" + undo, target, "add", variant)
    written = get(target)
    for edit in (written.replace(b"threadIdx.x < n", b"threadIdx.x <= n"),
                 written.replace(b"verified 2.00x", b"verified 9.00x")):
        put(target, edit)
        said = run("-i", "--take-back=" + undo, target, code=2)
        if "edited since" not in said or get(target) != edit:
            fail("taken back over an edit: " + said)
    for broken in (b"", b"kevin-baseline 2\n", get(undo)[:40], get(undo).replace(b"\n1 0 ", b"\n1 0 9", 1)):
        put(target, written)
        put(os.path.join(folder, "broken"), broken)
        said = run("-i", "--take-back=" + os.path.join(folder, "broken"), target,
                   code=2 if broken[:17] != b"kevin-baseline 1\n" or len(broken) > 17 else 1)
        if get(target) != written:
            fail("a broken baseline was applied")
elif case == "body-hash":
    def body(text):
        put(target, text)
        return subprocess.run([tool, "--body", target, "add"], capture_output=True, check=True).stdout
    helper = b"__device__ float add_one(float v)\n{\n  return v + 1;\n}\n\n"
    base = body(HEAD + MARK + OLD + HOST)
    if body(HEAD + b"\n\nint other;\n" + MARK + b"// c\n" + OLD.replace(b" +=", b"\n+=") + HOST) != base:
        fail("white space or other code counts")
    if body(HEAD + MARK + NEW + HOST) == base:
        fail("the body does not count")
    with_helper = body(HEAD + helper + MARK + OLD)
    if with_helper == base:
        fail("a helper does not count")
    if body(HEAD + helper.replace(b"v + 1", b"v + 2") + MARK + OLD) == with_helper:
        fail("an edit of a helper is not seen")
    if body(HEAD + b"int z() { return 1; }\n" + helper.replace(b"\n  ", b" ") + b"// prose\n" + MARK + OLD) != with_helper:
        fail("white space in a helper counts")
    if body(HEAD + helper + b"int z;\n" + MARK + OLD) != base:
        fail("a function that is no helper counts")
else:
    fail("no such case")
print("%s: as promised" % case)
