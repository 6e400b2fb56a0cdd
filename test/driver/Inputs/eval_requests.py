"""eval_requests.py LIST.json DIR [--timed]: requests for kevin-eval on the kernel of LIST."""
import json
import os
import sys

with open(sys.argv[1]) as f:
    contract = json.load(f)["kernels"][0]["contract"]


def reply(n):
    with open(os.path.join(sys.argv[2], "scale-reply-%d.md" % n)) as f:
        return f.read()


def say(**request):
    print(json.dumps(request))


right = {"reply": reply(4)}
code = """static __global__ void scale(int n, float a, const float *x, float *y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = x[i] * a;
}
"""
if "--timed" in sys.argv:
    say(id=1, contract=contract, seed=7, **right)
    say(id=2, code=code)
    say(id=3, until="confirm", **right)
    say(id=4, until="time", contract=contract, seed=8, **right)
    say(id=5, until="check", **right)
else:
    say(id=1, **right)
    say(id=2, contract=contract, **right)
    print("{not json")
    say(id="four", code=code)
    say(id=[5, "a"], reply=reply(3))
    say(id=6, reply=reply(1))
    say(id=7, code="#include <cstdio>\n" + code)
    say(id=8)
    say(id=9, contract_file="missing.json", **right)
    say(id=10, contract=contract, until="check", seed="18446744073709551615", **right)
    say(id=11, until="confirm", **right)
    say(id=12, contract={"kernel": "scale"}, **right)
    say(id=13, seed="-1", contract=contract, **right)
    say(id=14, until="later", **right)
    say(id=15, contract=contract, **right)
