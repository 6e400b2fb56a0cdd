"""gone.py PIDFILE...: fails when a process of those files' ids still runs after two
seconds. One that nobody has reaped yet runs no more."""
import sys
import time


def runs(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


for name in sys.argv[1:]:
    with open(name) as f:
        pid = int(f.read())
    end = time.monotonic() + 2
    while runs(pid):
        if time.monotonic() > end:
            sys.exit("gone.py: process %d of %s still runs" % (pid, name))
        time.sleep(0.02)
