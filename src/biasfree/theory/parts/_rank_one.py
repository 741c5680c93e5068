"""Rank-one networks, W₁ = W₂ᵀrᵀ: their norm, neurons and direction, and the trajectory built from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import Float, frozen
from biasfree.caching import cached_per_object
from biasfree.losses import Loss
from biasfree.networks import Network
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.trajectory import Factored, Stats, Trajectory

if TYPE_CHECKING:
    from biasfree.data import Dataset, Population


@dataclass(frozen=True, eq=False)
class RankOne:
    """The parts of W₁ = norm·v̂rᵀ, W₂ = norm·v̂ᵀ, with |v̂| = |r| = 1."""

    norm: float
    neurons: Float[np.ndarray, "H"]
    r: Float[np.ndarray, "D"]
    leak: float

    @staticmethod
    @cached_per_object
    def of(network: Network) -> RankOne:
        """The parts of the nearest network of this form: norm = |W₂|, r ∝ W₁ᵀW₂ᵀ."""
        first, second = network.weights
        largest = np.abs(second).max()  # dividing by it first keeps squares of tiny weights from underflowing
        if largest == 0 or not first.any():
            raise ValueError("a layer of the network is zero, so it has no direction r; use other weights.")
        relative = np.linalg.norm(second / largest)
        neurons = second[0] / largest / relative
        r = (first / np.abs(first).max()).T @ neurons
        if not r.any():
            raise ValueError("W₂W₁ = 0, so the network has no direction r; use other weights.")
        return RankOne(largest * relative, frozen(neurons), frozen(r / np.linalg.norm(r)), network.leak)

    @staticmethod
    def maybe(network: Network) -> RankOne | None:
        """The parts of `network`, or None where it has none: not two layers of one output, or W₂W₁ = 0."""
        if network.depth != 2 or network.sizes[-1] != 1:
            return None
        first, second = (w / (np.abs(w).max() or 1.0) for w in network.weights)
        return RankOne.of(network) if np.any(second @ first) else None

    @property
    def c(self) -> float:
        """c = (1 + α)/2."""
        return (1 + self.leak) / 2

    @property
    def u(self) -> float:
        """u₀ = √c·|W₂|, the norm of the linear twin's layers."""
        return float(np.sqrt(self.c) * self.norm)

    @property
    def imbalance(self) -> float:
        """ε = |v̂⁺|² − |v̂⁻|², from −1 to 1."""
        return float(np.sum(np.sign(self.neurons) * self.neurons**2))

    def residual(self, network: Network) -> float:
        """|W₁ − W₂ᵀrᵀ|/|W₂|, the distance of `network` from this form."""
        with np.errstate(over="ignore"):  # infinite where W₂ is far smaller than W₁
            return float(np.linalg.norm(network.weights[0] / self.norm - np.outer(self.neurons, self.r)))

    def network(self) -> Network:
        """The network with these parts."""
        neurons = self.norm * self.neurons
        return Network((np.outer(neurons, self.r), neurons[None]), leak=self.leak)

    def trajectory(
        self,
        ts: Float[np.ndarray, "T"],
        u: Float[np.ndarray, "T"],
        r: Float[np.ndarray, "T D"],
        data: Dataset | Population,
        *,
        loss: Loss,
        l2: float = 0.0,
        stats: Stats,
    ) -> Trajectory:
        """W₁ = (u/√c)v̂rᵀ, W₂ = (u/√c)v̂ᵀ at every time, as factors, and the loss of f(x) = u² r·x."""
        growth = (u / np.sqrt(self.c))[:, None, None]
        maps = u[:, None, None] ** 2 * r[:, None, :]
        found = linear_loss(maps, data, loss)
        neurons = self.neurons[None, :, None]
        return Trajectory(
            ts=ts,
            weights=Factored((neurons, growth * r[:, None, :]), (growth, neurons.swapaxes(1, 2))),
            loss=found,
            objective=found + l2 * growth[:, 0, 0] ** 2,  # (λ/2)(|W₁|² + |W₂|²), two equal norms
            leak=self.leak,
            stats=stats,
            linear=maps,
        )
