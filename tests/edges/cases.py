"""Problems at the edge of the results for independent and planar inputs, one per seed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import biasfree as bf
import oracles
from edges import problems
from edges.reference import numbers

LEAKS = (0.0, 0.0, 0.0, 0.3, 1e-300, 1 - 1e-16, 1.0)


SIZES = (1.0, 1.0, 1.0, 1e-155, 1e155, 1e-3, 1e3)


@dataclass
class Case:
    """One problem, and random numbers for whatever else a call needs."""

    network: bf.Network
    data: bf.Dataset
    rng: np.random.Generator


def changed(data, rng):
    """The data at an edge: scaled inputs or targets, a duplicate, a zero row, an angle, two outputs."""
    x, y = np.array(data.x), np.array(data.y)
    what = int(rng.integers(12))
    if what < 3:
        x = x * rng.choice(SIZES)
    elif what == 3:
        y = y * rng.choice(SIZES)
    elif what == 4:
        x, y = np.vstack([x, x[:1]]), np.append(y, y[0])
    elif what == 5:
        x, y = np.vstack([x, 0 * x[:1]]), np.append(y, rng.choice([0.0, 1.0]))
    elif what == 6:
        x = x + rng.choice([1e-12, 1e-9, 1e-6, 0.1])
    elif what == 7:
        y = np.column_stack([y, y])
    elif what == 8:
        y = 0 * y
    return bf.Dataset(x, y)


def some_network(data, rng, scale, *, dominated=False):
    """Layers of any sizes, zeros, one sign, one neuron, on hyperplanes, unbalanced, deep, biased.

    `dominated` makes three in four ReLU networks with |a| ≥ |w|, or nearly.
    """
    d, k = data.dimensions, data.outputs
    h = int(rng.choice([1, 2, 5, 8]))
    w, a = rng.normal(size=(h, d)), rng.normal(size=(k, h))
    what, biases, leak = int(rng.integers(16)), None, float(rng.choice(LEAKS))
    if dominated and rng.random() < 0.75:
        what, leak = 0, 0.0
    if what < 7:  # |a| ≥ |w|, as Boursier et al. have it: equal, larger, smaller by rounding or by a little
        ratio = rng.choice([1.0, 1.5, 3.0, 1 - 1e-15, 1 - 1e-9])
        a = ratio * np.sign(a) * np.linalg.norm(w, axis=1)
    elif what == 7:
        w = np.eye(max(h, d))[:h, :d] * 1.0
        a = 2 * np.sign(a) * np.ones(h)
    elif what == 8:
        a = 0 * a
    elif what == 9:
        w = 0 * w
    elif what == 10:
        a = np.abs(a) + np.linalg.norm(w, axis=1)
    elif what == 11:
        w, a = w * rng.choice([1e3, 1e155]), a * rng.choice([1, 1e155])
    elif what == 12:
        w, a = np.vstack([w, w]), np.hstack([a, a])
    elif what == 13:
        return bf.networks.gaussian((d, 3, 2, k), scale=0.5, leak=leak, seed=int(rng.integers(2**31)))
    elif what == 14:
        biases = (np.full(len(w), 0.1), np.zeros(k))
    return bf.Network((scale * w, scale * a), leak=leak, biases=biases)


def points(seed):
    """XOR, the orthogonal pair, one point, points turned or scaled, and what is not independent."""
    rng = np.random.default_rng(seed)
    data = (bf.data.xor(), bf.data.orthogonal_pair(), bf.Dataset([[1.0, 0]], [1.0]))[int(rng.integers(3))]
    if rng.random() < 0.4:
        data = changed(data, rng)
    network = some_network(
        data, rng, rng.choice([1e-160, 1e-6, 1e-3, 1e-2, 0.3]), dominated=rng.random() < 0.5
    )
    return Case(bf.Network(network.weights, leak=network.leak * (rng.random() < 0.3)), data, rng)


def anything(seed):
    """Every kind of network and data that the other results are tested with."""
    rng = np.random.default_rng(seed)
    data = problems.make_data(str(rng.choice(sorted(problems.DATASETS))), seed)
    kind, leak = str(rng.choice(sorted(problems.NETWORKS))), float(rng.choice(LEAKS))
    return Case(problems.make_network(kind, data, leak, float(rng.choice([1e-6, 0.3, 1.0])), seed), data, rng)


def planar(seed):
    """A network in the plane and what it gives on samples of any kind, sizes from 1e-155 to 1e155."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(1, 6)), 2))
    x = (x, np.vstack([x, -2 * x]), np.vstack([x, x]), np.vstack([x, 0 * x[:1]]), np.round(x))[
        int(rng.integers(5))
    ]
    network = some_network(bf.Dataset(x, np.zeros(len(x))), rng, 1.0)
    network = bf.Network(
        network.weights, leak=network.leak if rng.random() < 0.3 else 0.0, biases=network.biases
    )
    with np.errstate(all="ignore"):
        y = np.nan_to_num(network(x), posinf=1.0, neginf=1.0)
    data = bf.Dataset(x, y if rng.random() < 0.8 else rng.normal(size=len(x)))
    return Case(network, changed(data, rng) if rng.random() < 0.3 else data, rng)


def unit(rows):
    size = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(size > 0, size, 1.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0), (size * length)[:, 0]


def on_case(function: Callable, *more, **keywords) -> Callable:
    return lambda case: function(case.network, case.data, *more, **keywords)


def tried(row, seed):
    """Whether a function answers the case of a seed, rightly, or refuses it; False as well if the reference
    takes too long."""
    make, call, check = row
    case = make(seed)
    try:
        found = call(case)
    except (bf.AssumptionError, ValueError) as refusal:
        text = str(refusal)
        assert text.endswith(".")
        assert len(text) > 25
        return False
    except RuntimeError as stall:  # a run that stalls says when and why
        if "stopped before the last of ts" not in str(stall):
            raise
        return False
    assert not any(np.isnan(part).any() for part in numbers(found)), "NaN"
    try:
        check(case, found)
    except oracles.TooLong:  # of the reference
        return False
    return True


def tally(row, count):
    """How many of `count` cases were not compared, and how many were; an error names its case."""
    compared = 0
    for seed in range(count):
        try:
            compared += tried(row, seed)
        except Exception as error:
            error.add_note(f"case {seed}")
            raise
    return count - compared, compared
