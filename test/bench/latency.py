#!/usr/bin/env python3
"""How long a search waits for its model: a server on this machine that takes its time for
each reply, replies all distinct, and a double of the worker that judges in 50 ms.

  latency.py [--seconds 5] [--trajectories 16] [--turns 8] [--beam 4:4] [--judge-ms 50]
             [--jobs N] [--at-most RATIO] [--bin DIR]

The bound is turns x seconds, and for each barrier (the beam's, and the end) the time to
judge all trajectories' replies, which come at the same moment. Prints it beside the wall
time from the first request to the end of the search, the most requests that were held at
once (none is answered before so many were), and what the driver itself took of memory and processor time. Fails where the wall
time is over RATIO times the bound, or where fewer requests were held at once than asked for.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
source = os.path.dirname(os.path.dirname(here))
REPLY = "```cuda\nstatic __global__ void saxpy(int n, float a, const float *x, float *y)\n{\n" \
    "  int at_@N@ = blockIdx.x * blockDim.x + threadIdx.x;\n  if (at_@N@ < n)\n" \
    "    y[at_@N@] = a * x[at_@N@] + y[at_@N@];\n}\n```\nNumber @N@.\n"


def watch(pid, seen):
    """Memory and processor time of that process alone, without its children."""
    tick = os.sysconf("SC_CLK_TCK")
    while True:
        try:
            with open("/proc/%d/stat" % pid) as f:
                fields = f.read().rsplit(") ", 1)[1].split()
            with open("/proc/%d/status" % pid) as f:
                peak = [line for line in f if line.startswith("VmHWM")]
            if peak:
                seen["mb"] = int(peak[0].split()[1]) / 1024
            seen["cpu"] = (int(fields[11]) + int(fields[12])) / tick
        except (OSError, IndexError):
            return
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--trajectories", type=int, default=16)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--beam", default="4:4")
    parser.add_argument("--judge-ms", type=float, default=50)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--at-most", type=float, default=1.1)
    parser.add_argument("--bin", default=os.path.dirname(shutil.which("kevin-rewrite") or "."))
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        status = measure(o, folder)
    sys.exit(status)


def measure(o, folder):
    wanted = min(o.trajectories, o.jobs or 64)
    script, judge, port = (os.path.join(folder, n) for n in ("script.json", "judge.json", "port"))
    with open(script, "w") as f:
        json.dump([{"reply": REPLY, "delay": o.seconds, "gate": wanted, "repeat": True}], f)
    with open(judge, "w") as f:
        json.dump({"judge": [{"speedup": 0.9, "takes_ms": o.judge_ms}]}, f)
    tools = os.path.join(source, "test", "tools", "fake_worker.py")
    subprocess.run([sys.executable, tools, "install", o.bin, folder + "/bin", judge], check=True)
    shutil.copy(os.path.join(source, "test", "driver", "Inputs", "saxpy.cu"), folder)
    server = subprocess.Popen(
        [sys.executable, os.path.join(source, "test", "server", "loopback.py"), "--script", script,
         "--record", folder + "/sent", "--port-file", port, "--limit", "3600"],
        stdout=subprocess.DEVNULL)
    try:
        while not os.path.exists(port):
            time.sleep(0.01)
        with open(port) as f:
            url = "http://127.0.0.1:%s/v1" % f.read().strip()
        env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "PRE_COMMIT"))}
        env["XDG_STATE_HOME"] = folder + "/state"
        argv = [folder + "/bin/kevin-rewrite", "-n", "--cuda-path=none", "--yes",
                "--model=openai:m", "--base-url=" + url, "--beam=" + o.beam,
                "--trajectories=%d" % o.trajectories, "--turns=%d" % o.turns]
        if o.jobs:
            argv.append("--jobs=%d" % o.jobs)
        seen = {"mb": 0, "cpu": 0}
        p = subprocess.Popen(argv + [folder + "/saxpy.cu", "--allow-dirty"], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        watcher = threading.Thread(target=watch, args=(p.pid, seen))
        watcher.start()
        said = p.communicate()[1]
        end = time.time()
        watcher.join()
    finally:
        server.kill()
        server.wait()
    sent = [n for n in os.listdir(folder + "/sent") if n.endswith(".json")]
    if p.returncode or len(sent) != o.trajectories * o.turns:
        print("status %d, %d requests:\n%s" % (p.returncode, len(sent), said))
        return 1
    with open(folder + "/sent/peak") as f:
        peak = int(f.read())
    wall = end - os.stat(folder + "/sent/request-1.json").st_mtime
    every = int(o.beam.split(":")[1]) if ":" in o.beam else o.turns
    barriers = -(-o.turns // every)
    bound = o.turns * o.seconds + barriers * o.trajectories * o.judge_ms / 1e3
    print("%d x %d, %g s a reply: bound %.1f s, wall %.1f s (%.3f), %d at once; driver %.0f MB, "
          "%.1f %% of a core" % (o.trajectories, o.turns, o.seconds, bound, wall, wall / bound, peak,
                                 seen["mb"], 100 * seen["cpu"] / wall))
    if peak != wanted:
        print("%d requests at once were wanted" % wanted)
    return int(peak != wanted or wall > o.at_most * bound)


main()
