#!/usr/bin/env python3
"""The whole loop on one kernel: what a candidate costs from the model's word to what
is told of it. kevin-rewrite, the built-in model, the CPU as judge.

  loop.py [--file=test/corpus/gelu_double.cu] [--kernel=NAME] [--turns=N]
          [--trajectories=N] [--evaluator=cpu] [--model=SPEC]

Works on a copy; writes nothing. Prints candidates judged and how they ended, seconds
in all and a candidate (all of the run, from start to diff, over the candidates that
were judged), medians of the parts, and the machine. Exits 1 when nothing was judged.
"""
import argparse
import collections
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))


def machine():
    name = "unknown processor"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    load = os.getloadavg()[0]
    return "%s, %d threads, load %.1f before" % (name, len(os.sched_getaffinity(0)), load)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--file", default=os.path.join(here, "..", "corpus", "gelu_double.cu"))
    ap.add_argument("--kernel", default="*")
    ap.add_argument("--evaluator", default="cpu")
    ap.add_argument("--model", default="builtin")
    ap.add_argument("--turns", type=int, default=4)
    ap.add_argument("--trajectories", type=int, default=4)
    args = ap.parse_args()
    on = machine()
    with tempfile.TemporaryDirectory() as d:
        folder = os.path.join(d, "project")
        shutil.copytree(os.path.dirname(os.path.abspath(args.file)), folder)
        path = os.path.join(folder, os.path.basename(args.file))
        start = time.monotonic()
        p = subprocess.run(["kevin-rewrite", "-n", "--format=json", "--seed=1", "--evaluator=" + args.evaluator,
                            "--model=" + args.model, "--kernel=" + args.kernel, "--turns=%d" % args.turns,
                            "--trajectories=%d" % args.trajectories, path], capture_output=True, text=True)
        wall = time.monotonic() - start
    try:
        kernels = [k for k in json.loads(p.stdout)["kernels"] if "turns" in k]
    except (ValueError, KeyError):
        sys.exit("loop: no result:\n" + p.stderr)
    turns = [t for k in kernels for t in k["turns"]]
    judged = [t for t in turns if t["judge_ms"] >= 1]
    if not judged:
        sys.exit("loop: nothing was judged:\n" + p.stderr)
    for k in kernels:
        best = " %s%.2fx" % ("modelled " if k.get("modelled") else "", k["speedup"]) if "speedup" in k else ""
        print("%s: %s%s" % (k["kernel"], k["outcome"], best))
    ends = collections.Counter("%s at %s" % (t["status"], t["stage"]) for t in turns)
    print("%d turns, %d candidates judged: %s" % (len(turns), len(judged),
                                                  ", ".join("%d %s" % (n, e) for e, n in ends.most_common())))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = spent.ru_utime + spent.ru_stime
    print("%.1f s in all, %.2f s a candidate; processor time %.1f s, %.2f s a candidate" %
          (wall, wall / len(judged), cpu, cpu / len(judged)))
    print("medians: judging %.0f ms, 90th percentile %.0f ms, model %.1f ms" %
          (statistics.median(t["judge_ms"] for t in judged),
           sorted(t["judge_ms"] for t in judged)[int(0.9 * (len(judged) - 1))],
           statistics.median(t["model_ms"] for t in turns)))
    print(on)
    return 0


sys.exit(main())
