#!/usr/bin/env python3
"""A double of kevin-worker for tests of what the driver does with verdicts.

It claims a GPU and judges from a script, so that the driver's way from a verdict
to a written file can be walked on a machine without one. It measures and checks
nothing: no test of a kernel, of the evaluator or of a figure may use it.

  fake_worker.py install BIN DIR [SCRIPT.json]

makes DIR a folder of programs: kevin-rewrite and kevin-eval of BIN (hard links or
copies, because a program looks for its helpers beside its own real path), links to
everything else there, and this file as kevin-worker with SCRIPT.json beside it as
kevin-worker.json. What it was asked is appended to kevin-worker.log, a word a line:
"probe cuda", "open cuda NAME", "judge NAME STATUS", "confirm NAME STATUS".

The script is a JSON object; everything may be left out:

  "probe": "a sentence"       no GPU: probing `cuda` fails with that
  "facts": {...}              facts of the device that differ from those below
  "open": [{"kernel": "k", "error": "a sentence"}]
                              the original of k fails so
  "judge": [RULE...]          the first rule whose "match" is in the candidate's code
  "confirm": [RULE...]        the same, for each of the five shares

  "modelled": "NVIDIA H200 sm_90"
                              whose times `cpu` models; without it, or in a rule with
                              "modelled": null, it counts nothing and has no times.
                              "validated" (true) says whether that model was held against it
  "model_why": "a sentence"   why not all of the original could be counted

  "garble": STEP              the answer to judgement N (from 0, over all workers) ends
                              before byte STEP * (N / 2), or has a wrong byte there

A RULE is {"match": "text", "status": "ok", "speedup": 2.0, ...}; "takes_ms" delays a
judgement. Without "match" it
fits everything. "stage" (how far it was asked to go; for confirm: check), "log", "told", "max_rel_err", "exact"
go into the verdict as they are; "base_us" (100) and "speedup" (2.0) make the times
of every case of the contract; those of a model have a band of 15 % or "band", and
"bound": ["L1", "DRAM"], "cases": N has times for the first N alone, and a judgement that is "thorough" takes the first rule of
"thorough" instead, if there are any. With "shares": [1.9, 2.0, ...] share N has that
speed-up, and with "shares_take_ms": [0, 400, ...] it takes so long,
with "statuses": ["ok", "wrong", ...] it ends so. "interrupt": true sends SIGINT to
the driver first, "kill": true SIGKILL to the driver, "exit": N ends the worker;
"append": "file" adds a line to that file first, as an editor would meanwhile.
No rule fits: a candidate is wrong, a share is refused likewise, so that a script
says what it means.
"""
import json
import math
import mmap
import os
import shutil
import signal
import socket
import struct
import sys
import time

FACTS = {"name": "Testing GPU", "arch": "sm_90", "uuid": "GPU-double", "sms": 132, "warp": 32,
         "l2_bytes": 50 << 20, "memory_bytes": 1 << 36, "shared_optin_bytes": 232448,
         "peak_bytes_per_s": 4.8e12, "driver": "0.0", "compiler": "double"}
RESOURCES = {"registers": 16, "shared_bytes": 0, "local_bytes": 0, "const_bytes": 384,
             "max_threads": 1024, "occupancy": 1}


def install(source, folder, script=None):
    source = os.path.abspath(source)
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(source):
        target = os.path.join(folder, name)
        if os.path.lexists(target):
            os.unlink(target)
        if name in ("kevin-rewrite", "kevin-eval"):
            try:
                os.link(os.path.join(source, name), target)
            except OSError:
                shutil.copy2(os.path.join(source, name), target)
        elif name != "kevin-worker":
            os.symlink(os.path.join(source, name), target)
    worker = os.path.join(folder, "kevin-worker")
    shutil.copy(os.path.abspath(__file__), worker)
    os.chmod(worker, 0o755)
    if script:
        shutil.copy(script, worker + ".json")
    for old in (worker + ".log",):
        if os.path.exists(old):
            os.unlink(old)


class Worker:
    def __init__(self, base):
        self.base = base
        self.script = {}
        if os.path.exists(base + ".json"):
            with open(base + ".json") as f:
                self.script = json.load(f)
        self.facts = dict(FACTS, **self.script.get("facts", {}))
        self.contract = None

    def log(self, *words):
        with open(self.base + ".log", "a") as f:
            f.write(" ".join(words) + "\n")

    def rule(self, kind, code):
        for rule in self.script.get(kind, []):
            if rule.get("match", "") in code:
                if rule.get("interrupt"):
                    os.kill(os.getppid(), signal.SIGINT)
                if rule.get("kill"):
                    os.kill(os.getppid(), signal.SIGKILL)
                if "append" in rule:
                    with open(rule["append"], "a") as f:
                        f.write("// typed meanwhile\n")
                if "exit" in rule:
                    sys.exit(rule["exit"])
                return rule
        return {"status": "wrong", "stage": "check", "log": "no rule of the script fits",
                "told": "no rule of the script fits"}

    def modelled(self, rule):
        return rule.get("modelled", self.script.get("modelled")) if self.backend == "cpu" else None

    def verdict(self, rule, stage, code, times):
        ok = rule.get("status", "ok") == "ok"
        speedup = rule.get("speedup", 2.0)
        v = {"stage": rule.get("stage", stage), "status": rule.get("status", "ok"),
             "log": rule.get("log"), "told": rule.get("told", rule.get("log")),
             "max_rel_err": rule.get("max_rel_err", 1e-7), "exact": rule.get("exact", False),
             "checks": 10, "resources": RESOURCES, "base_resources": RESOURCES, "times": []}
        gpu = self.modelled(rule)
        if ok and times and self.backend == "cpu" and not gpu:
            v["stage"] = rule.get("stage", "check")
        elif ok and times:
            base, band = rule.get("base_us", 100.0), rule.get("band", 0.15 if gpu else 0.01)
            lo, hi = speedup * (1 - band), speedup * (1 + band)
            bound = rule.get("bound", ["L1", "DRAM"])
            v.update(speedup=speedup, lo=lo, hi=hi)
            v["times"] = [dict({"label": c["label"], "base_us": base, "cand_us": base / speedup,
                                "ratio": speedup, "lo": lo, "hi": hi, "n": 0 if gpu else 20},
                               **({"base_bound": bound[0], "cand_bound": bound[1]} if gpu else {}))
                          for c in self.contract["cases"][:rule.get("cases")]]
            if gpu:
                v.update(modelled=True, model_validated=self.script.get("validated", True), model_gpu=gpu)
        return v

    def answer(self, m):
        op = m["op"]
        if op in ("probe", "open") and m["backend"] == "cuda" and "probe" in self.script:
            self.log(op, "cuda")
            return {"ok": False, "error": self.script["probe"], "lost": ""}
        if op == "probe":
            self.log("probe", m["backend"])
            return {"ok": True, "lost": False, "facts": self.facts}
        if op == "open":
            self.contract = json.loads(m["contract"])
            self.backend = m["backend"]
            kernel = self.contract["kernel"]
            self.log("open", m["backend"], kernel)
            for rule in self.script.get("open", []):
                if rule.get("kernel") in (None, kernel):
                    return {"ok": False, "error": rule["error"], "lost": ""}
            n = len(self.contract["cases"])
            return {"ok": True, "lost": False, "reference": {
                "device": self.facts, "resources": RESOURCES, "deterministic": True, "exact_ends": True,
                "exact_starts": True, "integer_exact": False, "probes": [], "n_cases": n,
                "case_us": [100.0] * n, "case_bytes": [1e6] * n, "model_why": self.script.get("model_why")}}
        code = m["candidate"]["code"]
        kernel = self.contract["kernel"]
        thorough = op == "judge" and m["options"]["thorough"]
        rule = self.rule("thorough" if thorough and "thorough" in self.script else op, code)
        if op == "judge":
            time.sleep(rule.get("takes_ms", 0) / 1e3)
            self.log("thorough" if thorough else "judge", kernel, rule.get("status", "ok"))
            return {"ok": True, "lost": False,
                    "verdict": self.verdict(rule, m["options"]["until"], code, m["options"]["until"] == "time")}
        if rule.get("statuses"):
            rule = dict(rule, status=rule["statuses"][m["share"]])
        late = rule.get("shares_take_ms") or [0]
        time.sleep(late[m["share"] % len(late)] / 1e3)
        self.log("confirm", kernel, rule.get("status", "ok"))
        shares = rule.get("shares") or [rule.get("speedup", 2.0)]
        speedup = shares[m["share"] % len(shares)]
        base = rule.get("base_us", 100.0)
        cases = self.contract["cases"]
        return {"ok": True, "lost": False, "share": {
            "verdict": self.verdict(rule, "check", code, False),
            "log_ratio": [math.log(speedup)] * len(cases), "base_us": [base] * len(cases),
            "cand_us": [base / speedup] * len(cases)}}

    def garble(self, sock, data):
        with open(self.base + ".log") as f:
            n = sum(line.startswith("judge ") for line in f) - 1
        at = self.script["garble"] * (n // 2)
        if at >= len(data):
            return
        # The board says that a candidate is being checked.
        with mmap.mmap(4, 4) as board:
            board[0:4] = struct.pack("=I", 5)
        if n % 2:
            data[at] ^= 0x55
        else:
            sock.sendall(data[:at])
            os._exit(1)

    def serve(self):
        sock = socket.socket(fileno=3)

        def receive(n):
            data = b""
            while len(data) < n:
                part = sock.recv(n - len(data))
                if not part:
                    sys.exit(0)
                data += part
            return data

        while True:
            message = json.loads(receive(struct.unpack(">I", receive(4))[0]))
            text = json.dumps(self.answer(message)).encode()
            data = bytearray(struct.pack(">I", len(text)) + text)
            if "garble" in self.script and message["op"] == "judge":
                self.garble(sock, data)
            sock.sendall(data)


if len(sys.argv) > 3 and sys.argv[1] == "install":
    install(*sys.argv[2:])
else:
    Worker(os.path.abspath(sys.argv[0])).serve()
