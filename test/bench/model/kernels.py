"""The kernels of fit/ and heldout/, and how they are put before kevin-eval.

NAME.cu holds a marked original and a launch of it; its first line is
`// family: WORD`. NAME.v1.cu, NAME.v2.cu, ... hold what stands in a reply's code
block: an optional `// launch:` line and the kernel.
"""
import ast
import concurrent.futures
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = ("fit", "heldout")


class Kernel:
    def __init__(self, set_name, path):
        self.set = set_name
        self.path = path
        self.name = os.path.basename(path)[:-3]
        with open(path) as f:
            first = f.readline()
        m = re.fullmatch(r"// family: (\w+)\n", first)
        if not m:
            raise ValueError("%s: the first line is not `// family: WORD`" % path)
        self.family = m.group(1)
        self.variants = []  # of (name, path), in order


def find(sets=SETS, only=None, root=HERE):
    """Kernels with their variants, by set, family and name. A variant without its
    original, and an original without variants, are errors."""
    kernels = []
    for s in sets:
        folder = os.path.join(root, s)
        here = {}
        names = sorted(n for n in os.listdir(folder) if n.endswith(".cu"))
        for n in names:
            if not re.search(r"\.v\d+\.cu$", n):
                here[n[:-3]] = Kernel(s, os.path.join(folder, n))
        for n in names:
            m = re.fullmatch(r"(.+)\.(v\d+)\.cu", n)
            if m:
                if m.group(1) not in here:
                    raise ValueError("%s has no original %s.cu" % (os.path.join(folder, n), m.group(1)))
                here[m.group(1)].variants.append((m.group(2), os.path.join(folder, n)))
        for k in here.values():
            if not k.variants:
                raise ValueError("%s has no variants" % k.path)
        kernels += sorted(here.values(), key=lambda k: (k.family, k.name))
    if only:
        kernels = [k for k in kernels if re.fullmatch(only, k.name)]
    return kernels


def contract(kernel, programs):
    """The contract that kevin-rewrite --list gives, or an exception with its words."""
    p = subprocess.run([os.path.join(programs, "kevin-rewrite"), "--list", "--format=json", kernel.path],
                       capture_output=True, text=True)
    try:
        listed = json.loads(p.stdout)["kernels"]
    except (ValueError, KeyError):
        listed = []
    if len(listed) != 1 or "contract" not in listed[0]:
        raise ValueError("%s: %s" % (kernel.path, (p.stderr or p.stdout).strip() or "no contract"))
    return listed[0]["contract"]


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
             ast.Div: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift,
             ast.RShift: operator.rshift}
FUNCTIONS = {"ceil_div": lambda a, b: -(-a // b), "round_up": lambda a, b: -(-a // b) * b, "min": min, "max": max}


def value(text, names):
    """A marker's expression of non-negative integers."""
    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return int(node.value)
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            return FUNCTIONS[node.func.id](*[walk(a) for a in node.args])
        raise ValueError("cannot evaluate `%s`" % text)
    return walk(ast.parse(text, mode="eval").body)


def case_bytes(c, index=0):
    """What the sections of a case hold, those read and written counted twice:
    what a kernel that touches everything once moves."""
    names = {}
    for b in c["cases"][index]["bindings"]:
        try:
            names[b["path"]] = value(b["expr"], names)
        except (TypeError, ValueError):
            pass  # drawn anew each time, or a figure that is no length
    size = {}
    for p in c["params"]:
        for leaf in p["leaves"]:
            if leaf["kind"] == "ptr":
                size[p["name"] + leaf["path"]] = c["types"][leaf["type"]]["size"]
    total = 0
    for s in c["sections"]:
        n = 1
        for d in s["dims"]:
            n *= value(d, names)
        total += n * size[s["path"]] * (2 if s["role"] == "inout" else 1)
    return total


class Session:
    """One kevin-eval with a kernel's contract. Requests go one at a time; one that is
    not answered in `limit` seconds ends it."""

    def __init__(self, kernel, evaluator, programs, extra=(), limit=600):
        self.kernel = kernel
        self.contract = contract(kernel, programs)
        self.limit = limit
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([os.path.join(programs, "kevin-eval"), "--evaluator=" + evaluator, *extra],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.asked = 0

    def ask(self, variant, path, until=None):
        with open(path) as f:
            req = {"id": variant, "seed": "1", "code": f.read()}
        if until:
            req["until"] = until
        if not self.asked:
            req["contract"] = self.contract
        self.asked += 1
        timer = threading.Timer(self.limit, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(req) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.process.kill()
            self.process.wait()
            self.log.seek(0)
            raise ValueError("%s: kevin-eval ended without an answer to %s: %s" %
                             (self.kernel.name, variant, self.log.read().strip() or "no word"))
        return json.loads(line)

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        timer = threading.Timer(self.limit, self.process.kill)
        timer.start()
        self.process.wait()
        timer.cancel()
        self.process.stdout.close()
        self.log.close()


def ask(kernel, evaluator, programs, until=None, extra=()):
    """The contract of a kernel and (variant, answer) of each, in order."""
    s = Session(kernel, evaluator, programs, extra)
    try:
        return s.contract, [(v, s.ask(v, path, until)) for v, path in kernel.variants]
    finally:
        s.close()


def refusal(answer):
    """Why an answer is no `ok`, in one line; None when it is."""
    if "error" in answer:
        return answer["error"]
    v = answer["verdict"]
    if v["status"] == "ok":
        return None
    return "%s %s: %s" % (v["stage"], v["status"], (v["log"] or "").split("\n")[0])


def rows(kernel, c, answers):
    """Lines of what was timed, the original first, and sentences of what was not."""
    bad, out, original = [], [], {}
    size = case_bytes(c)
    for variant, a in answers:
        why = refusal(a)
        if not why and not a["verdict"]["times"]:
            why = "no time"
        if why:
            bad.append("%s/%s %s: %s" % (kernel.set, kernel.name, variant, why))
            continue
        t = a["verdict"]["times"][0]
        out.append({"set": kernel.set, "family": kernel.family, "kernel": kernel.name, "variant": variant,
                    "case": t["label"], "us": t["cand_us"], "base_us": t["base_us"], "bytes": size})
        if a["verdict"].get("modelled"):
            out[-1].update(bound=t["cand_bound"], model=t["cand_model"])
            original = {"bound": t["base_bound"], "model": t["base_model"]}
    if out:
        base = sorted(r["base_us"] for r in out)[len(out) // 2]
        out.insert(0, dict(out[0], variant="original", us=base, base_us=base, **original))
    return out, bad


class Progress:
    """A line on standard error for each kernel as it ends, and what went wrong."""

    def __init__(self, total):
        self.start, self.total, self.n, self.bad = time.monotonic(), total, 0, []

    def done(self, kernel, bad):
        self.n += 1
        self.bad += bad
        print("%3d/%d %5.1f s  %s %s/%s" % (self.n, self.total, time.monotonic() - self.start,
                                            "FAILED" if bad else "done  ", kernel.set, kernel.name),
              file=sys.stderr, flush=True)

    def end(self, tool):
        for b in self.bad:
            print("%s: %s" % (tool, b), file=sys.stderr)
        return 1 if self.bad else 0


def each(todo, work, jobs):
    """work(kernel) for each, `jobs` at a time: (kernel, result or None, sentence or
    None) as they end. What goes wrong with one kernel is that kernel's."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, k): k for k in todo}
        for f in concurrent.futures.as_completed(futures):
            k = futures[f]
            try:
                yield k, f.result(), None
            except Exception as e:
                yield k, None, "%s/%s: %s" % (k.set, k.name, e)


class Lines:
    """JSON lines to a file or, for `-`, standard output, each there once it is written:
    what ends a run early loses nothing that was done."""

    def __init__(self, path):
        self.out = sys.stdout if path == "-" else open(path, "w")

    def write(self, rows):
        for row in rows:
            self.out.write(json.dumps(row) + "\n")
        self.out.flush()
