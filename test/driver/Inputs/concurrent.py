"""What happens when many questions are asked at once.

  concurrent.py FOLDER SERVER.py REFINE_TOOL INPUTS [CASE]
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

folder, server, tool, inputs = sys.argv[1:5]
only = sys.argv[5:]
REPLY = "```cuda\nstatic __global__ void scale(int n, float a, const float *x, float *y)\n" \
    "{\n  int t@AT@ = 0;\n  if (t@AT@ < n)\n    y[t@AT@] = a;\n}\n```\nDone."
GOOD = {"at": "*", "reply": REPLY}
STALL = {"at": "*", "fault": "stall"}
bad = 0


class Run:
    def __init__(self, name, script, options, server_options=(), signal_after=None):
        self.here = os.path.join(folder, name)
        os.makedirs(self.here, exist_ok=True)
        self.name = name
        sent = os.path.join(self.here, "sent")
        with open(self.here + "/script.json", "w") as f:
            json.dump(script, f)
        with open(self.here + "/verdicts.json", "w") as f:
            times = [{"label": "n = 1", "base_us": 1500, "cand_us": 1000, "ratio": 1.5}]
            json.dump([{"stage": "time", "status": "ok", "speedup": 1.5, "match": "int t",
                        "times": times}], f)
        argv = [sys.executable, server, "--script", self.here + "/script.json", "--record", sent,
                "--limit", "50", *server_options, "--"]
        if signal_after:
            argv += ["timeout", "-s", "INT", str(signal_after)]
        argv += [tool, "--model=openai:m", "--base-url=@URL@", "--seed=0",
                 "--contract=" + inputs + "/scale.contract.json",
                 "--verdicts=" + self.here + "/verdicts.json", *options]
        begin = time.time()
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.wall = time.time() - begin
        self.status, self.out = p.returncode, p.stdout
        self.asked = self.read("asked").split()
        self.peak, self.turns = 0, []
        self.never_says("Sanitizer")
        self.peak = int(self.read("peak") or 0)
        self.turns = re.findall(r"^(?:kept )?turn (\d+\.\d+):", self.out, re.M)
        self.kept = re.findall(r"^kept turn (\d+\.\d+):", self.out, re.M)

    def read(self, name):
        try:
            with open(os.path.join(self.here, "sent", name)) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def check(self, what, ok):
        global bad
        if not ok:
            bad += 1
            print("%s: %s\nstatus %d, asked %s, peak %d, turns %s\n%s"
                  % (self.name, what, self.status, self.asked, self.peak, self.turns, self.out))

    def says(self, pattern):
        self.check("it does not say: " + pattern, re.search(pattern, self.out, re.M))

    def never_says(self, pattern):
        self.check("it says: " + pattern, not re.search(pattern, self.out, re.M))


def places(trajectories, turns):
    return sorted("%d.%d" % (i, k) for i in range(1, trajectories + 1) for k in range(1, turns + 1))


def all_at_once():
    # Nobody is answered before all six are there.
    r = Run("all_at_once", [dict(GOOD, gate=6)], ["--trajectories=6", "--turns=2"])
    r.says(r"^end: done, 12 calls, 12 turns")
    r.check("each is asked once", sorted(r.asked) == places(6, 2))
    r.check("six at once, and no more", r.peak == 6)


def jobs():
    r = Run("jobs", [dict(GOOD, delay=0.05)], ["--trajectories=6", "--turns=2", "--jobs=3"])
    r.says(r"^end: done, 12 calls, 12 turns")
    r.check("three at once, and no more", r.peak == 3)
    r = Run("jobs-1", [dict(GOOD, delay=0.02)], ["--trajectories=3", "--turns=2", "--jobs=1"])
    r.check("one by one, each trajectory to its end",
            r.asked == places(3, 2) and r.peak == 1 and r.turns == places(3, 2))


def judged_meanwhile():
    # The reply to 1.1 ends when 2.3 was asked, for which 2.1 and 2.2 were judged.
    r = Run("judged_meanwhile", [dict(GOOD, at="1.1", after="2.3"), GOOD],
            ["--trajectories=2", "--turns=3"])
    r.says(r"^end: done, 6 calls, 6 turns")
    r.check("the second was not held up", r.turns[:2] == ["2.1", "2.2"])


def beam_waits():
    # 1.1 is late, and nobody begins turn 2 before it.
    r = Run("beam_waits", [dict(GOOD, at="1.1", delay=0.3), GOOD],
            ["--trajectories=3", "--turns=2", "--beam-every=1", "--beam-keep=1"])
    r.says(r"^end: done, 6 calls, 6 turns")
    r.check("the beam waits for all", sorted(r.turns[:3]) == places(3, 1) and
            all(a.endswith(".1") for a in r.asked[:3]))


def one_fails():
    r = Run("one_fails", [{"at": "2.1", "fault": "status", "status": 500}, dict(GOOD, delay=0.2)],
            ["--trajectories=4", "--turns=3", "--retries=1"])
    r.check("status", r.status == 3)
    r.says(r"^end: model \(unreachable\), 10 calls, 9 turns")
    r.says(r"^warning: kernel `scale`, turn 1: .* answered 500: .* \(2 tries\); attempt 2 ends here, "
           r"the others go on")
    r.says(r"^why: kernel `scale`, turn 1: .* answered 500")
    r.check("tried twice, the others once",
            sorted(r.asked) == sorted(["2.1", "2.1"] + [p for p in places(4, 3) if p[0] != "2"]))


def server_fails():
    # All fail: three are enough, and the fifth is never asked.
    r = Run("server_fails", [{"at": "*", "fault": "status", "status": 503}],
            ["--trajectories=5", "--turns=3", "--retries=0", "--jobs=1"])
    r.says(r"^end: model \(unreachable\), 1 calls, 0 turns")
    r = Run("server_fails-3", [{"at": "*", "fault": "status", "status": 503}],
            ["--trajectories=9", "--turns=3", "--retries=0", "--jobs=2"])
    r.check("status", r.status == 3)
    r.check("few are asked", 3 <= len(r.asked) <= 4)
    r.says(r"^end: model \(unreachable\), [34] calls, 0 turns")


def key_refused():
    # The others, already asked, still come and are judged; nothing more is asked.
    r = Run("key_refused", [{"at": "1.1", "fault": "status", "status": 401, "gate": 3},
                            dict(GOOD, delay=0.5, gate=3)], ["--trajectories=3", "--turns=3"])
    r.says(r"^end: model \(refused\), 3 calls, 2 turns")
    r.check("nothing more is asked", sorted(r.asked) == places(3, 1))


def retries_hold_up_nobody():
    r = Run("retries_hold_up_nobody",
            [{"at": "1.1", "fault": "status", "status": 429, "retry_after": 1}, dict(GOOD)],
            ["--trajectories=3", "--turns=3", "--retries=1"])
    r.check("the others were done before the second try",
            r.asked[-1] == "1.1" and len(r.asked) == 8 and len(r.turns) == 6)


def max_calls():
    for n in 1, 6, 11:
        r = Run("max_calls-%d" % n, [dict(GOOD, delay=0.02)],
                ["--trajectories=4", "--turns=4", "--max-calls=%d" % n])
        r.says(r"^end: max-calls, %d calls, %d turns" % (n, n))
        r.check("exactly so many", len(r.asked) == n)
        r.check("status", r.status == 0)


def queue():
    # One at a time takes longer than silence may last, but the queue moves.
    r = Run("queue", [dict(GOOD, delay=0.3)],
            ["--trajectories=6", "--turns=1", "--retries=0", "--idle-ms=1000"], ["--slots", "1"])
    r.says(r"^end: done, 6 calls, 6 turns")


def asked_otherwise():
    # All are refused for a field, only one of them is the first to learn.
    r = Run("asked_otherwise", [dict(GOOD, gate=5, plainly=True)],
            ["--trajectories=5", "--turns=1", "--retries=0"])
    r.says(r"^end: done, 5 calls, 5 turns")


def roofline_ends():
    # A variant as fast as the memory (1 MB in 1 ms): what is still asked is broken off.
    r = Run("roofline_ends", [dict(GOOD, at="1.1"), STALL],
            ["--trajectories=4", "--turns=2", "--gbytes-per-s=1"])
    r.says(r"^end: roofline, 4 calls, 1 turns")
    r.check("at once", r.wall < 20)


def interrupted():
    store = os.path.join(folder, "interrupted.sqlite")
    if os.path.exists(store):
        os.unlink(store)
    options = ["--trajectories=4", "--turns=1", "--store=" + store]
    r = Run("interrupted", [dict(GOOD, at="3.1"), STALL], options, signal_after=1.5)
    r.says(r"^end: interrupted, 4 calls, 1 turns")
    r.says(r"^error: kernel `scale`: interrupted")
    r.check("at once", r.wall < 15)
    r = Run("interrupted-again", [GOOD], options)
    r.check("what was answered is not asked again", sorted(r.asked) == ["1.1", "2.1", "4.1"])
    r.check("it was kept", r.kept == ["3.1"])
    r.says(r"^end: done, 3 calls, 4 turns")


def killed():
    # Killed again and again until it ends: what was answered to us is never asked again.
    for step in 1, 3, 7:
        store = os.path.join(folder, "killed-%d.sqlite" % step)
        if os.path.exists(store):
            os.unlink(store)
        options = ["--trajectories=4", "--turns=4", "--beam-every=2", "--beam-keep=2",
                   "--store=" + store]
        known, texts, n = set(), {}, 0
        while True:
            n += 1
            r = Run("killed-%d-%d" % (step, n), [dict(GOOD, delay=0.02)], options,
                    ["--kill-at", str(4 + step)] if n < 8 else [])
            r.check("nothing that was judged is asked again", not known & set(r.asked))
            r.check("what was judged was kept", known <= set(r.kept))
            for at in set(r.asked):
                text = r.read("prompt-%s.txt" % at)
                r.check("the prompt of %s is the same" % at, texts.setdefault(at, text) == text)
            known |= set(r.turns)
            if r.status != 137:
                break
            r.check("it was killed", not re.search("^end:", r.out, re.M))
        r.says(r"^end: done, \d+ calls, 16 turns")
        r.check("all turns are there", sorted(r.turns) == places(4, 4))


for case in (all_at_once, jobs, judged_meanwhile, beam_waits, one_fails, server_fails, key_refused,
             retries_hold_up_nobody, max_calls, queue, asked_otherwise, roofline_ends, interrupted,
             killed):
    if not only or case.__name__ in only:
        case()
sys.exit(bad != 0)
