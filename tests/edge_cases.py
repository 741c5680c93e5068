"""Networks and data at the edge of every hypothesis, and just beyond it, each with a label.

`datasets()` yields labeled data, `networks(data)` labeled networks that fit them, `problems()` both at once;
the tables `DATASETS` and `NETWORKS` hold the makers by label, for tests that want one of them. Small: at most
ten samples, three dimensions and five neurons, so that a reference flow takes milliseconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hypothesis.strategies import SearchStrategy, builds, integers, sampled_from

import biasfree as bf
import oracles

LEAKS = (0.0, 0.3, 1.0, 1e-300, 1 - 1e-12)
SCALES = (1e-160, 1e-6, 1e-3, 0.3)


@dataclass(frozen=True)
class Labeled:
    """A network or data, and what is special about it."""

    label: str
    value: bf.Network | bf.Dataset

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


def _odd(rng, d=2, n=3):
    """Mirror pairs with an odd nonlinear target."""
    x = rng.normal(size=(n, d))
    y = x @ rng.normal(size=d) + 0.3 * np.sin(3 * x[:, 0])
    return bf.Dataset(np.concatenate([x, -x]), np.concatenate([y, -y]))


def _labels(rng, d=2, n=3):
    data = _odd(rng, d, n)
    return bf.Dataset(data.x, np.where(data.y > 0, 1.0, -1.0))


def _halves(rng):
    """Σ and β of either half-line agree, mirror images are missing: Condition 3 for second moments only."""
    del rng
    x = np.array([1.0, 5, 6, -2, -3, -7])
    return bf.Dataset(x[:, None], np.sign(x))


DATASETS = {
    "mirror pairs": _odd,
    "mirror pairs in one dimension": lambda rng: _odd(rng, 1, 2),
    "mirror pairs in three dimensions": lambda rng: _odd(rng, 3, 5),
    "white mirror pairs": lambda rng: bf.data.whiten(_odd(rng, 2, 4)),
    "nearly white mirror pairs": lambda rng: _scaled(bf.data.whiten(_odd(rng, 2, 4)), [1, 1 + 1e-6]),
    "labels on mirror pairs": _labels,
    "labels 3 on mirror pairs": lambda rng: _times(_labels(rng), 3.0),
    "linear labels on mirror pairs": lambda rng: _linear_labels(rng),
    "labels symmetric in second moments only": _halves,
    "3 · labels symmetric in second moments only": lambda rng: _times(_halves(rng), 3.0),
    "no symmetry": lambda rng: oracles.random_data(5, 2, seed=int(rng.integers(2**31))),
    "labels without symmetry": lambda rng: oracles.random_data(
        5, 2, labels=True, seed=int(rng.integers(2**31))
    ),
    "labels 0 and 1": lambda rng: bf.Dataset(rng.normal(size=(4, 2)), [0.0, 1, 0, 1]),
    "x = ±1, y = 10": lambda _: bf.Dataset([[1.0], [-1.0]], [10.0, 10.0]),
    "nearly mirror pairs": lambda rng: _nudged(_odd(rng), rng, 1e-6),
    "mirror pairs up to rounding": lambda rng: _nudged(_odd(rng), rng, 1e-15),
    "duplicates": lambda rng: _repeated(_odd(rng), rng),
    "zero rows": lambda rng: bf.Dataset(
        np.concatenate([(a := _odd(rng)).x, np.zeros((2, 2))]), np.append(a.y, [0.0, 0.0])
    ),
    "a zero row with a target": lambda rng: bf.Dataset(
        np.concatenate([(a := _odd(rng)).x, np.zeros((1, 2))]), np.append(a.y, 1.0)
    ),
    "singular Σ": lambda rng: bf.Dataset((a := _odd(rng, 1)).x * [[1.0, 2.0]], a.y),
    "an input that is always zero": lambda rng: bf.Dataset((a := _odd(rng, 1)).x * [[1.0, 0.0]], a.y),
    "nearly singular Σ": lambda rng: _scaled(_odd(rng), [1, 1e-7]),
    "two outputs": lambda rng: bf.Dataset(
        (a := _odd(rng)).x, np.stack([a.y, a.x @ rng.normal(size=2)], axis=1)
    ),
    "two outputs without symmetry": lambda rng: oracles.random_data(
        5, 2, outputs=2, seed=int(rng.integers(2**31))
    ),
    "one output with its axis": lambda rng: bf.Dataset((a := _odd(rng)).x, a.y[:, None]),
    "one sample": lambda rng: bf.Dataset(rng.normal(size=(1, 2)), rng.normal(size=1)),
    "zero targets": lambda rng: bf.Dataset(_odd(rng).x, np.zeros(6)),
    "zero inputs": lambda _: bf.Dataset(np.zeros((4, 2)), np.zeros(4)),
    "even targets": lambda rng: bf.Dataset((a := _odd(rng)).x, np.abs(a.y)),
    "β of rounding": lambda rng: _without_beta(_odd(rng)),
    "orthogonal": lambda rng: bf.data.orthogonal(3, 3, seed=int(rng.integers(2**31))),
    "axes": lambda _: bf.Dataset(np.eye(3), np.ones(3)),
    "axes and their mirror images": lambda _: bf.data.symmetrize(bf.Dataset(np.eye(2), [1.0, 1.0])),
    "six points": lambda _: bf.data.six_points(0.15),
    "the orthogonal pair": lambda _: bf.data.orthogonal_pair(),
    "tiny inputs": lambda rng: _scaled(_odd(rng), 1e-160),
    "huge inputs": lambda rng: _scaled(_odd(rng), 1e60),
    "tiny targets": lambda rng: _times(_odd(rng), 1e-160),
    "huge targets": lambda rng: _times(_odd(rng), 1e60),
}


def _scaled(data, by):
    return bf.Dataset(data.x * np.asarray(by), data.y)


def _times(data, by):
    return bf.Dataset(data.x, by * data.y)


def _nudged(data, rng, by):
    return bf.Dataset(data.x * (1 + by * rng.normal(size=data.x.shape)), data.y)


def _repeated(data, rng):
    pick = np.append(np.arange(6), rng.integers(3) + np.array([0, 3]))
    return bf.Dataset(data.x[pick], data.y[pick])


def _linear_labels(rng):
    x = rng.normal(size=(4, 2))
    x = np.concatenate([x, -x])
    return bf.Dataset(x, np.where(x @ rng.normal(size=2) > 0, 1.0, -1.0))


def _without_beta(data):
    best = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    return bf.Dataset(data.x, data.y - data.x @ best)


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


def datasets(labels: Iterable[str] | None = None) -> SearchStrategy[Labeled]:
    """Labeled data, of all kinds or of those named."""
    seeds = integers(0, 2**20)
    return builds(lambda k, s: Labeled(k, make_data(k, s)), sampled_from(sorted(labels or DATASETS)), seeds)


def networks(
    data: bf.Dataset,
    labels: Iterable[str] | None = None,
    *,
    leaks: Iterable[float] = LEAKS,
    scales: Iterable[float] = SCALES,
) -> SearchStrategy[Labeled]:
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
