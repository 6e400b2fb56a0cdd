#!/usr/bin/env python3
"""Models the kernels of fit/ and heldout/ on the CPU, as measure.py times them on a GPU.

  model.py [--bin=DIR] [--set=fit|heldout] [--only=REGEX] [--jobs=N] -o modelled.jsonl

Writes measure.py's lines with `modelled_us` and `bound` (the term that limits) in the
place of us and base_us. Exits 1 when a kernel has no modelled time; the rest is written.
"""
import sys

import kernels
import measure


def main():
    args = measure.options(__doc__).parse_args()
    folder = measure.programs(args.bin)
    todo = kernels.find(args.set or kernels.SETS, args.only)
    progress, lines = kernels.Progress(len(todo)), {}
    for k, result, why in kernels.each(todo, lambda k: kernels.ask(k, "cpu", folder), args.jobs):
        bad = [why] if why else []
        if result:
            lines[k], bad = kernels.rows(k, *result)
            for row in lines[k]:
                row["modelled_us"] = row.pop("us")
                del row["base_us"]
        progress.done(k, bad)
    kernels.write(args.output, todo, lines)
    return progress.end("model.py")


if __name__ == "__main__":
    sys.exit(main())
