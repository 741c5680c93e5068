"""The command `biasfree doctor`: versions, devices, caches, and a self-check of the numerics."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires

import typer


def doctor() -> None:
    """Print versions, devices and caches, and check the numerics; exits with 1 if something is wrong."""
    from biasfree.cli._examinations import EXAMINATIONS, Verdict
    from biasfree.files import error_text
    from biasfree.versions import show_versions

    show_versions()
    found = []
    for title, examine in EXAMINATIONS.items():
        if sys.stderr.isatty():
            typer.echo(f"examining: {title}", err=True)
        try:
            text, verdict = examine()
        except ImportError as error:
            text = _missing(error)
            verdict = Verdict.WRONG
        except (OSError, RuntimeError) as error:
            text = error_text(error) if isinstance(error, OSError) else str(error)
            verdict = Verdict.WRONG
        found.append(verdict)
        typer.echo(f"{title:<12}{verdict}: {text}")
    if wrong := found.count(Verdict.WRONG):
        typer.echo(f"{wrong} of {len(found)} examinations found something wrong.")
        raise typer.Exit(1)
    slow = "" if Verdict.SLOW not in found else " Where a line says slow, runs are right but take longer."
    typer.echo(f"Nothing is wrong.{slow}")


def _missing(error: ImportError) -> str:
    """The package that an import lacks, and the command that installs it; or what the error says."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return str(error)
    name = error.name.partition(".")[0]
    try:
        declared = requires("biasfree") or []
    except PackageNotFoundError:  # a checkout that was never installed
        declared = []
    package = name.removesuffix("lib")  # jax brings jaxlib
    wanted = next((one for one in declared if re.match(rf"{package}\b", one)), package)
    return f"{name} is not installed; run `pip install '{wanted.partition(';')[0].strip()}'`"
