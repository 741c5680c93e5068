"""Networks and data at the edge of every hypothesis, and just beyond it, each with a label.

`problems()` yields both at once; the tables `DATASETS` and `NETWORKS` hold the makers by label. Problems are
small: at most ten samples, three dimensions and five neurons, so that a reference flow takes milliseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hypothesis.strategies import SearchStrategy, builds, integers, sampled_from

import biasfree as bf
from edges.data import DATASETS

LEAKS = (0.0, 0.3, 1.0, 1e-300, 1 - 1e-12)
SCALES = (1e-160, 1e-6, 1e-3, 0.3)


@dataclass(frozen=True)
class Problem:
    """A network and data that fit it."""

    label: str
    network: bf.Network
    data: bf.Dataset

    def __repr__(self) -> str:
        return f"<{self.label}>"


@dataclass(frozen=True)
class Wanted:
    """A network to be made: for these data, of this scale and leak, from these random numbers."""

    rng: np.random.Generator
    data: bf.Dataset
    scale: float
    leak: float

    @property
    def direction(self) -> np.ndarray:
        """β̄, or an axis where there is no β."""
        beta = self.data.beta.reshape(self.data.outputs, -1)[0]
        size = np.abs(beta).max()
        return np.eye(len(beta))[0] if size == 0 else beta / size / np.linalg.norm(beta / size)


def _gaussian(it, width, *hidden, scale=None):
    sizes = (it.data.dimensions, width, *hidden, it.data.outputs)
    shapes = zip(sizes[1:], sizes, strict=False)
    size = it.scale if scale is None else scale
    return [size * it.rng.normal(size=shape) / np.sqrt(np.prod(shape)) for shape in shapes]


def _along(it, neurons, direction=None):
    """W₁ = vrᵀ, by default r = β̄, and, for every output, W₂ = vᵀ."""
    v = it.scale * np.asarray(neurons, dtype=float)
    return [np.outer(v, it.direction if direction is None else direction), np.tile(v, (it.data.outputs, 1))]


def _tilted(it, neurons):
    r = it.direction + 0.3 * it.rng.normal(size=it.data.dimensions)
    return _along(it, neurons, r / np.linalg.norm(r))


def _changed(layers, first=1.0, second=1.0):
    return [first * layers[0], second * layers[1]]


def _plain(it, *shapes):
    return [it.scale * it.rng.normal(size=shape) for shape in shapes]


def _opposite(it):
    first, second = _gaussian(it, 2)
    return [np.concatenate([first, -first]), np.hstack([second, -second])]


def _one_sign(it, width, size):
    """Gaussian w_h and positive a_h, of their `size`."""
    first = _gaussian(it, width)[0]
    return [first, np.tile(size(first), (it.data.outputs, 1))]


def _cancelled(it, rest):
    """W₁β̄ = −W₂ᵀ but for a share `rest`: hardly anything grows."""
    first, _ = _gaussian(it, 3)
    return [first, np.tile((rest - 1) * (first @ it.direction), (it.data.outputs, 1))]


def _equal(it):
    first, second = _gaussian(it, 1)
    return [np.tile(first, (3, 1)), np.tile(second, (1, 3))]


def _lambda_balanced(it):
    sizes = (it.data.dimensions, 4, it.data.outputs)
    seed = int(it.rng.integers(2**31))
    return [*bf.networks.lambda_balanced(sizes, scale=it.scale, balance=0.0, seed=seed).weights]


def _low_rank(it):
    if it.data.outputs > 1:
        return _gaussian(it, 4, 3)
    r = it.direction + 0.2 * it.rng.normal(size=it.data.dimensions)
    seed = int(it.rng.integers(2**31))
    return [*bf.networks.low_rank(r, widths=(4, 4), scale=it.scale, leak=it.leak, seed=seed).weights]


def _zero_between(it):
    first, second, third = _gaussian(it, 4, 3)
    return [first, 0 * second, third]


#: A maker gives the layers; biases are added below.
NETWORKS = {
    "gaussian": lambda it: _gaussian(it, 5),
    "one neuron": lambda it: _gaussian(it, 1),
    "two neurons": lambda it: _gaussian(it, 2),
    "zero second layer": lambda it: _changed(_gaussian(it, 5), second=0.0),
    "zero first layer": lambda it: _changed(_gaussian(it, 5), first=0.0),
    "large first, zero second layer": lambda it: _changed(_gaussian(it, 5, scale=3.0), second=0.0),
    "large first, small second layer": lambda it: _changed(_gaussian(it, 5), first=3 / it.scale),
    "zero first, large second layer": lambda it: _changed(_gaussian(it, 5, scale=3.0), first=0.0),
    "zero weights": lambda it: _gaussian(it, 3, scale=0.0),
    "a zero neuron": lambda it: _along(it, [1, -1, 0]),
    "one sign": lambda it: _along(it, [1, 2]),
    "one sign, gaussian first layer": lambda it: _one_sign(it, 3, lambda w: 3 * np.abs(w).sum(axis=1)),
    "one sign, one neuron": lambda it: _along(it, [-1]),
    "one sign of a_h, both of w_h": lambda it: _one_sign(it, 4, lambda w: np.linalg.norm(w, axis=1)),
    "lopsided": lambda it: _along(it, [1, -1e-4]),
    "somewhat lopsided": lambda it: _along(it, [1.0, -0.5, 0.3]),
    "hardly lopsided": lambda it: _along(it, [1.0, -0.97]),
    "aligned": lambda it: _along(it, [1, -1, 2, -2]),
    "rank one": lambda it: _tilted(it, [1, -1, 2, -2]),
    "rank one against β": lambda it: _changed(_along(it, [1, -1]), first=-1.0),
    "nearly rank one": lambda it: _changed(_tilted(it, [1, -1]), first=1 + 1e-6),
    "rank one, unequal layers": lambda it: _changed(_tilted(it, [1, -1]), first=2.0),
    "opposite pairs": _opposite,
    "λ-balanced": _lambda_balanced,
    "equal neurons": _equal,
    "nothing grows": lambda it: _cancelled(it, 0.0),
    "hardly anything grows": lambda it: _cancelled(it, 1e-9),
    "huge": lambda it: _gaussian(it, 3, scale=1e60),
    "depth 3": lambda it: _gaussian(it, 4, 3),
    "depth 3, low rank": _low_rank,
    "depth 3, a zero layer": _zero_between,
    "one layer": lambda it: _plain(it, (it.data.outputs, it.data.dimensions)),
    "biases": lambda it: _gaussian(it, 3),
    "zero biases": lambda it: _gaussian(it, 3),
    "too many inputs": lambda it: _plain(it, (3, it.data.dimensions + 1), (it.data.outputs, 3)),
    "too many outputs": lambda it: _plain(it, (3, it.data.dimensions), (it.data.outputs + 1, 3)),
}


def make_data(label: str, seed: int) -> bf.Dataset:
    """The data of a label."""
    return DATASETS[label](np.random.default_rng([seed, 1]))


def make_network(label: str, data: bf.Dataset, leak: float, scale: float, seed: int) -> bf.Network:
    """The network of a label for these data."""
    layers = NETWORKS[label](Wanted(np.random.default_rng([seed, 2]), data, scale, leak))
    size = {"biases": 0.3, "zero biases": 0.0}.get(label)
    biases = None if size is None else tuple(np.full(len(w), size) for w in layers)
    return bf.Network(tuple(layers), leak=leak, biases=biases)


def problems(
    data_labels: Iterable[str] = DATASETS,
    network_labels: Iterable[str] = NETWORKS,
    *,
    leaks: Iterable[float] = LEAKS,
    scales: Iterable[float] = SCALES,
) -> SearchStrategy[Problem]:
    """A network and data that fit, of all kinds or of those named; labels have the seeds."""

    def make(data: str, network: str, leak: float, scale: float, seed: int, other: int) -> Problem:
        samples = make_data(data, seed)
        label = f"{network}, leak {leak!r}, scale {scale:g}, seed {other} on {data}, seed {seed}"
        return Problem(label, make_network(network, samples, leak, scale, other), samples)

    kinds = (sampled_from(sorted(labels)) for labels in (data_labels, network_labels))
    sizes = (sampled_from(tuple(values)) for values in (leaks, scales))
    return builds(make, *kinds, *sizes, integers(0, 2**20), integers(0, 2**20))
