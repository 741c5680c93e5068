"""Processes that compute for pages: started ahead, replaced when they die, ended with the server.

The process of a page that is closed or reloaded waits for the next one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from biasfree.lab._worker import LIMIT
from biasfree.threads import one_thread_environment

#: Seconds beyond its limit after which a process that does not answer is killed.
PATIENCE = 10.0
#: The longest line that a process may send.
LONGEST = 2**26
#: Bytes below which a line may be one that ends the answers to a message.
SHORT = 2**14


class Pool:
    """One process per page, and one more that is ready for the next."""

    def __init__(self) -> None:
        self._all: set[Process] = set()
        self._spare: Process | None = None

    def warm(self) -> None:
        """Start a process ahead, if none waits."""
        if self._spare is None:
            self._spare = Process(self)
            self._all.add(self._spare)

    async def take(self, tell: Callable[[str], None]) -> Process:
        """A process whose answers go to `tell`."""
        self.warm()
        process = self._spare
        self._spare = None
        assert process is not None
        process.serve(tell)
        return process

    def keep(self, process: Process) -> bool:
        """Let a process wait for the next page; False if another one does already."""
        if self._spare is not None:
            return False
        self._spare = process
        return True

    def forget(self, process: Process) -> None:
        """A process has ended."""
        self._all.discard(process)
        if self._spare is process:
            self._spare = None

    async def close(self) -> None:
        """Kill all processes and wait for their end."""
        for process in list(self._all):
            await process.kill()


class Process:
    """One process that computes: `send` a message, and its answers are told to the page."""

    def __init__(self, home: Pool):
        self._home = home
        self._tell: Callable[[str], None] | None = None
        self._hello = ""
        self._waiting: list[bytes] = []
        self._last: dict[str, Any] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._ended = False
        self._child: asyncio.subprocess.Process | None = None
        self._task = asyncio.get_running_loop().create_task(self._live())

    def serve(self, tell: Callable[[str], None]) -> None:
        """Tell answers to a page from now on, the greeting first."""
        self._tell = tell
        if self._hello:
            tell(self._hello)

    def send(self, message: dict[str, Any]) -> None:
        """Pass a message on; an answer must come in time."""
        line = json.dumps(message).encode() + b"\n"
        if self._child is None or self._child.stdin is None:
            self._waiting = [*self._waiting[-8:], line]
        else:
            self._child.stdin.write(line)
        if not {"want", "cancel"} & set(message):
            self._last = message
            self._expect()

    def release(self) -> None:
        """The page is gone: the process stops its run, and waits for another page or ends."""
        self._tell = None
        if self._home.keep(self):
            self.send({"cancel": True})
        else:
            self._end()

    async def kill(self) -> None:
        """End the process, and wait for its end."""
        self._end()
        await asyncio.gather(self._task, return_exceptions=True)

    def _end(self) -> None:
        self._ended = True
        self._calm()
        self._kill_child()

    async def _live(self) -> None:
        """Start the process, and another one whenever it dies, until the page is gone."""
        try:
            while not self._ended:
                await self._once()
                if not self._ended:
                    self._say("The computation was ended and is starting anew; move something to go on.")
        finally:
            self._home.forget(self)

    async def _once(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; from biasfree.lab._worker import main; main()"
        group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}  # Ctrl-C is the parent's
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env=one_thread_environment(), limit=LONGEST, **group,
        )  # fmt: skip
        self._child = child
        assert child.stdin is not None
        assert child.stdout is not None
        if self._ended:
            child.kill()
        waiting = self._waiting
        self._waiting = []
        child.stdin.writelines(waiting)
        while line := await child.stdout.readline():
            self._hear(line)
        await child.wait()
        self._child = None

    def _hear(self, line: bytes) -> None:
        self._calm()
        stage = json.loads(line)["stage"] if len(line) < SHORT else ""
        if stage not in ("hello", "done", "failed", "stopped", "file"):
            self._expect()
        if stage == "hello":
            self._hello = line.decode()
        if self._tell is not None:
            self._tell(line.decode())

    def _say(self, text: str) -> None:
        answer = {"id": (self._last or {}).get("id"), "stage": "failed", "text": text}
        if self._tell is not None:
            self._tell(json.dumps(answer))

    def _expect(self) -> None:
        """Kill the process unless it says something in time; its own clock should have stopped the run."""
        self._calm()
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(LIMIT + PATIENCE, self._kill_child)

    def _calm(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _kill_child(self) -> None:
        if self._child is not None and self._child.returncode is None:
            self._child.kill()
