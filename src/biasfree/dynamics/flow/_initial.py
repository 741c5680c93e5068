"""Networks at t = 0: a check that the velocity is finite, and the sides of neurons that begin on a kink.

Initial weights typed by hand, or zero, put neurons exactly on the hyperplanes of samples. The neuron slides
along a hyperplane that attracts and crosses one that does neither: the flow is unique. A hyperplane that
repels or lets the neuron stay (r₊ ≥ 0 ≥ r₋ for the rates on its two sides, not both zero) has several flows,
and a convention decides: for two layers that of `events/_decide.py`, for deeper networks σ′(0) = α. Plain
NumPy: nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int, row_norms
from biasfree.data import Dataset
from biasfree.dynamics._problem import Problem
from biasfree.dynamics.flow.events._apply import Decisions, Neuron
from biasfree.dynamics.flow.events._hyperplanes import Hyperplanes, hyperplanes_of
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._layout import ROUNDING
from biasfree.losses import loss_named
from biasfree.networks import Network

#: Distance, relative to its weights, by which a neuron that leaves a kink is moved beyond it for the flow by
#: steps: well above the rounding of w·x, below any error that steps can reach across a kink.
BEYOND = 1e-11
#: Relative rounding of rates.
TINY = 1e-11
#: Bound on products of weights and inputs up to which nothing can overflow.
LARGE = 1e70


class Forces(NamedTuple):
    """The force of every hyperplane's samples on neurons above and below it, per output."""

    above: Float[np.ndarray, "Q K"]
    below: Float[np.ndarray, "Q K"]

    def on(self, outer: np.ndarray, normals: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The force on neurons with these outer weights and signs; sliding counts the mean of both sides."""
        above, below = self.above @ outer, self.below @ outer
        return np.where(signs > 0, above, np.where(signs < 0, below, (above + below) / 2)).T @ normals


class InitialState(NamedTuple):
    """A two-layer network at t = 0: its signs, and the first layer, with its bias as a last column, moved off
    the kinks that neurons leave."""

    signs: Int[np.ndarray, "Q H"]
    hidden: Float[np.ndarray, "H D"]


def check_velocity(problem: Problem, i: int) -> None:
    """Refuse a network whose loss or velocity at t = 0 is not finite."""
    network, data = problem.networks[i], problem.datasets[i]
    arrays = data.x, data.y, *network.weights, *(network.biases or ())
    sizes = [max(a.max(), -a.min()) for a in arrays]
    if max(sizes) * max(data.x.shape[1], *network.sizes) < LARGE ** (1 / (network.depth + 1)):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_loss_and_gradients(network, some, problem.loss) for some in _blocks(data)]
    if not all(np.isfinite(a).all() for loss, slopes in parts for a in (loss, *slopes)):
        raise ValueError(
            f"the velocity at t = 0 is not a finite number: inputs reach {sizes[0]:.2g}, targets "
            f"{sizes[1]:.2g}, weights {max(sizes[2:]):.2g}; measure the largest of them in larger units."
        )


def on_a_kink(network: Network, data: Dataset) -> bool:
    """Whether a hidden neuron is on the hyperplane of a sample, or has no weights."""
    return any(mask.any() for some in _blocks(data) for mask in _kinked(network, some.x))


def branches_initially(problem: Problem, i: int) -> bool:
    """Whether the flow of a network of any depth, followed with σ′(0) = α, is one of several at t = 0.

    Each hyperplane that holds a neuron is examined with all others on either side. This is exact for a single
    hyperplane. For several that interact, and for more than policy.INITIAL_UNITS, True may be wrong.
    """
    network, data = problem.networks[i], problem.datasets[i]
    if not any(problem.train[:-1]) or network.leak == 1 or not on_a_kink(network, data):
        return False
    inputs = [_with_ones(network, h) for h in _states(network, data.x)[0]]
    masks = [
        mask & np.any(h, axis=1)[:, None]
        for mask, h in zip(_kinked(network, data.x), inputs[:-1], strict=True)
    ]
    units = [unit for layer, mask in enumerate(masks) for unit in _units(layer, mask, inputs[layer])]
    rates = _Rates(problem, i, masks)
    return len(units) > policy.INITIAL_UNITS or any(
        rates.branch(unit, others) for unit in units for others in (network.leak, 1.0)
    )


def first_layer_hyperplanes(network: Network, data: Dataset) -> Hyperplanes:
    """The hyperplanes of the samples in the space of the first layer's weights and biases."""
    return hyperplanes_of(_with_ones(network, data.x))


def initial_state(problem: Problem, i: int, decisions: Decisions) -> InitialState:
    """The signs of two layers at t = 0. A neuron on a kink is decided like one that reaches it, and
    `decisions` keeps the time 0 if the flow is not unique.

    Outer weights that are zero take the sign of their velocity at once, so they are replaced by it.
    """
    network, data, train = problem.networks[i], problem.datasets[i], problem.train
    hidden, lines = _augmented(network), decisions.lines
    norms, signs = row_norms(hidden), np.zeros((len(lines.normals), len(hidden)), np.int8)
    for some in np.array_split(np.arange(len(signs)), -(-len(signs) // policy.BLOCK_SAMPLES)):
        z = lines.normals[some] @ hidden.T
        signs[some] = np.where(np.abs(z) <= ROUNDING * norms, 0, np.sign(z))
    unclear = np.flatnonzero((signs == 0).any(axis=0))
    if not train[0]:  # neurons do not move, so any side will do
        return InitialState(np.where(signs == 0, 1, signs).astype(np.int8), hidden)
    if not len(unclear):
        return InitialState(signs, hidden)
    forces, outer = _forces(network, data, lines, problem.loss), network.weights[1].copy()
    rates = _Rates(problem, i, []).velocities()[1][:, : len(hidden)]
    still = ~outer.any(axis=0) & train[1]
    outer[:, still] = (rates / max(np.abs(rates).max(), np.finfo(float).tiny))[:, still]
    decay = problem.l2 * np.pad(network.weights[0], ((0, 0), (0, hidden.shape[1] - network.sizes[0])))
    free, before = forces.on(outer, lines.normals, signs) - decay, signs.copy()
    for h in unclear.tolist():
        decisions.decide(_neuron(h, hidden, outer, lines, signs, forces, free), 0.0, signs, hidden.copy())
    velocity = forces.on(outer, lines.normals, signs)
    for h in unclear.tolist():
        hidden[h] += (
            _off(lines.normals[before[:, h] == 0], signs[before[:, h] == 0, h], velocity[h])
            * BEYOND
            * (norms[h] or np.linalg.norm(outer[:, h]))
        )
    return InitialState(signs, hidden)


def _off(normals: np.ndarray, signs: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The direction, of length one or zero, in which a neuron leaves hyperplanes it does not slide along."""
    slid = normals[signs == 0]
    velocity = velocity - np.linalg.pinv(slid) @ (slid @ velocity)
    left = normals[signs != 0]
    direction = np.linalg.pinv(left) @ (left @ velocity)
    size = np.linalg.norm(direction)
    return direction / size if size > 0 else direction


def _neuron(
    h: int,
    hidden: np.ndarray,
    outer: np.ndarray,
    lines: Hyperplanes,
    signs: np.ndarray,
    forces: Forces,
    free: np.ndarray,
) -> Neuron:
    return Neuron(
        h=h,
        w=hidden[h],
        z=lines.normals @ hidden[h],
        signs=signs[:, h].copy(),
        wrong=np.zeros(len(signs), bool),
        above=forces.above @ outer[:, h],
        below=forces.below @ outer[:, h],
        free=free[h],
    )


def _forces(network: Network, data: Dataset, lines: Hyperplanes, loss: str) -> Forces:
    """Σ_μ σ′c_μe_μ/P of every hyperplane on its two sides."""
    residual = [
        loss_named(loss).residual(network(some.x).reshape(len(some), -1), some.targets)
        for some in _blocks(data)
    ]
    each = lines.length[:, None] * np.concatenate(residual) / len(data)
    up, down = np.zeros((2, len(lines.normals), each.shape[1]))
    np.add.at(up, lines.hyperplane[lines.length > 0], each[lines.length > 0])
    np.add.at(down, lines.hyperplane[lines.length < 0], each[lines.length < 0])
    return Forces(up + network.leak * down, network.leak * up + down)


def _augmented(network: Network) -> np.ndarray:
    """The first layer; a bias, if there is one, becomes the weight of an input fixed to 1."""
    if network.biases is None:
        return network.weights[0].copy()
    return np.column_stack([network.weights[0], network.biases[0]])


# Any depth, samples in rows.


class _Unit(NamedTuple):
    """A neuron on the hyperplane that these samples share; `positive` ones are on the side of its normal."""

    layer: int
    neuron: int
    samples: np.ndarray
    positive: np.ndarray


class _Rates:
    """Rates at which neurons leave the hyperplanes they are on, for given gates there."""

    def __init__(self, problem: Problem, i: int, masks: list[np.ndarray]):
        self.network, self.data, self.masks = problem.networks[i], problem.datasets[i], masks
        self.loss, self.l2, self.train = problem.loss, problem.l2, problem.train
        self.hs, self.zs = _states(self.network, self.data.x)
        self.scale = 0.0

    def gates(self) -> list[np.ndarray]:
        return [np.where(z > 0, 1.0, self.network.leak) for z in self.zs[:-1]]

    def branch(self, unit: _Unit, others: float) -> bool:
        """Whether the hyperplane repels or lets the neuron stay; or whether σ′(0) = α, which closes the gates
        of opposite samples at once, gives a velocity outside those of the two sides."""
        above, below, on = (self.along(unit, side, others) for side in (1, -1, 0))
        rounding = TINY * self.scale
        repels = above - below > rounding and above >= -rounding and below <= rounding
        return repels or not min(above, below) - rounding <= on <= max(above, below) + rounding

    def velocities(self, gates: list[np.ndarray] | None = None) -> list[np.ndarray]:
        """−∇ of the objective for every layer, with the biases of a layer as a last column."""
        _, slopes = _loss_and_gradients(self.network, self.data, self.loss, gates or self.gates())
        decays = [
            np.pad(w, ((0, 0), (0, s.shape[1] - w.shape[1])))
            for w, s in zip(self.network.weights, slopes, strict=True)
        ]
        return [(-s - self.l2 * w) * on for s, w, on in zip(slopes, decays, self.train, strict=True)]

    def _open_above(self, gates: list[np.ndarray], unit: _Unit, samples: np.ndarray) -> None:
        """Set the gates above of samples on which no neuron of the layer is active but this one."""
        network = self.network
        if network.biases is not None:
            return
        samples = samples[~self.hs[unit.layer + 1][samples].any(axis=1)]
        signal = np.tile(np.arange(network.sizes[unit.layer + 1]) == unit.neuron, (len(samples), 1)) * 1.0
        for layer in range(unit.layer + 1, network.depth - 1):
            signal = signal @ network.weights[layer].T
            gates[layer][samples] = np.where(signal > 0, 1.0, network.leak)
            signal = gates[layer][samples] * signal

    def along(self, unit: _Unit, side: int, others: float) -> float:
        """d/dt of the neuron's preactivation on a sample of the unit, with the gates of the side above (1),
        below (−1) or on the hyperplane (0), and the gates `others` for all other units."""
        gates, leak = self.gates(), self.network.leak
        for gate, mask in zip(gates, self.masks, strict=True):
            gate[mask] = others
        open_ = np.zeros(len(unit.samples), bool) if side == 0 else unit.positive == (side > 0)
        gates[unit.layer][unit.samples, unit.neuron] = np.where(open_, 1.0, leak)
        self._open_above(gates, unit, unit.samples[open_])
        rate, speeds = np.zeros_like(self.data.x), self.velocities(gates)
        for layer in range(unit.layer + 1):
            h = _with_ones(self.network, self.hs[layer])
            rate = h @ speeds[layer].T + rate @ self.network.weights[layer].T
            self.scale = max(self.scale, float((np.abs(h) @ np.abs(speeds[layer]).T).max()))
            if layer < unit.layer:
                rate = gates[layer] * rate
        first = unit.samples[0], unit.neuron
        return float(rate[first]) * (1 if unit.positive[0] else -1)


def _units(layer: int, mask: np.ndarray, h: np.ndarray) -> Iterator[_Unit]:
    """The hyperplanes on which neurons of a layer are; samples on one line through the origin share one."""
    lines = hyperplanes_of(h)
    for neuron in np.flatnonzero(mask.any(axis=0)).tolist():
        met = np.flatnonzero(mask[:, neuron])
        for hyperplane in np.unique(lines.hyperplane[met]).tolist():
            samples = met[lines.hyperplane[met] == hyperplane]
            yield _Unit(layer, neuron, samples, lines.length[samples] > 0)


def _blocks(data: Dataset) -> Iterator[Dataset]:
    """The samples in blocks of at most policy.BLOCK_SAMPLES."""
    if len(data) <= policy.BLOCK_SAMPLES:
        yield data
        return
    for first in range(0, len(data), policy.BLOCK_SAMPLES):
        some = slice(first, first + policy.BLOCK_SAMPLES)
        yield Dataset(data.x[some], data.y[some])


def _states(network: Network, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The inputs and the preactivations of every layer."""
    zs = list(network.preactivations(x))
    return [x, *(np.where(z > 0, z, network.leak * z) for z in zs[:-1])], zs


def _kinked(network: Network, x: np.ndarray) -> list[np.ndarray]:
    """Masks, by layer, of the preactivations of hidden neurons that are zero up to rounding."""
    hs, zs = _states(network, x)
    biases = network.biases or [np.zeros(1)] * network.depth
    each = zip(hs[:-1], zs[:-1], network.weights, biases, strict=False)
    return [np.abs(z) <= ROUNDING * (np.outer(row_norms(h), row_norms(w)) + np.abs(b)) for h, z, w, b in each]


def _with_ones(network: Network, h: np.ndarray) -> np.ndarray:
    return h if network.biases is None else np.column_stack([h, np.ones(len(h))])


def _loss_and_gradients(
    network: Network, data: Dataset, loss: str, gates: list[np.ndarray] | None = None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The data loss of every sample and ∇ of its mean for every layer."""
    hs, zs = _states(network, data.x)
    gates = gates or [np.where(z > 0, 1.0, network.leak) for z in zs[:-1]]
    delta = loss_named(loss).residual(zs[-1], data.targets) / len(data)
    found: list[np.ndarray] = []
    for layer in reversed(range(network.depth)):
        found.insert(0, -delta.T @ _with_ones(network, hs[layer]))
        if layer:
            delta = (delta @ network.weights[layer]) * gates[layer - 1]
    return loss_named(loss).value(zs[-1], data.targets), found
