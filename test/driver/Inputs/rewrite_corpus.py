"""rewrite_corpus.py BIN DIR FILE... [--formats]: every marked kernel of the files is
rewritten by a variant that differs from it by one line, through a double of the
worker in BIN. Then each file is fresh, a second run asks nobody, formatting makes
nothing stale, and --revert gives every byte back.

FILE may be NAME=TRANSFORM of `bom`, `crlf`, `latin1` (see transform()).
"""
import json
import os
import shutil
import subprocess
import sys

STYLES = ["{BasedOnStyle: %s, ColumnLimit: %d}" % (s, w)
          for s in ("LLVM", "Google", "Mozilla", "WebKit") for w in (80, 120)]


def transform(data, how):
    if how == "bom":
        return b"\xef\xbb\xbf" + data
    if how == "crlf":
        return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if how == "latin1":
        return data + b"// \xe9\xfc\n"
    return data


def run(binary, *args, want=0):
    p = subprocess.run([os.path.join(binary, "kevin-rewrite"), *args], capture_output=True)
    if p.returncode != want:
        sys.exit("%s: exit status %d instead of %d\n%s%s" % (" ".join(args), p.returncode, want,
                                                           p.stdout.decode("latin-1"), p.stderr.decode("latin-1")))
    return p


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def main():
    binary, folder = sys.argv[1:3]
    given = [a for a in sys.argv[3:] if a != "--formats"]
    names = []
    for path in given:
        path, _, how = path.partition("=")
        names.append((how + "-" if how else "") + os.path.basename(path))
        write(os.path.join(folder, names[-1]), transform(read(path), how))
        util = os.path.join(os.path.dirname(path), "corpus_util.cuh")
        if os.path.exists(util):
            shutil.copy(util, folder)
    os.chdir(folder)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "-c", "core.autocrlf=false", "add", "."], check=True)
    original = {n: read(n) for n in names}
    cuda = "--cuda-path=none"
    kernels = json.loads(run(binary, "--list", "--format=json", cuda, *names).stdout)["kernels"]
    with open("replies.jsonl", "w") as f:
        for k in kernels:
            data = original[os.path.basename(k["file"])]
            code = data[k["byteOffset"]:k["byteOffset"] + k["byteLength"]].decode("latin-1").replace("\r\n", "\n")
            body = code.index("{", code.index(")"))
            code = code[:body + 1] + "\n    (void)0;" + code[body + 1:]
            f.write(json.dumps({"file": k["file"], "kernel": k["kernel"], "reply": "```cuda\n%s\n```\n" % code}) + "\n")
    p = run(binary, "-i", cuda, "--trajectories=1", "--turns=1", "--format=json", "--model=replay:replies.jsonl", *names)
    result = json.loads(p.stdout)
    for k in result["kernels"]:
        if k["outcome"] != "rewritten":
            sys.exit("%s of %s: %s" % (k["kernel"], k["file"], k))
    if len(result["kernels"]) != len(kernels) or result["calls"] != len(kernels):
        sys.exit("%d kernels, %d done, %d calls" % (len(kernels), len(result["kernels"]), result["calls"]))
    written = {n: read(n) for n in names}
    for n in names:
        if b"(void)0;" not in written[n] or written[n].startswith(b"\xef\xbb\xbf") != original[n].startswith(b"\xef\xbb\xbf"):
            sys.exit("%s was not written as it should be" % n)
        if original[n].count(b"\n") == original[n].count(b"\r\n") and written[n].count(b"\n") != written[n].count(b"\r\n"):
            sys.exit("%s has other line ends" % n)
    run(binary, "--check", cuda, *names)
    again = run(binary, "-i", cuda, "--format=json", *names)
    if json.loads(again.stdout)["calls"] or any(read(n) != written[n] for n in names):
        sys.exit("the second run did something")
    formattings = 0
    if "--formats" in sys.argv:
        for style in STYLES:
            for n in names:
                out = subprocess.run([os.environ["CLANG_FORMAT"], "--style=" + style, n], capture_output=True, check=True).stdout
                write(n, out)
                formattings += 1
            run(binary, "--check", cuda, *names)
            for n in names:
                write(n, written[n])
    run(binary, "--revert", *names)
    for n in names:
        if read(n) != original[n]:
            sys.exit("%s did not come back byte for byte" % n)
    run(binary, "--check", cuda, *names, want=1)
    print("%d kernels in %d files there and back, %d formattings" % (len(kernels), len(names), formattings))


main()
