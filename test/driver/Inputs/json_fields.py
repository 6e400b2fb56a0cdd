"""json_fields.py MODE FILE: FILE holds one JSON object with the fields that
docs/json.md gives for that mode, and nothing that it does not name; it is as
docs/results.schema.json says."""
import json
import os
import sys

import json_schema

KERNEL = {
    "list": ({"file", "line", "column", "kernel", "signature", "state", "byteOffset", "byteLength", "launches"},
             {"why", "contract"}),
    "check": ({"file", "line", "kernel", "state"}, {"why"}),
    "run": ({"file", "line", "kernel", "signature", "outcome"},
            {"why", "backend", "device", "arch", "confirmed", "modelled", "validated", "gpu", "speedup", "lo", "hi", "cases", "winner", "calls",
             "tokens_in", "tokens_out", "turns", "ended", "ended_why"}),
}
TURN = ({"trajectory", "turn", "model", "stage", "status", "log", "told", "note", "code", "summary", "score", "model_ms", "judge_ms"},
        {"launch", "parent", "modelled", "validated", "gpu", "speedup", "lo", "hi", "cases"})


def fields(what, obj, wanted):
    must, may = wanted
    if not must <= set(obj) or not set(obj) <= must | may:
        sys.exit("%s: missing %s, unknown %s" % (what, sorted(must - set(obj)), sorted(set(obj) - must - may)))


mode, path = sys.argv[1:]
with open(path, "rb") as f:
    doc = json.loads(f.read())
if doc["schema"] != 1 or doc["tool"] != "kevin-rewrite 0.1.0" or doc["mode"] != mode:
    sys.exit("head: %s" % {k: doc.get(k) for k in ("schema", "tool", "mode")})
wrong = json_schema.validate(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/results.schema.json"), doc)
if wrong:
    sys.exit("\n".join(wrong))
kind = mode if mode in KERNEL else "run"
fields("document", doc, ({"schema", "tool", "mode", "kernels"} | ({"calls", "spent"} if kind == "run" else set()), set()))
if kind == "run":
    fields("spent", doc["spent"], ({"calls", "tokens_in", "tokens_out", "estimated", "seconds"}, set()))
for k in doc["kernels"]:
    fields(k["kernel"], k, KERNEL[kind])
    for t in k.get("turns", []):
        fields("turn", t, TURN)
print(" ".join(sorted(k.get("outcome") or k["state"] for k in doc["kernels"])))
