#!/usr/bin/env python3
"""One kernel, four replies, a GPU: are the right ones taken and the others turned
away for the right reason?

  evidence.py NAME SOURCE KERNEL WORK [--run=ARGS] [--flags=FLAGS]

NAME is a folder beside this script with wrong.md, slow.md and honest.md; the
copy is made of the original itself. SOURCE is copied to the folder WORK (with
the marker of NAME/marker.txt put above the kernel, if there is one), refined
with the four replies as four turns, and written by -i. Then the rewritten file
is compiled by nvcc and its main is run. Prints one line of figures; exits 1
when anything is not as it should be.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))


def fail(text):
    print("evidence: " + text)
    sys.exit(1)


def run(argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", **kw)


def put_marker(path, kernel, marker):
    text = open(path, encoding="latin-1", newline="").read()
    m = re.search(r"^__global__\s[^;{]*?\b%s\s*\(" % re.escape(kernel), text, re.M)
    if not m:
        fail("%s holds no kernel %s" % (path, kernel))
    text = text[:m.start()] + marker + text[m.start():]
    open(path, "w", encoding="latin-1", newline="").write(text)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("name")
    ap.add_argument("source")
    ap.add_argument("kernel")
    ap.add_argument("work")
    ap.add_argument("--run", default="", help="arguments of the program, as one string")
    ap.add_argument("--flags", default="", help="compiler flags, as one string")
    args = ap.parse_args()
    args.run, args.flags = shlex.split(args.run), shlex.split(args.flags)
    case = os.path.join(here, args.name)
    tool = shutil.which("kevin-rewrite") or fail("kevin-rewrite is not on PATH")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

    shutil.rmtree(args.work, ignore_errors=True)
    shutil.copytree(os.path.dirname(os.path.abspath(args.source)), args.work)
    os.makedirs(os.path.join(args.work, ".kevin"))  # the project's root
    path = os.path.join(args.work, os.path.basename(args.source))
    os.chmod(path, 0o644)
    marker = os.path.join(case, "marker.txt")
    if os.path.exists(marker):
        put_marker(path, args.kernel.split("::")[-1], open(marker).read())
    before = open(path, "rb").read()

    flags = ["--"] + args.flags if args.flags else []
    listed = run([tool, "--list", "--format=json", "--kernel=" + args.kernel, path] + flags)
    kernels = json.loads(listed.stdout or '{"kernels":[]}')["kernels"]
    if len(kernels) != 1 or "contract" not in kernels[0]:
        fail("no contract for %s:\n%s%s" % (args.kernel, listed.stdout, listed.stderr))
    copy = "```cuda\n%s\n```\nThe original, as it is.\n" % kernels[0]["contract"]["code"]

    order = ["copy", "wrong", "slow", "honest"]
    replay = os.path.join(args.work, "replies.jsonl")
    with open(replay, "w") as f:
        for turn, what in enumerate(order, 1):
            text = copy if what == "copy" else open(os.path.join(case, what + ".md")).read()
            f.write(json.dumps({"kernel": args.kernel, "trajectory": 1, "turn": turn, "reply": text}) + "\n")
    done = run([tool, "-i", "--allow-dirty", "--format=json", "--evaluator=cuda", "--model=replay:" + replay,
                "--trajectories=1", "--turns=4", "--kernel=" + args.kernel, path] + flags)
    try:
        out = json.loads(done.stdout)["kernels"][0]
    except (ValueError, IndexError):
        fail("exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    turns = {what: t for what, t in zip(order, out.get("turns", []))}
    for what in order:
        t = turns.get(what)
        if t:
            print("  %-7s %s at %s%s: %s" % (what, t["status"], t["stage"],
                                            ", %.3fx [%.3f, %.3f]" % (t["speedup"], t["lo"], t["hi"])
                                            if "speedup" in t else "",
                                            (t["log"] or t["told"] or "").split("\n")[0][:150]))
    if done.returncode or out["outcome"] != "rewritten":
        fail("exit %d, outcome %s: %s\n%s" % (done.returncode, out["outcome"], out.get("why"), done.stderr))
    if turns["copy"]["status"] != "unchanged":
        fail("the copy was not found unchanged")
    if turns["wrong"]["status"] not in ("wrong", "fault", "unstable"):
        fail("the wrong reply was not refused")
    if turns["slow"]["status"] != "ok" or not turns["slow"]["hi"] < 1:
        fail("the slow reply was not found right and slower")
    if turns["honest"]["status"] != "ok" or out["winner"] != 3 or not out["confirmed"]:
        fail("the honest reply was not taken")

    after = open(path, "rb").read()
    if after == before:
        fail("the file was not written")
    program = os.path.join(args.work, "program")
    built = run([nvcc, "-std=c++17", "-O2", "-arch=" + out["arch"], "-o", program, path] + args.flags,
                cwd=args.work)
    if built.returncode:
        fail("nvcc refuses the rewritten file:\n%s%s" % (built.stdout, built.stderr))
    ran = run([program] + args.run, cwd=args.work, timeout=300)
    words = (ran.stdout + ran.stderr).strip().split("\n")
    if ran.returncode or re.search(r"fail|mismatch", ran.stdout + ran.stderr, re.I):
        fail("the rewritten program fails (%d):\n%s" % (ran.returncode, "\n".join(words[-20:])))
    second = run([tool, "-i", "--allow-dirty", "--evaluator=cuda", "--model=replay:/dev/null", path] + flags)
    if open(path, "rb").read() != after:
        fail("a second run changed the file:\n" + second.stderr)
    check = run([tool, "--check", path])
    if check.returncode:
        fail("--check of the rewritten file:\n" + check.stderr)
    back = run([tool, "--revert", path])
    if back.returncode or open(path, "rb").read() != before:
        fail("--revert does not give the original back:\n" + back.stdout + back.stderr)
    cases = "; ".join("%.1f -> %.1f us" % (c["base_us"], c["candidate_us"]) for c in out["cases"])
    line = "%-22s %.3fx [%.3f, %.3f]  %s  (%s)" % (args.name, out["speedup"], out["lo"], out["hi"], cases,
                                                   next((w for w in words if re.search("ok|match|PASS", w)), words[-1])[:60])
    print(line)
    if os.environ.get("KR_FIGURES"):
        with open(os.environ["KR_FIGURES"], "a") as f:
            f.write(line + "\n")


main()
