"""What becomes of other processes, on Linux."""

import time
from pathlib import Path


def state(pid):
    """The state of a process, a letter: Z if it is dead and its parent has not noticed, X if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def alive(pid):
    return state(pid) not in "ZX"


def wait_until(happened, seconds=300):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
