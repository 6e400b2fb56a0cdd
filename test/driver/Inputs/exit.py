"""exit.py STATUS COMMAND...: runs the command and fails unless that is its exit status."""
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit("exit status %d instead of %s: %s" % (status, sys.argv[1], " ".join(sys.argv[2:])))
