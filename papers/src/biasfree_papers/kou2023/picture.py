"""The picture of sign blocks, margins and loss, from stored numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree_papers.kou2023.sentences import ratio
from biasfree_papers.kou2023.sentences_exponents import exponents, law, standard_errors
from biasfree_papers.shared.picture import MARKERS, colors, draws_and_median, fill
from biasfree_papers.shared.sign_blocks import gaussian_ratio
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMALL: Any = {"ms": 3, "mew": 0.7}
_LINES = ("-", "--", "-.", ":")
_STEP, _BLOCK, _INPUTS = "step", "stable rank of a sign block", "inputs $d$"


def draw(numbers: Numbers) -> Figure:
    """Eight panels: blocks in time, by dimension, gates; margins, loss, exponents; drawn gates, data."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 6.2), layout="constrained")
        *panels, corner = figure.subplots(3, 3).flat
        fill(panels, (_along, _blocks, _turned, _spread, _loss, _exponents, _drawn, _condition), numbers)
        figure.legend(*panels[0].get_legend_handles_labels(), **_corner(corner))
        corner.remove()
    return figure


def _corner(axes: Axes) -> dict[str, Any]:
    """Where a legend in place of this panel goes."""
    box = axes.get_position()
    return {"loc": "center", "bbox_to_anchor": ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)}


def _looks(numbers: Numbers) -> list[tuple[str, dict[str, Any]]]:
    """Every leak with its name, color, marker and line."""
    leaks = numbers["leaks"]
    return [
        (
            "ReLU" if leak == 0 else f"leak {leak:g}",
            {"color": shade, "marker": MARKERS[j], "ls": _LINES[j % 4]},
        )
        for j, (leak, shade) in enumerate(zip(leaks, colors(len(leaks) + 1), strict=False))
    ]


def _courses(axes: Axes, numbers: Numbers, curves: np.ndarray, *, first: int) -> None:
    """Medians over seeds for every leak: the last Gaussian inputs as markers, orthogonal ones as lines."""
    steps = numbers["steps"][first:]
    for j, (name, look) in enumerate(_looks(numbers)):
        near, exact = (np.median(curves[k, :, j, first:], axis=0) for k in (-2, -1))
        axes.plot(steps, exact, ls=look["ls"], color=look["color"], label=f"{name}, orthogonal")
        marks: Any = {"marker": look["marker"], "color": look["color"], "mfc": "none", "ls": "none"}
        axes.plot(steps[j % 2 :: 2], near[j % 2 :: 2], label=f"{name}, Gaussian", **marks)
    axes.set(xscale="log", xlabel=_STEP)


def _along(axes: Axes, numbers: Numbers) -> None:
    ranks = numbers["ranks"][..., 1]
    _courses(axes, numbers, ranks, first=1)
    top = np.median(ranks[:, :, :, 1:], axis=1).max()
    axes.set(ylabel="stable rank, block $a>0$", ylim=(0.9, 1 + 1.1 * (top - 1)))


def _places(numbers: Numbers) -> np.ndarray:
    """Where numbers of inputs are on a logarithmic axis, orthogonal ones a decade beyond."""
    d = numbers["dimensions"]
    return np.append(d, 10.0 * d[-1])


def _inputs_axis(axes: Axes, numbers: Numbers) -> None:
    at = _places(numbers)
    shown = [f"$10^{{{np.log10(d):g}}}$" if np.log10(d) % 1 == 0 else f"{d:g}" for d in at[:-1]]
    axes.set(xscale="log", xlabel=_INPUTS, xlim=(at[0] / 2, 2.5 * at[-1]))
    axes.set_xticks(at, [*shown, "$\\perp$"])
    axes.minorticks_off()


def _blocks(axes: Axes, numbers: Numbers) -> None:
    at = _places(numbers)
    for j, (name, look) in enumerate(_looks(numbers)):
        last, limit = numbers["ranks"][:, :, j, -1, 1:], numbers["limit"][:, :, j, 1:]
        values = last.reshape(len(at), -1)
        around = np.outer(at, 10 ** np.linspace(-0.12, 0.12, values.shape[1]))
        axes.plot(around, values, marker=look["marker"], ls="none", mfc="none", color=look["color"], **_SMALL)
        middle = np.median(limit.reshape(len(at), -1), axis=1)
        axes.plot(at[:-1], middle[:-1], ls=look["ls"], color=look["color"], label=f"{name}, limit")
        ends = at[-1] * np.array([0.5, 2])
        axes.plot(ends, [middle[-1]] * 2, ls=look["ls"], color=look["color"])
    _inputs_axis(axes, numbers)
    axes.set(ylabel=_BLOCK)
    axes.legend(loc="upper left")


def _turned(axes: Axes, numbers: Numbers) -> None:
    d, factors, shares = (numbers[f"turned_{name}"] for name in ("dimensions", "factors", "shares"))
    for k, shade in enumerate(colors(len(d) + 1)[: len(d)]):
        draws_and_median(
            axes, factors, shares[k].T, spread=0.08, color=shade, marker=MARKERS[k % 10], ls=_LINES[k % 4],
            label=f"$d$ = {d[k]:g}", **_SMALL,
        )  # fmt: skip
    axes.set(xscale="log", xlabel="start / Xavier's", ylabel="ReLU gates not foretold", ylim=(0, None))
    axes.legend(loc="lower left")


def _spread(axes: Axes, numbers: Numbers) -> None:
    _courses(axes, numbers, np.maximum(numbers["spread"], 1e-16), first=1)
    axes.set(yscale="log", ylabel="spread of margins")


def _loss(axes: Axes, numbers: Numbers) -> None:
    _courses(axes, numbers, ratio(numbers), first=1)
    axes.axhline(1, color="0.5", lw=0.8, ls=":")
    axes.set(yscale="log", ylabel="loss $\\times\\,(t/\\tau)\\,/\\,\\Sigma\\lambda_i$", ylim=(0.03, 2))


def _exponents(axes: Axes, numbers: Numbers) -> None:
    at, found = _places(numbers), exponents(numbers)
    for j, (_, look) in enumerate(_looks(numbers)):
        around = np.outer(at, 10 ** np.linspace(-0.12, 0.12, found.shape[1])) * 1.5 ** (j - 0.5)
        marks: Any = {"marker": look["marker"], "color": look["color"], "mfc": "none", "ls": "none"}
        axes.plot(around, found[..., j], **marks, **_SMALL)
        mean, error = found[..., j].mean(axis=1), standard_errors(found)[:, j]
        bar: Any = {"fmt": "_", "color": look["color"], "ms": 6, "elinewidth": 1.2}
        axes.errorbar(at * 2.0 ** (2 * j - 1), mean, error, **bar)
    expected = np.median(law(numbers), axis=0)
    for (_, look), value in zip(_looks(numbers), expected, strict=True):
        axes.axhline(value, color=look["color"], ls=look["ls"], lw=0.9)
    axes.axhline(-1, color="0.5", lw=0.8, ls=":")
    _inputs_axis(axes, numbers)
    axes.set(ylabel="exponent of the loss", xlim=(at[0] / 3, 3 * at[-1]))


def _drawn(axes: Axes, numbers: Numbers) -> None:
    widths, n = numbers["widths"], int(numbers["samples"]) // 2
    law = 2 / ((1 + 1 / n) * (1 + 1 / widths))
    plots.theory_curve(
        axes, widths, np.median(numbers["drawn_ceiling"], axis=1), color="k", ls="--", label="bound"
    )
    plots.theory_curve(axes, widths, law, color="0.4", label="law")
    ranks = numbers["drawn_rank"]
    axes.plot(widths, ranks, "o", mfc="none", color=_looks(numbers)[0][1]["color"], **_SMALL)
    axes.set(xscale="log", xlabel="neurons of a block", ylabel="stable rank, ReLU", ylim=(1.0, None))
    axes.legend(loc="upper right")


def _condition(axes: Axes, numbers: Numbers) -> None:
    d, ratio = numbers["dimensions"], numbers["near_orthogonality"][:-1, :, 0]
    n = int(numbers["samples"])
    axes.axhspan(1e-3, 1, color="#009e73", alpha=0.12, lw=0)
    plots.theory_curve(axes, d, gaussian_ratio(d, n), color="0.3", label="expected")
    axes.plot(
        np.repeat(d, ratio.shape[1]),
        ratio.ravel(),
        "o",
        mfc="none",
        color="#0072b2",
        label="measured",
        **_SMALL,
    )
    axes.set(xscale="log", yscale="log", xlabel=_INPUTS, ylim=(ratio.min() / 2, 2 * ratio.max()))
    axes.set_ylabel("$n\\,\\max|x_i\\cdot x_j|\\,/\\,\\min|x_i|^2$")
    axes.legend(loc="upper right")
