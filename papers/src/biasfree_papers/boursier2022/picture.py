"""The picture: losses, escape times and norms against the scale, and the neurons of the pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.data import orthogonal_pair
from biasfree_papers.boursier2022.claims import excess
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import MARKERS, colors, legend_above, neurons, once


def draw(n: xarray.Dataset) -> Figure:
    """Two rows: courses and limits against γ, and neurons at four times."""
    return picture(n, [Row([_loss, _errors, _norms], height=1.2), [(4, _neurons)]], height=5.0)


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    ln = -np.log(n.gamma)
    for i, color in enumerate(colors(n.sizes["gamma"])):
        one, power = n.isel(gamma=i, seed=0), round(np.log10(float(n.gamma[i])))
        look: Any = {"color": color, "marker": MARKERS[i], "shown": 22, "label": f"$10^{{{power}}}$"}
        plots.simulated_points(axes, one.pair_ts / ln[i], one.pair_loss, **look)
    for at, name in zip(1 / n.pair_rate.values, ("$1/|D_+|$", "$1/|D_-|$"), strict=True):
        axes.axvline(at, color="0.5", lw=0.8, ls=":")
        axes.text(at, 1.0, f" {name}", transform=axes.get_xaxis_transform(), fontsize=7, va="top")
    axes.set(xlabel="time $t$ / ln(1/γ)", ylabel="loss", ylim=(0, 1.2 * float(n.pair_loss.max())))
    legend_above(axes, title="γ")


def _errors(axes: Axes, n: xarray.Dataset) -> None:
    printed = -np.log(n.gamma) / n.pair_rate
    for due, look, label in ((printed, "C1o-", "ln(1/γ)/|D±|"), (n.pair_predicted, "C0s-", "with n±, γ±")):
        error = abs(due / n.pair_measured - 1).median(["seed", "sign"])
        axes.plot(n.gamma, error, look, lw=0.8, mfc="none", label=label)
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="relative error of times")
    legend_above(axes)


def _norms(axes: Axes, n: xarray.Dataset) -> None:
    for values, look, label in zip(excess(n), ("C0o-", "C1s-"), ("covered", "not covered"), strict=True):
        axes.plot(n.gamma, values, look, lw=0.7, mfc="none", ms=3, label=once(label, values.sizes["seed"]))
    axes.set(xscale="log", yscale="log", xlabel="initial scale γ", ylabel="½|θ|² / least − 1")
    legend_above(axes)


def _neurons(panels: Any, n: xarray.Dataset) -> None:
    run = n.isel(seed=0).sel(gamma=n.scale, method="nearest")
    for axes, now in zip(panels, (run.isel(when=i) for i in range(4)), strict=True):
        largest = neurons(axes, now.inner.values, now.outer.values, orthogonal_pair())
        axes.set_ylabel(axes.get_ylabel() if axes is panels[0] else "")
        axes.set_title(f"$t/\\tau$ = {float(now.shown_ts):.1f}, |w| ≤ {largest}", fontsize=6.5, loc="right")
