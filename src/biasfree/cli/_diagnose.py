"""The command `biasfree diagnose`: a verdict on a model and its data."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer


@contextmanager
def _interruptible() -> Iterator[None]:
    """Within this context Ctrl-C raises KeyboardInterrupt, upon which `diagnose` returns what is known."""
    try:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:  # not the main thread, which alone receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def diagnose(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Data: a .npz file with arrays x and y, a .csv file, or a folder with images, one "
            "folder per class."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Column of the .csv file to predict, numbers or labels (default: the last)."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model: a state dict (.pt), a .safetensors file, or a .npz of Network.save; or a folder "
            "of checkpoints, for the trend."
        ),
    ] = None,
    leak: Annotated[
        float | None,
        typer.Option(help="Slope of the activation below 0, for files without it (default 0, ReLU)."),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Train networks of this shape without and with biases, and deeper."),
    ] = False,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="The model was not trained on these samples.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all numbers to this JSON file.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a page with pictures to this file.")
    ] = None,
) -> None:
    """Diagnose whether a linear model would do as well, and what keeps a network linear."""
    from biasfree.diagnostics.advice import diagnose as diagnosed
    from biasfree.diagnostics.advice import diagnose_checkpoints
    from biasfree.files import replacing, writable
    from biasfree.networks import load_network

    for file in (json_file, html_file):
        if file is not None:
            writable(file)
    result: Any
    if model is not None and model.is_dir():
        if data is None:
            raise ValueError(f"the checkpoints of {model} need data to be measured on; pass a file.")
        result = diagnose_checkpoints(None, model, data, target, leak=leak)
    else:
        network = None if model is None else load_network(model, leak=leak)
        if model is None and leak is not None:
            raise ValueError("--leak needs a model; pass one with --model.")
        if data is None and target is not None:
            raise ValueError("--target needs a .csv file; pass one.")
        with _interruptible():
            result = diagnosed(network, data, target, compare=compare, unseen=unseen)
    typer.echo(str(result))
    if model is not None and model.is_file() and model.suffix.lower() != ".npz" and leak is None:
        typer.echo(f"Note: {model.name} does not store the activation; leak 0 (ReLU) is assumed, see --leak.")
    if json_file is not None:
        with replacing(json_file) as stream:
            stream.write(result.to_json().encode())
    if html_file is not None:
        result.save_html(html_file)
