"""The picture of the early phase, from stored numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from biasfree import plots
from biasfree_papers.early.claims import allowed
from biasfree_papers.panels import Panel, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (4, 2))
_NAMES = {0.0: "ReLU", 1.0: "linear"}


def draw(n: xarray.Dataset) -> Figure:
    """Four panels on rescaled time: norms, the distance from Eq. 23, rank one, and the loss."""
    c = (1 + n.leak) / 2
    n = n.assign(t=c * n.ts, window=c * n.window, plateau=c * n.plateau)
    rows = [_timed(_norms), _timed(_gaps)], [_timed(_structure), _timed(_loss)]
    return picture(n, rows, height=5.2)


def _timed(panel: Panel) -> Panel:
    """A panel with its axis of time, and the ends of the window and of the plateau for every leak."""

    def drawn(axes: Axes, n: xarray.Dataset) -> None:
        panel(axes, n)
        for one, look, _ in _leaks(n):
            for end in (one.window, one.plateau):
                axes.axvline(float(end[0]), color=look["color"], lw=0.9, ls=":", zorder=0)
        axes.set(xlabel="rescaled time $ct/\\tau$", xlim=(0, float(n.t[0, 0].max())))

    return drawn


def _leaks(n: xarray.Dataset) -> Iterator[tuple[xarray.Dataset, dict[str, Any], float]]:
    """Every leak: its numbers, its color and marker, and by how much its markers are shifted."""
    for i, color in enumerate(plots.leak_colors(0.75 * n.leak.values)):
        yield n.isel(leak=i), {"color": color, "marker": "oDs^vP"[i % 6]}, 0.5 * i


def _name(one: xarray.Dataset) -> str:
    return _NAMES.get(float(one.leak), f"$\\alpha$ = {float(one.leak):g}")


def _points(axes: Axes, one: xarray.Dataset, values: xarray.DataArray, look: Any, shift: float) -> None:
    """Simulated values of every seed given as open markers that alternate with those of other leaks."""
    for i, value in enumerate(values):
        chosen = _nearest(one.t[i], (np.arange(15) + 0.25 + shift) / 15)
        label = _name(one) if i == 0 else None
        axes.plot(one.t[i, chosen], value[chosen], ls="none", mfc="none", label=label, **look)


def _nearest(t: xarray.DataArray, shares: np.ndarray) -> np.ndarray:
    """The saved times next to these shares of the last."""
    return np.unique(np.abs(t.values[:, None] - shares * t.values[-1]).argmin(axis=0))


def _norms(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        t, lemma = one.t[0], one.lemma_bound.where(one.t <= one.window)[0]
        plots.theory_curve(axes, t, one.linear_norm[0], color=look["color"])
        plots.theory_curve(axes, t, one.bound[0], color="0.4", ls=_DASHED)
        plots.theory_curve(axes, t, lemma, color="C3", lw=1.6)
        _points(axes, one, one.norm[:1], look, shift)
    axes.plot([], [], color="0.3", label="Eq. 23")
    axes.plot([], [], color="0.4", ls=_DASHED, label="$u(0)\\,e^{cst}$")
    axes.plot([], [], color="C3", lw=1.6, label="Lemma 12")
    axes.set(ylabel="larger norm of a layer, $u$", yscale="log", ylim=(float(n.norm.min()) / 2, 100))
    axes.legend(loc="lower right", bbox_to_anchor=(0.87, 0.0))


def _gaps(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        cubic, simulator = (part[0] / one["size"][0] for part in allowed(one))
        plots.theory_curve(axes, one.t[0], simulator, color="0.75", lw=2, zorder=0)
        plots.theory_curve(axes, one.t[0], cubic + simulator, color=look["color"], ls=_DASHED)
        _points(axes, one, (one.gap / one["size"])[:1], look, shift)
    axes.plot([], [], color="0.3", ls=_DASHED, label="bound")
    axes.plot([], [], color="0.75", lw=2, label="of it, the simulator's errors")
    label = "$|W-\\tilde W|\\,/\\,|\\tilde W|$,  $\\tilde W$ of Eq. 23"
    axes.set(ylabel=label, yscale="log", ylim=(1e-12, 1e3))
    axes.legend(loc="upper left", bbox_to_anchor=(0.06, 1.0))


def _structure(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        plots.theory_curve(axes, one.t[0], one.linear_residual[0], color=look["color"])
        chosen = _nearest(one.t[0], np.linspace(0, 1, 60))
        axes.plot(one.t[0, chosen], one.angle[0, chosen], ".", ms=2, color=look["color"])
        _points(axes, one, one.residual, look, shift)
    axes.plot([], [], color="0.3", label="Eq. 23")
    axes.plot([], [], ".", ms=2, color="0.3", label="angle of $r$ to $\\barβ$ (rad), simulated")
    axes.set(ylabel="$|W_1-W_2^T r^T|\\,/\\,|W_2|$", yscale="log", ylim=(1e-6, 5))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.04))


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    for one, look, shift in _leaks(n):
        plots.theory_curve(axes, one.t[0], one.reduced_loss[0], color=look["color"])
        plots.simulated_points(axes, one.t[0], one.loss[0], shift=shift, label=_name(one), **look)
    axes.plot([], [], color="0.3", label="reduced flow")
    for end, shift, side in ((n.window, 10, "left"), (n.plateau, -8, "right")):
        at: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 7}
        axes.annotate(f"end of the {end.name}", (float(end[0, 0]), 0.05), xytext=(shift, 0), ha=side, **at)
    axes.set(ylabel="loss", ylim=(0, None))
    axes.legend(loc="center left", bbox_to_anchor=(0.1, 0.5))
