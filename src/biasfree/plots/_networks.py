"""Plots of the weights of a network: matrices sorted by sign, and spectra."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, Int
from biasfree.networks import Network
from biasfree.theory import DeepParts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D

_NAMED = 12  # at most so many neurons get a tick each


@public
def weights(axes: Axes, network: Network, *, layer: int = 0, **look: Any) -> QuadMesh:
    """Draw a weight matrix, red positive and blue negative, with hidden neurons sorted by sign.

    `layer` counts from 0. Hidden neurons are sorted from the most positive to the most negative outer weight
    or, in deeper networks, entry of r_l of the nearest low-rank structure (`DeepParts`); a line separates the
    signs. Several outputs are projected on their leading singular direction. Inputs and outputs keep their
    order.

    Reference: [ZSL25] Fig. 3 (TMLR 5), whose neurons are permuted by sign.
    """
    if not isinstance(layer, int | np.integer) or not -network.depth <= layer < network.depth:
        raise ValueError(f"layer must be a whole number from 0 to {network.depth - 1}, got {layer!r}.")
    layer = range(network.depth)[layer]
    w = network.weights[layer]
    signs = [None, *neuron_signs(network), None]
    rows = _order(signs[layer + 1], len(w))
    columns = _order(signs[layer], w.shape[1])
    shown = w[np.ix_(rows, columns)]
    mesh = axes.pcolormesh(shown, **{**signed_colors(shown), "rasterized": True, **look})
    axes.set(
        xlim=(0, w.shape[1]), ylim=(len(w), 0), title=f"$W_{{{layer + 1}}}$, colors to ±{mesh.norm.vmax:.2g}"
    )
    for which, order, sign in (("x", columns, signs[layer]), ("y", rows, signs[layer + 1])):
        _name_axis(axes, which, _population(network, layer + (which == "y")), order, sign)
    return mesh


@public
def spectra(axes: Axes, network: Network, **look: Any) -> tuple[Line2D, ...]:
    """Draw the singular values of every layer on a logarithmic axis, one line per layer.

    They are divided by the largest of the layer. Values that are zero to rounding, at most
    max(inputs, outputs)·ε, are drawn at that bound as open triangles pointing down.
    """
    from matplotlib.ticker import MaxNLocator

    axes.set_yscale("log")
    lines = []
    for i, (w, marker) in enumerate(zip(network.weights, cycle("osD^P*X"), strict=False), 1):
        values = np.linalg.svd(w, compute_uv=False)
        values = values / (values[0] or 1.0)
        floor = max(w.shape) * np.finfo(float).eps
        index = np.arange(1, len(values) + 1)
        alive = values > floor
        label = {"label": f"$W_{{{i}}}$", "marker": marker, "alpha": 0.8}
        (line,) = axes.plot(index[alive], values[alive], **{**label, **look})
        clipped: dict[str, Any] = {"ls": "none", "marker": "v", "mfc": "none", "color": line.get_color()}
        axes.plot(index[~alive], np.full((~alive).sum(), floor), **clipped)
        lines.append(line)
    axes.set(xlabel="index $i$", ylabel="singular value $s_i(W_l)\\,/\\,s_1(W_l)$")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return tuple(lines)


def signed_colors(*values: np.ndarray) -> dict[str, Any]:
    """A color scale symmetric about zero: red positive, white zero, blue negative."""
    bound = max(float(np.abs(v).max()) for v in values) or 1.0
    return {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}


def neuron_signs(network: Network) -> list[Float[np.ndarray, "_"]]:
    """One number per neuron of every hidden layer; its sign is that of its effect on the output."""
    if network.depth == 1:
        return []
    last = network.weights[-1]
    outer = leading(last) @ last  # several outputs are reduced to one
    parts = DeepParts.maybe(Network((*network.weights[:-1], outer[None]), leak=network.leak))
    lower = [leading(w.T) for w in network.weights[1:-1]] if parts is None else parts.neurons[:-1]
    return [*lower, outer]


def leading(w: np.ndarray) -> np.ndarray:
    """The leading left singular vector, with its largest entry positive."""
    u = np.linalg.svd(w, full_matrices=False)[0][:, 0]
    return u * np.sign(u[np.argmax(np.abs(u))])


def _order(sign: np.ndarray | None, n: int) -> Int[np.ndarray, "_"]:
    return np.arange(n) if sign is None else np.argsort(-sign, kind="stable")


def _population(network: Network, i: int) -> str:
    """The name of the units that the i-th size of a network counts."""
    return "input" if i == 0 else "output" if i == network.depth else f"neuron of layer {i}"


def _name_axis(axes: Axes, which: str, name: str, order: np.ndarray, sign: np.ndarray | None) -> None:
    """Label an axis: a tick per neuron if they are few, else one per sign; unsorted axes keep their ticks."""
    axis = getattr(axes, f"{which}axis")
    n = len(order)
    axis.set_label_text(name if sign is None else f"{name}, + to −")
    signs = [] if sign is None else [int((sign > 0).sum()), int((sign >= 0).sum())]
    for end in {end for end in signs if 0 < end < n}:
        getattr(axes, "axhline" if which == "y" else "axvline")(end, color="0.3", lw=0.8)
    if n <= _NAMED:
        ticks = {i + 0.5: str(name + 1) for i, name in enumerate(order)}
    elif signs:
        ticks = {signs[0] / 2: "+", (signs[1] + n) / 2: "−"}
    else:
        return
    inside = {at: text for at, text in ticks.items() if 0 < at < n}
    axis.set_ticks(list(inside), list(inside.values()))
    axis.set_tick_params(length=0)
