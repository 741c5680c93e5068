"""`biasfree …`: make the figures and say which claims hold; diagnose a model and its data."""

from __future__ import annotations

from typing import Annotated

import typer

import biasfree
from biasfree.cli import diagnosing, figures

app = typer.Typer(
    help="Learning dynamics of bias-free ReLU and linear networks: simulated, solved, measured.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("list")(figures.list_figures)
app.command("run")(figures.run)
app.command("draw")(figures.draw)
app.command("report")(figures.report)
app.command("diagnose")(diagnosing.diagnose)


def main() -> None:
    """The entry point of the command, whose process is ours: what it compiles is kept for the next one."""
    try:
        biasfree.cache_compilation()
    except OSError as error:
        typer.echo(f"compiled programs cannot be kept for the next time: {error}", err=True)
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(biasfree.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass
