"""The picture: losses, escape times and norms against the scale, and the neurons of the pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import orthogonal_pair
from biasfree.networks import Network
from biasfree_papers.boursier2022.claims import excess
from biasfree_papers.panels import Row, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOT = 1 / 3  # radii of neurons are shown as this power


def draw(n: xarray.Dataset) -> Figure:
    """Two rows: courses and limits against γ, and neurons at four times."""
    return picture(n, [Row([_loss, _errors, _norms], height=1.2), [(4, _neurons)]], height=5.0)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    ln = -np.log(n.gamma)
    for i, color in enumerate(plots.leak_colors(np.linspace(0, 1, n.sizes["gamma"]))):
        one, power = n.isel(gamma=i, seed=0), round(np.log10(float(n.gamma[i])))
        look: Any = {"color": color, "marker": "osDv^<>"[i % 7], "shown": 22, "label": f"$10^{{{power}}}$"}
        plots.simulated_points(axes, one.pair_ts / ln[i], one.pair_loss, **look)
    for at, name in zip(1 / n.pair_rate.values, ("$1/|D_+|$", "$1/|D_-|$"), strict=True):
        axes.axvline(at, color="0.5", lw=0.8, ls=":")
        axes.text(at, 1.0, f" {name}", transform=axes.get_xaxis_transform(), fontsize=7, va="top")
    axes.set(xlabel="time $t$ / ln(1/γ)", ylabel="loss", ylim=(0, 1.2 * float(n.pair_loss.max())))
    _legend(axes, title="γ")


def _legend(axes: Axes, **options: Any) -> None:
    """Above the panel, where it covers nothing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.1), "ncols": 2, "fontsize": 6.5}
    axes.legend(**place, title_fontsize=6.5, handletextpad=0.3, columnspacing=0.8, **options)


def _errors(axes: Axes, n: xarray.Dataset) -> None:
    printed = -np.log(n.gamma) / n.pair_rate
    for due, look, label in ((printed, "C1o-", "ln(1/γ)/|D±|"), (n.pair_predicted, "C0s-", "with n±, γ±")):
        error = abs(due / n.pair_measured - 1).median(["seed", "sign"])
        axes.plot(n.gamma, error, look, lw=0.8, mfc="none", label=label)
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="relative error of times")
    _legend(axes)


def _norms(axes: Axes, n: xarray.Dataset) -> None:
    for values, look, label in zip(excess(n), ("C0o-", "C1s-"), ("covered", "not covered"), strict=True):
        labels = [label, *["_"] * values.sizes["seed"]][: values.sizes["seed"]]
        axes.plot(n.gamma, values, look, lw=0.7, mfc="none", ms=3, label=labels)
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="½|θ|² / least − 1")
    _legend(axes)


def _neurons(panels: Any, n: xarray.Dataset) -> None:
    """Directions of neurons, radii compressed; of the points only the directions matter."""
    data = orthogonal_pair()
    samples = 1.15 * data.x / np.linalg.norm(data.x, axis=1)[:, None]  # beyond the largest neuron
    run = n.isel(seed=0).sel(gamma=n.scale, method="nearest")
    for axes, now in zip(panels, (run.isel(when=i) for i in range(4)), strict=True):
        first, second = now.inner.values, now.outer.values
        lengths = np.linalg.norm(first, axis=1, keepdims=True)
        outer = np.sign(second) * (np.abs(second) / np.abs(second).max()) ** _ROOT
        shown = Network((first / lengths * (lengths / lengths.max()) ** _ROOT, outer))
        plots.directions(axes, shown, rasterized=True)
        for sign, marker in ((1, "+"), (-1, "_")):
            axes.scatter(*samples[np.sign(data.y) == sign].T, marker=marker, color="k", lw=1, zorder=3)
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        axes.set(xlabel="$w_{h1}$ (cube-root scale)", ylabel="$w_{h2}$" if axes is panels[0] else "")
        axes.set_aspect("equal", adjustable="box")
        power = int(np.floor(np.log10(lengths.max())))
        largest = f"{lengths.max() / 10.0**power:.1f}·10$^{{{power}}}$"
        axes.set_title(f"$t/\\tau$ = {float(now.shown_ts):.1f}, |w| ≤ {largest}", fontsize=6.5, loc="right")
