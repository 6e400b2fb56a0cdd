#!/usr/bin/env python3
"""Prints `N passed, N failed, N skipped` from a result file that lit wrote.

With --skipped FILE the tests that were skipped must be among the lines of FILE
(each `NAME  # reason`), so that a misspelt feature cannot hide a test.
"""
import json
import os
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main(argv):
    allowed = None
    if "--skipped" in argv:
        i = argv.index("--skipped")
        with open(argv[i + 1], encoding="utf-8") as f:
            allowed = {line.split("#")[0].strip() for line in f}
        argv = argv[:i] + argv[i + 2:]
    if len(argv) != 2 or not os.path.exists(argv[1]):
        print("no result file: %s" % " ".join(argv[1:]), file=sys.stderr)
        return 1
    with open(argv[1], encoding="utf-8") as f:
        tests = json.load(f)["tests"]
    passed = [t for t in tests if t["code"] in PASSED]
    skipped = [t for t in tests if t["code"] in SKIPPED]
    failed = [t for t in tests if t["code"] not in PASSED | SKIPPED]
    bad = 0
    if allowed is not None:
        for t in skipped:
            name = t["name"].split(" :: ", 1)[-1]
            if name not in allowed:
                print("skipped, but not on the list of tests that may be: %s" % name)
                bad += 1
    print("%d passed, %d failed, %d skipped" % (len(passed), len(failed) + bad, len(skipped) - bad))
    return 1 if failed or bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
