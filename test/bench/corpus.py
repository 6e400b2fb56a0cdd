#!/usr/bin/env python3
"""The corpus through the built-in model, on the CPU and on a GPU.

  corpus.py model OUT     rewrites a copy of test/corpus in OUT/cpu by modelled time
  corpus.py measure OUT   on a GPU: compiles and runs what `model` wrote, measures each
                          modelled win
  corpus.py cuda OUT [OPTION...] [FILE...]
                          on a GPU: rewrites another copy in OUT/cuda by measured
                          time, all of it or some files, with kevin-rewrite's options

Both halves need the built programs on PATH; OUT may be made on one machine and
measured on another. Prints a line a kernel. Exits 1 when a rewritten file does
not compile or its main does not return 0, or when fewer than 90 % of the modelled
wins are faster by the clock.
"""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
corpus = os.path.join(os.path.dirname(here), "corpus")


def copy(to):
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(os.path.join(to, ".kevin"))  # the project's root
    for f in glob.glob(os.path.join(corpus, "*.cu")) + glob.glob(os.path.join(corpus, "*.cuh")):
        shutil.copy(f, to)


def sources(folder):
    return sorted(os.path.basename(f) for f in glob.glob(os.path.join(folder, "*.cu")))


def rewrite(folder, extra, jobs, names=()):
    """Each file by a process of its own, so that one that fails takes no other along."""
    def one(name):
        start = time.monotonic()
        done = subprocess.run(["kevin-rewrite", "-i", "--allow-dirty", "--format=json", "--seed=1", "--yes"] + extra +
                              [name], cwd=folder, capture_output=True, text=True, errors="replace", timeout=3600)
        seconds = time.monotonic() - start
        with open(os.path.join(folder, name + ".log"), "w") as f:
            f.write(done.stderr)
        try:
            kernels = json.loads(done.stdout)["kernels"]
        except ValueError:
            kernels = [{"file": name, "kernel": "?", "signature": "", "outcome": "broken",
                        "why": "exit %d: %s" % (done.returncode, done.stderr[-300:])}]
        for k in kernels:
            print("  %-20s %-28s %s" % (k["file"], k["kernel"].split("::")[-1], figures(k)), flush=True)
        print("  %-20s %.1f s" % (name, seconds), flush=True)
        return kernels
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return {"kernels": [k for ks in pool.map(one, names or sources(folder)) for k in ks]}


def figures(k):
    """Speed-up with its band, and the times of each case."""
    if "speedup" not in k:
        return "%-9s %s" % (k["outcome"], k.get("why", ""))
    cases = "; ".join("%.1f -> %.1f us" % (c["base_us"], c["candidate_us"]) for c in k["cases"])
    turn = k["turns"][k["winner"]]
    return "%-9s %.2fx [%.2f, %.2f]  %s  (turn %d: %s)" % (k["outcome"], k["speedup"], k["lo"], k["hi"], cases,
                                                         turn["turn"], turn["summary"][:70])


def show(title, doc):
    print("== " + title)
    for k in doc["kernels"]:
        print("%-20s %-28s %s" % (k["file"], k["kernel"].split("::")[-1], figures(k)))
    sys.stdout.flush()


def changed(folder):
    return [f for f in sources(folder)
            if open(os.path.join(folder, f), "rb").read() != open(os.path.join(corpus, f), "rb").read()]


def build(folder, name):
    program = os.path.join(folder, name[:-3] + ".out")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return subprocess.run([nvcc, "-std=c++17", "-O2", "-arch=sm_90", "-o", program, name], cwd=folder,
                          capture_output=True, text=True)


def run_mains(folder):
    """Compiles and runs every rewritten file. Returns the number that failed."""
    names, bad = changed(folder), 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda n: build(folder, n), names))
    for name, b in zip(names, built):
        if b.returncode:
            print("%s: nvcc: %s" % (name, b.stderr.strip()))
            bad += 1
            continue
        ran = subprocess.run(["./" + name[:-3] + ".out"], cwd=folder, capture_output=True, text=True, timeout=120)
        print("%-20s main returns %d: %s" % (name, ran.returncode, (ran.stdout + ran.stderr).strip().split("\n")[-1]))
        bad += ran.returncode != 0
    sys.stdout.flush()
    return bad


def key(k):
    return os.path.basename(k["file"]), k["kernel"], k["signature"]


def model(out):
    os.makedirs(out, exist_ok=True)
    copy(os.path.join(out, "cpu"))
    listed = subprocess.run(["kevin-rewrite", "--list", "--format=json"] + sources(os.path.join(out, "cpu")),
                            cwd=os.path.join(out, "cpu"), capture_output=True, text=True, errors="replace")
    with open(os.path.join(out, "contracts.json"), "w") as f:
        f.write(listed.stdout)
    doc = rewrite(os.path.join(out, "cpu"), ["--evaluator=cpu"], os.cpu_count() or 1)
    with open(os.path.join(out, "cpu.json"), "w") as f:
        json.dump(doc, f)
    show("modelled", doc)
    n = len(changed(os.path.join(out, "cpu")))
    print("%d of %d files rewritten as modelled" % (n, len(sources(corpus))))
    return n < 5


def measure_wins(out, doc):
    contracts = {key(k): k["contract"] for k in json.load(open(os.path.join(out, "contracts.json")))["kernels"]
                 if "contract" in k}
    wins = [k for k in doc["kernels"] if k["outcome"] == "rewritten" and key(k) in contracts]
    requests = ""
    for i, k in enumerate(wins):
        turn = k["turns"][k["winner"]]
        code = ("// launch: %s\n" % turn["launch"] if turn.get("launch") else "") + turn["code"]
        requests += json.dumps({"id": i, "contract": contracts[key(k)], "code": code, "until": "confirm"}) + "\n"
    done = subprocess.run(["kevin-eval", "--evaluator=cuda"], input=requests, capture_output=True, text=True)
    answers = {a["id"]: a for a in map(json.loads, done.stdout.splitlines())}
    agreed = 0
    print("== modelled wins, measured")
    for i, k in enumerate(wins):
        v = answers.get(i, {}).get("verdict")
        if not v:
            print("%-20s %-28s not judged: %s" % (k["file"], k["kernel"], answers.get(i, {}).get("error", done.stderr[-300:])))
            continue
        speedup = v.get("speedup") or 0
        agreed += v["status"] == "ok" and speedup > 1
        print("%-20s %-28s modelled %.2fx, measured %.3fx [%.3f, %.3f] %s %s" % (
            k["file"], k["kernel"].split("::")[-1], k["speedup"], speedup, v.get("lo") or 0, v.get("hi") or 0, v["status"],
            "" if v["status"] == "ok" else (v.get("log") or "")[:200]))
    print("%d of %d modelled wins are wins by the clock" % (agreed, len(wins)))
    sys.stdout.flush()
    return agreed < 0.9 * len(wins)


def measure(out):
    doc = json.load(open(os.path.join(out, "cpu.json")))
    print("== modelled, compiled and run")
    bad = run_mains(os.path.join(out, "cpu"))
    bad += measure_wins(out, doc)
    return bad != 0


def cuda(out, args):
    copy(os.path.join(out, "cuda"))
    doc = rewrite(os.path.join(out, "cuda"), ["--evaluator=cuda"] + [a for a in args if a.startswith("-")], 1,
                  [a for a in args if not a.startswith("-")])
    with open(os.path.join(out, "cuda.json"), "w") as f:
        json.dump(doc, f)
    show("measured", doc)
    return run_mains(os.path.join(out, "cuda")) != 0


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "cuda":
        return cuda(os.path.abspath(sys.argv[2]), sys.argv[3:])
    if len(sys.argv) != 3 or sys.argv[1] not in ("model", "measure"):
        sys.exit(__doc__)
    return (model if sys.argv[1] == "model" else measure)(os.path.abspath(sys.argv[2]))


sys.exit(main())
