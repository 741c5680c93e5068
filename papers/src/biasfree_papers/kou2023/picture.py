"""The picture of sign blocks, margins and loss, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree_papers.kou2023.claims import ratio
from biasfree_papers.panels import Axes, Figure, picture
from biasfree_papers.shared.picture import MARKERS, colors


def draw(n: xarray.Dataset) -> Figure:
    """Four panels: blocks in time and by dimension; margins and loss in time."""
    return picture(n, [[_along, _blocks], [_spread, _loss]], height=5.2, legend="below")


def _looks(n: xarray.Dataset) -> list[tuple[str, dict[str, Any], str]]:
    """Every leak with its name, its color and marker, and its line."""
    shades = colors(n.sizes["leak"] + 1)
    names = ["ReLU" if leak == 0 else f"leak {leak:g}" for leak in n.leak.values]
    return [
        (name, {"color": shades[j], "marker": MARKERS[j]}, ("-", "--", "-.", ":")[j % 4])
        for j, name in enumerate(names)
    ]


def _courses(axes: Axes, n: xarray.Dataset, curves: xarray.DataArray) -> None:
    """Medians over seeds for every leak: the last Gaussian inputs as markers, orthogonal ones as lines."""
    steps, middle = n.save[1:], curves.median("seed").isel(save=slice(1, None))
    for j, (name, look, line) in enumerate(_looks(n)):
        near, exact = middle.isel(leak=j, inputs=-2), middle.isel(leak=j, inputs=-1)
        axes.plot(steps, exact, ls=line, color=look["color"], label=f"{name}, orthogonal")
        every: Any = {"markevery": (j % 2, 2), "ls": "none", "mfc": "none"}
        axes.plot(steps, near, label=f"{name}, Gaussian", **every, **look)
    axes.set(xscale="log", xlabel="step")


def _along(axes: Axes, n: xarray.Dataset) -> None:
    _courses(axes, n, n.ranks.isel(block=0))
    axes.set(ylabel="stable rank, block $a>0$", ylim=(0.9, None))


def _blocks(axes: Axes, n: xarray.Dataset) -> None:
    d = n.inputs.values[:-1].astype(float)
    at = np.append(d, 10 * d[-1])  # orthogonal inputs, a decade beyond
    around = np.outer(at, 10 ** np.linspace(-0.12, 0.12, 2 * n.sizes["seed"]))
    both = n.ranks.isel(save=-1).stack(one=("block", "seed")).transpose("leak", "inputs", "one")
    for ranks, (_, look, _) in zip(both, _looks(n), strict=True):
        axes.plot(around, ranks, ls="none", mfc="none", ms=3, mew=0.7, **look)
    axes.set(xscale="log", xlabel="inputs $d$", ylabel="stable rank of a sign block, end")
    axes.set_xticks(at, [*(f"$10^{{{np.log10(x):.3g}}}$" for x in d), "$\\perp$"])
    axes.minorticks_off()


def _spread(axes: Axes, n: xarray.Dataset) -> None:
    _courses(axes, n, np.maximum(n.spread, 1e-16))
    axes.set(yscale="log", ylabel="spread of margins")


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    _courses(axes, n, ratio(n))
    axes.axhline(1, color="0.5", lw=0.8, ls=":")
    axes.set(yscale="log", ylabel="loss $\\times\\,(t/\\tau)\\,/\\,\\Sigma\\lambda_i$", ylim=(0.03, 2))
