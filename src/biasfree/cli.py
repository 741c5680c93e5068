"""`biasfree …`: make the figures and say which claims hold; diagnose a model and its data."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import biasfree

if TYPE_CHECKING:
    from rich.table import Table

    from biasfree.experiments import Claim, Experiment

app = typer.Typer(
    help="Learning dynamics of bias-free ReLU and linear networks: simulated, solved, measured.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The entry point of the command."""
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


@app.command("list")
def list_experiments() -> None:
    """The figures that can be made, with their settings."""
    from biasfree.experiments import REGISTRY

    for experiment in REGISTRY.values():
        typer.echo(f"{experiment.name}: {experiment.title}")
        for name, setting in experiment.settings.items():
            typer.echo(f"    {name} = {setting.written}: {setting.meaning}")


@app.command()
def run(
    name: Annotated[str | None, typer.Argument(help="Which figure; `biasfree list` names them.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Make every figure.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to; one folder a figure inside it.")] = Path(
        "out"
    ),
) -> None:
    """Make figures: pictures, numbers and claims; exit code 1 if a claim of ours does not hold."""
    with _mistakes_in_one_sentence():
        chosen = _chosen(name, every)
        settled = [(experiment, experiment.settle(_pairs(changes or []))) for experiment in chosen]
        _make_folder(out)
    claims: list[Claim] = []
    try:
        for experiment, settings in settled:
            with _mistakes_in_one_sentence():
                claims += _make(experiment, settings, out / experiment.name)
    except KeyboardInterrupt:
        _say(f"Stopped. What was finished is in {out}.")
        raise typer.Exit(130) from None
    if any(claim.kind == "ours" and not claim.holds for claim in claims):
        raise typer.Exit(1)


@app.command()
def diagnose(
    data: Annotated[
        Path | None, typer.Argument(help="Data: a .npz file with x and y, or a .csv file.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="A model: a state dict .pt, .safetensors, or a .npz of Network.save.")
    ] = None,
    leak: Annotated[
        float | None, typer.Option(help="Slope of the activation below 0, where the file has none (then 0).")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every number to this file.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a page with pictures.")] = None,
) -> None:
    """Is this network effectively linear, are these data symmetric, and what follows?"""
    from biasfree.data import load
    from biasfree.diagnosis import diagnose as diagnosed
    from biasfree.files import replacing
    from biasfree.networks.weight_files import load_network

    with _mistakes_in_one_sentence():
        network = None if model is None else load_network(model, leak=leak)
        if model is None and leak is not None:
            raise ValueError("--leak is about a model; give one with --model.")
        for file in (json_file, html_file):
            if file is not None and not file.parent.is_dir():
                raise ValueError(f"cannot write {file}: the folder {file.parent} does not exist; create it.")
        _say("measuring")
        report = diagnosed(network, None if data is None else load(data))
        typer.echo(str(report))
        if model is not None and model.suffix.lower() != ".npz" and leak is None:
            typer.echo(
                f"Note: {model.name} does not say its activation: leak 0 (ReLU) is assumed; see --leak."
            )
        if json_file is not None:
            with replacing(json_file) as file:
                file.write(report.to_json().encode())
        if html_file is not None:
            report.save_html(html_file)


def _chosen(name: str | None, every: bool) -> list[Experiment]:
    from biasfree.experiments import REGISTRY, named

    if every == (name is not None):
        raise ValueError(f"give the name of one figure, or --all; there are: {', '.join(REGISTRY)}.")
    return list(REGISTRY.values()) if name is None else [named(name)]


def _pairs(changes: list[str]) -> dict[str, str]:
    for change in changes:
        if "=" not in change:
            raise ValueError(f"--set takes KEY=VALUE, got {change!r}, as in --set width=100.")
    return dict(change.split("=", 1) for change in changes)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"cannot make the folder {folder}: {error.strerror}; choose another --out."
        ) from None


def _make(experiment: Experiment, settings: dict[str, Any], folder: Path) -> list[Claim]:
    """Run one figure, write everything it gives, and print its table of claims."""
    numbers = experiment.run(settings, lambda text: _say(f"{experiment.name}: {text}"))
    claims = experiment.claims(numbers)
    _make_folder(folder)
    _write(experiment, settings, numbers, claims, folder)
    _show(_table(experiment, claims))
    typer.echo(f"Written to {folder}: {experiment.name}.png, {experiment.name}.pdf, numbers.npz, claims.json")
    return claims


def _write(
    experiment: Experiment,
    settings: dict[str, Any],
    numbers: dict[str, Any],
    claims: list[Claim],
    folder: Path,
) -> None:
    from biasfree.files import replacing, save_npz
    from biasfree.versions import versions

    save_npz(folder / "numbers.npz", numbers)
    figure = experiment.draw(numbers)
    for kind in ("png", "pdf"):
        with replacing(folder / f"{experiment.name}.{kind}") as file:
            figure.savefig(file, format=kind, dpi=200)
    record = {
        "figure": experiment.name,
        "title": experiment.title,
        "settings": settings,
        "claims": [claim.record() for claim in claims],
        "versions": versions(),
    }
    with replacing(folder / "claims.json") as file:
        file.write(json.dumps(record, indent=2, ensure_ascii=False).encode())


def _table(experiment: Experiment, claims: list[Claim]) -> Table:
    """Ours first, in full colour; the paper's dimmed, since they decide nothing."""
    from rich.table import Table

    table = Table(title=experiment.title, title_justify="left", show_lines=True)
    for column in ("whose", "claim", "measured", "bound", "verdict"):
        table.add_column(column, ratio=4 if column == "claim" else None, overflow="fold")
    for claim in sorted(claims, key=lambda claim: claim.kind != "ours"):
        colour = "green" if claim.holds else "red"
        table.add_row(
            "ours" if claim.kind == "ours" else "paper (reported)",
            f"{claim.sentence}\n{claim.source}\nbound: {claim.origin}",
            _range(claim.measured),
            "≤ " + _range(claim.bound),
            f"[{colour}]{claim.verdict}[/]" if claim.kind == "ours" else claim.verdict,
            style="" if claim.kind == "ours" else "dim italic",
        )
    return table


def _show(table: Table) -> None:
    """On a terminal at its width; into a file or pipe at one that needs no folding of words."""
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _range(values: tuple[float, ...]) -> str:
    """One number, or the smallest and the largest."""
    if len(values) == 1:
        return f"{values[0]:.2g}"
    return f"{min(values):.2g} … {max(values):.2g}"


def _say(text: str) -> None:
    """Progress, for a person watching."""
    if sys.stderr.isatty():
        typer.echo(text, err=True)


@contextmanager
def _mistakes_in_one_sentence() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        typer.echo(f"biasfree: {error}", err=True)
        raise typer.Exit(2) from None
