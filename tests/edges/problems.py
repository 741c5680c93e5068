"""Networks and data at the edge of every hypothesis, and just beyond it, each with a label.

`datasets()` yields labeled data, `networks(data)` labeled networks that fit them, `problems()` both at once;
the tables `DATASETS` and `NETWORKS` hold the makers by label. Problems are small: at most ten samples, three
dimensions and five neurons, so that a reference flow takes milliseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from hypothesis.strategies import SearchStrategy, builds, integers, sampled_from

import biasfree as bf
from edges.data import DATASETS

LEAKS = (0.0, 0.3, 1.0, 1e-300, 1 - 1e-12)
SCALES = (1e-160, 1e-6, 1e-3, 0.3)
Value = TypeVar("Value", bf.Network, bf.Dataset)


@dataclass(frozen=True)
class Labeled(Generic[Value]):
    """A network or data, and what is special about it."""

    label: str
    value: Value

    def __repr__(self) -> str:
        return f"<{self.label}>"


@dataclass(frozen=True)
class Problem:
    """A network and data that fit it."""

    label: str
    network: bf.Network
    data: bf.Dataset

    def __repr__(self) -> str:
        return f"<{self.label}>"


def _direction(data):
    """β̄, or an axis where there is no β."""
    beta = data.beta.reshape(data.outputs, -1)[0]
    size = np.abs(beta).max()
    return np.eye(len(beta))[0] if size == 0 else beta / size / np.linalg.norm(beta / size)


def _gaussian(rng, data, width, scale, *hidden):
    sizes = (data.dimensions, width, *hidden, data.outputs)
    pairs = zip(sizes[1:], sizes, strict=False)
    return [scale * rng.normal(size=shape) / np.sqrt(np.prod(shape)) for shape in pairs]


def _along(data, neurons, scale):
    """W₁ = vβ̄ᵀ and, for every output, W₂ = vᵀ."""
    neurons = np.asarray(neurons, dtype=float)
    return [
        scale * np.outer(neurons, _direction(data)),
        scale * np.tile(neurons, (data.outputs, 1)),
    ]


def _tilted(rng, data, neurons, scale):
    r = _direction(data) + 0.3 * rng.normal(size=data.dimensions)
    neurons = np.asarray(neurons, dtype=float)
    return [scale * np.outer(neurons, r / np.linalg.norm(r)), scale * np.tile(neurons, (data.outputs, 1))]


def _changed(layers, first=1.0, second=1.0):
    return [first * layers[0], second * layers[1]]


def _opposite(rng, data, scale):
    first, second = _gaussian(rng, data, 2, scale)
    return [np.concatenate([first, -first]), np.hstack([second, -second])]


def _cancelled(rng, data, scale, rest):
    """W₁β̄ = −W₂ᵀ but for a share `rest`: hardly anything grows."""
    first, _ = _gaussian(rng, data, 3, scale)
    return [first, np.tile((rest - 1) * (first @ _direction(data)), (data.outputs, 1))]


def _low_rank(rng, data, scale, leak):
    return list(
        bf.networks.low_rank(
            _direction(data) + 0.2 * rng.normal(size=data.dimensions),
            widths=(4, 4),
            scale=scale,
            leak=leak,
            seed=int(rng.integers(2**31)),
        ).weights
    )


# a maker takes (rng, data, scale, leak) and gives the layers; biases and wrong sizes are added below
NETWORKS = {
    "gaussian": lambda rng, data, scale, _: _gaussian(rng, data, 5, scale),
    "one neuron": lambda rng, data, scale, _: _gaussian(rng, data, 1, scale),
    "two neurons": lambda rng, data, scale, _: _gaussian(rng, data, 2, scale),
    "zero second layer": lambda rng, data, scale, _: _changed(_gaussian(rng, data, 5, scale), second=0.0),
    "zero first layer": lambda rng, data, scale, _: _changed(_gaussian(rng, data, 5, scale), first=0.0),
    "large first, zero second layer": lambda rng, data, _, __: _changed(
        _gaussian(rng, data, 5, 3.0), second=0.0
    ),
    "large first, small second layer": lambda rng, data, scale, _: _changed(
        _gaussian(rng, data, 5, scale), first=3 / scale
    ),
    "zero first, large second layer": lambda rng, data, _, __: _changed(
        _gaussian(rng, data, 5, 3.0), first=0.0
    ),
    "zero weights": lambda rng, data, _, __: _gaussian(rng, data, 3, 0.0),
    "a zero neuron": lambda _, data, scale, __: _along(data, [1, -1, 0], scale),
    "one sign": lambda _, data, scale, __: _along(data, [1, 2], scale),
    "one sign, gaussian first layer": lambda rng, data, scale, _: [
        (first := _gaussian(rng, data, 3, scale)[0]),
        np.tile(3 * np.abs(first).sum(axis=1), (data.outputs, 1)),
    ],
    "one sign, one neuron": lambda _, data, scale, __: _along(data, [-1], scale),
    "one sign of a_h, both of w_h": lambda rng, data, scale, _: [
        (first := _gaussian(rng, data, 4, scale)[0]),
        np.tile(np.linalg.norm(first, axis=1), (data.outputs, 1)),
    ],
    "lopsided": lambda _, data, scale, __: _along(data, [1, -1e-4], scale),
    "somewhat lopsided": lambda _, data, scale, __: _along(data, [1.0, -0.5, 0.3], scale),
    "hardly lopsided": lambda _, data, scale, __: _along(data, [1.0, -0.97], scale),
    "aligned": lambda _, data, scale, __: _along(data, [1, -1, 2, -2], scale),
    "rank one": lambda rng, data, scale, _: _tilted(rng, data, [1, -1, 2, -2], scale),
    "rank one against β": lambda _, data, scale, __: _changed(_along(data, [1, -1], scale), first=-1.0),
    "nearly rank one": lambda rng, data, scale, _: _changed(
        _tilted(rng, data, [1, -1], scale), first=1 + 1e-6
    ),
    "rank one, unequal layers": lambda rng, data, scale, _: _changed(
        _tilted(rng, data, [1, -1], scale), first=2.0
    ),
    "opposite pairs": lambda rng, data, scale, _: _opposite(rng, data, scale),
    "equal neurons": lambda rng, data, scale, _: [
        np.tile((w := _gaussian(rng, data, 1, scale))[0], (3, 1)),
        np.tile(w[1], (1, 3)),
    ],
    "nothing grows": lambda rng, data, scale, _: _cancelled(rng, data, scale, 0.0),
    "hardly anything grows": lambda rng, data, scale, _: _cancelled(rng, data, scale, 1e-9),
    "huge": lambda rng, data, _, __: _gaussian(rng, data, 3, 1e60),
    "depth 3": lambda rng, data, scale, _: _gaussian(rng, data, 4, scale, 3),
    "depth 3, low rank": lambda rng, data, scale, leak: (
        _low_rank(rng, data, scale, leak)
        if data.outputs == 1 and leak in (0.0, 1.0)
        else _gaussian(rng, data, 4, scale, 3)
    ),
    "depth 3, a zero layer": lambda rng, data, scale, _: [
        (w := _gaussian(rng, data, 4, scale, 3))[0],
        0 * w[1],
        w[2],
    ],
    "one layer": lambda rng, data, scale, _: [scale * rng.normal(size=(data.outputs, data.dimensions))],
    "biases": lambda rng, data, scale, _: _gaussian(rng, data, 3, scale),
    "zero biases": lambda rng, data, scale, _: _gaussian(rng, data, 3, scale),
    "too many inputs": lambda rng, data, scale, _: [
        scale * rng.normal(size=(3, data.dimensions + 1)),
        scale * rng.normal(size=(data.outputs, 3)),
    ],
    "too many outputs": lambda rng, data, scale, _: [
        scale * rng.normal(size=(3, data.dimensions)),
        scale * rng.normal(size=(data.outputs + 1, 3)),
    ],
}


def make_data(label: str, seed: int) -> bf.Dataset:
    """The data of a label."""
    return DATASETS[label](np.random.default_rng([seed, 1]))


def make_network(label: str, data: bf.Dataset, leak: float, scale: float, seed: int) -> bf.Network:
    """The network of a label for these data."""
    layers = NETWORKS[label](np.random.default_rng([seed, 2]), data, scale, leak)
    size = {"biases": 0.3, "zero biases": 0.0}.get(label)
    biases = None if size is None else tuple(np.full(len(w), size) for w in layers)
    return bf.Network(tuple(layers), leak=leak, biases=biases)


def datasets(labels: Iterable[str] | None = None) -> SearchStrategy[Labeled[bf.Dataset]]:
    """Labeled data, of all kinds or of those named."""
    seeds = integers(0, 2**20)
    return builds(lambda k, s: Labeled(k, make_data(k, s)), sampled_from(sorted(labels or DATASETS)), seeds)


def networks(
    data: bf.Dataset,
    labels: Iterable[str] | None = None,
    *,
    leaks: Iterable[float] = LEAKS,
    scales: Iterable[float] = SCALES,
) -> SearchStrategy[Labeled[bf.Network]]:
    """Labeled networks for the data, of all kinds or of those named."""
    return builds(
        lambda k, leak, scale, seed: Labeled(
            f"{k}, leak {leak:g}, scale {scale:g}", make_network(k, data, leak, scale, seed)
        ),
        sampled_from(sorted(labels or NETWORKS)),
        sampled_from(tuple(leaks)),
        sampled_from(tuple(scales)),
        integers(0, 2**20),
    )


def problems(
    data_labels: Iterable[str] | None = None,
    network_labels: Iterable[str] | None = None,
    *,
    leaks: Iterable[float] = LEAKS,
    scales: Iterable[float] = SCALES,
) -> SearchStrategy[Problem]:
    """A network and data that fit, both labeled."""
    leaks, scales = tuple(leaks), tuple(scales)
    names = None if network_labels is None else tuple(network_labels)
    return datasets(data_labels).flatmap(
        lambda d: networks(d.value, names, leaks=leaks, scales=scales).map(
            lambda n: Problem(f"{n.label} on {d.label}", n.value, d.value)
        )
    )
