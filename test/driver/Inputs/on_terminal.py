"""on_terminal.py FILE COMMAND...: runs the command with a terminal as standard error,
whose text goes to FILE. Exits 0 whatever the command does."""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
p = subprocess.Popen(sys.argv[2:], stderr=slave)
os.close(slave)
with open(sys.argv[1], "wb") as f:
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:  # EIO: the last one that held it is gone
            break
        if not data:
            break
        f.write(data)
p.wait()
