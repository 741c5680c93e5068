"""The picture: escapes one by one, the probability to fit, and the two laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots
from biasfree.theory.neighbors import interpolation_probability
from biasfree_papers.shared.exponents import mean_and_error
from biasfree_papers.shared.picture import MARKERS, colors, fill
from biasfree_papers.town2026.sentences_fits import exponents, slopes, trained_limit
from biasfree_papers.types import Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AFTER = 1.25  # where a run is no longer shown, in times of its last escape


def draw(numbers: Numbers) -> Figure:
    """Escapes above, laws below."""
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(plots.WIDTH, 4.6), layout="constrained")
        panels = figure.subplots(2, 3)
        fill(panels.flat, (_loss, _grown, _times, _probability, _threshold, _norm), numbers)
    return figure


def _steps(numbers: Numbers, values: np.ndarray, before: float) -> tuple[np.ndarray, np.ndarray]:
    """What is constant between escapes, as a curve with corners."""
    edges = np.concatenate([[0.0], np.repeat(numbers["shown_times"], 2), numbers["shown_ts"][-1:]])
    return edges, np.repeat(np.append(before, values), 2)


def _loss(axes: Axes, numbers: Numbers) -> None:
    first = numbers["shown_loss"][0]
    plots.theory_curve(axes, *_steps(numbers, numbers["shown_left"], first), color="0.4", label="γ → 0")
    look = {"color": "k", "shown": 45, "label": "descent"}
    plots.simulated_points(axes, numbers["shown_ts"], numbers["shown_loss"], **look)
    axes.set(xlabel="time $t/\\tau$", ylabel="loss", ylim=(-0.02 * first, 1.08 * first))
    axes.set_xlim(right=_AFTER * numbers["shown_times"][-1])
    axes.legend()


def _grown(axes: Axes, numbers: Numbers) -> None:
    ts = numbers["shown_ts"]
    axes.step(ts, numbers["shown_directions"], where="post", color="C1", label="directions")
    limit = np.cumsum(numbers["shown_shares"])
    plots.theory_curve(axes, *_steps(numbers, limit, 0.0), color="0.4", ls="--", label="½|θ|², γ → 0")
    plots.simulated_points(axes, ts, numbers["shown_norm"], color="k", shown=36, label="½|θ|²")
    top = max(limit[-1], numbers["shown_directions"].max())
    axes.set(xlabel="time $t/\\tau$", ylabel="directions grown, and ½|θ|²", ylim=(-0.05 * top, 1.1 * top))
    axes.set_xlim(right=_AFTER * numbers["shown_times"][-1])
    axes.legend(loc="upper left", fontsize=6.5)


def _times(axes: Axes, numbers: Numbers) -> None:
    ratio = numbers["one_came"] / numbers["one_due"]
    for k, marker in zip(range(ratio.shape[1]), MARKERS, strict=False):
        look = {"ls": "none", "marker": marker, "mfc": "none", "color": colors(ratio.shape[1])[k]}
        axes.plot(numbers["one_due"][:, k], ratio[:, k], label=f"{k + 1}", **look)
    axes.axhline(1, color="0.4", lw=0.8)
    far = 1.3 * np.nanmax(np.abs(np.where(np.isfinite(ratio), ratio, np.nan) - 1))
    axes.set(xlabel="time due, γ → 0", ylabel="time of escape / due", ylim=(1 - far, 1 + far))
    axes.legend(title="escape", title_fontsize=7, ncols=2, columnspacing=0.8, handletextpad=0.1)


def _probability(axes: Axes, numbers: Numbers) -> None:
    draws, kinds = float(numbers["draws"]), colors(len(numbers["samples"]))
    for i, (n, color) in enumerate(zip(numbers["samples"], kinds, strict=True)):
        wide = np.arange(1, numbers["widths"].max() + 1)
        half = (int(n) + 1) // 2
        chance = [interpolation_probability(half, int(n) - half, int(m)) for m in wide]
        axes.plot(wide, chance, color=color)
        share = numbers["covered"][i] / draws
        error = 2 * np.sqrt(share * (1 - share) / draws)
        look = {"ls": "none", "marker": MARKERS[i], "color": color, "ms": 3, "lw": 0.8}
        axes.errorbar(numbers["widths"][i], share, error, mfc="none", label=f"n = {n}", **look)
        fit = np.mean(numbers["half_excess"][i] + numbers["half_floor"][i] < 1e-6)
        axes.plot(numbers["narrow"][i], fit, marker=MARKERS[i], color=color, ms=5, mec="k", mew=0.6)
    axes.set(xlabel="width $m$", ylabel="probability to fit all samples")
    axes.legend(fontsize=6.5, loc="lower right", handletextpad=0.2)


def _threshold(axes: Axes, numbers: Numbers) -> None:
    n, exact = numbers["samples"], numbers["exact_half"]
    errors = 2 * np.nanstd(numbers["half_boots"], axis=1)
    axes.errorbar(n, numbers["half"], errors, ls="none", marker="o", mfc="none", color="k", label="draws")
    axes.plot(n, exact, color="C0", label="formula")
    rise = np.log(n / n[0])
    axes.plot(n, exact[0] + 2 / np.log(2) * rise, color="0.4", ls=":", label="slope 2/ln 2")
    axes.plot(n, exact[0] + rise / np.log(4 / 3), color="0.4", ls="--", label="slope 1/ln(4/3)")
    axes.set_xscale("log", base=2)
    slope, error = slopes(numbers)
    axes.text(
        0.97, 0.05, f"slope {slope:.2f} ± {error:.2f}", ha="right", transform=axes.transAxes, fontsize=7
    )
    axes.set(
        xlabel="samples $n$", ylabel="width of probability ½, $m_{1/2}$", xticks=n, xticklabels=map(str, n)
    )
    axes.legend(loc="upper left")


def _norm(axes: Axes, numbers: Numbers) -> None:
    n, least, wide = numbers["samples"], numbers["minimum"][:, None], int(numbers["wide"])
    ratio = numbers["wide_norm"] / least
    fits = np.where(numbers["half_floor"] == 0, numbers["half_norm"] / least, np.nan)
    axes.plot(n, ratio, ls="none", marker="o", mfc="none", color="0.7", ms=2.5, zorder=1)
    known = np.isfinite(fits).any(axis=1)
    narrow = [np.nanmean(row) for row in fits[known]]
    axes.plot(n[known], narrow, ls="none", marker="s", mfc="none", color="C1", label="width $m_{1/2}$")
    axes.plot(n, ratio.mean(axis=1), marker="o", color="k", label=f"width {wide}")
    more = numbers["limit_samples"]
    limit = (numbers["limit_norm"] / np.sqrt(2 * more)[:, None]).mean(axis=1)
    axes.plot(more, limit, ls="--", marker="x", ms=4, color="C0", label=f"width {wide}, γ → 0")
    axes.axhline(1, color="0.4", ls=":", lw=0.9)
    axes.axhline(1 + np.sqrt(2), color="C0", ls=":", lw=0.9)
    axes.set_xscale("log", base=2)
    _exponents(axes, numbers)
    axes.set(xlabel="samples $n$", ylabel="½|θ|² / √(2n)", xticks=more[::2], xticklabels=map(str, more[::2]))
    axes.set_ylim(bottom=0.5, top=1 + np.sqrt(2) + 0.1)  # room for the exponents
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.93), fontsize=6.5, borderaxespad=0.1)


def _exponents(axes: Axes, numbers: Numbers) -> None:
    """Of ½|θ|² over the numbers of samples that were trained: of the runs, and of their limit."""
    n, shown = numbers["samples"], (("k", numbers["wide_norm"]), ("C0", trained_limit(numbers)))
    for i, (color, norms) in enumerate(shown):
        mean, error = mean_and_error(exponents(n, norms))
        text = f"½|θ|² ~ $n^{{{mean:.2f}\\pm{error:.2f}}}$, n ≤ {n[-1]}"
        look = {"ha": "right", "transform": axes.transAxes, "fontsize": 6.5, "color": color}
        axes.text(0.99, 0.13 - 0.09 * i, text, **look)
