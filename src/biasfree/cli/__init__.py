"""The command line `biasfree …`: `diagnose`, `doctor`, `sweep`, and the commands that other packages add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from biasfree.stopping import STOP

if TYPE_CHECKING:
    import typer

__all__ = ["app", "main"]


def main() -> None:
    """Entry point of the command line; signal handlers are installed before other imports."""
    STOP.listen()
    from biasfree.cli._command import command

    STOP.leave(command())


def __getattr__(name: str) -> typer.Typer:
    """The application `app`, whose commands are loaded on first use."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from biasfree.cli import _command

    return _command.app
