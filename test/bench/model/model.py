#!/usr/bin/env python3
"""Models the kernels of fit/ and heldout/ on the CPU, as measure.py times them on a GPU.

  model.py [--bin=DIR] [--set=fit|heldout] [--only=REGEX] [--jobs=N] [--gpu=NAME] -o modelled.jsonl

Writes measure.py's lines with, in the place of us and base_us, `modelled_us`, `bound`
(the term that limits) and `model` (what was counted, and each term). NAME is the GPU
that kevin-eval models, of those that it knows. Exits 1 when a kernel has no modelled
time; the rest is written.
"""
import sys

import kernels
import measure


def main():
    ap = measure.options(__doc__)
    ap.add_argument("--gpu", default="NVIDIA H200")
    args = ap.parse_args()
    folder = measure.programs(args.bin)
    todo = kernels.find(args.set or kernels.SETS, args.only)
    if not todo:
        sys.exit("model.py: no such kernel")
    progress, lines = kernels.Progress(len(todo)), kernels.Lines(args.output)

    def work(k):
        return kernels.ask(k, "cpu", folder, "time", ["--gpu=" + args.gpu])

    for k, result, why in kernels.each(todo, work, args.jobs):
        bad = [why] if why else []
        if result:
            rows, bad = kernels.rows(k, *result)
            for row in rows:
                row["modelled_us"] = row.pop("us")
                del row["base_us"]
            lines.write(rows)
        progress.done(k, bad)
    return progress.end("model.py")


if __name__ == "__main__":
    sys.exit(main())
