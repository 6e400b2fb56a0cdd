"""hook.py FILE KEY: the value of a key of the one hook in a .pre-commit-hooks.yaml. The
file is read by the rules of YAML that it uses (one list item, plain or single-quoted
scalars, comments), so that the test needs no package."""
import re
import sys

hook = {}
with open(sys.argv[1]) as f:
    for number, line in enumerate(f):
        m = re.fullmatch(r"(- |  )([a-z_]+): (?:'((?:[^']|'')*)'|([^#'\"{}\[\]&*!|>%@`]+?))(?: #.*)?\n", line)
        if not m or (m[1] == "- ") != (number == 0) or m[2] in hook:
            sys.exit("line %d is not understood: %s" % (number + 1, line))
        hook[m[2]] = m[3].replace("''", "'") if m[3] is not None else m[4]
missing = {"id", "name", "entry", "language", "files"} - set(hook)
if missing or (hook["language"] == "system" and "additional_dependencies" in hook):
    sys.exit("missing: %s" % missing)
print(hook[sys.argv[2]])
