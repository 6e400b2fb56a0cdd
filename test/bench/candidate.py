#!/usr/bin/env python3
"""What a candidate costs on a warm worker: screen + compile + check + search
timing of an elementwise kernel on 2^LOG2 floats, through kevin-eval.

  candidate.py [--n=40] [--log2=20] [--confirm=0] [--evaluator=cuda]

Each request is a different right variant. Prints median, 90th percentile and the
worst in ms, what the evaluator spent on which stage, and the device; with --confirm=N
also how long N confirmations of one variant each took.
Exits 1 when a variant was not found right, or the median is above 150 ms on a GPU at
2^20 floats.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = """// kevin: optimize let(n = 1 << %d) data(*[n])
static __global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
void launch(int n, float a, const float *x, float *y) { saxpy<<<(n + 255) / 256, 256>>>(n, a, x, y); }
"""

VARIANT = """// launch: grid(ceil_div(n, %(per)d)) block(%(block)d)
static __global__ void saxpy(int n, float a, const float *x, float *y)
{
  int first = blockIdx.x * %(per)d + threadIdx.x;
#pragma unroll
  for (int k = 0; k < %(steps)d; k++) {
    int i = first + k * %(block)d;
    if (i < n)
      y[i] = a * x[i] + y[i];
  }
}
"""


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=40)
    ap.add_argument("--log2", type=int, default=20)
    ap.add_argument("--confirm", type=int, default=0)
    ap.add_argument("--evaluator", default="cuda")
    args = ap.parse_args()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "saxpy.cu")
        with open(path, "w") as f:
            f.write(SOURCE % args.log2)
        listed = subprocess.run(["kevin-rewrite", "--list", "--format=json", path], capture_output=True, text=True)
        contract = json.loads(listed.stdout)["kernels"][0]["contract"]
        device = subprocess.run(["kevin-rewrite", "--version"], capture_output=True, text=True).stdout
        talk = open(os.path.join(d, "talk"), "w+")
        p = subprocess.Popen(["kevin-eval", "--debug=time", "--evaluator=" + args.evaluator], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=talk, text=True)
        walls, verdicts, first = [], [], 0.0
        for i in range(args.n + 1 + args.confirm):
            block, steps = 32 * (1 + i % 32), 1 + i // 4
            code = VARIANT % {"block": block, "steps": steps, "per": block * steps}
            req = {"id": i, "code": code, "seed": "7"}
            if i == 0:
                req["contract"] = contract
            if i > args.n:
                req["until"] = "confirm"
            start = time.monotonic()
            p.stdin.write(json.dumps(req) + "\n")
            p.stdin.flush()
            answer = json.loads(p.stdout.readline())
            wall = 1e3 * (time.monotonic() - start)
            if answer.get("verdict", {}).get("status") != "ok":
                print("request %d: %s" % (i, json.dumps(answer)[:600]))
                return 1
            if i == 0:
                first = wall
            elif i <= args.n:
                walls.append(wall)
                verdicts.append(answer["verdict"])
        p.stdin.close()
        p.wait()
        talk.seek(0)
        talked = talk.read()
        facts = [float(m) for m in re.findall(r"facts ([0-9.]+) ms", talked)][1:]
        confirmed = re.findall(r"the confirmation of 1: ([0-9]+) ms", talked)
    walls.sort()
    stage = lambda key: statistics.median(v.get(key, 0) for v in verdicts)
    print("%d candidates, 2^%d floats elementwise, warm worker (the first, with the original: %.0f ms)" %
          (len(walls), args.log2, first))
    print("median %.0f ms, p90 %.0f ms, worst %.0f ms" % (statistics.median(walls), walls[int(0.9 * len(walls))], walls[-1]))
    print("medians: worker %.0f ms (compile %.0f, check %.0f, time %.0f), beside it facts %.0f ms" %
          (stage("wall_ms"), stage("compile_ms"), stage("check_ms"), stage("time_ms"), statistics.median(facts)))
    if confirmed:
        print("confirmations of one finalist: %s ms" % ", ".join(confirmed))
    print(device.strip().split("\n")[-1])
    return 1 if args.evaluator == "cuda" and args.log2 == 20 and statistics.median(walls) > 150 else 0


sys.exit(main())
