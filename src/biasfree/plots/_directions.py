"""Plots of the directions of neurons: in a plane, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.plots._networks import leading, neuron_signs
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

POSITIVE, NEGATIVE = "#b2182b", "#2166ac"  # the two ends of the color map RdBu_r
_HYPERPLANES = 12  # of at most so many samples are drawn


@public
def directions(
    axes: Axes,
    network: Network | Trajectory,
    *,
    data: Dataset | None = None,
    **look: Any,
) -> tuple[Any, ...]:
    """Draw first-layer neurons w_h in a plane, area ∝ |w_h||a_h|: red disks for a_h > 0, else blue squares.

    With more than two inputs the plane is spanned by β̄ = β/|β| of the data and the leading right singular
    vector of W₁ orthogonal to it; without data, by the two leading right singular vectors. Samples are drawn
    as + and − by the sign of y, scaled to the size of the neurons. a_h is the h-th column of the second
    layer; in deeper networks and with several outputs its sign is the one that `weights` sorts by. Returns
    one artist per sign, a PathCollection or, for a trajectory, a Line2D.

    A trajectory is drawn over time: the angle of w_h in the plane, with the hyperplanes of at most 12 samples
    as dotted levels, or with more than two inputs cos(w_h, r). r is β̄ of the data or, without data, the
    leading right singular vector of the last W₁. Colors are the signs at the last time.
    """
    if isinstance(network, Trajectory):
        return _over_time(axes, network, data, look)
    network = _with_directions(network, data)
    first, second = network.weights[:2]
    plane, labels = _plane(first, data)
    at = first @ plane.T
    sign = np.sign(neuron_signs(network)[0])
    if data is not None:
        _samples_beneath(axes, data, plane, np.abs(at).max())
    size = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=0)
    area = 4 + 80 * size / (size.max() or 1.0)
    _spokes(axes, at)
    artists = [
        axes.scatter(*at[sign == s].T, **{**_neuron_look(network, s), "s": area[sign == s], **look})
        for s in (1, -1, 0)
        if (sign == s).any()
    ]
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.set_aspect("equal", adjustable="datalim")
    return tuple(artists)


def _with_directions(network: Network, data: Dataset | None) -> Network:
    """`network`; raises ValueError unless its neurons have directions that the data fit."""
    if network.depth < 2 or network.sizes[0] < 2:
        raise ValueError(f"directions needs two or more layers and two or more inputs, got {network!r}.")
    if data is not None and data.dimensions != network.sizes[0]:
        raise ValueError(f"the network takes {network.sizes[0]} inputs, but the data are {data!r}.")
    return network


def _over_time(
    axes: Axes, trajectory: Trajectory, data: Dataset | None, look: dict[str, Any]
) -> tuple[Line2D, ...]:
    """One line per sign, with a gap between neurons, where an angle passes ±180°, and where w_h = 0."""
    if not trajectory.weights:
        raise ValueError("the trajectory has no weights to draw; run it without save=.")
    last = _with_directions(trajectory[-1], data)
    finite = np.isfinite(trajectory.ts)
    rows = trajectory.map(lambda network: unit_rows(network.weights[0], zero=np.nan))[finite]
    if last.sizes[0] == 2:
        drawn = np.degrees(np.arctan2(rows[..., 1], rows[..., 0]))
        label = "angle of $w_h$ (degrees)"
        drawn[1:][np.abs(np.diff(drawn, axis=0)) > 180] = np.nan
        axes.set(ylim=(-180, 180), yticks=np.arange(-180, 181, 90))
        _hyperplanes(axes, data)
    else:
        plane, labels = _plane(last.weights[0], data)
        drawn = rows @ plane[0]
        name = "\\barβ" if "β" in labels[0] else "v_1"
        label = f"$\\cos(w_h, {name})$"
        axes.set(ylim=(-1.05, 1.05))
    sign = np.sign(neuron_signs(last)[0])
    lines = []
    for s in (1, -1, 0):
        if (sign == s).any():
            own = np.vstack([drawn[:, sign == s], np.full(np.count_nonzero(sign == s), np.nan)])
            t = np.tile(np.append(trajectory.ts[finite], np.nan), own.shape[1])
            style = {**_neuron_look(last, s), "marker": "", "lw": 0.8}
            lines += axes.plot(t, own.T.ravel(), **{**style, **look})
    axes.set(xlabel="time $t/\\tau$", ylabel=label)
    return tuple(lines)


def _hyperplanes(axes: Axes, data: Dataset | None) -> None:
    """Both angles at which w·x = 0, for each of a few samples."""
    if data is None or len(data) > _HYPERPLANES:
        return
    for x in data.x[data.x.any(axis=1)]:
        for turn in (-90, 90):
            angle = (np.degrees(np.arctan2(x[1], x[0])) + turn + 180) % 360 - 180
            axes.axhline(angle, color="0.75", lw=0.6, ls=":", zorder=0)


def _plane(first: np.ndarray, data: Dataset | None) -> tuple[Float[np.ndarray, "2 D"], tuple[str, str]]:
    """Two orthonormal directions of input space, and the names of the coordinates along them."""
    if first.shape[1] == 2:
        return np.eye(2), ("$w_{h1}$", "$w_{h2}$")
    if data is None or not data.beta.any():
        v = np.linalg.svd(first)[2][:2]
        return v, ("$w_h\\cdot v_1$", "$w_h\\cdot v_2$  ($v_i$: singular vectors of $W_1$)")
    beta = np.atleast_2d(data.beta)
    b = leading(beta) @ beta
    b = b / np.linalg.norm(b)
    across = np.linalg.svd(b[None])[2][1:]  # orthogonal to b even where all of W₁ lies along it
    q = np.linalg.svd(first @ across.T)[2][0] @ across
    return np.stack([b, q]), ("$w_h\\cdot\\barβ$", "$w_h\\cdot q$  ($q\\perp\\barβ$ leads in $W_1$)")


def _samples_beneath(axes: Axes, data: Dataset, plane: np.ndarray, reach: float) -> None:
    at = data.x @ plane.T
    factor = reach / np.abs(at).max() if reach > 0 and at.any() else 1.0
    sign = np.sign(data.targets[:, 0]) if data.outputs == 1 else np.zeros(len(data))
    for s, marker in {1: "+", -1: "_", 0: "."}.items():
        if (sign == s).any():
            label = f"$x\\times${factor:.2g}" + {1: ", $y>0$", -1: ", $y<0$", 0: ""}[s]
            axes.scatter(*factor * at[sign == s].T, marker=marker, color="0.6", lw=0.8, label=label, zorder=1)


def _spokes(axes: Axes, at: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    lines = np.stack([np.zeros_like(at), at], axis=1)
    axes.add_collection(LineCollection(list(lines), colors="0.8", linewidths=0.5, zorder=1.5))


def _neuron_look(network: Network, sign: int) -> dict[str, Any]:
    name = "a_h" if network.depth == 2 and network.sizes[-1] == 1 else "r_h"
    relation = {1: "$>0$", -1: "$<0$", 0: "$=0$"}[sign]
    color = {1: POSITIVE, -1: NEGATIVE, 0: "0.5"}[sign]
    shape = {1: "o", -1: "s", 0: "o"}[sign]
    look = {"color": color, "marker": shape, "alpha": 0.7, "lw": 0, "zorder": 2}
    return {"label": f"${name}${relation}", **look}
