"""The command-line application: its commands, exit codes and errors."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import biasfree
from biasfree.cli._diagnose import diagnose
from biasfree.cli._doctor import doctor
from biasfree.cli._lab import lab
from biasfree.cli._sweep import sweep

#: Entry-point group under which other packages add commands.
GROUP = "biasfree.commands"
#: Commands of biasfree-papers, for a hint where it is not installed.
_OF_PAPERS = ("list", "run", "draw", "report")


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in _OF_PAPERS and args[0] not in self.commands:
            typer.echo(
                f"biasfree: the command `{args[0]}` is part of biasfree-papers, which reproduces figures of "
                "papers and is not installed; install it with `pip install biasfree-papers`.",
                err=True,
            )
            raise typer.Exit(2)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Print a ValueError or OSError in one line and exit with code 2; others keep their traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has closed the pipe, as in `biasfree list | head`
            raise
        except (ValueError, OSError) as error:
            from biasfree.files import error_text

            typer.echo(f"biasfree: {error_text(error)}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Commands,
    help="Learning dynamics of bias-free ReLU and linear networks: simulation, theory, diagnostics.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("diagnose")(diagnose)
app.command("doctor")(doctor)
app.command("lab")(lab)
app.add_typer(sweep, name="sweep")
for _entry in entry_points(group=GROUP):
    app.command(_entry.name)(_entry.load())


def command() -> int:
    """Run the command line with the cache of compiled programs; returns the exit code."""
    try:
        biasfree.cache_compilation()
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home directory
        from biasfree.files import error_text  # it loads NumPy

        reason = error_text(error) if isinstance(error, OSError) else str(error)
        typer.echo(f"Compiled programs cannot be kept for later: {reason}.", err=True)
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
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass
