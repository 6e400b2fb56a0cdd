"""rules_prove.py BIN RULES_TOOL UNTIL FILE [RULE]...

Sends every proposal for every kernel of FILE to kevin-eval on the CPU back end and
prints one line each, "ok  KERNEL: RULE: PLACE"; of one that is not right its log
too. Exit status 1 when one is not ok, or when there is none.
"""
import json
import subprocess
import sys

bin_dir, tool, until, path, *rules = sys.argv[1:]
listed = subprocess.run([bin_dir + "/kevin-rewrite", "--list", "--format=json", path],
                        capture_output=True, text=True)
requests = subprocess.run([tool, "--requests", *rules], input=listed.stdout, capture_output=True,
                          text=True, check=True).stdout.splitlines()
requests = [json.loads(r) for r in requests]
for r in requests:
    r["until"] = until
answers = subprocess.run([bin_dir + "/kevin-eval", "--evaluator=cpu"],
                         input="".join(json.dumps(r) + "\n" for r in requests),
                         capture_output=True, text=True)
bad = 0
for line in answers.stdout.splitlines():
    a = json.loads(line)
    v = a.get("verdict", {})
    status = v.get("status", "error")
    speedup = "".join(" %.2fx" % v[k] for k in ("speedup",) if v.get(k))
    print("%-14s%s %s" % (status, speedup, a["id"]))
    if status != "ok":
        bad += 1
        print("   ", v.get("stage"), (v.get("log") or a.get("error") or "")[:1500].replace("\n", "\n    "))
if answers.stderr:
    print(answers.stderr[:2000])
sys.exit(1 if bad or not requests else 0)
