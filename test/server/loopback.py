#!/usr/bin/env python3
"""A model's server on 127.0.0.1 for tests, OpenAI-compatible (/chat/completions)
and with Anthropic's messages API (/messages): real HTTP and SSE.

  loopback.py --script replies.json --port-file PORT [--record DIR]
              [--key KEY] [--limit SECONDS] [--slots N] [--kill-at N] [-- COMMAND...]

The script is a JSON list; request N gets its N-th item, and requests past its
end get the last one when that says "repeat": true, else 500. Where the first item
has "at": "TRAJECTORY.TURN" items are found by that, which a client says by the seed
of its question (seed 0 of driver/chat.h's chat_seed(): 1009 * trajectory + turn), as
often as it is asked; what none is for gets the one with "at": "*". An item is

  {"reply": "text"}            streamed in small pieces that cut characters
  {"reply_file": "name"}       the same, from a file beside the script
  {"reply_seq": "name"}        a counter: name with %d for the number of the request
  {"fault": "KIND", ...}       see FAULTS below

In a reply @AT@ is the trajectory and turn (3_1), @N@ the number of the request. "delay"
is in seconds, "gate": N answers nobody before N are held at once, "after": "2.2" not
before that one was asked; 20 s of waiting for either is a 500. With --slots N so many
are answered at once, and the others wait in a queue.

and may have "finish" (finish_reason, "stop"), "reasoning" (sent as
reasoning_content first, or as what "reasoning_as" says), "refusal" (sent as that,
instead of the text), "usage" (false: none), "plain" (true: one JSON
document instead of a stream), "newline" ("\\r\\n" for the stream's lines).

DIR receives request-N.json (the body as it came), request-N.txt (the content
of its messages, byte for byte; also as prompt-3.1.txt where there is a seed), asked
(3.1 a line), peak (most requests held at once) and request-N.headers (the authorisation header
replaced by whether it was KEY).

With a command the server runs it, with @URL@ in its arguments replaced by the
base URL, kills it (SIGKILL) when request --kill-at comes, and exits with its status (its own --tls-cert and --tls-key make that
https); else it runs until --limit (60 s). Either
way it ends by itself.
"""
import argparse
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = None
script = []
lock = threading.Condition()
count = held = peak = 0
asked = set()
slots = None
child = None


def chunk(delta, finish=None, usage=None):
    out = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
           "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    if usage:
        out["choices"] = []
        out["usage"] = usage
    return json.dumps(out, ensure_ascii=False)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    newline = "\n"

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self):
        # Only a client that followed a redirect comes here.
        if options.record:
            with open(os.path.join(options.record, "followed"), "a") as f:
                f.write(self.path + "\n")
        self.plain(404, b"{}")

    def plain(self, status, body, content_type="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, message, code=None, **headers):
        self.plain(status, json.dumps({"error": {"message": message, "type": "error",
                                                 "code": code}}).encode(), **headers)

    def start_stream(self, content_type="text/event-stream"):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Connection", "close")
        self.end_headers()

    def raw(self, data):
        self.wfile.write(data)
        self.wfile.flush()

    def event(self, text):
        self.raw(("data: " + text + 2 * self.newline).encode())

    def reset(self):
        """Ends the connection with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def key(self):
        """What came as the key, in whichever header it belongs."""
        if self.path.endswith("/messages"):
            return self.headers.get("x-api-key", "")
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def stream_messages(self, item, text):
        stop = item.get("finish", "end_turn")
        if item.get("plain"):
            self.plain(200, json.dumps({
                "type": "message", "role": "assistant", "stop_reason": stop,
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}],
                "usage": {"input_tokens": 100, "output_tokens": 20}}).encode())
            return
        events = [{"type": "message_start", "message": {
            "type": "message", "role": "assistant", "content": [],
            "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 1}}}]
        index = 0
        if "reasoning" in item:
            events += [
                {"type": "content_block_start", "index": 0,
                 "content_block": {"type": "thinking", "thinking": ""}},
                {"type": "content_block_delta", "index": 0,
                 "delta": {"type": "thinking_delta", "thinking": item["reasoning"]}},
                {"type": "content_block_stop", "index": 0}]
            index = 1
        events += [{"type": "content_block_start", "index": index,
                    "content_block": {"type": "text", "text": ""}}, {"type": "ping"}]
        events += [{"type": "content_block_delta", "index": index,
                    "delta": {"type": "text_delta", "text": text[i:i + 23]}}
                   for i in range(0, len(text), 23)]
        events += [{"type": "content_block_stop", "index": index},
                   {"type": "message_delta", "delta": {"stop_reason": stop},
                    "usage": {"output_tokens": 20}},
                   {"type": "message_stop"}]
        self.start_stream()
        data = "".join("event: %s%sdata: %s%s" % (e["type"], self.newline,
                                                  json.dumps(e, ensure_ascii=False),
                                                  2 * self.newline) for e in events).encode()
        for i in range(0, len(data), 997):
            self.raw(data[i:i + 997])

    def stream(self, item, text):
        self.newline = item.get("newline", "\n")
        if self.path.endswith("/messages"):
            self.stream_messages(item, text)
            return
        if item.get("plain"):
            self.plain(200, json.dumps({
                "choices": [{"index": 0, "finish_reason": item.get("finish", "stop"),
                             "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20}}).encode())
            return
        self.start_stream()
        events = [chunk({"role": "assistant", "content": ""})]
        if "reasoning" in item:
            events.append(chunk({item.get("reasoning_as", "reasoning_content"): item["reasoning"],
                                 "content": None}))
        if "refusal" in item:
            events.append(chunk({"refusal": item["refusal"], "content": None}))
            text = ""
        events += [chunk({"content": text[i:i + 23]}) for i in range(0, len(text), 23)]
        events.append(chunk({}, item.get("finish", "stop")))
        if item.get("usage", True):
            events.append(chunk({}, usage={"prompt_tokens": 100, "completion_tokens": 20}))
        events.append("[DONE]")
        data = ": hello" + 2 * self.newline
        data += "".join("data: " + e + 2 * self.newline for e in events)
        data = data.encode()
        # Pieces of a prime length cut lines, characters and CR LF anywhere.
        for i in range(0, len(data), 997):
            self.raw(data[i:i + 997])

    def do_POST(self):
        global count, held, peak
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            count += 1
            number = count
            self.at = self.place(body)
            asked.add(self.at)
            held += 1
            if held > peak:
                peak = held
                if options.record:
                    with open(os.path.join(options.record, "peak"), "w") as f:
                        f.write("%d\n" % peak)
            lock.notify_all()
        try:
            self.turn_to(number, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @staticmethod
    def place(body):
        try:
            seed = json.loads(body).get("seed")
        except ValueError:
            seed = None
        return "%d.%d" % divmod(seed, 1009) if seed is not None else None

    def item(self, number):
        if script and "at" in script[0]:
            for at in (self.at, "*"):
                for item in script:
                    if item["at"] == at:
                        return item
            return None
        if number <= len(script):
            return script[number - 1]
        return script[-1] if script and script[-1].get("repeat") else None

    def wait(self, item):
        """Until its time has come. From then on it is held no more: a client may ask
        for something else as soon as it has the last byte."""
        global held
        ready = True
        with slots or threading.Lock():
            time.sleep(item.get("delay", 0))
            with lock:
                if "gate" in item:
                    ready = lock.wait_for(lambda: peak >= item["gate"], 20)
                if "after" in item:
                    ready = lock.wait_for(lambda: item["after"] in asked, 20)
                held -= 1
        return ready

    def turn_to(self, number, body):
        if options.record:
            self.record(number, body)
        if options.kill_at and number >= options.kill_at and child:
            child.kill()
        if options.key and self.key() != options.key:
            self.error(401, "Incorrect API key provided: %s" % (self.key() or "none"))
            return
        if not self.path.endswith(("/chat/completions", "/messages")):
            self.error(404, "no such path: " + self.path)
            return
        item = self.item(number)
        if item is None:
            self.error(500, "the script has no reply %d" % number)
        elif not self.wait(item):
            self.error(500, "waited in vain for others")
        elif item.get("plainly") and b"stream_options" in body:
            self.error(400, "Unknown field stream_options")
        else:
            self.answer(item, number)

    def answer(self, item, number):
        if "fault" in item:
            FAULTS[item["fault"]](self, item)
            return
        if "reply" in item:
            text = item["reply"]
        else:
            name = item["reply_file"] if "reply_file" in item else item["reply_seq"] % number
            with open(os.path.join(os.path.dirname(options.script), name),
                      encoding="utf-8", newline="") as f:
                text = f.read()
        text = text.replace("@AT@", (self.at or "").replace(".", "_")).replace("@N@", str(number))
        self.stream(item, text)

    def record(self, number, body):
        base = os.path.join(options.record, "request-%d" % number)
        with open(base + ".json", "wb") as f:
            f.write(body)
        try:
            messages = json.loads(body)["messages"]
            names = [base + ".txt"]
            if self.at:
                names.append(os.path.join(options.record, "prompt-%s.txt" % self.at))
                with open(os.path.join(options.record, "asked"), "a") as f:
                    f.write(self.at + "\n")
            for name in names:
                with open(name, "w", encoding="utf-8", newline="") as f:
                    f.write("".join(m["content"] for m in messages))
        except (ValueError, KeyError) as e:
            with open(base + ".bad", "w") as f:
                f.write(repr(e))
        with open(base + ".headers", "w") as f:
            for name, value in self.headers.items():
                if name.lower() in ("authorization", "x-api-key"):
                    value = "right" if value.removeprefix("Bearer ") == (options.key or "") else "wrong"
                f.write("%s: %s\n" % (name, value))

    # --- faults ---

    def fault_status(self, item):
        headers = {}
        if "retry_after" in item:
            after = item["retry_after"]
            if isinstance(after, dict):  # a date so many seconds from now
                after = self.date_time_string(time.time() + after["date_in"])
            headers["Retry_After"] = str(after)
        self.error(item["status"], item.get("message", "status %d on demand" % item["status"]),
                   item.get("code"), **headers)

    def fault_echo(self, item):
        """An error that repeats the key, whole and in part."""
        key = self.key()
        self.error(item.get("status", 401), "bad header '%s' (key %s...%s)"
                   % (self.headers.get("Authorization", key), key[:(len(key) + 7) // 2 + 4], key[-4:]))

    def fault_echo_reply(self, item):
        """A reply whose code repeats the key."""
        self.stream(item, "```cuda\n// %s\n```\nKey %s." % (self.key(), self.key()))

    def fault_redirect(self, item):
        host, port = self.server.server_address[:2]
        to = item.get("to", "http://%s:%d/elsewhere" % (host, port))
        self.plain(item.get("status", 307), b"", Location=to)

    def fault_html(self, item):
        self.plain(200, b"<html><body>It works!</body></html>", "text/html; charset=utf-8")

    def fault_html_error(self, item):
        self.plain(item.get("status", 502), b"<html>Bad \x1b[31mGateway</html>", "text/html")

    def fault_garbage(self, item):
        self.start_stream()
        self.raw(bytes((i * 73 + 41) % 256 for i in range(4096)))

    def fault_bad_json(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\n"}))
        self.event('{"choices": [{"delta": \x1b[31m')

    def fault_not_http(self, item):
        self.close_connection = True
        self.raw(b"\x15\x03\x01\x00\x02\x02\x28")

    def fault_empty(self, item):
        self.start_stream()

    def fault_empty_reply(self, item):
        self.stream(item, "")

    def fault_half_stream(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\n__global__ void"}))
        self.raw(b'data: {"choices": [{"delta": {"conte')

    def fault_half_body(self, item):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.raw(b'{"choices": [')

    def fault_half_character(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\nint i;\n```\nDone"}))
        self.raw(b'data: {"choices": [{"delta": {"content": "\xe2\x82"}}]}\n\n')
        self.event(chunk({}, item.get("finish", "stop")))
        self.event("[DONE]")

    def fault_nul(self, item):
        self.start_stream()
        self.raw(b'data: {"choices": [{"delta": {"content": "a\\u0000b"}}]}\n\n')
        self.event("[DONE]")

    def fault_reset(self, item):
        self.reset()

    def fault_reset_midway(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\n"}))
        time.sleep(0.05)
        self.reset()

    def fault_hang_up(self, item):
        self.close_connection = True

    def fault_silence(self, item):
        time.sleep(item.get("seconds", 30))
        self.close_connection = True

    def fault_stall(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\n"}))
        time.sleep(item.get("seconds", 30))

    def fault_keep_alives(self, item):
        self.start_stream()
        while True:
            if self.path.endswith("/messages"):
                self.event('{"type": "ping"}')
            else:
                self.raw(b": keep-alive\n\n")
            time.sleep(0.05)

    def fault_inner_error(self, item):
        self.start_stream()
        self.event(chunk({"content": "```cuda\n"}))
        self.event(json.dumps({"type": "error", "error": {
            "type": item.get("type", "server_error"), "message": "out of memory on rank 0"}}))

    def fault_long_line(self, item):
        self.start_stream()
        self.raw(b"data: ")
        for _ in range(11):
            self.raw(b"x" * (1 << 20))
        self.raw(b"\n\n")

    def fault_flood(self, item):
        """More than 64 MiB of comments, in short lines."""
        self.start_stream()
        block = (b": " + b"x" * 1021 + b"\n") * 1024
        for _ in range(70):
            self.raw(block)

    def fault_babble(self, item):
        """The text once, then a block for ever, as content or as what "as" says."""
        self.start_stream()
        if self.path.endswith("/messages"):
            kind, key = {"thinking": ("thinking_delta", "thinking")}.get(item.get("as"), ("text_delta", "text"))
            say = lambda text: self.event(json.dumps({
                "type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}}))
        else:
            say = lambda text: self.event(chunk({item.get("as", "content"): text}))
        say(item.get("text", ""))
        for i in range(100000000):
            say(item["block"] % i if "%d" in item["block"] else item["block"])

    def fault_long_headers(self, item):
        self.close_connection = True
        self.raw(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.raw(b"X-Filler: " + b"y" * 1000 + b"\r\n")

    def fault_slow(self, item):
        self.newline = "\n"
        self.start_stream()
        for part in ("```cuda\n", "__global__ void scale() {}\n", "```\n", "Slow."):
            self.event(chunk({"content": part}))
            time.sleep(item.get("pause", 0.2))
        self.event(chunk({}, "stop"))
        self.event("[DONE]")


FAULTS = {name[len("fault_"):]: getattr(Handler, name)
          for name in dir(Handler) if name.startswith("fault_")}


def main():
    global options, script, slots, child
    argv = sys.argv[1:]
    command = []
    if "--" in argv:
        command = argv[argv.index("--") + 1:]
        argv = argv[:argv.index("--")]
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", required=True)
    parser.add_argument("--record")
    parser.add_argument("--key")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--slots", type=int, default=0)
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    options = parser.parse_args(argv)
    with open(options.script, encoding="utf-8") as f:
        script = json.load(f)
    slots = threading.Semaphore(options.slots) if options.slots else None
    for item in script:
        if "fault" in item and item["fault"] not in FAULTS:
            sys.exit("loopback.py: %s: no fault `%s`" % (options.script, item["fault"]))
    if options.record:
        os.makedirs(options.record, exist_ok=True)
        for name in os.listdir(options.record):
            os.unlink(os.path.join(options.record, name))

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if options.tls_cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls_cert, options.tls_key)
        # The handshake belongs to the thread of the connection.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
        server.handle_error = lambda request, address: None
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if options.port_file:
        with open(options.port_file + ".new", "w") as f:
            f.write("%d\n" % port)
        os.rename(options.port_file + ".new", options.port_file)
    if not command:
        print(port, flush=True)
        time.sleep(options.limit)
        return 0
    url = "%s://127.0.0.1:%d/v1" % ("https" if options.tls_cert else "http", port)
    # What is kept of a server is found again by its address, and ports come again.
    state = tempfile.TemporaryDirectory()
    try:
        child = subprocess.Popen([a.replace("@URL@", url).replace("@PORT@", str(port))
                                  for a in command],
                                 env=dict(os.environ, XDG_STATE_HOME=state.name))
        status = child.wait(options.limit)
    except subprocess.TimeoutExpired:
        child.kill()
        print("loopback.py: the command took longer than %g s" % options.limit, file=sys.stderr)
        return 124
    if options.record:
        with open(os.path.join(options.record, "count"), "w") as f:
            f.write("%d\n" % count)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
