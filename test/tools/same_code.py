#!/usr/bin/env python3
"""Compares the PTX of one kernel in two files.

    same_code.py A.ptx B.ptx KERNEL

KERNEL is the unqualified name; the entry is found in the mangled ones. Labels
and register numbers are counted anew in the order in which they occur, so that a
function's place in its file does not matter, and the hash that the names of an
anonymous namespace carry is dropped. Device functions that are called and
variables that are named are compared with the entry. Exit: 0 the same, 1 not.
"""
import re
import sys


def blocks(text):
    """Functions and variables of a PTX file by name."""
    found = {}
    variable = re.compile(r"\s*(?:\.visible |\.weak |\.extern )*\.(?:global|const|shared)\b.*?([\w$]+)(?:\[\d*\])*( =.*)?;")
    lines = iter(text.splitlines())
    for line in lines:
        line = line.split("//")[0].rstrip()
        head = re.match(r"(?:\.visible |\.weak |\.extern )*\.(entry|func)\b", line)
        if head:
            body = [line]
            if not (head and line.endswith(";")):
                for line in lines:
                    line = line.split("//")[0].strip()
                    # Shared memory of a function stands in the first one that was printed.
                    inner = variable.match(line)
                    if inner:
                        found[inner.group(1)] = [line]
                        continue
                    body.append(line)
                    if line == "}" or line == ";":
                        break
            name = re.search(r"\.entry\s+([\w$]+)", body[0]) or re.search(
                r"\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", " ".join(body))
            if name and not (name.group(1) in found and len(body) < len(found[name.group(1)])):
                found[name.group(1)] = body
            continue
        var = variable.match(line)
        if var:
            found[var.group(1)] = [line]
    return found


def clean(lines, seen):
    """One canonical text for a function; `seen` goes from one to the next."""
    def again(m):
        kind = re.match(r"\$str|\D*", m.group(0)).group(0)
        return seen.setdefault(m.group(0), "%s#%d" % (kind, sum(k.startswith(kind) for k in seen)))

    def anonymous(m):
        # The name's length counts the hash: what follows it is the rest.
        at = len("_ZN") + len(m.group(1)) + int(m.group(1))
        return "_ZN_anon" + m.group(0)[at:]

    out = []
    for line in lines:
        if not line or line.startswith((".loc", ".file", ".pragma")):
            continue
        line = re.sub(r"\s+", " ", line.strip())
        line = re.sub(r"_ZN(\d+)_GLOBAL__N__\w+", anonymous, line)
        line = re.sub(r"_INTERNAL_[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}_\d+", "_INTERNAL", line)
        line = re.sub(r"\$L__\w+|\$str(?:\$\d+)?|__unnamed_\d+|__local_depot\d+", again, line)
        line = re.sub(r"%[a-z]+\d+", again, line)
        if re.match(r"\.reg ", line):
            continue
        out.append(line)
    return out


def closure(found, entry):
    """The entry and what it names, in the order in which it is named."""
    order, queue = [], [entry]
    while queue:
        name = queue.pop(0)
        if name in order or name not in found:
            continue
        order.append(name)
        queue += [w for line in found[name] for w in re.findall(r"(?<![.\w$])[\w$]+", line) if w in found and w != name]
    return order


def entry_of(found, kernel):
    part = "%d%s" % (len(kernel), kernel)
    fits = [n for n, body in found.items() if ".entry" in body[0] and (n == kernel or part in n)]
    if not fits:
        sys.exit("no entry of %s" % kernel)
    return min(fits, key=len)


def main():
    a, b = (blocks(open(path).read()) for path in sys.argv[1:3])
    kernel = sys.argv[3]
    texts = []
    for found in (a, b):
        text, seen = [], {}
        for name in closure(found, entry_of(found, kernel)):
            text += clean(found[name], seen)
        texts.append(text)
    if texts[0] == texts[1]:
        print("%s: the same, %d lines" % (kernel, len(texts[0])))
        return 0
    import difflib
    print("%s: differs" % kernel)
    for line in list(difflib.unified_diff(*texts, lineterm="", n=1))[:40]:
        print(line)
    return 1


sys.exit(main())
