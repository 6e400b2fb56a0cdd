"""Kills a replacement at every file system call it makes, and at random moments.

usage: replace_fire.py TOOL FOLDER calls|random

Whatever happens, the file must hold the old or the new bytes, all of them, with
its mode; and the next run must finish and leave nothing else in the folder.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

tool, folder, how = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
target = os.path.join(folder, "k.cu")
new = os.path.join(folder, "new")
OLD = b"// old\r\n" + bytes(range(256)) * 600
NEW = b"// new\n" + bytes(reversed(range(256))) * 900
CALLS = ("access", "faccessat", "faccessat2", "open", "openat", "read", "pread64", "write", "pwrite64",
         "close", "stat", "fstat", "lstat", "newfstatat", "statx", "lseek", "fcntl", "flock", "ftruncate",
         "fchmod", "fchown", "flistxattr", "fgetxattr", "fsetxattr", "fsync", "rename", "renameat",
         "renameat2", "unlink", "unlinkat", "readlink", "readlinkat", "getdents64", "mkdir", "umask",
         "getcwd", "uname", "link", "symlink")


def fail(text):
    print("replace_fire: " + text)
    sys.exit(1)


def fresh():
    with open(target, "wb") as f:
        f.write(OLD)
    os.chmod(target, 0o640)


def judge(where):
    with open(target, "rb") as f:
        got = f.read()
    if got not in (OLD, NEW):
        fail("%s: the file is torn (%d bytes)" % (where, len(got)))
    if os.stat(target).st_mode & 0o7777 != 0o640:
        fail("%s: the mode is %o" % (where, os.stat(target).st_mode))
    kept = got == OLD
    rc = subprocess.run([tool, target, new]).returncode
    if rc != (0 if kept else 1):
        fail("%s: the next run exits %d" % (where, rc))
    if not kept:  # nothing was to be done, so sweeping is asked for
        subprocess.run([tool, "--sweep", target], check=True)
    with open(target, "rb") as f:
        if f.read() != NEW:
            fail("%s: the next run did not finish" % where)
    left = sorted(os.listdir(folder))
    if left != ["k.cu", "new"]:
        fail("%s: left behind: %s" % (where, left))
    return kept


for name in os.listdir(folder):
    os.unlink(os.path.join(folder, name))
with open(new, "wb") as f:
    f.write(NEW)

if how == "calls":
    fresh()
    log = os.path.join(os.path.dirname(folder.rstrip("/")), "fire.log")
    subprocess.run(["strace", "-f", "-o", log, tool, target, new], check=True)
    counts = {}
    with open(log) as f:
        for line in f:
            m = re.match(r"\d+\s+(\w+)\(", line)
            if m:
                counts[m.group(1)] = counts.get(m.group(1), 0) + 1
    for needed in ("rename", "fsync", "flock", "fchmod", "write"):
        if needed not in counts:
            fail("the tool never calls %s: %s" % (needed, counts))
    kills = old = 0
    for call in sorted(counts):
        if call not in CALLS:
            continue
        for n in range(1, counts[call] + 1):
            fresh()
            run = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                                  "inject=%s:signal=SIGKILL:when=%d" % (call, n), tool, target, new],
                                 stderr=subprocess.DEVNULL)
            if run.returncode not in (-9, 137):
                fail("%s %d: not killed (%d)" % (call, n, run.returncode))
            kills += 1
            old += judge("%s %d" % (call, n))
    print("killed at %d calls: %d old, %d new" % (kills, old, kills - old))
    if old == 0 or old == kills:
        fail("one side was never seen")
else:
    rng = random.Random(7)
    fresh()
    start = time.monotonic()
    subprocess.run([tool, target, new], check=True)
    span = time.monotonic() - start
    kills = old = 0
    while kills < 50:
        fresh()
        p = subprocess.Popen([tool, target, new])
        time.sleep(rng.uniform(0, span))
        p.send_signal(signal.SIGKILL)
        kills += p.wait() == -9
        old += judge("random %d" % kills)
    print("killed at random 50 times")
