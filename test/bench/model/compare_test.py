#!/usr/bin/env python3
"""compare.py and kernels.py on made-up figures that were worked by hand."""
import contextlib
import io
import json
import math
import os
import tempfile
import unittest

import compare
import kernels


def row(kernel, variant, us, modelled, size=1000, family="f"):
    return {"set": "heldout", "family": family, "kernel": kernel, "variant": variant, "case": "", "us": us, "base_us": us,
            "bytes": size, "modelled_us": modelled, "bound": "dram"}


class Pairs(unittest.TestCase):
    # Measured 10, 11, 20 and 100; modelled 12, 10, 30 and 25.
    rows = [row("k", "original", 10.0, 12.0), row("k", "v1", 11.0, 10.0), row("k", "v2", 20.0, 30.0),
            row("m", "original", 100.0, 25.0, size=2000), row("o", "original", 1.0, 1.0, family="g")]

    def test_of_one_kernel(self):
        # 10:11 is within 15 %; 10:20 and 11:20 are right.
        right, of, wrong = compare.pairs(self.rows, lambda r: r["kernel"])
        self.assertEqual((right, of, wrong), (2, 2, []))

    def test_of_a_family(self):
        # And 100 against 10 (12:25), 11 (10:25) right, against 20 (30:25) wrong; `o` is of another family.
        right, of, wrong = compare.pairs(self.rows, lambda r: r["family"])
        self.assertEqual((right, of), (4, 5))
        self.assertEqual([(a["variant"], b["kernel"]) for a, b in wrong], [("v2", "m")])

    def test_by_throughput(self):
        # Measured 100, 90.9, 50 and 20; modelled 83.3, 100, 33.3 and 80: `m` beats v2 only in the model.
        right, of, wrong = compare.pairs(self.rows, lambda r: r["family"], True)
        self.assertEqual((right, of), (4, 5))
        self.assertEqual([(a["variant"], b["kernel"]) for a, b in wrong], [("v2", "m")])

    def test_exactly_fifteen_per_cent_counts(self):
        self.assertEqual(compare.pairs([row("k", "a", 100.0, 1.0), row("k", "b", 116.0, 2.0)], lambda r: 0)[:2], (1, 1))
        self.assertEqual(compare.pairs([row("k", "a", 100.0, 1.0), row("k", "b", 114.0, 2.0)], lambda r: 0)[:2], (0, 0))

    def test_equal_in_the_model_is_wrong(self):
        self.assertEqual(compare.pairs([row("k", "a", 1.0, 3.0), row("k", "b", 2.0, 3.0)], lambda r: 0)[:2], (0, 1))


class Figures(unittest.TestCase):
    def test_median(self):
        self.assertEqual(compare.median([3.0, 1.0, 2.0]), 2.0)
        self.assertEqual(compare.median([4.0, 1.0, 2.0, 3.0]), 2.5)

    def test_percentile(self):
        self.assertEqual(compare.percentile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], 0.9), 9)
        self.assertEqual(compare.percentile([1, 2, 3], 0.9), 3)
        self.assertEqual(compare.percentile(list(range(1, 12)), 0.9), 10)  # 9.9 of 11 are covered by ten

    def test_ranks_share(self):
        self.assertEqual(compare.ranks([5.0, 1.0, 5.0, 2.0]), [3.5, 1.0, 3.5, 2.0])

    def test_spearman(self):
        self.assertAlmostEqual(compare.spearman([1, 2, 3, 4], [10, 20, 30, 40]), 1.0)
        self.assertAlmostEqual(compare.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1.0)
        # d = 0, 1, -1, 0: 1 - 6 * 2 / (4 * 15)
        self.assertAlmostEqual(compare.spearman([1, 2, 3, 4], [1, 3, 2, 4]), 0.8)


class Whole(unittest.TestCase):
    def run_on(self, rows, drop=()):
        with tempfile.TemporaryDirectory() as d:
            model, gpu = os.path.join(d, "model"), os.path.join(d, "gpu")
            with open(model, "w") as f:
                for r in rows:
                    if r["variant"] not in drop:
                        f.write(json.dumps({k: v for k, v in r.items() if k not in ("us", "base_us")}) + "\n")
            with open(gpu, "w") as f:
                for r in rows:
                    f.write(json.dumps({k: v for k, v in r.items() if k not in ("modelled_us", "bound")}) + "\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                rc = compare.main([model, gpu])
            return rc, out.getvalue()

    def test_within_the_bounds(self):
        rc, text = self.run_on([row("k", "original", 10.0, 10.0), row("k", "v1", 20.0, 20.0 * math.exp(0.15))])
        self.assertEqual(rc, 0, text)
        self.assertIn("pairs of one kernel  1 of 1 (100.0 %)", text)
        self.assertIn("median 0.075, 90th percentile 0.150", text)

    def test_wrong_order(self):
        rc, text = self.run_on([row("k", "original", 10.0, 11.9), row("k", "v1", 11.6, 11.6)])
        self.assertEqual(rc, 1)
        self.assertIn("wrong order: k original 10.00 us (modelled 11.90), v1 11.60 us (modelled 11.60)", text)
        self.assertIn("pairs of one kernel: 0 of 1 (0.0 %) are ranked right, below 95 %", text)

    def test_median_outside(self):
        rc, text = self.run_on([row("k", "original", 10.0, 12.5)])  # ln 1.25 = 0.223
        self.assertEqual(rc, 1)
        self.assertIn("the median |ln ratio| is 0.223, above 0.2", text)
        self.assertNotIn("percentile of", text)

    def test_percentile_outside(self):
        rows = [row("k%d" % i, "original", 10.0 + i, 10.0 + i) for i in range(8)]
        rows += [row("x", "original", 100.0, 170.0), row("y", "original", 400.0, 700.0)]  # ln 1.7 = 0.531
        rc, text = self.run_on(rows)
        self.assertEqual(rc, 1)
        self.assertIn("the 90th percentile of |ln ratio| is 0.531, above 0.5", text)
        self.assertNotIn("the median |", text)

    def test_what_is_not_modelled_is_no_success(self):
        rc, text = self.run_on([row("k", "original", 10.0, 10.0), row("k", "v1", 20.0, 20.0)], drop=("v1",))
        self.assertEqual(rc, 1)
        self.assertIn("no modelled time: heldout/k/v1", text)

    def test_bad_lines(self):
        rc, text = self.run_on([row("k", "original", 10.0, 0.0)])
        self.assertEqual(rc, 2)
        self.assertIn("`modelled_us` is no positive number", text)
        rc, text = self.run_on([row("k", "original", 1.0, 1.0)] * 2)
        self.assertEqual(rc, 2)
        self.assertIn("heldout/k/original is there twice", text)


class Kernels(unittest.TestCase):
    def test_sets_are_what_they_say(self):
        fit, held = kernels.find(["fit"]), kernels.find(["heldout"])
        self.assertGreaterEqual(len(fit), 16)
        self.assertGreaterEqual(len(held), 27)
        families = {}
        for k in held:
            families.setdefault(k.family, []).append(k.name)
        self.assertEqual(sorted(families), ["elementwise", "gather", "histogram", "matmul", "reduction", "scan", "softmax",
                                            "stencil", "transpose"])
        for names in families.values():
            self.assertGreaterEqual(len(names), 3)
        for k in fit + held:
            self.assertTrue(2 <= len(k.variants) <= 4, k.name)
        self.assertFalse({k.name for k in fit} & {k.name for k in held})

    def test_bytes(self):
        # int n = 1 << 4, m = 3 * n; in x[n] floats (64), inout y[m] doubles (2 * 384), out z (8)
        c = {"types": [{"size": 4}, {"size": 8}],
             "params": [{"name": "x", "leaves": [{"path": "", "kind": "ptr", "type": 0}]},
                        {"name": "y", "leaves": [{"path": "", "kind": "ptr", "type": 1}]},
                        {"name": "z", "leaves": [{"path": "", "kind": "ptr", "type": 1}]},
                        {"name": "n", "leaves": [{"path": "", "kind": "i32"}]}],
             "sections": [{"path": "x", "role": "in", "dims": ["n"]}, {"path": "y", "role": "inout", "dims": ["m"]},
                          {"path": "z", "role": "out", "dims": ["ceil_div(n, 16)"]}],
             "cases": [{"bindings": [{"path": "n", "expr": "1 << 4"}, {"path": "m", "expr": "3 * n"},
                                     {"path": "rate", "expr": "0.01"}]}]}
        self.assertEqual(kernels.case_bytes(c), 64 + 768 + 8)


if __name__ == "__main__":
    unittest.main()
