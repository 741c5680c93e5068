"""The commands, by name; what they refuse is said in one sentence."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import biasfree
from biasfree.cli import diagnosing, figures
from biasfree.cli.messages import mistakes_in_one_sentence


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        with mistakes_in_one_sentence():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
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


def command() -> int:
    """Do what the command line says, keep what is compiled for the next time; returns the exit code."""
    try:
        biasfree.cache_compilation()
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home
        typer.echo(f"compiled programs cannot be kept for the next time: {error}", err=True)
    try:
        app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


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
