"""The command `biasfree lab` as a process of a test, which hears Ctrl-C and never outlives the test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: A shell that starts the tests in the background has its processes ignore Ctrl-C.
_CODE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
_CODE += "from biasfree.cli import main; main()"


@contextmanager
def lab_command(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The process, with its output; killed at the end if it has not ended."""
    command = [sys.executable, "-c", _CODE, "lab", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()
