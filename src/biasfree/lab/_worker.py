"""The process that computes for one page: JSON lines in, JSON lines out; the newest message wins.

A run stops as soon as a newer state arrives, or when it takes too long. The process ends with its parent.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from biasfree.lab._state import Experiment, greeting, received, state_answer
from biasfree.stopping import SIGNALS, end_with_parent

if TYPE_CHECKING:
    from biasfree.lab._session import Session

#: Seconds that the answers to one message may take.
LIMIT = 20.0


class Inbox:
    """Messages that wait: the newest state, and up to four requests for files."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._state: dict[str, Any] | None = None
        self._wants: deque[dict[str, Any]] = deque(maxlen=4)
        self.stop = threading.Event()
        self.ready = False

    def put(self, message: dict[str, Any]) -> None:
        """Take a message; a new state stops the run of the old one."""
        with self._change:
            if "want" in message:
                self._wants.append(message)
            else:
                self._state = None if "cancel" in message else message
                self.stop.set()
            self._change.notify()

    def take(self) -> dict[str, Any]:
        """The next message, requests for files first; waits for one."""
        with self._change:
            self._change.wait_for(lambda: self._wants or self._state is not None)
            if self._wants:
                return self._wants.popleft()
            message = self._state or {}
            self._state = None
            self.stop.clear()
            return message


class Voice:
    """Answers as lines of JSON on stdout, from any thread."""

    def __init__(self):
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not mix with answers
        self._lock = threading.Lock()

    def say(self, answer: dict[str, Any], number: Any = None) -> None:
        """Answer the message of this number."""
        line = json.dumps({"id": number, **answer}, ensure_ascii=False, allow_nan=False)
        with self._lock:
            self._out.write(f"{line}\n")
            self._out.flush()


def main() -> None:
    """Answer the messages on stdin until it closes."""
    import signal

    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C is the parent's, which closes stdin
    end_with_parent()
    voice = Voice()
    inbox = Inbox()
    voice.say(greeting())
    threading.Thread(target=_read, args=(inbox, voice), daemon=True).start()
    _warm_up()
    inbox.ready = True
    _answer(inbox, voice)


def _read(inbox: Inbox, voice: Voice) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        inbox.put(message)
        idle = {"want", "cancel"} & set(message)
        if not inbox.ready and not idle:  # the samples are shown while programs are loaded
            voice.say(state_answer(*received(message, Experiment())), message.get("id"))
    os._exit(0)  # the parent has closed the pipe, or is gone


def _answer(inbox: Inbox, voice: Voice) -> None:
    from biasfree.dynamics import stop_when_set
    from biasfree.lab._files import file_of
    from biasfree.lab._session import Session

    stop_when_set(inbox.stop)
    number: Any = None
    session = Session(lambda answer: voice.say(answer, number), inbox.stop.is_set)
    while True:
        message = inbox.take()
        number = message.get("id")
        if "want" in message:
            voice.say(file_of(session, str(message["want"]), message.get("at")), number)
        elif (last := in_time(session, message, inbox.stop, LIMIT)) is not None:
            voice.say(last, number)


def in_time(
    session: Session, message: dict[str, Any], stop: threading.Event, limit: float
) -> dict[str, Any] | None:
    """Let a session answer a message within the limit; if it could not, the answer that says why."""
    from biasfree.dynamics import Halted

    late = threading.Event()

    def expire() -> None:
        late.set()
        stop.set()

    clock = threading.Timer(limit, expire)
    clock.daemon = True
    clock.start()
    try:
        session.answer(message)
    except Halted:
        text = (
            f"The run was stopped after {limit:g} s; the curve ends where it was. Shorten the horizon, or "
            "use fewer neurons or samples."
        )
        return {"stage": "failed", "text": text} if late.is_set() else {"stage": "stopped"}
    except (ValueError, ArithmeticError) as error:
        return {"stage": "failed", "text": f"This experiment cannot be run: {error}"}
    finally:
        clock.cancel()
    return None


def _warm_up() -> None:
    """Load the compiled programs, so that the first run is as fast as the others."""
    import numpy as np

    from biasfree.data import six_points
    from biasfree.dynamics import gradient_descent, gradient_flow
    from biasfree.networks import gaussian

    data = six_points()
    network = gaussian((2, 4, 1), scale=0.1)
    gradient_descent(network, data, step=0.1, steps=2)
    gradient_flow(network, data, np.linspace(0, 1, 3))
