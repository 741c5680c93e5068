"""What the command says: progress to a person watching, mistakes in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


def show_progress(text: str) -> None:
    """Progress, for a person watching."""
    if sys.stderr.isatty():
        typer.echo(text, err=True)


@contextmanager
def brief_errors() -> Iterator[None]:
    """Wrong input, and files that cannot be used, end the command with exit code 2 and what is wrong; other
    errors are shown in full."""
    try:
        yield
    except BrokenPipeError:  # nobody reads on, as in `biasfree list | head`
        raise
    except (ValueError, OSError) as error:
        from biasfree.files import error_text

        typer.echo(f"biasfree: {error_text(error)}", err=True)
        raise typer.Exit(2) from None
