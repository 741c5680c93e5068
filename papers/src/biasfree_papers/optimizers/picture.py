"""The picture of the optimizers, from stored numbers."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree_papers.panels import Axes, Figure, Row, picture

_LOOKS: dict[str, Any] = {
    "descent": ("#000000", "-"), "momentum": ("#0072b2", "-"), "Nesterov": ("#56b4e9", "--"),
    "SGD, mirror pairs": ("#009e73", "-"), "Adam": ("#d55e00", "-"), "AdamW": ("#cc79a7", "--"),
    "SGD, split pairs": ("0.5", ":"),
}  # fmt: skip
_LEAST = 1e-17  # zero is drawn here


def draw(n: xarray.Dataset) -> Figure:
    """Distances over steps above, from both kinds of initial weights; by batch size below."""
    above = Row([_opposite, _paths], share_y=True, legend="below", height=1.2)
    return picture(n, [above, [_batches]], height=5.4)


def _opposite(axes: Axes, n: xarray.Dataset) -> None:
    _paths(axes, n, "opposite pairs")
    axes.set_ylabel("distance from the twin")


def _paths(axes: Axes, n: xarray.Dataset, start: str = "rank one") -> None:
    for way, (color, ls) in _LOOKS.items():
        path = n.distance.sel(start=start, way=way).median("seed").clip(_LEAST)
        axes.plot(n.step[1:], path[1:], color=color, ls=ls, label=way)
    axes.set(xscale="log", yscale="log", ylim=(_LEAST, 10), xlabel="steps")
    axes.set_title(f"from {start}", fontsize=7, loc="right")


def _batches(axes: Axes, n: xarray.Dataset) -> None:
    for task, marker, color in (("samples", "o", "#0072b2"), ("digits", "s", "#d55e00")):
        values = n.split_distance.sel(task=task)
        axes.plot(n.batch, values, marker, mfc="none", color=color, ms=4, ls="none")
        axes.plot(n.batch, values.median("seed"), color=color, label=f"{task}, median")
    axes.set(xscale="log", yscale="log", xlabel="samples per batch", ylabel="distance from the twin")
    axes.set_xticks(n.batch.values, labels=[str(size) for size in n.batch.values])
    axes.set_xticks([], minor=True)
    axes.legend()
