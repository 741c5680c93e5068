"""A run as numbers that the page draws: losses, neurons, the function on the circle, boundaries, layers.

A function without biases is known from its values on the unit circle, f(x) = |x|f(x/|x|).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.diagnostics import even_fraction, nonlinear_share, plateaus, structure_distance
from biasfree.lab._words import verdict
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

#: Directions in which the function is sent, and in which the boundary is searched.
ANGLES = 180
SEARCH = 720
#: A neuron slides where its angle with a hyperplane is at most this; the flow keeps it there to rounding.
ON_HYPERPLANE = 1e-9
#: Times at which boundary, verdict and layers are measured; singular values that are sent.
MOMENTS = 41
SINGULAR = 6
_HALVINGS = 40
#: Activations that are computed at once (16 MB).
BLOCK = 2**21


def exact_answer(run: Trajectory, data: Dataset, label: str) -> dict[str, Any]:
    """The answer with an exact run, and beginning, end and level of its plateaus."""
    spans = [[p.start, p.end, p.level] for p in plateaus(run, data)]
    return {"stage": "exact", "label": label, "replay": replay(run, data), "plateaus": spans}


def replay(run: Trajectory, data: Dataset, *, angles: int = ANGLES) -> dict[str, Any]:
    """The part of a run that the page needs to draw it at every saved time."""
    first = run.weights[0]
    second = upper(run)
    values = _on_circle(run, angles)
    return {
        "ts": run.ts.tolist(),
        "loss": _finite(run.loss),
        "width": int(first.shape[1]),
        "depth": len(run.weights),
        "angles": angles,
        "w": packed(first, "<f4"),
        "a": packed(second, "<f4"),
        "f": packed(values, "<f4"),
        "sliding": packed(sliding(first, data), "u1"),
        "events": [[e.time, e.kind, e.layer, e.neuron] for e in run.stats.located],
        "branches": list(run.stats.branch_times),
        "samples": [[*map(float, x), float(y)] for x, y in zip(data.x, data.y, strict=True)],
    }


def upper(run: Trajectory) -> Float[np.ndarray, "T H"]:
    """W_L⋯W₂ of one output: the weight of each neuron of the first layer, in sign and size."""
    product = run.weights[-1]
    for w in run.weights[-2:0:-1]:
        product = product @ w
    return product[:, 0, :]


def sliding(w: Float[np.ndarray, "T H 2"], data: Dataset) -> np.ndarray:
    """1 + the sample whose hyperplane each neuron is on, 0 for none and for neurons at zero; (T, H)."""
    sizes = np.linalg.norm(data.x, axis=1)
    normals = data.x / np.where(sizes > 0, sizes, 1.0)[:, None]
    lengths = np.linalg.norm(w, axis=2)
    on = np.abs(w @ normals.T) <= ON_HYPERPLANE * lengths[:, :, None]
    on &= (lengths > 0)[:, :, None] & (sizes > 0) & (np.arange(len(data)) < 255)
    return np.where(on.any(axis=2), on.argmax(axis=2) + 1, 0).astype(np.uint8)


def measures(run: Trajectory, data: Dataset, *, pause: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """What is measured at some of the saved times; `pause` is called between them and may raise."""
    places = np.unique(np.searchsorted(run.ts, np.linspace(run.ts[0], run.ts[-1], MOMENTS))).tolist()
    found = []
    for i in places:
        pause()
        found.append(_moment(run[i], data))
    verdicts = [verdict(run[i], data, one["nonlinear"]) for i, one in zip(places, found, strict=True)]
    return {"places": places, "moments": found, "verdicts": verdicts}


def _moment(network: Network, data: Dataset) -> dict[str, Any]:
    zeros = boundary(network)
    moment: dict[str, Any] = {
        "zeros": zeros.tolist(),
        "distance": distances(network, zeros, data.x).tolist(),
        "nonlinear": float(np.max(nonlinear_share(network, data.x))),
        "even": float(even_fraction(network, data.x)),
        "singular": [np.linalg.svd(w, compute_uv=False)[:SINGULAR].tolist() for w in network.weights[:-1]],
    }
    if network.depth == 3:
        structure = structure_distance(network)
        middle = network.weights[1]
        if structure is not None:  # neurons by sign
            middle = middle[np.ix_(structure.orders[1], structure.orders[0])]
        largest = float(np.abs(middle).max()) or 1.0
        moment |= {"largest": largest, "matrix": packed(np.rint(127 * middle / largest), "i1")}
    return moment


def boundary(network: Network) -> Float[np.ndarray, "B"]:
    """The angles of the rays on which the sign of f changes, to rounding; the sign 0 of a wedge counts.

    Between kinks two layers are linear, and change their sign once at most; three layers may change it twice
    between two of the `SEARCH` directions, and then neither is found.
    """
    w = network.weights[0]
    kinks = np.arctan2(w[:, 1], w[:, 0])[:, None] + np.array([-np.pi / 2, np.pi / 2])
    even = 2 * np.pi * np.arange(SEARCH) / SEARCH
    left = np.unique(np.append(even, kinks % (2 * np.pi)))
    right = np.append(left[1:], left[0] + 2 * np.pi)
    signs = np.sign(network(_at(left)).ravel())
    change = signs != np.roll(signs, -1)
    left = left[change]
    right = right[change]
    sign = signs[change]
    for _ in range(_HALVINGS if len(left) else 0):
        middle = (left + right) / 2
        same = np.sign(network(_at(middle)).ravel()) == sign
        left = np.where(same, middle, left)
        right = np.where(same, right, middle)
    return (left + right) / 2


def distances(network: Network, zeros: Float[np.ndarray, "B"], x: Float[np.ndarray, "P 2"]) -> np.ndarray:
    """The distance of each sample to the nearest ray of the boundary; |x| if none is within a right angle.

    It is 0 where f(x) = 0, as in a wedge that no neuron sees.
    """
    sizes = np.linalg.norm(x, axis=1)
    if not len(zeros):
        return np.where(network(x).ravel() == 0, 0.0, sizes)
    rays = _at(zeros)
    along = np.clip(x @ rays.T, 0, None)
    found = np.linalg.norm(x[:, None, :] - along[:, :, None] * rays, axis=2).min(axis=1)
    return np.where(network(x).ravel() == 0, 0.0, found)


def packed(values: np.ndarray, kind: str) -> str:
    """An array as base64 of its bytes, little-endian."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode()


def _on_circle(run: Trajectory, angles: int) -> Float[np.ndarray, "T A"]:
    """f in evenly spaced directions at every saved time, for several times at once."""
    circle = _at(2 * np.pi * np.arange(angles) / angles).T
    times = max(1, BLOCK // (angles * max(w.shape[1] for w in run.weights)))
    blocks = []
    for begin in range(0, len(run), times):
        h = circle
        for w in run.weights[:-1]:
            z = w[begin : begin + times] @ h
            h = np.where(z > 0, z, run.leak * z)
        blocks.append((run.weights[-1][begin : begin + times] @ h)[:, 0, :])
    return np.concatenate(blocks)


def _at(angles: Float[np.ndarray, "A"]) -> Float[np.ndarray, "A 2"]:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _finite(values: np.ndarray) -> list[float | None]:
    """For JSON, which has no NaN and no infinity."""
    return [float(v) if np.isfinite(v) else None for v in values]
