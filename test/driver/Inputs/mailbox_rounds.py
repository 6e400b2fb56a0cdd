"""Plays beam_golden.py's search through a mailbox, round after round.

  mailbox_rounds.py FOLDER INPUTS COMMAND...

Each round answers some of the prompts that wait, in random order, and says that the
original takes another time, which must change no prompt that was sent before.
"""
import glob
import json
import os
import random
import re
import subprocess
import sys

folder, inputs = sys.argv[1:3]
source = open(inputs + "/beam_golden.py").read().split("\nif sys.argv")[0]
golden = {}
exec(compile(source, "beam_golden.py", "exec"), golden)
script = json.load(open(folder + "/script.json"))
replies = dict(zip(golden["ORDER"], [s["reply"] for s in script]))
verdicts = json.load(open(folder + "/verdicts.json"))
own = [at for at in golden["ORDER"] if golden["SPEED"][at] != golden["SAME"]]
for at, v in zip(own, verdicts):
    v["match"] = "t%d_%d =" % at
json.dump(verdicts, open(folder + "/by-code.json", "w"))
box = folder + "/box"
command = sys.argv[3:] + ["--verdicts=%s/by-code.json" % folder, "--trajectories=4", "--turns=4",
                          "--beam-every=2", "--beam-keep=2", "--model=mailbox:" + box,
                          "--store=%s/store.sqlite" % folder]
rng = random.Random(5)
first = None  # what every prompt begins with
texts = {}    # file -> its bytes
judged = 0
for number in range(100):
    run = subprocess.run(command + ["--case-us=%d" % (10 + number)], capture_output=True, text=True)
    if run.returncode:
        sys.exit("round %d: %s" % (number, run.stderr))
    judged += len(re.findall(r"^judge ", run.stdout, re.M))
    for path in glob.glob(box + "/*.prompt.md"):
        text = open(path, newline="").read()
        if texts.setdefault(path, text) != text:
            sys.exit("%s was written anew" % path)
        at = tuple(map(int, re.match(r"scale-(\d+)-(\d+)-", os.path.basename(path)).groups()))
        want = golden["prompt"](at, inputs)
        if "original: 10 us" not in text:
            sys.exit("%s: the original's time is not that of the first run" % path)
        if text.replace(" (original: 10 us)", "") != want:
            sys.exit("%s is\n%s\nand should be\n%s" % (path, text, want))
    waiting = [p for p in texts if not os.path.exists(p.replace(".prompt.", ".reply."))]
    said = re.search(r"^end: (\w+), (\d+) calls, (\d+) turns(?:, (\d+) waiting)?(.*)$", run.stdout,
                     re.M)
    if said.group(1) == "done":
        break
    if int(said.group(4)) != len(waiting) or not waiting:
        sys.exit("round %d says %s, and %d wait" % (number, said.group(0), len(waiting)))
    for path in rng.sample(waiting, rng.randrange(1, len(waiting) + 1)):
        at = tuple(map(int, re.match(r"scale-(\d+)-(\d+)-", os.path.basename(path)).groups()))
        with open(path.replace(".prompt.", ".reply."), "w") as f:
            f.write(replies[at])
if said.group(1) != "done" or len(texts) != 16 or said.group(5) != ", finalists 3.3, 1.3, 2.4":
    sys.exit("after %d rounds: %s, %d prompts" % (number + 1, said.group(0), len(texts)))
if judged != len(own):
    sys.exit("%d judgements where %d variants are" % (judged, len(own)))
print("%d rounds, 16 prompts, %d judgements" % (number + 1, judged))
