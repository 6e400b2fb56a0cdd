# The figures of --explain, in the answer: the terms, which of them is the largest,
# and counters that hang together.
import json
import sys

verdict = json.load(sys.stdin)["verdict"]
assert verdict["modelled"] and not verdict["confirmed"] and verdict["model_validated"], verdict
for t in verdict["times"]:
    assert t["n"] == 0 and abs(t["ratio"] - t["base_us"] / t["cand_us"]) < 1e-9
    for which in "base", "cand":
        m = t[which + "_model"]
        terms = m["terms_us"]
        assert m["us"] == t[which + "_us"] and m["bound"] == t[which + "_bound"]
        assert max(terms, key=terms.get) == m["bound"], terms
        assert m["us"] >= terms[m["bound"]] * 0.999, m["us"]
        c = m["counters"]
        assert abs(c["loads"]["sectors"] - c["loads"]["sectors_per_request"] * c["loads"]["requests"]) < 1e-6
        assert c["loads"]["footprint"] <= 32 * c["loads"]["sectors"]
        assert c["blocks_counted"] <= c["blocks"] and sum(c["inst"].values()) > 0
    assert t["cand_model"]["counters"]["inst"]["sfu"] > 0 and "sfu" not in t["base_model"]["counters"]["inst"]
