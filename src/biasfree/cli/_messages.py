"""Messages of the command line: progress on a terminal, and errors in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


def show_progress(text: str) -> None:
    """Print a progress message if stderr is a terminal."""
    if sys.stderr.isatty():
        typer.echo(text, err=True)


@contextmanager
def brief_errors() -> Iterator[None]:
    """Print a ValueError or OSError in one line and exit with code 2; other errors keep their traceback."""
    try:
        yield
    except BrokenPipeError:  # the reader has closed the pipe, as in `biasfree list | head`
        raise
    except (ValueError, OSError) as error:
        from biasfree.files import error_text

        typer.echo(f"biasfree: {error_text(error)}", err=True)
        raise typer.Exit(2) from None
