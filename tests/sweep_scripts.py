"""Scripts that run a sweep in a process of their own, so that it can be killed."""

import os
import subprocess
import sys
import time

#: A sweep of 40 points that take 50 ms each; every call is written to calls.txt. No `if __name__`.
SLOW = """
import os, sys, time
import biasfree as bf

LOG = sys.argv[1] + "/calls.txt"


def slow(x):
    with open(LOG, "a") as log:
        print(x, os.getpid(), file=log)
    time.sleep(0.05)
    return {"double": 2 * x}


s = bf.sweep(slow, over={"x": range(40)}, store=sys.argv[1] + "/store")
s.run(workers=2)
print(s.plan().done)
"""
#: The same, but the first point takes ten minutes until `release` is called: no run ends by itself before.
STUCK = SLOW.replace("time.sleep(0.05)", "time.sleep(0.05 if x or os.path.exists(LOG + '.go') else 600)")


def release(folder):
    """Let the first point of STUCK be as quick as the others from now on."""
    (folder / "calls.txt.go").touch()


def start(folder, source=SLOW, **options):
    """A new Python that reads a script from its standard input, as a notebook has it: without a file."""
    (folder / "script.py").write_text(source)
    with open(folder / "script.py") as script, open(folder / "err.txt", "a") as err:
        command = [sys.executable, "-", str(folder)]
        return subprocess.Popen(
            command, stdin=script, stdout=subprocess.PIPE, stderr=err, text=True, **options
        )


def calls(folder):
    """The points that were computed, and the processes that did so."""
    path = folder / "calls.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(map(int, line.split())) for line in lines]


def wait_for(condition, seconds=60):
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def alive(pid):
    """Whether a process runs; a dead one whose parent has not noticed does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def is_root():
    return hasattr(os, "geteuid") and os.geteuid() == 0
