"""What replacing a file keeps and refuses. usage: replace_cases.py TOOL FOLDER CASE"""
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time

tool, folder, case = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chmod(folder, 0o755)
target = os.path.join(folder, "k.cu")
new = os.path.join(folder, "new.txt")
OLD, NEW = b"old\r\nbytes \xff\n", b"new bytes, no newline"


def put(path, data, mode=0o644):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def run(*args, **kw):
    return subprocess.run([tool, *args], capture_output=True, text=True, **kw)


def expect(cond, text):
    if not cond:
        print("%s: %s" % (case, text))
        sys.exit(1)


def alone(*names):
    want = sorted(names or ("k.cu", "new.txt"))
    expect(sorted(os.listdir(folder)) == want, "folder holds %s" % sorted(os.listdir(folder)))


def refused(r, *words):
    expect(r.returncode == 2, "exits %d, not 2: %s" % (r.returncode, r.stderr))
    for w in words:
        expect(w in r.stderr, "%r is not said in %r" % (w, r.stderr))


def plain_user():
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


put(target, OLD)
put(new, NEW)

if case == "modes":
    for mode in (0o755, 0o640, 0o600, 0o4755):
        put(target, OLD, mode)
        expect(run(target, new).returncode == 0, "not written")
        expect(get(target) == NEW, "wrong bytes")
        expect(os.stat(target).st_mode & 0o7777 == mode, "mode %o" % os.stat(target).st_mode)
    alone()
elif case == "owner":
    if os.getuid() == 0:
        os.chown(target, 12345, 23456)
        expect(run(target, new).returncode == 0, "not written")
        st = os.stat(target)
        expect((st.st_uid, st.st_gid) == (12345, 23456), "owner %d:%d" % (st.st_uid, st.st_gid))
        # A folder open to all, a file that is someone else's: the owner cannot be kept.
        put(target, OLD, 0o666)
        os.chown(target, 12345, 23456)
        os.chmod(folder, 0o777)
        refused(run(target, new, preexec_fn=plain_user), "cannot keep the owner", target)
        expect(get(target) == OLD, "written all the same")
    alone()
elif case == "read-only-file":
    put(target, OLD, 0o444)
    refused(run(target, new), target, "read-only")
    expect(get(target) == OLD, "written all the same")
    alone()
elif case == "unwritable-folder":
    os.chmod(folder, 0o555)
    r = run(target, new, preexec_fn=plain_user)
    os.chmod(folder, 0o755)
    refused(r, target, folder + "/", "ermission denied")
    expect(get(target) == OLD, "written all the same")
    alone()
elif case == "symlink":
    os.mkdir(os.path.join(folder, "d"))
    real = os.path.join(folder, "d", "real.cu")
    os.rename(target, real)
    os.symlink("d/real.cu", target)
    expect(run(target, new).returncode == 0, "not written")
    expect(os.path.islink(target) and os.readlink(target) == "d/real.cu", "the link is gone")
    expect(get(real) == NEW, "the file behind the link is as it was")
    expect(os.listdir(os.path.join(folder, "d")) == ["real.cu"], "left beside the real file")
    # Led elsewhere between reading and writing.
    put(os.path.join(folder, "d", "other.cu"), NEW)
    put(real, OLD)
    refused(run("--relink=d/other.cu", target, new), "changed meanwhile", "other.cu")
elif case == "hard-link":
    os.link(target, os.path.join(folder, "second.cu"))
    refused(run(target, new), target, "2 hard links")
    expect(get(target) == OLD, "written all the same")
    alone("k.cu", "new.txt", "second.cu")
elif case == "equal-bytes":
    put(new, OLD)
    os.utime(target, ns=(10**18, 10**18))
    before = os.stat(target)
    expect(run(target, new).returncode == 1, "did something")
    after = os.stat(target)
    expect((before.st_mtime_ns, before.st_ino, before.st_ctime_ns)
           == (after.st_mtime_ns, after.st_ino, after.st_ctime_ns), "touched")
    own = run("--path", target, new)
    expect(own.returncode == 1 and os.stat(target).st_mtime_ns == 10**18, "touched by --path")
    alone()
elif case == "changed-during-run":
    refused(run("--append=x", target, new), target, "changed meanwhile")
    expect(get(target) == OLD + b"x", "the change is lost")
    alone()
elif case == "removed-during-run":
    p = subprocess.Popen([tool, "--hold-ms=400", target, new], stderr=subprocess.PIPE, text=True)
    time.sleep(0.2)
    os.unlink(target)
    _, err = p.communicate()
    expect(p.returncode == 2 and "removed meanwhile" in err, err)
    alone("new.txt")
elif case == "two-processes":
    for _ in range(40):
        put(target, OLD)
        put(new, NEW)
        put(os.path.join(folder, "new2.txt"), NEW[::-1])
        ps = [subprocess.Popen([tool, "--hold-ms=5", target, n], stderr=subprocess.PIPE, text=True)
              for n in (new, os.path.join(folder, "new2.txt"))]
        errs = [p.communicate()[1] for p in ps]
        codes = sorted(p.returncode for p in ps)
        # Both may come one after the other only when the first ended before
        # the second read; else the second says that the file was changed.
        expect(codes in ([0, 2], [0, 0]), "exit codes %s: %s" % (codes, errs))
        for p, e in zip(ps, errs):
            expect(p.returncode == 0 or "changed meanwhile" in e, e)
        expect(get(target) in (NEW, NEW[::-1]), "torn")
        alone("k.cu", "new.txt", "new2.txt")
elif case == "many-processes-one-ledger-path":
    own = os.path.join(folder, "deep", "er", "file")
    texts = []
    ps = []
    for i in range(12):
        n = os.path.join(folder, "n%d" % i)
        texts.append(b"%d " % i * 5000)
        put(n, texts[-1])
        ps.append(subprocess.Popen([tool, "--path", "--mode=666", own, n]))
    expect(all(p.wait() == 0 for p in ps), "one failed")
    expect(get(own) in texts, "torn")
    expect(os.listdir(os.path.dirname(own)) == ["file"], "left beside it")
    mask = os.umask(0)
    os.umask(mask)
    expect(os.stat(own).st_mode & 0o777 == 0o666 & ~mask, "mode %o" % os.stat(own).st_mode)
elif case == "stale-lock":
    lock = os.path.join(folder, ".k.cu.kevin-lock")
    host = socket.gethostname()
    for text in ("%s 999999\n" % host, "", "garbage", "%s 1\n" % host):
        put(target, OLD)
        put(lock, text.encode())
        put(os.path.join(folder, ".k.cu.kevin-999999-0.tmp"), b"half")
        expect(run(target, new).returncode == 0, "a dead owner's lock %r holds" % text)
        expect(get(target) == NEW, "not written")
        alone()
    # Another host's lock is respected while it is fresh.
    put(target, OLD)
    put(lock, b"elsewhere 77\n")
    start = time.time()
    r = run(target, new)
    refused(r, "process 77 on elsewhere", target)
    expect(get(target) == OLD, "written under a foreign lock")
    os.utime(lock, (time.time() - 300, time.time() - 300))
    expect(run(target, new).returncode == 0, "a stale foreign lock holds")
    alone()
elif case == "held-lock":
    lock = os.path.join(folder, ".k.cu.kevin-lock")
    with open(lock, "w") as f:
        f.write(socket.gethostname() + " 42\n")
        f.flush()
        fcntl.flock(f, fcntl.LOCK_EX)
        refused(run(target, new), "process 42 on " + socket.gethostname())
        # Nor is anything swept that may be in use.
        put(os.path.join(folder, ".k.cu.kevin-1-0.tmp"), b"half")
        expect(run("--sweep", target).returncode == 0, "sweep failed")
        expect(os.path.exists(os.path.join(folder, ".k.cu.kevin-1-0.tmp")), "swept under a held lock")
    expect(run("--sweep", target).returncode == 0, "sweep failed")
    alone()
elif case == "long-name":
    name = "k" * 250 + ".cu"
    os.rename(target, os.path.join(folder, name))
    expect(run(os.path.join(folder, name), new).returncode == 0, "not written")
    expect(get(os.path.join(folder, name)) == NEW, "wrong bytes")
    alone(name, "new.txt")
elif case == "sweep-leaves-others":
    mine = ".k.cu.kevin-5-0.tmp"
    others = [".k.cu.kevin-notes", ".kk.cu.kevin-5-0.tmp", "k.cu.tmp", ".k.cu.swp"]
    for n in [mine] + others:
        put(os.path.join(folder, n), b"x")
    expect(run("--sweep", target).returncode == 0, "sweep failed")
    alone("k.cu", "new.txt", *others)
elif case == "dangling-link":
    os.unlink(target)
    os.symlink("nowhere", target)
    refused(run("--path", target, new), "leads nowhere")
elif case == "inject":
    # Full disks and broken ones, at each call that can meet one.
    for call, error, words in (
            ("write", "ENOSPC", "No space left"), ("write", "EIO", "nput/output"),
            ("fsync", "EIO", "nput/output"), ("fsync", "ENOSPC", "No space left"),
            ("rename", "EACCES", "ermission denied"), ("rename", "EROFS", "ead-only file system"),
            ("fchmod", "EPERM", "mode"), ("pread64", "EIO", "nput/output"),
            ("ftruncate", "ENOSPC", None), ("pwrite64", "ENOSPC", None), ("flock", "ENOLCK", "lock")):
        put(target, OLD)
        only = ["-P", target] if call == "pread64" else []  # the loader reads so too
        r = subprocess.run(["strace", "-f", "-o", "/dev/null", *only, "-e", "trace=" + call, "-e",
                            "inject=%s:error=%s:when=1" % (call, error), tool, target, new],
                           capture_output=True, text=True)
        if words is None:
            expect(r.returncode == 0 and get(target) == NEW, "%s %s: %s" % (call, error, r.stderr))
        else:
            refused(r, target if call != "flock" else folder, words)
            expect(get(target) == OLD, "%s %s: written all the same" % (call, error))
        left = [n for n in os.listdir(folder) if n not in ("k.cu", "new.txt", ".k.cu.kevin-lock")]
        expect(not left, "%s %s left %s" % (call, error, left))
        run("--sweep", target)
        alone()
    # The folder's sync is the second one; the file is new by then, and that is said.
    put(target, OLD)
    r = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e",
                        "inject=fsync:error=EIO:when=2", tool, target, new], capture_output=True, text=True)
    refused(r, "is written, but its folder")
    expect(get(target) == NEW, "not written")
    # A signal that is handled leaves nothing at all, and the status says it.
    for call in ("write", "fchmod", "fsync", "rename"):
        put(target, OLD)
        r = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                            "inject=%s:signal=SIGTERM:when=1" % call, tool, target, new])
        expect(r.returncode in (-15, 143), "%s SIGTERM: exits %d" % (call, r.returncode))
        expect(get(target) in (OLD, NEW), "%s SIGTERM: torn" % call)
        alone()
    # Interrupted calls are repeated.
    for call in ("write", "fsync", "pread64"):
        put(target, OLD)
        only = ["-P", target] if call == "pread64" else []
        r = subprocess.run(["strace", "-f", "-o", "/dev/null", *only, "-e", "trace=" + call, "-e",
                            "inject=%s:error=EINTR:when=1" % call, tool, target, new],
                           capture_output=True, text=True)
        expect(r.returncode == 0 and get(target) == NEW, "%s EINTR: %s" % (call, r.stderr))
    alone()
else:
    expect(False, "no such case")
print("%s: as promised" % case)
