"""The picture of the digits, from stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree import plots
from biasfree.plots import spaced_indices
from biasfree_papers.panels import Axes, Figure, Row, picture
from biasfree_papers.shared.picture import once

_ORANGE, _BLUE = "#d55e00", "#0072b2"
_LOOKS = {"centered": (_ORANGE, "o"), "mirrored": (_BLUE, "s")}
_STYLES: dict[str, Any] = {"square": "-", "logistic": (0, (4, 2))}
_TIME = "rescaled time $ct/\\tau$"


def draw(n: xarray.Dataset) -> Figure:
    """Six panels: both losses over time, the gap; training errors, the symmetry test, the learned maps."""
    below = Row([_wrong, _symmetry, (3, _maps)], widths=(1, 1, 1.6))
    return picture(n, [[_square, _logistic, _gap], below], height=4.7)


def _square(axes: Axes, n: xarray.Dataset) -> None:
    _losses(axes, n, "square")
    plots.level(axes, float(n.halves_loss), "two halves")
    plots.level(axes, float(n.least_squares), "least squares")


def _logistic(axes: Axes, n: xarray.Dataset) -> None:
    _losses(axes, n, "logistic")
    axes.legend(loc="lower left")  # for both losses


def _losses(axes: Axes, n: xarray.Dataset, loss: str) -> None:
    """Linear as a line, ReLU as markers; the linear run does not see the mirror images."""
    t, curves = n.time.values[1:], n.curve.sel(loss=loss).isel(seed=0, time=slice(1, None))
    linear = curves.sel(kind="centered", network="linear")
    plots.theory_curve(axes, t, linear, color="k", label="linear twin")
    for shift, (kind, (color, marker)) in enumerate(_LOOKS.items()):
        y = curves.sel(kind=kind, network="ReLU").values
        chosen = spaced_indices(np.log(t), np.log(y), shown=20, shift=shift / 2)
        look: Any = {"marker": marker, "mfc": "none", "color": color, "label": f"ReLU, {kind}"}
        axes.plot(t[chosen], y[chosen], ls="none", **look)
    axes.set(xscale="log", yscale="log", xlabel=_TIME, ylabel=f"{loss} loss", xlim=(t[0] / 3, 1.2 * t[-1]))


def _gap(axes: Axes, n: xarray.Dataset) -> None:
    for loss, style in _STYLES.items():
        for kind, (color, _) in _LOOKS.items():
            gaps = n.gap.sel(loss=loss, kind=kind).clip(min=1e-17)[:, 1:].T
            labels = once(f"{kind}, {loss}", n.sizes["seed"])
            axes.plot(n.time[1:], gaps, ls=style, color=color, lw=0.8, label=labels)
    axes.set(xscale="log", yscale="log", xlabel=_TIME, ylabel="gap of outputs / output", ylim=(1e-17, 3))
    axes.set_yticks([1e-15, 1e-10, 1e-5, 1])
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.42))


def _wrong(axes: Axes, n: xarray.Dataset) -> None:
    wrong = 100 * n.wrong.sel(kind="centered").median("seed").isel(time=slice(1, None))
    for loss, style in _STYLES.items():
        for network, color in (("ReLU", _ORANGE), ("linear", "k")):
            share, label = wrong.sel(loss=loss, network=network), f"{network}, {loss}"
            axes.plot(n.time[1:], share, ls=style, color=color, label=label)
    axes.set(xscale="log", xlabel=_TIME, ylabel="training samples wrong (%)", ylim=(-0.1, 6))
    axes.legend(loc="upper right")


def _symmetry(axes: Axes, n: xarray.Dataset) -> None:
    looks = zip(n.null, n.defect, (_BLUE, _ORANGE), ("inputs $T_x$", "targets $T_y$"), "-:", strict=True)
    for null, defect, color, name, style in looks:
        axes.hist(null, bins=12, histtype="stepfilled", color=color, alpha=0.35, lw=0)
        axes.axvline(float(defect), color=color, lw=1.5, ls=style)
        place: Any = {"xycoords": ("data", "axes fraction"), "ha": "right", "fontsize": 7, "color": color}
        axes.annotate(name, (float(defect) - 0.02, 0.92), **place)
    axes.set(xlabel=f"symmetry defect ($p$ = {float(n.p_both):.2g})", xlim=(0, 1))
    axes.set(ylabel="sign-flipped copies", ylim=(0, 1.4 * axes.get_ylim()[1]))


def _maps(panels: Any, n: xarray.Dataset) -> None:
    """Linear maps as images, and what the asymmetry adds to them."""
    relu, linear = n.linear_map.sel(loss="square", kind="centered")
    largest = float(abs(n.linear_map.sel(loss="square", kind="centered")).max())
    images = {"linear": linear, "ReLU": relu, "difference": relu - linear}
    for axes, (name, image) in zip(panels, images.items(), strict=True):
        axes.imshow(image, cmap="RdBu_r", vmin=-largest, vmax=largest)
        axes.set(xticks=[], yticks=[], xlabel=name)
        axes.spines[:].set_visible(False)
    panels[0].set_ylabel("pixels")
    place: Any = {"ax": list(panels), "location": "bottom", "shrink": 0.8, "aspect": 30}
    bar = panels[0].figure.colorbar(panels[0].images[0], **place)
    bar.set_label("weight of a pixel in the linear map")
