"""The picture of Figs. 4 and 8, from stored numbers."""

from __future__ import annotations

from typing import Any

import xarray

from biasfree import plots
from biasfree.data import Dataset
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import SIGNS, neurons
from biasfree_papers.shared.xor.claims import NAMES, point_name

_LOOKS = (("C0", "o", "-"), ("C1", "s", "--"), ("C2", "^", "-."), ("C3", "D", (0, (1, 1))))


def draw(n: xarray.Dataset) -> Figure:
    """For each set, loss and outputs over time, and neurons at four times below them."""
    rows = []
    for size in n.set.values:
        loss, outputs, neurons = (_of(size, part) for part in (_loss, _outputs, _neurons))
        rows += [Row([loss, outputs]), Row([(n.sizes["shown"], neurons)], height=1.3, legend="below")]
    return picture(n, rows, height=4.6 * n.sizes["set"])


def _of(size: int, panel: Any) -> Any:
    """A panel for one set."""
    return lambda axes, n: panel(axes, n.sel(set=size).dropna("point", subset=["rate"]))


def _loss(axes: Axes, n: xarray.Dataset) -> None:
    theory = n.loss.sel(kind="theory")
    axes.plot(n.t, theory[1:].T, color="0.8", lw=0.8)
    plots.theory_curve(axes, n.t, theory[0], color="k", label="theory")
    plots.simulated_points(axes, n.t, n.loss.sel(kind="flow")[0], color="k", shown=24, label="flow")
    look: Any = {"marker": "x", "color": "C1", "ms": 3.5, "shown": 24, "shift": 0.5}
    label = f"descent, $\\eta$ = {float(n.step):g}"
    plots.simulated_points(axes, n.t, n.loss.sel(kind="descent")[0], label=label, **look)
    if n.set == 4 and "gated_loss" in n:
        axes.plot(n.t, n.gated_loss[0], color="C2", ls=(0, (2, 1.5)), label="gated network")
    _time_axis(axes, n)
    axes.set(ylabel=f"{n.objective.item()} loss", ylim=(0, 1.08 * float(theory[0, 0])))
    axes.set_title(NAMES[int(n.set)], loc="right")
    axes.legend(loc="upper right")


def _outputs(axes: Axes, n: xarray.Dataset) -> None:
    flow, theory = (n.outputs.sel(kind=kind)[0] for kind in ("flow", "theory"))
    for i, (x, (color, marker, dashes)) in enumerate(zip(n.x.values, _LOOKS, strict=False)):
        plots.theory_curve(axes, n.t, theory[:, i], color=color, ls=dashes)
        look: Any = {"color": color, "marker": marker, "shown": 14, "label": point_name(x)}
        plots.simulated_points(axes, n.t, flow[:, i], **look)
    _time_axis(axes, n)
    axes.set(ylabel="output $y_i f(x_i)$")
    above: Any = {"loc": "lower right", "bbox_to_anchor": (1, 0.98), "ncols": 4}
    axes.legend(**above, handletextpad=0.1, columnspacing=0.9, borderaxespad=0.2)


def _time_axis(axes: Axes, n: xarray.Dataset) -> None:
    """Times, and those at which neurons are shown."""
    for t in n.snapshot:
        axes.axvline(float(t), color="0.6", lw=0.7, ls=":", zorder=0)
    axes.set(xlabel="time $t/\\tau$", xlim=(-0.01 * float(n.t[-1]), float(n.t[-1])))


def _neurons(panels: Any, n: xarray.Dataset) -> None:
    data = Dataset(n.x.values, n.y.values)
    for axes, (_, shown) in zip(panels, n.groupby("shown"), strict=True):
        now = shown.squeeze("shown")
        largest = neurons(axes, now.inner.values, now.outer.values, data)
        axes.set_ylim(-1.75, 1.35)
        axes.text(0.5, 0.03, f"$|w|$ ≤ {largest}", transform=axes.transAxes, ha="center", fontsize=7)
        axes.set_title(f"$t/\\tau$ = {float(now.snapshot):.0f}", fontsize=7, loc="right")
        axes.label_outer()
    for sign, marker in SIGNS.items():
        panels[0].plot([], [], ls="none", marker=marker, color="k", label=f"$x_i$, $y_i{'<>'[sign > 0]}0$")
