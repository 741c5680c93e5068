"""The picture: the pair above, neurons of the pair and of five points, and the other sets below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import plots
from biasfree.networks import Network
from biasfree_papers.boursier2022.picture_below import function, norms, teacher
from biasfree_papers.shared.picture import MARKERS, colors, fill
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOT = 1 / 3  # radii of neurons are shown as this power
_BEYOND = 1.15  # where the points are shown, beyond the largest neuron


def draw(numbers: Numbers) -> Figure:
    """Four rows: courses of the pair, neurons at four times of two sets, and the other sets."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 8.5), layout="constrained")
        rows = figure.subfigures(4, 1, height_ratios=(1, 0.95, 0.95, 1), squeeze=False)[:, 0]
        fill(rows[0].subplots(1, 3), (_loss, _errors, _angles), numbers)
        for row, letter, name in ((rows[1], "d", "pair"), (rows[2], "e", "line")):
            panels = row.subplots(1, 4)
            for i, axes in enumerate(panels):
                _neurons(axes, numbers, name, i)
                axes.label_outer()
            panels[0].text(-0.45, 1.08, f"({letter})", transform=panels[0].transAxes, weight="bold")
        fill(rows[3].subplots(1, 3), (norms, function, teacher), numbers, letters="fgh")
    return figure


def _loss(axes: Axes, numbers: Numbers) -> None:
    scales = numbers["scales"]
    looks = zip(scales, colors(len(scales)), MARKERS, strict=False)
    for i, (scale, color, marker) in enumerate(looks):
        ln, ts = -np.log(scale), numbers["pair_ts"][i]
        look: Any = {
            "color": color,
            "marker": marker,
            "shown": 22,
            "label": f"$10^{{{round(np.log10(scale))}}}$",
        }
        plots.simulated_points(axes, ts / ln, numbers["pair_loss"][i], **look)
    ratio = numbers["pair_printed"][0] / -np.log(scales[0])
    for at, name in zip(ratio, ("$1/|D_+|$", "$1/|D_-|$"), strict=True):
        axes.axvline(at, color="0.5", lw=0.8, ls=":")
        axes.text(at, 1.0, f" {name}", transform=axes.get_xaxis_transform(), fontsize=7, va="top")
    axes.set(xlabel="time $t$ / ln(1/γ)", ylabel="loss", ylim=(0, 1.2 * numbers["pair_loss"].max()))
    axes.legend(title="γ", title_fontsize=7, fontsize=6.5, loc="lower left", handletextpad=0.1)


def _errors(axes: Axes, numbers: Numbers) -> None:
    scales, kept = numbers["scales"], numbers["many_scan_covers"][0]
    shown = (
        ("pair", "printed", "o", "C1", "none", "ln(1/γ)/|D±|, pair"),
        ("pair", "predicted", "s", "C0", "none", "with n±, γ±, pair"),
        ("many_scan", "printed", "o", "C1", None, "ln(1/γ)/|D±|, dozen"),
        ("many_scan", "predicted", "s", "C0", None, "with n±, γ±, dozen"),
    )
    for part, name, marker, color, face, label in shown:
        measured, due = numbers[f"{part}_measured"], numbers[f"{part}_{name}"]
        if part == "pair":
            due = due.reshape(len(scales), -1, 2)
        elif kept.any():
            measured, due = measured[:, kept], due[:, kept]
        else:
            continue
        error = np.median(np.abs(due / measured - 1).reshape(len(scales), -1), axis=1)
        axes.plot(scales, error, marker=marker, color=color, mfc=face or color, ls="-", lw=0.8, label=label)
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="relative error of escape times")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 100, high)
    axes.legend(fontsize=6, loc="lower right", handletextpad=0.3, borderaxespad=0.1)


def _angles(axes: Axes, numbers: Numbers) -> None:
    scales = numbers["scales"]
    for k, (marker, color, name) in enumerate((("o", "#b2182b", "$D_+$"), ("s", "#2166ac", "$-D_-$"))):
        values = numbers["pair_angle"][..., k]
        lines = axes.plot(scales, values, ls="none", marker=marker, mfc="none", color=color)
        lines[0].set_label(f"to {name}")
    guide = np.median(numbers["pair_angle"][-1]) * np.sqrt(scales / scales[-1])
    axes.plot(scales, guide, color="0.4", label="∝ √γ")
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="angle half way (degrees)")
    axes.legend(loc="upper left")


def _neurons(axes: Axes, numbers: Numbers, name: str, i: int) -> None:
    """Directions of neurons, radii compressed; of the points only the directions matter."""
    first, second = numbers[f"{name}_inner"][i], numbers[f"{name}_outer"][i]
    lengths = np.linalg.norm(first, axis=1)
    radii = (lengths / lengths.max()) ** _ROOT
    outer = np.sign(second) * (np.abs(second) / np.abs(second).max()) ** _ROOT
    plots.directions(axes, Network((first / lengths[:, None] * radii[:, None], outer)), rasterized=True)
    at = _BEYOND * numbers[f"{name}_x"] / np.linalg.norm(numbers[f"{name}_x"], axis=1)[:, None]
    for sign, marker in ((1, "+"), (-1, "_")):
        axes.scatter(*at[np.sign(numbers[f"{name}_y"]) == sign].T, marker=marker, color="k", lw=1, zorder=3)
    axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    axes.set(xlabel="$w_{h1}$ (cube-root scale)", ylabel="$w_{h2}$")
    axes.set_aspect("equal", adjustable="box")
    power = int(np.floor(np.log10(lengths.max())))
    largest = f"{lengths.max() / 10.0**power:.1f}·10$^{{{power}}}$"
    title = f"$t/\\tau$ = {numbers[f'{name}_snapshots'][i]:.1f}, |w| ≤ {largest}"
    axes.set_title(title, fontsize=7)
