#!/usr/bin/env python3
"""Holds modelled times against measured ones.

  compare.py [--set=heldout] [--quiet] modelled.jsonl measured.jsonl

Prints a table and, over the kernels of one set:
  pairs of one kernel   two variants of it (its original is one of them)
  pairs of a family     any two variants of its kernels, by time
  by throughput         the same, by bytes of all sections per microsecond
                        (for variants of one kernel that is the order of times)
  |ln ratio|            of modelled and measured time: median and 90th percentile
                        (the smallest that nine tenths do not exceed)
  Spearman              rank correlation of modelled and measured throughput

A pair counts where what is compared differs by 15 % when measured (the larger is
at least 1.15 of the smaller); it is right when the model has the two in the same
order, and not when it has them equal. Exits 1 when fewer than 95 % of the pairs of
one kernel or of the pairs of a family are right, the median is above 0.20, the
90th percentile above 0.5, or anything measured has no modelled time.
"""
import argparse
import itertools
import json
import math
import sys

APART = 1.15
RIGHT, MEDIAN, P90 = 0.95, 0.20, 0.5


def read(path, key):
    """Lines of a file by (set, kernel, variant); key must be a positive number."""
    rows = {}
    with open(path) as f:
        for n, line in enumerate(f, 1):
            if not line.strip():
                continue
            row = json.loads(line)
            at = (row["set"], row["kernel"], row["variant"])
            if not isinstance(row.get(key), (int, float)) or not 0 < row[key] < math.inf:
                raise ValueError("%s:%d: `%s` is no positive number" % (path, n, key))
            if at in rows:
                raise ValueError("%s:%d: %s is there twice" % (path, n, "/".join(at)))
            rows[at] = row
    return rows


def join(modelled, measured, only):
    """Rows with both times, and the names of those measured without a modelled one."""
    both, missing = [], []
    for at, row in measured.items():
        if only and at[0] != only:
            continue
        if at not in modelled:
            missing.append("/".join(at))
            continue
        both.append(dict(row, modelled_us=modelled[at]["modelled_us"], bound=modelled[at].get("bound") or "?"))
    return both, missing


def pairs(rows, group, by_throughput=False):
    """(right, of, the wrong ones) over pairs of rows with equal group(row)."""
    def figures(row):
        scale = row["bytes"] if by_throughput else 1.0
        return scale / row["us"], scale / row["modelled_us"]
    right, wrong = 0, []
    for a, b in itertools.combinations(rows, 2):
        if group(a) != group(b):
            continue
        (ma, pa), (mb, pb) = figures(a), figures(b)
        if max(ma, mb) < APART * min(ma, mb):
            continue
        if (pa - pb) * (ma - mb) > 0:
            right += 1
        else:
            wrong.append((a, b))
    return right, right + len(wrong), wrong


def median(values):
    v = sorted(values)
    n = len(v)
    return v[n // 2] if n % 2 else 0.5 * (v[n // 2 - 1] + v[n // 2])


def percentile(values, p):
    v = sorted(values)
    return v[max(0, math.ceil(p * len(v)) - 1)]


def ranks(values):
    """From 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            out[order[k]] = 0.5 * (i + j) + 1.0
        i = j + 1
    return out


def spearman(x, y):
    a, b = ranks(x), ranks(y)
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    top = sum((p - ma) * (q - mb) for p, q in zip(a, b))
    below = math.sqrt(sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b))
    return top / below if below else math.nan


def share(right, of):
    return "%d of %d (%.1f %%)" % (right, of, 100.0 * right / of) if of else "none to compare"


def report(rows, missing, quiet):
    """Prints; returns the sentences of what is outside the bounds."""
    bad = ["no modelled time: " + m for m in missing]
    if not rows:
        return bad + ["nothing to compare"]
    rows.sort(key=lambda r: (r["family"], r["kernel"], r["variant"] != "original", r["variant"]))
    log = [abs(math.log(r["modelled_us"] / r["us"])) for r in rows]
    if not quiet:
        print("%-12s %-18s %-9s %10s %10s %6s  %s" % ("family", "kernel", "variant", "modelled", "measured", "ratio",
                                                          "bound"))
        for r in rows:
            print("%-12s %-18s %-9s %10.2f %10.2f %6.2f  %s" % (r["family"], r["kernel"], r["variant"], r["modelled_us"],
                                                               r["us"], r["modelled_us"] / r["us"], r["bound"]))
    one = pairs(rows, lambda r: r["kernel"])
    family = pairs(rows, lambda r: r["family"])
    through = pairs(rows, lambda r: r["family"], True)
    for a, b in one[2]:
        print("wrong order: %s %s %.2f us (modelled %.2f), %s %.2f us (modelled %.2f)" %
              (a["kernel"], a["variant"], a["us"], a["modelled_us"], b["variant"], b["us"], b["modelled_us"]))
    print("%d variants of %d kernels in %d families" % (len(rows), len({r["kernel"] for r in rows}),
                                                       len({r["family"] for r in rows})))
    print("pairs of one kernel  " + share(*one[:2]))
    print("pairs of a family    " + share(*family[:2]))
    print("  by throughput      " + share(*through[:2]))
    print("|ln ratio|           median %.3f, 90th percentile %.3f" % (median(log), percentile(log, 0.9)))
    print("Spearman             %.3f of throughput" % spearman([r["bytes"] / r["us"] for r in rows],
                                                               [r["bytes"] / r["modelled_us"] for r in rows]))
    for name, (right, of, _) in (("pairs of one kernel", one), ("pairs of a family", family)):
        if right < RIGHT * of:
            bad.append("%s: %s are ranked right, below %g %%" % (name, share(right, of), 100 * RIGHT))
    if median(log) > MEDIAN:
        bad.append("the median |ln ratio| is %.3f, above %g" % (median(log), MEDIAN))
    if percentile(log, 0.9) > P90:
        bad.append("the 90th percentile of |ln ratio| is %.3f, above %g" % (percentile(log, 0.9), P90))
    return bad


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__,
                                 formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--set", default="heldout", help="heldout, fit, or all")
    ap.add_argument("--quiet", action="store_true", help="without the table")
    ap.add_argument("modelled")
    ap.add_argument("measured")
    args = ap.parse_args(argv)
    try:
        rows, missing = join(read(args.modelled, "modelled_us"), read(args.measured, "us"),
                             None if args.set == "all" else args.set)
    except (OSError, ValueError, KeyError) as e:
        print("compare.py: %s" % e, file=sys.stderr)
        return 2
    bad = report(rows, missing, args.quiet)
    for b in bad:
        print("compare.py: " + b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
