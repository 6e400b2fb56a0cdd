#!/usr/bin/env python3
"""What --check costs, as in a hook over a whole project.

  check.py BIN [--n=200] [--runs=20] [--file=saxpy.cu] [--names-only]

Three projects of N files: every file marked, rewritten and fresh but for one that
was edited since; the same with none edited; N files without a marker. Prints best
and median of the runs in ms, and the processor time of one, which other work on
the machine does not stretch. Exits 1 when the edited one was not named, alone, or
(without --names-only) when a median is above 50 ms. The file is rewritten once,
through the double of the worker; the others are copies of it.
"""
import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = os.path.join(HERE, "..", "driver", "Inputs")


def check(program, names, want, runs):
    walls = []
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(runs):
        start = time.perf_counter()
        p = subprocess.run([program, "--check", *names], capture_output=True, text=True)
        walls.append(1e3 * (time.perf_counter() - start))
        if p.returncode != want:
            sys.exit("--check: exit status %d instead of %d\n%s" % (p.returncode, want, p.stderr))
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return p.stderr, walls, 1e3 * (end.ru_utime + end.ru_stime - cpu.ru_utime - cpu.ru_stime) / runs


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("bin")
    ap.add_argument("--n", type=int, default=200)
    ap.add_argument("--runs", type=int, default=20)
    ap.add_argument("--file", default=os.path.join(INPUTS, "saxpy.cu"))
    ap.add_argument("--names-only", action="store_true")
    args = ap.parse_args()
    args.bin = os.path.abspath(args.bin)
    args.file = os.path.abspath(args.file)
    with tempfile.TemporaryDirectory() as d:
        programs = os.path.join(d, "bin")
        subprocess.run([sys.executable, os.path.join(HERE, "..", "tools", "fake_worker.py"), "install", args.bin,
                        programs, os.path.join(INPUTS, "fast.json")], check=True)
        program = os.path.join(programs, "kevin-rewrite")
        project = os.path.join(d, "p")
        os.makedirs(os.path.join(project, ".kevin"))
        os.chdir(project)
        shutil.copy(args.file, "f000.cu")
        p = subprocess.run([program, "-i", "--allow-dirty", "--cuda-path=none", "--trajectories=1", "--turns=1",
                            "--model=replay:" + os.path.join(INPUTS, "saxpy.jsonl"), "f000.cu"], capture_output=True,
                           text=True)
        if p.returncode or "1 rewritten" not in p.stderr:
            sys.exit("the file was not rewritten:\n" + p.stderr)
        with open(".kevin/ledger") as f:
            head, entry = f.read().splitlines()
        names = ["f%03d.cu" % i for i in range(args.n)]
        for name in names[1:]:
            shutil.copy("f000.cu", name)
        with open(".kevin/ledger", "w") as f:
            f.write("\n".join([head] + [entry.replace("f000.cu", name) for name in names]) + "\n")
        rows = [("%d fresh" % args.n, check(program, names, 0, args.runs))]
        with open(names[args.n // 2], "r+") as f:
            text = f.read().replace("k < 4", "k < 5")
            f.seek(0)
            f.write(text)
        said, walls, cpu = check(program, names, 1, args.runs)
        rows.append(("%d with one stale" % args.n, (said, walls, cpu)))
        errors = [line for line in said.splitlines() if "error:" in line]
        if len(errors) != 1 or not errors[0].startswith(names[args.n // 2] + ":") or "is stale" not in errors[0]:
            sys.exit("the stale one was not named alone:\n" + said)
        os.makedirs(os.path.join(d, "q"))
        os.chdir(os.path.join(d, "q"))
        with open(args.file) as f:
            plain = "".join(line for line in f if "kevin:" not in line)
        for name in names:
            with open(name, "w") as f:
                f.write(plain)
        rows.append(("%d unmarked" % args.n, check(program, names, 0, args.runs)))
        size = os.path.getsize(names[0])
    slow = 0
    for what, (_, walls, cpu) in rows:
        slow += statistics.median(walls) > 50
        if not args.names_only:
            print("%-22s best %5.1f ms, median %5.1f ms of %d runs; %.1f ms of processor time" %
                  (what, min(walls), statistics.median(walls), len(walls), cpu))
    print("the stale one of %d files (of about %d bytes) was named, alone" % (args.n, size))
    return 1 if slow and not args.names_only else 0


sys.exit(main())
