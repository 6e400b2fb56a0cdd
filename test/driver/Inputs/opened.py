"""opened.py LOG... --banned DIR --but DIR: the strace logs opened and started nothing
below the first folder other than below the second."""
import re
import sys

at = sys.argv.index("--banned")
logs, banned, free = sys.argv[1:at], sys.argv[at + 1], sys.argv[at + 3]
seen = 0


def calls(log):
    """The calls of a log, each in one line: where processes run side by side a call is
    told in two."""
    begun = {}
    with open(log, errors="replace") as f:
        for line in f:
            pid = line.split(" ", 1)[0]
            if "<unfinished ...>" in line:
                begun[pid] = line.split("<unfinished ...>")[0]
            elif " resumed>" in line:
                yield begun.pop(pid, "") + line.split(" resumed>", 1)[1]
            else:
                yield line
    yield from begun.values()


for log in logs:
    for call in calls(log):
        m = re.search(r'(?:openat\([^,]*, |execve\()"([^"]*)"', call)
        if not m or "ENOENT" in call:
            continue
        seen += 1
        if m[1].startswith(banned + "/") and not m[1].startswith(free + "/"):
            sys.exit("%s: %s" % (log, call))
sys.exit(0 if seen > 50 else "only %d calls were seen" % seen)
