"""The first sign change of a model along a ray x + td, t ≥ 0; exact for networks of any depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

_GRID = 65  # points of the grid on which a function that is not a network is searched for a sign change
_HALVINGS = 60  # bisections of an interval of the grid


def first_zero(network: Network, x: Float[np.ndarray, "D"], d: Float[np.ndarray, "D"]) -> float:
    """The least t ≥ 0 at which f(x + td) is 0 to rounding or changes sign; infinity if never.

    f is piecewise linear in t; its pieces are computed layer by layer.
    """
    ts, values, slope = _pieces(network, x, d)
    sign = 1.0 if values[0] > 0 else -1.0
    values, slope = sign * values, sign * slope
    room = rounding(network, x + ts[:, None] * d)
    (there,) = np.nonzero(values <= room)
    if len(there) == 0:
        return float(ts[-1] - values[-1] / slope) if slope < 0 else np.inf
    i = int(there[0])
    if i == 0 or values[i] >= 0:
        return float(ts[i])
    return float(ts[i - 1] + (ts[i] - ts[i - 1]) * values[i - 1] / (values[i - 1] - values[i]))


def first_change(
    function: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, "D"],
    d: Float[np.ndarray, "D"],
    reach: float,
) -> float:
    """The first sign change of any function f(x + td) on a grid of t ≤ reach; infinity if there is none."""
    ts = np.linspace(0, reach, _GRID)
    values = function(x + ts[:, None] * d)
    (there,) = np.nonzero(np.sign(values) != np.sign(values[0]))
    if len(there) == 0:
        return np.inf
    low, high = ts[there[0] - 1], ts[there[0]]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        same = np.sign(function((x + middle * d)[None])[0]) == np.sign(values[0])
        low, high = (middle, high) if same else (low, middle)
    return float(high)


def rounding(network: Network, x: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "P"]:
    """A first-order bound on the rounding error of f(x): (Σ widths + L)·ε times f with all signs positive.

    A sum of n terms has an error of at most nε times the sum of their absolute values, per layer.
    """
    size, terms = np.abs(x), 0
    for i, w in enumerate(network.weights):
        size = size @ np.abs(w).T + (0.0 if network.biases is None else np.abs(network.biases[i]))
        terms += w.shape[1] + 2
    return terms * np.finfo(float).eps * size[:, 0]


def _pieces(network: Network, x: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The t at which the linear pieces of f(x + td) begin, their values there, and the last slope."""
    ts, h, slope = np.zeros(1), x[None], d
    for i, w in enumerate(network.weights):
        if i:
            ts, h, slope = _split(ts, h, slope)
            after = np.where((h[-1] > 0) | ((h[-1] == 0) & (slope > 0)), slope, network.leak * slope)
            h, slope = np.where(h > 0, h, network.leak * h), after
        h, slope = h @ w.T + (0.0 if network.biases is None else network.biases[i]), w @ slope
    return ts, h[:, 0], float(slope[0])


def _split(ts: np.ndarray, h: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The piecewise linear functions h, with a new break, of value exactly 0, at every sign change."""
    i, inside = np.nonzero(h[:-1] * h[1:] < 0)
    share = h[i, inside] / (h[i, inside] - h[i + 1, inside])
    (beyond,) = np.nonzero(h[-1] * slope < 0)
    late = ts[-1] - h[-1, beyond] / slope[beyond]
    new = np.concatenate([ts[i] + share * (ts[i + 1] - ts[i]), late])
    which, at = np.concatenate([inside, beyond]), np.concatenate([i, np.full(len(late), len(ts) - 1)])
    steps = (new - ts[at])[:, None]
    rise = np.concatenate([np.diff(h, axis=0) / np.diff(ts)[:, None], slope[None]])[at]
    values = h[at] + steps * rise
    values[np.arange(len(new)), which] = 0.0
    order = np.argsort(np.concatenate([ts, new]), kind="stable")
    ts, h = np.concatenate([ts, new])[order], np.concatenate([h, values])[order]
    apart = np.concatenate([[True], np.diff(ts) > 0])
    for k in np.flatnonzero(~apart):  # breaks at the same t: a function that is 0 in one is 0 in both
        h[k] = np.where(h[k - 1] == 0, 0.0, h[k])
    last = np.concatenate([apart[1:], [True]])
    return ts[last], h[last], slope
