"""The command `biasfree diagnose`: a verdict on a model and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasfree.cli._messages import show_progress


def diagnose(
    data: Annotated[
        Path | None, typer.Argument(help="Data: a .npz file with arrays x and y, or a .csv file.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Model: a state dict (.pt), a .safetensors file, or a .npz of Network.save."),
    ] = None,
    leak: Annotated[
        float | None,
        typer.Option(help="Slope of the activation below 0, for files without it (default 0, ReLU)."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all numbers to this JSON file.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a page with pictures to this file.")
    ] = None,
) -> None:
    """Diagnose whether a network is effectively linear and whether data are symmetric."""
    from biasfree.data import load
    from biasfree.diagnosis import diagnose as diagnosed
    from biasfree.files import replacing
    from biasfree.networks._weight_files import load_network

    network = None if model is None else load_network(model, leak=leak)
    if model is None and leak is not None:
        raise ValueError("--leak needs a model; pass one with --model.")
    for file in (json_file, html_file):
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"cannot write {file}: the folder {file.parent} does not exist; create it.")
    show_progress("measuring")
    report = diagnosed(network, None if data is None else load(data))
    typer.echo(str(report))
    if model is not None and model.suffix.lower() != ".npz" and leak is None:
        typer.echo(f"Note: {model.name} does not store the activation; leak 0 (ReLU) is assumed, see --leak.")
    if json_file is not None:
        with replacing(json_file) as file:
            file.write(report.to_json().encode())
    if html_file is not None:
        report.save_html(html_file)
