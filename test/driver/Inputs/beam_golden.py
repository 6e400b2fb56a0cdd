"""Four trajectories of four turns with a beam: 2 of 4 go on after two turns.

  beam_golden.py make FOLDER           writes script.json, verdicts.json, and script-at.json,
                                       which is the script for questions in any order
  beam_golden.py check FOLDER INPUTS [at]
                                       compares the prompts sent (FOLDER/sent) with
                                       the policy, and FOLDER/lines.jsonl with
                                       figures worked out by hand

Replies in the order in which they are asked for, with the speed-up each is given;
None is wrong, SAME is the code of turn 2.2 once more. The scores are 0.3 more.

  trajectory   1          2          3          4
  turn 1       1.1        wrong      0.9        1.6
  turn 2       wrong      1.6        1.0        1.2
  best score   1.4        1.9        1.3        1.9

2 and 4 are kept (at equal scores the lower number is the better one); 1 and 3 go on
from 2.2, 2 and 4 from 4.2:

  goes on from 2.2        4.2        2.2        4.2
  turn 3       2.0        wrong      2.2        1.0
  turn 4       1.5        1.9        SAME       wrong
"""
import json
import sys

SAME = "same"
ORDER = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2),
         (1, 3), (1, 4), (2, 3), (2, 4), (3, 3), (3, 4), (4, 3), (4, 4)]
SPEED = {(1, 1): 1.1, (1, 2): None, (2, 1): None, (2, 2): 1.6,
         (3, 1): 0.9, (3, 2): 1.0, (4, 1): 1.6, (4, 2): 1.2,
         (1, 3): 2.0, (1, 4): 1.5, (2, 3): None, (2, 4): 1.9,
         (3, 3): 2.2, (3, 4): SAME, (4, 3): 1.0, (4, 4): None}
PARENT = {(1, 2): (1, 1), (2, 2): (2, 1), (3, 2): (3, 1), (4, 2): (4, 1),
          (1, 3): (2, 2), (2, 3): (4, 2), (3, 3): (2, 2), (4, 3): (4, 2),
          (1, 4): (1, 3), (2, 4): (2, 3), (3, 4): (3, 3), (4, 4): (4, 3)}
# R = s + 0.4 * (mean of R over what follows), from the last turn to the first; for
# 2.2 that is 1.9 + 0.4 * (3.02 + 3.26) / 2, for 4.2 1.5 + 0.4 * (0.88 + 1.3) / 2.
RETURN = {(1, 4): 1.8, (2, 4): 2.2, (3, 4): 1.9, (4, 4): 0,
          (1, 3): 3.02, (2, 3): 0.88, (3, 3): 3.26, (4, 3): 1.3,
          (1, 2): 0, (2, 2): 3.156, (3, 2): 1.3, (4, 2): 1.936,
          (1, 1): 1.4, (2, 1): 1.2624, (3, 1): 1.72, (4, 1): 2.6744}
# First turns: mean 7.0568 / 4 = 1.7642, deviation sqrt(1.21486256 / 4) = 0.551104.
# Copies of 2.2: 3.14 -+ 0.12; copies of 4.2: 1.09 -+ 0.21. All others are alone.
ADVANTAGE = {(1, 1): -0.660855, (2, 1): -0.910536, (3, 1): -0.080202, (4, 1): 1.651594,
             (1, 3): -1, (3, 3): 1, (2, 3): -1, (4, 3): 1}
GROUP = {(1, 1): (1, 1), (2, 1): (1, 1), (3, 1): (1, 1), (4, 1): (1, 1),
         (1, 3): (1, 3), (3, 3): (1, 3), (2, 3): (2, 3), (4, 3): (2, 3)}


def code(at):
    at = (2, 2) if SPEED[at] == SAME else at
    return "static __global__ void scale(int n, float a, const float *x, float *y)\n" \
           "{\n  int t%d_%d = blockIdx.x * blockDim.x + threadIdx.x;\n  if (t%d_%d < n)\n" \
           "    y[t%d_%d] = a * x[t%d_%d];\n}\n" % (at * 4)


def summary(at):
    return "Attempt %d, step %d." % at


def score(at):
    speed = SPEED[at]
    return score((2, 2)) if speed == SAME else 0.3 + speed if speed else 0


def make(folder):
    script = [{"reply": "<think>Never to be seen again.</think>\n```cuda\n%s```\n%s"
               % (code(at), summary(at))} for at in ORDER]
    verdicts = [{"stage": "time", "status": "ok", "speedup": SPEED[at], "hash": str(at),
                 "lo": SPEED[at] - 0.01, "hi": SPEED[at] + 0.01,
                 "times": [{"label": "n = 1", "base_us": 8, "cand_us": 8 / SPEED[at],
                            "ratio": SPEED[at]}]} if SPEED[at] else
                {"stage": "check", "status": "wrong", "told": "y[%d] is wrong" % at[0]}
                for at in ORDER if SPEED[at] != SAME]
    for verdict, at in zip(verdicts, [at for at in ORDER if SPEED[at] != SAME]):
        verdict["match"] = "int t%d_%d " % at
    json.dump(script, open(folder + "/script.json", "w"))
    json.dump([dict(item, at="%d.%d" % at) for item, at in zip(script, ORDER)],
              open(folder + "/script-at.json", "w"))
    json.dump(verdicts, open(folder + "/verdicts.json", "w"))


def told(at):
    if SPEED[at] == SAME:
        return "the same code as in turn 2: " + told((2, 2))
    if not SPEED[at]:
        return "it compiled, but gave wrong results: y[%d] is wrong." % at[0]
    return "it was correct, and %.3gx the original's speed [%.3g, %.3g]: n = 1: 8 us -> " \
        "%.3g us." % (SPEED[at], SPEED[at] - 0.01, SPEED[at] + 0.01, 8 / SPEED[at])


def prompt(at, inputs):
    def part(name):
        return open("%s/golden/%s.txt" % (inputs, name), newline="").read()
    if at[1] == 1:
        return part("base") + part("example") + part("first")
    way, p = [], PARENT[at]
    while p:
        way.insert(0, p)
        p = PARENT.get(p)
    turns = "".join("# Turn %d\n\n```cuda\n%s```\n\nSummary: %s\n\nResult: %s\n\n"
                    % (w[1], code(w), summary(w), told(w)) for w in way)
    return part("base") + turns + part("again-%d" % at[1])


def check(folder, inputs, by_place):
    bad = 0

    def differs(what, at, got, want):
        nonlocal bad
        bad += 1
        print("%s of %d.%d is\n%s\nand should be\n%s" % ((what,) + at + (got, want)))
    for n, at in enumerate(ORDER, 1):
        name = "prompt-%d.%d" % at if by_place else "request-%d" % n
        got = open("%s/sent/%s.txt" % (folder, name), newline="").read()
        if got != prompt(at, inputs):
            differs("the prompt", at, got, prompt(at, inputs))
    lines = [json.loads(line) for line in open(folder + "/lines.jsonl")]
    if by_place:
        lines.sort(key=lambda x: ORDER.index((x["trajectory"], x["turn"])))
    if [(x["trajectory"], x["turn"]) for x in lines] != ORDER:
        sys.exit("the order of the lines is wrong")

    def place(p):
        return p and (p["trajectory"], p["turn"])
    for at, x in zip(ORDER, lines):
        if place(x["parent"]) != PARENT.get(at):
            differs("the parent", at, place(x["parent"]), PARENT.get(at))
        if abs(x["score"] - score(at)) > 1e-9:
            differs("the score", at, x["score"], score(at))
        if abs(x["return"] - RETURN[at]) > 1e-9:
            differs("the return", at, x["return"], RETURN[at])
        if place(x["group"]) != GROUP.get(at, at):
            differs("the group", at, place(x["group"]), GROUP.get(at, at))
        want = ADVANTAGE.get(at)
        if (x["advantage"] is None) != (want is None) or \
                (want is not None and abs(x["advantage"] - want) > 2e-6):
            differs("the advantage", at, x["advantage"], want)
        if x["prompt"] != [{"role": "user", "content": prompt(at, inputs)}]:
            differs("the exported prompt", at, x["prompt"], "that which was sent")
        if "Never to be seen" not in x["completion"][0]["content"]:
            differs("the completion", at, x["completion"], "the reply as it came")
    print("%d prompts and %d lines compared, %d differ" % (len(ORDER), len(lines), bad))
    sys.exit(bad != 0)


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(sys.argv[2], sys.argv[3], sys.argv[4:] == ["at"])
