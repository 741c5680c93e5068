"""Conjecture 11 (Eq. 40 of v1): the low-rank structure of deep networks, and its hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.losses import Loss
from biasfree.networks import Network, low_rank_layers, neuron_frame
from biasfree.theory.hypotheses import HYPERPLANE, NO_BIASES, ONE_OUTPUT, SYMMETRY, Hypothesis
from biasfree.theory.parts._hyperplanes import share_on_hyperplane
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.trajectory import Factored, Stats, Trajectory


@dataclass(frozen=True, eq=False)
class DeepParts:
    """The norm u and the unit vectors of W₁ = u r₁rᵀ, W_l = u F_lF_{l−1}ᵀ, W_L = u r_{L−1}ᵀ.

    |r| = |r_l| = 1; F_l is r_l for linear networks (Eq. 39), 2^{1/4}[r_l⁺, r_l⁻] for ReLU ones (Eq. 40), and
    [r_l⁺ + αr_l⁻, αr_l⁺ + r_l⁻]/(4c⁴ + 4k⁴)^{1/4} for three layers of another leak, c, k = (1 ± α)/2.
    """

    norm: float
    r: Float[np.ndarray, "D"]
    neurons: tuple[Float[np.ndarray, "_"], ...]
    leak: float

    @classmethod
    def of(cls, network: Network) -> DeepParts:
        """The parts of `network`, exact if it has this structure.

        From the last layer down, r_{l−1} ∝ W_lᵀ(r_l⁺/|r_l⁺|² + r_l⁻/|r_l⁻|²), for linear networks W_lᵀr_l;
        u is the least-squares fit to all layers.
        """
        if network.depth < 2 or network.sizes[-1] != 1:
            raise ValueError(f"the structure needs two or more layers and one output, got {network!r}.")
        neurons = [_unit(network.weights[-1][0])]
        for w in network.weights[-2:0:-1]:
            neurons.insert(0, _unit(_relative(w).T @ _dual(neurons[0], network.leak)))
        r = _unit(_relative(network.weights[0]).T @ neurons[0])
        return cls(_nearest_norm(network, r, neurons), r, tuple(neurons), network.leak)

    @classmethod
    def maybe(cls, network: Network) -> DeepParts | None:
        """The parts of `network`, or None if it has none: one layer, several outputs, or a zero product."""
        try:
            return cls.of(network)
        except ValueError:
            return None

    @property
    def depth(self) -> int:
        """L, the number of layers."""
        return len(self.neurons) + 1

    @property
    def speed(self) -> float:
        """The share of the linear twin's speed: c = (1 + α)/2, but (c⁴ + k⁴)^{1/3} for three leaky layers.

        It is κ^{2/L}, κ the factor of f(x) = κu^L r·x; both are 1/2 for ReLU and 1 for linear networks.
        """
        c, k = (1 + self.leak) / 2, (1 - self.leak) / 2
        return c if self.depth == 2 or self.leak in (0, 1) else (c**4 + k**4) ** (1 / 3)

    @property
    def log_v(self) -> float:
        """ln v₀, with v₀ = √speed·u the norm of the linear twin's layers."""
        return np.log(self.speed) / 2 + np.log(self.norm)

    @property
    def imbalance(self) -> float:
        """The largest ||r_l⁺|² − |r_l⁻|²| of the hidden layers, from 0 to 1."""
        return max(abs(float(np.sum(np.sign(v) * v**2))) for v in self.neurons)

    def residual(self, network: Network) -> float:
        """√(Σ_l|W_l − Ŵ_l|²/Σ_l|W_l|²), the distance of `network` from the network with these parts."""
        weights, size = _common_size(network)
        found = low_rank_layers(self.r, self.neurons, leak=self.leak)
        gap = sum(np.sum((w - self.norm / size * a) ** 2) for w, a in zip(weights, found, strict=True))
        return float(np.sqrt(gap / sum(np.sum(w**2) for w in weights)))

    def network(self) -> Network:
        """The network with these parts."""
        layers = low_rank_layers(self.r, self.neurons, leak=self.leak)
        return Network(tuple(self.norm * layer for layer in layers), leak=self.leak)

    def linear_twin(self) -> DeepParts:
        """The parts of the linear network with v = √speed·u and the same r and r_l."""
        return DeepParts(np.sqrt(self.speed) * self.norm, self.r, self.neurons, 1.0)

    def trajectory(
        self,
        ts: Float[np.ndarray, "T"],
        log_v: Float[np.ndarray, "T"],
        r: Float[np.ndarray, "T D"],
        data: Dataset,
        *,
        loss: Loss,
        l2: float,
        stats: Stats,
    ) -> Trajectory:
        """The weights of u = v/√speed and r at every time, as factors, and the loss of f(x) = v^L r·x."""
        u = (self.norm * np.exp(log_v - self.log_v))[:, None, None]
        maps = np.exp(self.depth * log_v)[:, None, None] * r[:, None, :]
        found = linear_loss(maps, data, loss)
        return Trajectory(
            ts=ts,
            weights=Factored(*_factors(u, r[:, None, :], self.neurons, self.leak)),
            loss=found,
            objective=found + l2 / 2 * self.depth * u[:, 0, 0] ** 2,  # L layers, each of norm u
            leak=self.leak,
            stats=stats,
            linear=maps,
        )


def _factors(
    u: Float[np.ndarray, "T 1 1"], r: Float[np.ndarray, "T 1 D"], neurons: Sequence[np.ndarray], leak: float
) -> list[tuple[np.ndarray, ...]]:
    frames = [neuron_frame(v, leak=leak)[None] for v in neurons]
    inner = u * np.eye(frames[0].shape[2])
    middle = [(above, inner, below.swapaxes(1, 2)) for below, above in pairwise(frames)]
    return [(neurons[0][None, :, None], u * r), *middle, (u, neurons[-1][None, None, :])]


def _common_size(network: Network) -> tuple[list[np.ndarray], float]:
    """The weights over the largest entry, so that squares of tiny ones do not underflow; and that entry."""
    size = max(float(np.abs(w).max()) for w in network.weights)
    return [w / size for w in network.weights], size


def _nearest_norm(network: Network, r: np.ndarray, neurons: Sequence[np.ndarray]) -> float:
    """The u that minimizes Σ_l|W_l − u A_l|²."""
    weights, size = _common_size(network)
    layers = low_rank_layers(r, neurons, leak=network.leak)
    along = sum(np.sum(w * a) for w, a in zip(weights, layers, strict=True))
    return size * float(along / sum(np.sum(a**2) for a in layers))


def _relative(w: np.ndarray) -> np.ndarray:
    """A layer over its largest entry; a zero layer is refused."""
    if not w.any():
        raise ValueError("a layer of the network is zero, so the flow does not move; use a scale above 0.")
    return w / np.abs(w).max()


def _unit(v: np.ndarray) -> np.ndarray:
    if not v.any():
        raise ValueError("W_L⋯W₁ = 0, so the network has no direction r; use other weights.")
    v = v / np.abs(v).max()
    return v / np.linalg.norm(v)


def _dual(v: np.ndarray, leak: float) -> np.ndarray:
    """v⁺/|v⁺|² + v⁻/|v⁻|², whose product with F_lF_{l−1}ᵀ is r_{l−1} also where |v⁺| ≠ |v⁻|."""
    if leak == 1:
        return v
    parts = [(part, np.sum(part**2)) for part in (np.maximum(v, 0), np.minimum(v, 0))]
    return np.sum([part / square for part, square in parts if square > 0], axis=0)


def _measured(network: Network, measure: Callable[[DeepParts], float]) -> float:
    parts = DeepParts.maybe(network)
    return np.nan if parts is None else measure(parts)


_REMEDY = "initialize with bf.networks.low_rank, or simulate with bf.gradient_flow"

DEEP = Hypothesis(
    "depth",
    "two or more layers (the setting of [ZSL25] App. F)",
    "the number of layers missing",
    lambda network, _: max(0, 2 - network.depth),
    "give the network a hidden layer",
)
CLOSED = Hypothesis(
    "leak",
    "a ReLU or a linear network, α = 0 or 1 ([ZSL25] App. F), or at most three layers,",
    "min(α, 1 − α)",
    lambda network, _: min(network.leak, 1 - network.leak) if network.depth > 3 else 0.0,
    "use three layers, or simulate with bf.gradient_flow",
)
DEEP_STRUCTURE = Hypothesis(
    "structure",
    "the low-rank structure of Conjecture 11 (Eq. 40 of v1; Eq. 39 for linear networks; derived for leaks)",
    "the relative distance of the weights from this structure",
    lambda network, _: _measured(network, lambda parts: parts.residual(network)),
    _REMEDY,
    tolerance=1e-8,
)
DEEP_SIGNS = Hypothesis(
    "signs",
    "|r_l⁺| = |r_l⁻| in every hidden layer (App. F.2 of v1, TMLR Proposition 12)",
    "the largest ||r_l⁺|² − |r_l⁻|²|",
    lambda network, _: _measured(network, lambda parts: 0.0 if parts.leak == 1 else parts.imbalance),
    _REMEDY,
    tolerance=1e-8,
)
DEEP_HYPERPLANE = replace(
    HYPERPLANE,
    defect=lambda network, data: _measured(
        network, lambda parts: 0.0 if parts.leak == 1 else share_on_hyperplane(parts.r, data)
    ),
    remedy="rotate r slightly with bf.networks.low_rank, or simulate with bf.gradient_flow",
)
STRUCTURE = (NO_BIASES, DEEP, ONE_OUTPUT, CLOSED, DEEP_STRUCTURE, DEEP_SIGNS)
PROPOSITION_12 = (*STRUCTURE, SYMMETRY, DEEP_HYPERPLANE)
