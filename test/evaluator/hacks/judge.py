"""Judges the candidates of a file as a worker does, with no screen before it.

  judge.py BACKEND FILE.cu...

A file holds a kernel with its marker and its launch, then candidates, each behind a
line `//--- EXPECTED NAME`. EXPECTED is `ok`, or the statuses that turn it away with
`|` between them; behind `cpu:` or `cuda:` it is tried on that back end alone. A first
line `// launch: grid(..) block(..) shared(..)` gives a launch of the candidate's own. A
line `// timeout: MS` in the head sets the limit of one launch.

What is `ok` must be so in a search's judgement and in a finalist's; what is not must
fall in the first, or in the second at the latest, which is said.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

BIN = os.environ.get("KR_BIN", "")
TOOL = os.environ.get("KR_TOOLS", "")


def program(folder, name):
    return os.path.join(folder, name) if folder else name


def launch_of(code):
    m = re.match(r"//\s*launch:(.*)\n", code)
    if not m:
        return None
    g = {"grid": [None] * 3, "block": [None] * 3, "shared": None, "cooperative": False}
    for name, args in re.findall(r"(grid|block|shared)\(((?:[^()]|\([^()]*\))*)\)", m.group(1)):
        parts = re.split(r",\s*(?![^()]*\))", args)
        if name == "shared":
            g["shared"] = args
        else:
            g[name] = (parts + [None] * 3)[:3]
    return g


def contract(path, head, folder):
    source = os.path.join(folder, os.path.basename(path))
    with open(source, "w") as f:
        f.write(head)
    out = subprocess.run([program(BIN, "kevin-rewrite"), "--list", "--format=json", source],
                         capture_output=True, text=True)
    kernels = json.loads(out.stdout)["kernels"] if out.returncode == 0 else []
    if not kernels or "contract" not in kernels[0]:
        sys.exit("%s: no contract: %s%s" % (path, out.stdout[:2000], out.stderr))
    with open(os.path.join(folder, "contract.json"), "w") as f:
        json.dump(kernels[0]["contract"], f)
    return f.name


class Judge:
    def __init__(self, backend, contract_path, timeout):
        env = dict(os.environ, JUDGE_UNTIL_CHECK="1") if backend == "cpu" else None
        argv = [program(TOOL, "judge_lines"), backend, contract_path] + ([timeout] if timeout else [])
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, code, **more):
        self.p.stdin.write(json.dumps(dict({"code": code, "geometry": launch_of(code)}, **more)) + "\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            sys.exit("judge_lines ended: %s" % self.p.wait())
        return json.loads(line)

    def close(self):
        self.p.stdin.close()
        return self.p.wait()


def judge_file(backend, path):
    """Returns how many were tried and the list of what went otherwise."""
    parts = re.split(r"^//--- (.*)\n", open(path).read(), flags=re.M)
    head, cases, wrong = parts[0], list(zip(parts[1::2], parts[2::2])), []
    timeout = re.search(r"^// timeout: (\d+)", head, re.M)
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(backend, contract(path, head, folder), timeout and timeout.group(1))
        for title, code in cases:
            expected, _, name = title.partition(" ")
            if ":" in expected:
                only, expected = expected.split(":")
                if only != backend:
                    continue
            tried += 1
            steps = [{}, {"thorough": True}] + ([{"confirm": True}] if backend == "cuda" else [])
            said = []
            for step in steps:
                v = judge.ask(code, **step)
                said.append(v.get("status", "error"))
                if said[-1] != "ok":
                    break
            good = all(s == "ok" for s in said) if expected == "ok" else said[-1] in expected.split("|")
            how = {1: "", 2: " (a finalist's check)", 3: " (confirmation)"}[len(said)] if expected != "ok" else ""
            print("%s %-14s %-44s %s%s" % ("    " if good else "BAD ", said[-1], name, (v.get("log") or "").split("\n")[0][:110], how))
            if not good:
                wrong.append("%s on %s: %s: %s, not %s: %s" % (os.path.basename(path), backend, name, said[-1], expected, v.get("log")))
        judge.close()
    return tried, wrong


def main():
    backend, files = sys.argv[1], sys.argv[2:]
    wrong, tried = [], 0
    for path in files:
        print(os.path.basename(path))
        n, bad = judge_file(backend, path)
        tried += n
        wrong += bad
    print("%d candidates on %s" % (tried, backend))
    if wrong or not tried:
        sys.exit("\n".join(wrong) or "nothing was tried")


if __name__ == "__main__":
    main()
