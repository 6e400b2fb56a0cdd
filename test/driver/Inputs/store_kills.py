"""Kills a search at many moments and goes on with it until it is done.

  store_kills.py FOLDER KILLS COMMAND...

COMMAND is refine_tool with contract and verdicts. The model is a program that
writes down what it is asked and what came of it. Afterwards: the result is that of
a search nobody killed, no question whose answer was kept was asked again, and the
prompts of each question were the same to the byte.
"""
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time

folder, kills = sys.argv[1], int(sys.argv[2])
T, K = 16, 8
os.makedirs(folder, exist_ok=True)
rng = random.Random(20)
verdicts = []
for t in range(1, T + 1):
    for k in range(1, K + 1):
        with open("%s/reply-%d-%d" % (folder, t, k), "w") as f:
            # Some are the same code as others', some are no code at all.
            name = "t%d_k%d" % ((t, k) if rng.random() < 0.8 else (1, 1))
            f.write("No code.\n" if rng.random() < 0.1 else
                    "```cuda\nint %s_;\n```\nStep %d of %d.\n" % (name, k, t))
        ok = rng.random() < 0.7
        verdicts.append({"match": "int t%d_k%d_;" % (t, k), "stage": "time" if ok else "check",
                         "status": "ok" if ok else "wrong", "hash": "%d.%d" % (t, k),
                         "speedup": 0.5 + rng.random() if ok else 0, "lo": 0, "hi": 9})
json.dump(verdicts, open(folder + "/verdicts.json", "w"))
model = folder + "/model"
with open(model, "w") as f:
    f.write("""#!/bin/sh
at=$KEVIN_TRAJECTORY-$KEVIN_TURN
echo $at >> "$1/asked"
cat > "$1/prompt.$$"
if [ -f "$1/prompt-$at" ]; then cmp "$1/prompt.$$" "$1/prompt-$at" || echo $at >> "$1/differ"; fi
mv "$1/prompt.$$" "$1/prompt-$at"
cat "$1/reply-$at"
""")
os.chmod(model, 0o755)
command = sys.argv[3:] + ["--verdicts=" + folder + "/verdicts.json", "--trajectories=%d" % T,
                          "--turns=%d" % K, "--beam-every=4", "--beam-keep=4",
                          "--model=exec:%s '%s'" % (model, folder)]


def asked():
    try:
        return open(folder + "/asked").read().split()
    except FileNotFoundError:
        return []


def result(text):
    return re.search(r"^end: (\w+), \d+ calls, (\d+ turns.*)$", text, re.M).groups()


def kept(store):
    """What has an answer, as another reader sees it."""
    if not os.path.exists(store):
        return set()
    db = sqlite3.connect(store, timeout=60)
    try:
        return {"%d-%d" % row for row in
                db.execute("SELECT trajectory, turn FROM turn WHERE reply IS NOT NULL")}
    except sqlite3.OperationalError as e:
        if "no such table" in str(e):
            return set()
        raise
    finally:
        db.close()


store = folder + "/store.sqlite"
whole = subprocess.run(command + ["--store=%s/whole.sqlite" % folder], capture_output=True,
                       text=True, timeout=300)
want = result(whole.stdout)
if len(asked()) != T * K:
    sys.exit("a whole search asks %d times, not %d" % (T * K, len(asked())))
os.unlink(folder + "/asked")
done = 0
for kill in range(kills):
    before = kept(store)
    count = len(asked())
    # A moment within about a thirtieth of what is left, in questions and in time.
    until = count + rng.randrange(1, 2 * T * K // kills + 1)
    process = subprocess.Popen(command + ["--store=" + store], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(asked()) < until:
        time.sleep(0.0005)
    time.sleep(rng.random() * 0.02)
    process.kill()
    process.communicate()
    again = before & set(asked()[count:])
    if again:
        sys.exit("asked again although the answer was there: %s" % sorted(again))
    done += process.returncode == -9
before, count = kept(store), len(asked())
last = subprocess.run(command + ["--store=" + store], capture_output=True, text=True, timeout=300)
again = before & set(asked()[count:])
if again:
    sys.exit("asked again although the answer was there: %s" % sorted(again))
if result(last.stdout) != want:
    sys.exit("the search ended as %s and should have as %s\n%s"
             % (result(last.stdout), want, last.stderr))
if os.path.exists(folder + "/differ"):
    sys.exit("prompts differ: %s" % open(folder + "/differ").read())
# Once more: everything is there.
count = len(asked())
more = subprocess.run(command + ["--store=" + store], capture_output=True, text=True, timeout=300)
if len(asked()) != count or result(more.stdout) != want or "\njudge " in more.stdout:
    sys.exit("a finished search asked or judged again")
print("killed %d of %d times, %d questions beyond %d, the same winner: %s"
      % (done, kills, len(asked()) - T * K, T * K, want[1]))
sys.exit(0 if done >= kills // 2 else "too few of them were killed in time")
