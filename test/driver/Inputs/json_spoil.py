"""json_spoil.py FILE CODE: the document in FILE after CODE, in which it is `d` and its first kernel `k`."""
import json
import sys

with open(sys.argv[1]) as f:
    d = json.load(f)
exec(sys.argv[2], {"d": d, "k": d["kernels"][0]})
print(json.dumps(d))
