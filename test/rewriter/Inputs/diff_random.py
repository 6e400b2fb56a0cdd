"""kr_diff() on random texts against diff: patch must give the new text back, and
no hunk or line may be more than `diff -u` needs. usage: diff_random.py TOOL FOLDER"""
import os
import random
import subprocess
import sys

tool, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
a, b, p, o = (os.path.join(folder, n) for n in ("a", "b", "p", "o"))
rng = random.Random(20240229)
same = 0
ROUNDS = 250
for i in range(ROUNDS):
    words = [b"x%d" % k for k in range(rng.choice((2, 5, 40)))]
    ends = rng.choice(([b"\n"], [b"\n", b"\r\n"]))
    old = [rng.choice(words) + rng.choice(ends) for _ in range(rng.choice((0, 1, 3, 20, 80)))]
    new = list(old)
    for _ in range(rng.choice((0, 1, 2, 10, 60))):
        at = rng.randint(0, len(new))
        if rng.random() < 0.5 and at < len(new):
            del new[at]
        else:
            new.insert(at, rng.choice(words) + rng.choice(ends))
    old, new = b"".join(old), b"".join(new)
    if rng.random() < 0.3:
        old = old.rstrip(b"\n")
    if rng.random() < 0.3:
        new = new.rstrip(b"\n")
    for path, data in ((a, old), (b, new)):
        with open(path, "wb") as f:
            f.write(data)
    got = subprocess.run([tool, "k.cu", a, b], capture_output=True, check=True).stdout
    want = subprocess.run(["diff", "-u", "--label", "a/k.cu", "--label", "b/k.cu", a, b],
                          capture_output=True).stdout
    if (old == new) != (got == b""):
        sys.exit("round %d: equal texts give a diff, or others none" % i)
    size = lambda d: sum(l[:1] in b"+-" and l[:3] not in (b"+++", b"---") for l in d.split(b"\n") if l)
    if size(got) > size(want):
        sys.exit("round %d: %d changed lines where diff needs %d" % (i, size(got), size(want)))
    same += got == want
    if got:
        with open(p, "wb") as f:
            f.write(got)
        r = subprocess.run(["patch", "--binary", "-s", "-f", "-o", o, a, p], capture_output=True)
        with open(o, "rb") as f:
            back = f.read()
        if r.returncode or back != new:
            sys.exit("round %d: patch does not give the new text: %r" % (i, r))
print("%d rounds, %d as diff prints them" % (ROUNDS, same))
if same < ROUNDS // 2:
    sys.exit("hardly any is as diff prints it")
