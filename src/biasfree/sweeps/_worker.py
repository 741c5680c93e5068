"""A worker process of the local pool: reads calls from its standard input, answers on its standard output.

What the function prints goes to standard error. It is started as `python -c`, so it never imports the
script that started it: scripts need no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")


def send(file: BinaryIO, message: Any) -> None:
    """Write a message with its length before it."""
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    file.write(_LENGTH.pack(len(content)) + content)
    file.flush()


def receive(file: BinaryIO) -> Any:
    """Read a message; raises EOFError if the other side has ended."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    content = file.read(_LENGTH.unpack(head)[0])
    if len(content) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return pickle.loads(content)


def main() -> None:
    """Compute calls until the parent closes the pipe; end with the parent."""
    from biasfree.stopping import end_with_parent

    end_with_parent()
    sys.dont_write_bytecode = True  # an edit within a second, of equal size, would leave it stale
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    from biasfree.sweeps._compute import Worker

    worker = Worker(receive(calls))
    while True:
        try:
            name, parameters = receive(calls)
        except EOFError:
            break
        send(answers, worker.compute(name, parameters))
    worker.end()
