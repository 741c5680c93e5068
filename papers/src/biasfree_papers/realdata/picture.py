"""The picture of the digits, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.plots import spaced_indices
from biasfree_papers.shared.picture import fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_LOOKS = {"centred": (_ORANGE, "o"), "mirrored": (_BLUE, "s")}
_TIME = "rescaled time $ct/\\tau$"


def draw(numbers: Numbers) -> Figure:
    """Six panels: both losses over time, the gap; training errors, the symmetry test, the learned maps."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.4), layout="constrained")
        rows: Any = figure.subfigures(2, 1)  # color bars narrow their row only
        panels = np.concatenate([row.subplots(1, 3) for row in rows])
        parts = (_square, _logistic, _gap, _wrong, _symmetry, _maps)
        fill(panels, parts, numbers)
    return figure


def _square(axes: Axes, numbers: Numbers) -> None:
    _losses(axes, numbers, "square")
    plots.level(axes, float(numbers["halves_loss"]), "two halves")
    plots.level(axes, float(numbers["least_squares"]), "least squares")
    axes.legend(loc="upper right", handlelength=1.2)


def _logistic(axes: Axes, numbers: Numbers) -> None:
    _losses(axes, numbers, "logistic")
    axes.legend(loc="lower left")


def _losses(axes: Axes, numbers: Numbers, loss: str) -> None:
    """Linear as a line, ReLU as markers; the linear run does not see the mirror images."""
    t = numbers["rescaled"][1:]
    linear = numbers[f"{loss}_centred_loss"][0, 1, 1:]
    plots.theory_curve(axes, t, linear, color="k", label="linear twin")
    for shift, (kind, (color, marker)) in enumerate(_LOOKS.items()):
        y = numbers[f"{loss}_{kind}_loss"][0, 0, 1:]
        chosen = spaced_indices(np.log(t), np.log(y), shown=20, shift=shift / 2)
        axes.plot(
            t[chosen], y[chosen], ls="none", marker=marker, mfc="none", color=color, label=f"ReLU, {kind}"
        )
    axes.set(xscale="log", yscale="log", xlabel=_TIME, ylabel=f"{loss} loss", xlim=(t[0] / 3, 1.2 * t[-1]))


def _gap(axes: Axes, numbers: Numbers) -> None:
    t = numbers["rescaled"][1:]
    for loss, style in (("square", "-"), ("logistic", (0, (4, 2)))):
        for kind, (color, _) in _LOOKS.items():
            for row in numbers[f"{loss}_{kind}_gap"]:
                axes.plot(t, np.maximum(row[1:], 1e-17), ls=style, color=color, lw=0.8)
            axes.plot([], [], ls=style, color=color, label=f"{kind}, {loss}")
    axes.set(xscale="log", yscale="log", xlabel=_TIME, ylim=(1e-17, 3))
    axes.set_yticks([1e-15, 1e-10, 1e-5, 1])
    axes.set_ylabel("gap $\\langle(f-f_{lin})^2\\rangle^{1/2}/\\langle f_{lin}^2\\rangle^{1/2}$", fontsize=7)
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.4))


def _wrong(axes: Axes, numbers: Numbers) -> None:
    t = numbers["rescaled"][1:]
    for loss, style in (("square", "-"), ("logistic", (0, (4, 2)))):
        for which, (color, name) in enumerate(((_ORANGE, "ReLU"), ("k", "linear"))):
            wrong = 100 * np.median(numbers[f"{loss}_centred_wrong"][:, which, 1:], axis=0)
            axes.plot(t, wrong, ls=style, color=color, label=f"{name}, {loss}")
    axes.set(xscale="log", xlabel=_TIME, ylabel="training samples wrong (%)", ylim=(-0.1, 6))
    axes.legend(loc="upper right")


def _symmetry(axes: Axes, numbers: Numbers) -> None:
    names = ("inputs $T_x$", "targets $T_y$")
    looks = zip(numbers["null"], numbers["defects"], (_BLUE, _ORANGE), names, ("-", "--"), strict=True)
    for null, defect, color, name, style in looks:
        axes.hist(null, bins=12, histtype="stepfilled", color=color, alpha=0.35, lw=0)
        axes.axvline(float(defect), color=color, lw=1.5, ls=style)
        place = {"xycoords": ("data", "axes fraction"), "ha": "right", "fontsize": 7, "color": color}
        axes.annotate(name, (float(defect) - 0.02, 0.92), **place)
    p = f"$p$ = {float(numbers['p_values'][-1]):.2g}"
    axes.set(xlabel=f"symmetry defect ({p})", ylabel="number of sign-flipped copies", xlim=(0, 1))
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])


def _maps(axes: Axes, numbers: Numbers) -> None:
    """Linear maps as images, and what the asymmetry adds to them."""
    relu, linear = (row.reshape(8, 8) for row in numbers["square_centred_maps"])
    largest = float(np.abs([relu, linear]).max())
    gapped = np.full((8, 26), np.nan)
    for i, image in enumerate((linear, relu, relu - linear)):
        gapped[:, 9 * i : 9 * i + 8] = image
    picture = axes.imshow(gapped, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axes.set_xticks([3.5, 12.5, 21.5], ["linear", "ReLU", "difference"])
    axes.set(yticks=[], xlabel="linear map $w$ (square loss)", ylabel="pixel row")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.figure.colorbar(picture, ax=axes, shrink=0.45)
