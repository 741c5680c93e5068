"""`biasfree …`: make the figures and say which claims hold; diagnose a model and its data."""

from __future__ import annotations

from biasfree.stopping import EAR


def main() -> None:
    """The entry point of the command: its process hears signals before anything else is loaded."""
    EAR.listen()
    from biasfree.cli.command import command

    EAR.leave(command())
