"""Every fault of a server, one at a time: the sentence, the status, how often it
was asked, and that the key is in no output.

  faults.py FOLDER SERVER.py COMMAND... [--only NAME]

COMMAND is run with --model, --base-url and the options of the case appended. It
is expected to say `error: SENTENCE` on stderr and to exit with a case's status.
"""
import json
import os
import subprocess
import sys

KEY = "sk-fault-Zq8\"/+0123456789abcdefghij"
GOOD = {"reply": "```cuda\nint good;\n```\nGood."}
TURN = "kernel `scale`, turn 1: "


def status(n, **more):
    return dict({"fault": "status", "status": n}, **more)


def fault(kind, **more):
    return dict({"fault": kind}, **more)


FAST = ["--retries=1", "--retry-ms=5"]
# name, script, options, sentence (None: all is well), requests
CASES = [
    # Answers that are final.
    ("400", [status(400, message="bad \u001b[31mrequest\n\u202e")], FAST,
     TURN + "HOST answered 400: bad \\x1b[31mrequest \\xe2\\x80\\xae", 1),
    ("401", [fault("echo")], FAST, TURN + "HOST answered 401: bad header 'Bearer [redacted]' "
     "(key [redacted]...ghij) (the key was not accepted)", 1),
    ("403", [status(403)], FAST,
     TURN + "HOST answered 403: status 403 on demand (the key was not accepted)", 1),
    ("404", [status(404)], FAST, TURN + "HOST answered 404: status 404 on demand "
     "(is the model's name right, and the base URL?)", 1),
    ("no-key", [status(401)], FAST + ["NOKEY"], TURN + "HOST answered 401: status 401 on demand "
     "(no key was given: OPENAI_API_KEY or --api-key-file)", 1),
    ("budget", [status(429, code="insufficient_quota", retry_after=0)], FAST,
     TURN + "HOST answered 429: status 429 on demand (the account's budget is spent)", 1),
    ("payment", [status(402)], FAST,
     TURN + "HOST answered 402: status 402 on demand (the account's budget is spent)", 1),
    ("redirect", [fault("redirect")], FAST,
     TURN + "HOST answered 307, a redirect to http://HOST/elsewhere; redirects are not followed, "
     "since the key and the code would go along: give the right address with --base-url", 1),
    ("redirect-away", [fault("redirect", status=302, to="https://me:secret@evil.example/x")], FAST,
     TURN + "HOST answered 302, a redirect to https://...@evil.example/x; redirects are not "
     "followed, since the key and the code would go along: give the right address with --base-url",
     1),
    # Answers that may be better next time: they are, or they are not.
    ("408", [status(408), GOOD], FAST, None, 2),
    ("409", [status(409), GOOD], FAST, None, 2),
    ("429", [status(429, retry_after=0), GOOD], FAST, None, 2),
    ("500", [status(500), GOOD], FAST, None, 2),
    ("503", [status(503), status(503), GOOD], ["--retries=2", "--retry-ms=5"], None, 3),
    ("500-always", [status(500, repeat=True)], FAST,
     TURN + "HOST answered 500: status 500 on demand (2 tries)", 2),
    ("500-once", [status(500, repeat=True)], ["--retries=0"],
     TURN + "HOST answered 500: status 500 on demand", 1),
    ("html-error", [fault("html_error", repeat=True)], FAST,
     TURN + "HOST answered 502 (2 tries)", 2),
    ("reset", [fault("reset"), GOOD], FAST, None, 2),
    ("reset-midway", [fault("reset_midway"), GOOD], FAST, None, 2),
    ("reset-midway-always", [fault("reset_midway", repeat=True)], FAST,
     TURN + "HOST ended the connection in the middle of its reply "
     "(Failure when receiving data from the peer) (2 tries)", 2),
    ("hang-up", [fault("hang_up", repeat=True)], FAST,
     TURN + "HOST ended the connection without a reply "
     "(Server returned nothing (no headers, no data)) (2 tries)", 2),
    ("half-stream", [fault("half_stream"), GOOD], FAST, None, 2),
    ("half-stream-always", [fault("half_stream", repeat=True)], FAST,
     TURN + "HOST ended the stream in the middle of the reply, 23 bytes in (2 tries)", 2),
    ("half-body", [fault("half_body", repeat=True)], FAST,
     TURN + "HOST ended the connection in the middle of its reply "
     "(Transferred a partial file) (2 tries)", 2),
    # What it asks for is tried the other way.
    ("no-stream-options", [status(400, message="Unknown field stream_options"), GOOD],
     ["--retries=0"], None, 2),
    ("max-completion-tokens",
     [status(400, message="Unsupported parameter: use max_completion_tokens"), GOOD],
     ["--retries=0", "--max-tokens=100"], None, 2),
    # Silence.
    ("silence", [fault("silence", repeat=True)], FAST + ["--idle-ms=200"],
     TURN + "HOST sent nothing for 0.2 s (2 tries)", 2),
    ("stall", [fault("stall", repeat=True)], ["--retries=0", "--idle-ms=200"],
     TURN + "HOST sent nothing for 0.2 s", 1),
    ("keep-alives", [fault("keep_alives")], FAST + ["--idle-ms=1000", "--keepalive-ms=300"],
     TURN + "HOST sent nothing but keep-alives for 0.3 s", 1),
    ("total", [fault("keep_alives")], FAST + ["--total-ms=300"],
     TURN + "HOST did not finish its reply within 0.3 s", 1),
    ("slow", [fault("slow", pause=0.15)], ["--retries=0", "--idle-ms=600"], None, 1),
    # Nonsense.
    ("html", [fault("html")], FAST, TURN + "HOST answered with text/html, not with an event stream "
     "or JSON; is this the address of an API (most end in /v1)?", 1),
    ("not-http", [fault("not_http")], FAST,
     TURN + "HOST answered with something that is not HTTP", 1),
    ("garbage", [fault("garbage")], FAST, r"=" + TURN + "HOST sent a stream without an event", 1),
    ("bad-json", [fault("bad_json")], FAST,
     TURN + "HOST sent what is not a JSON object: {\"choices\": [{\"delta\": \\x1b[31m", 1),
    ("empty", [fault("empty")], FAST, TURN + "HOST answered 200 with nothing in it", 1),
    ("empty-reply", [fault("empty_reply")], FAST, TURN + "HOST: the model's reply is empty", 1),
    ("half-character", [fault("half_character")], FAST,
     TURN + "HOST: the reply ends in half a UTF-8 character", 1),
    ("half-character-at-limit", [fault("half_character", finish="length")], FAST, None, 1),
    ("nul", [fault("nul")], FAST, TURN + "HOST sent a NUL character in its reply", 1),
    ("inner-error", [fault("inner_error")], FAST,
     TURN + "HOST reports an error in the middle of its reply: out of memory on rank 0", 1),
    ("filtered", [dict(GOOD, finish="content_filter")], FAST,
     TURN + "HOST cut the reply off by its content filter", 1),
    # Sizes.
    ("long-line", [fault("long_line")], FAST,
     TURN + "HOST: a line of the event stream is longer than 10485760 bytes", 1),
    ("flood", [fault("flood")], FAST, TURN + "HOST sent more than 64 MiB in one reply", 1),
    ("long-headers", [fault("long_headers")], FAST,
     TURN + "HOST: the headers of the answer are longer than 262144 bytes", 1),
    # A reply that repeats the key.
    ("echo-reply", [fault("echo_reply")], FAST, None, 1),
]


def run(case, folder, server, command):
    name, script, opts, sentence, requests = case
    here = os.path.join(folder, name)
    os.makedirs(here, exist_ok=True)
    path = os.path.join(here, "script.json")
    with open(path, "w") as f:
        json.dump(script, f)
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    argv = [sys.executable, server, "--script", path, "--record", os.path.join(here, "sent"),
            "--limit", "30"]
    if "NOKEY" not in opts:
        env["OPENAI_API_KEY"] = KEY
        argv += ["--key", KEY]
    argv += ["--"] + command + ["--model=openai:m", "--base-url=@URL@", "--debug=all"]
    argv += [o for o in opts if o != "NOKEY"]
    p = subprocess.run(argv, env=env, capture_output=True)
    out, err = p.stdout.decode(), p.stderr.decode()
    bad = []
    want = 0 if sentence is None else 3
    if p.returncode != want:
        bad.append("exit status %d, not %d" % (p.returncode, want))
    said = [line[7:] for line in err.splitlines() if line.startswith("error: ")]
    host = [w for w in err.replace(",", " ").split() if w.startswith("127.0.0.1:")]
    shown = [s.replace(host[0].rstrip(":"), "HOST") if host else s for s in said]
    if sentence is None:
        if said:
            bad.append("it said: %s" % shown)
    elif sentence.startswith("="):
        if not shown or not shown[0].startswith(sentence[1:]):
            bad.append("it said %s, not %s..." % (shown, sentence[1:]))
    elif shown != [sentence]:
        bad.append("it said\n    %s, not\n    %s" % ("\n    ".join(shown), sentence))
    with open(os.path.join(here, "sent", "count")) as f:
        n = int(f.read())
    if n != requests:
        bad.append("%d requests, not %d" % (n, requests))
    if os.path.exists(os.path.join(here, "sent", "followed")):
        bad.append("a redirect was followed")
    for half in (KEY, KEY[:len(KEY) // 2], KEY[len(KEY) // 2:], json.dumps(KEY)[1:-1]):
        for what, text in (("stdout", out), ("stderr", err)):
            if half in text:
                bad.append("the key is on %s" % what)
        for dirpath, _, names in os.walk(os.path.join(here, "sent")):
            for n in names:
                with open(os.path.join(dirpath, n), "rb") as f:
                    if half.encode() in f.read():
                        bad.append("the key is in %s" % n)
    if any(c < " " and c not in "\n\t" for c in out + err):
        bad.append("control characters in the output")
    for b in bad:
        print("%s: %s" % (name, b))
    if bad:
        print(out + err)
    return not bad


def main():
    argv = sys.argv[1:]
    only = None
    if "--only" in argv:
        i = argv.index("--only")
        only = argv[i + 1]
        del argv[i:i + 2]
    folder, server, command = argv[0], argv[1], argv[2:]
    cases = [c for c in CASES if only in (None, c[0])]
    failed = [c[0] for c in cases if not run(c, folder, server, command)]
    print("%d faults, %d failed: %s" % (len(cases), len(failed), " ".join(failed)))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
