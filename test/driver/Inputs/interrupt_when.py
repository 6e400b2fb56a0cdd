"""interrupt_when.py FILE COMMAND...: runs COMMAND, sends it SIGINT once FILE is
there and not empty, and expects it to end soon, with another status than 0."""
import os
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[2:])
end = time.monotonic() + 30
while not (os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1])):
    if process.poll() is not None or time.monotonic() > end:
        process.kill()
        sys.exit("interrupt_when.py: %s never came" % sys.argv[1])
    time.sleep(0.01)
process.send_signal(signal.SIGINT)
sys.exit(0 if process.wait(timeout=30) != 0 else "interrupt_when.py: it ended with status 0")
