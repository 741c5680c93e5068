"""The command line `biasfree …`: `diagnose`, `doctor`, `sweep`, and the commands that other packages add."""

from __future__ import annotations

from biasfree.stopping import STOP


def main() -> None:
    """Entry point of the command line; signal handlers are installed before other imports."""
    STOP.listen()
    from biasfree.cli._command import command

    STOP.leave(command())
