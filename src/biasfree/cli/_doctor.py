"""The command `biasfree doctor`: versions, devices, caches, and a self-check of the numerics."""

from __future__ import annotations

import typer

from biasfree.cli._messages import show_progress


def doctor() -> None:
    """Print versions, devices and caches, and check the numerics; exits with 1 if something is wrong."""
    from biasfree.cli._examinations import EXAMINATIONS
    from biasfree.versions import show_versions

    show_versions()
    wrong = 0
    for title, examine in EXAMINATIONS.items():
        show_progress(f"examining: {title}")
        try:
            found, right = examine()
        except (ImportError, OSError, RuntimeError) as error:
            found, right = str(error), False
        wrong += not right
        typer.echo(f"{title:<12}{'ok' if right else 'WRONG'}: {found}")
    if wrong:
        typer.echo(f"{wrong} of {len(EXAMINATIONS)} examinations found something wrong.")
        raise typer.Exit(1)
    typer.echo("all examinations found what they should.")
