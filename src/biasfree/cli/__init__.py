"""`biasfree …`: make the figures and say which claims hold; diagnose a model and its data."""

from __future__ import annotations

from biasfree.stopping import STOP


def main() -> None:
    """The entry point of the command: signals are handled before anything else is loaded."""
    STOP.listen()
    from biasfree.cli._command import command

    STOP.leave(command())
