"""How lazy training was: movement of weights and of the tangent kernel, and its alignment with the task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory import kernel
from biasfree.ties import side
from biasfree.trajectory import Trajectory

#: Movements of the kernel up to which training counts as lazy, and from which on as rich.
_LAZY, _RICH = 0.1, 1.0
#: The largest share of the weights' movement that the simulator's error may be.
_NEGLIGIBLE = 0.01
#: The most outputs, of all samples together, for which `laziness` forms the kernel.
_MOST = 1000
_OPENINGS = {
    "lazy": "Training was lazy",
    "rich": "Training was rich",
    "between": "Training was neither lazy nor rich",
}


@dataclass(frozen=True)
class Laziness:
    """How lazy a run was; print it for one sentence.

    `weights` and `kernel` are the relative movements |θ − θ₀|/|θ₀| and |Θ − Θ₀|/|Θ₀| from the first to the
    last saved network, NaN where θ₀ or Θ₀ is zero. `alignments` are yᵀΘy/(|y|²|Θ|) of these two networks, NaN
    where Θ or y is zero. `samples` is the number of samples of the kernel. `error` is the simulator's error
    of the weights, relative to them, or None if there is no estimate.
    """

    weights: float
    kernel: float
    alignments: tuple[float, float]
    samples: int
    error: float | None

    @property
    def regime(self) -> str:
        """Lazy for a movement of the kernel up to 0.1, rich from 1 on, to rounding; undefined for Θ₀ = 0.

        The kernel alone decides the course of training: linearized training is that with a fixed kernel.
        """
        if np.isnan(self.kernel):
            return "undefined"
        if side(self.kernel, _LAZY, terms=self.samples) <= 0:
            return "lazy"
        return "rich" if side(self.kernel, _RICH, terms=self.samples) >= 0 else "between"

    def __str__(self) -> str:
        if self.regime == "undefined":
            return "The tangent kernel was zero at first, so whether training was lazy or rich is undefined."
        kernel = _amount(self.kernel, "its initial norm")
        weights = "away from zero"
        if not np.isnan(self.weights):
            weights = f"by {_amount(self.weights, 'their initial norm')}"
        before, after = (f"{one:.2g}" for one in self.alignments)
        told = (
            f"{_OPENINGS[self.regime]}: the tangent kernel moved by {kernel}, the weights {weights}, and the "
            f"alignment of the kernel with the targets went from {before} to {after}."
        )
        if self.error is not None and self.error > _NEGLIGIBLE * self.weights:
            told += f" The simulator's error, {self.error:.2g} of the weights, is too large: lower rtol."
        return told


def laziness(trajectory: Trajectory, data: Dataset) -> Laziness:
    """How lazy a run was: how far kernel and weights moved, and how the kernel aligned with the targets.

    From the first to the last saved network. For more than 1000 outputs the kernel is that of evenly spaced
    samples.

    Reference: Jacot et al. (2018); Cristianini et al. (2001) for the alignment.
    """
    first = trajectory[0]
    last = trajectory[-1]
    some = _some(data)
    return Laziness(
        weight_movement(last, first),
        kernel_movement(last, first, some),
        (kernel_alignment(first, some), kernel_alignment(last, some)),
        len(some),
        trajectory.stats.error,
    )


def weight_movement(network: Network, initial: Network) -> float:
    """|θ − θ₀|/|θ₀| over all weights and biases: small where training is lazy, large where it is rich."""
    _check_same(network, initial)
    parts = ((*one.weights, *(one.biases or ())) for one in (network, initial))
    now, before = (np.concatenate([part.ravel() for part in some]) for some in parts)
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(now - before)) / size if size > 0 else np.nan


def kernel_movement(network: Network, initial: Network, data: Dataset) -> float:
    """|Θ − Θ₀|/|Θ₀|, Θ the tangent kernel on the samples: zero in the lazy limit."""
    _check_same(network, initial)
    now, before = kernel(network, data), kernel(initial, data)
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(now - before)) / size if size > 0 else np.nan


def kernel_alignment(network: Network, data: Dataset) -> float:
    """yᵀΘy/(|y|²|Θ|), from 0 to 1: 1 for a kernel that knows nothing but the targets, Θ ∝ yyᵀ."""
    theta, y = kernel(network, data).reshape(data.y.size, data.y.size), data.y.ravel()
    size = float(np.linalg.norm(theta) * (y @ y))
    return float(y @ theta @ y) / size if size > 0 else np.nan


def _check_same(network: Network, initial: Network) -> None:
    if network.sizes != initial.sizes or (network.biases is None) != (initial.biases is None):
        raise ValueError(f"both networks must have the same shape, got {network!r} and {initial!r}.")


def _some(data: Dataset) -> Dataset:
    """The data, or as many evenly spaced samples as `_MOST` outputs allow."""
    most = max(1, _MOST // data.outputs)
    if len(data) <= most:
        return data
    chosen = np.linspace(0, len(data) - 1, most).round().astype(int)
    return Dataset(data.x[chosen], data.y[chosen])


def _amount(movement: float, size: str) -> str:
    return f"{100 * movement:.2g} % of {size}" if movement < 1 else f"{movement:.2g} times {size}"
