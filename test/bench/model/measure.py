#!/usr/bin/env python3
"""Times the kernels of fit/ and heldout/ on a GPU, each variant beside its original.

  measure.py [--bin=DIR] [--set=fit|heldout] [--only=REGEX] [--jobs=N] -o measured.jsonl
  measure.py --check [...]      only: is every variant right, on the CPU

Writes a JSON line for each original and variant: set, family, kernel, variant, case,
us, base_us (the original beside it, as they were timed in turn), bytes (of all
sections, those read and written twice). DIR holds kevin-eval and kevin-rewrite;
without --bin they are looked for on PATH. N kernels at a time are opened side by
side, then, with the GPU quiet, their variants are judged and timed one by one.
Exits 1 when something was not judged right; the rest is written all the same.
"""
import argparse
import os
import shutil
import sys

import kernels


def programs(folder):
    if folder:
        return os.path.abspath(folder)
    found = shutil.which("kevin-eval")
    if not found:
        sys.exit("measure.py: kevin-eval is not on PATH; say --bin=DIR")
    return os.path.dirname(found)


def options(doc):
    ap = argparse.ArgumentParser(description=doc.split("\n")[0], epilog=doc, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--bin", help="folder of kevin-eval and kevin-rewrite")
    ap.add_argument("--set", choices=kernels.SETS, action="append")
    ap.add_argument("--only", help="regular expression of kernels' names")
    ap.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 1) // 2)))
    ap.add_argument("-o", "--output", default="-")
    return ap


def check(todo, folder, jobs):
    progress, n = kernels.Progress(len(todo)), 0
    for k, result, why in kernels.each(todo, lambda k: kernels.ask(k, "cpu", folder, "check"), jobs):
        bad = [why] if why else []
        for variant, a in result[1] if result else []:
            n += 1
            reason = kernels.refusal(a)
            if reason:
                bad.append("%s/%s %s: %s" % (k.set, k.name, variant, reason))
        progress.done(k, bad)
    print("%d variants of %d kernels judged, %d failures" % (n, len(todo), len(progress.bad)))
    return progress.end("measure.py")


def opened(k, folder):
    """A session whose worker has the original compiled, run and kept."""
    s = kernels.Session(k, "cuda", folder)
    try:
        answer = s.ask(*k.variants[0], "check")
        if "error" in answer:
            raise ValueError(answer["error"])
    except Exception:
        s.close()
        raise
    return s


def timed(s):
    return kernels.rows(s.kernel, s.contract, [(v, s.ask(v, path, "time")) for v, path in s.kernel.variants])


def measure(todo, folder, jobs, output):
    progress, lines = kernels.Progress(len(todo)), kernels.Lines(output)
    for first in range(0, len(todo), jobs):
        sessions = []
        for k, s, why in list(kernels.each(todo[first:first + jobs], lambda k: opened(k, folder), jobs)):
            if why:
                progress.done(k, [why])
            else:
                sessions.append(s)
        for s in sorted(sessions, key=lambda s: todo.index(s.kernel)):
            try:
                rows, bad = timed(s)
                lines.write(rows)
            except Exception as e:
                bad = ["%s/%s: %s" % (s.kernel.set, s.kernel.name, e)]
            finally:
                s.close()
            progress.done(s.kernel, bad)
    return progress.end("measure.py")


def main():
    ap = options(__doc__)
    ap.add_argument("--check", action="store_true", help="on the CPU, nothing is timed")
    args = ap.parse_args()
    folder = programs(args.bin)
    todo = kernels.find(args.set or kernels.SETS, args.only)
    if not todo:
        sys.exit("measure.py: no such kernel")
    if args.check:
        return check(todo, folder, args.jobs)
    return measure(todo, folder, args.jobs, args.output)


if __name__ == "__main__":
    sys.exit(main())
