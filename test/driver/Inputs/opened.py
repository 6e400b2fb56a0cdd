"""opened.py LOG... --banned DIR --but DIR: the strace logs opened and started nothing
below the first folder other than below the second."""
import re
import sys

at = sys.argv.index("--banned")
logs, banned, free = sys.argv[1:at], sys.argv[at + 1], sys.argv[at + 3]
seen = 0
for log in logs:
    with open(log, errors="replace") as f:
        for line in f:
            m = re.search(r'(?:openat\([^,]*, |execve\()"([^"]*)"', line)
            if not m or "ENOENT" in line:
                continue
            seen += 1
            if m[1].startswith(banned + "/") and not m[1].startswith(free + "/"):
                sys.exit("%s: %s" % (log, line))
sys.exit(0 if seen > 50 else "only %d calls were seen" % seen)
