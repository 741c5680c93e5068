"""What a small draw becomes before its outputs matter: two neurons, one of each sign, whatever the leak.

The growing part W₁ = r₁β̄ᵀ, W₂ = r₁ᵀ of a draw has one direction, so its neurons of one sign see the same
samples and stay proportional to each other: they act as one neuron of size |r₁±|, for any leak, Σ and loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree import losses
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers
from biasfree.networks import Network
from biasfree.theory.alignment import growing_part
from biasfree.theory.integration import integrated
from biasfree.trajectory import Trajectory

_SIGNS = np.array([1.0, -1.0])
_RTOL = 1e-8


def beside(runs: Sequence[Trajectory], data: Dataset, *, loss: str) -> Numbers:
    """For every run the loss of its two neurons, as drawn and of equal size, with what it may be off by."""
    found, equal = (
        [two_neurons(run[0], data, run.ts, loss=loss, equal=equal) for run in runs] for equal in (False, True)
    )
    return {
        "pair": np.array([one[0] for one in found]),
        "equal_pair": np.array([one[0] for one in equal]),
        "pair_error": np.array([one[1] for one in found]),
        "kept": np.array([kept(run) for run in runs]),
    }


def kept(run: Trajectory) -> float:
    """What is left of the initial weights, which the linear terms do not shrink: |W(0)|/|W|."""
    return float(np.linalg.norm(run[0].norms) / np.linalg.norm(run[-1].norms))


def two_neurons(
    network: Network, data: Dataset, ts: np.ndarray, *, loss: str, equal: bool = False
) -> tuple[np.ndarray, float]:
    """The loss of the two neurons of a draw, and the relative error of their weights.

    If `equal` they start from the same size, |r₁|/√2, as Assumption 4 (TMLR 7) wants.
    Of each, ln|a| and the direction ρ of w = |a|ρ: d ln|a|/dt = g·ρ, dρ/dt = g − (g·ρ)ρ, g = ±⟨e σ′(ρ·x) x⟩.
    """
    x, y, leak, of = data.x, data.y, network.leak, losses.named(loss)

    def outputs(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f of every sample, and the slopes σ′ that the two neurons have there."""
        z = x @ state[2:].reshape(2, -1).T
        slopes = np.where(z > 0, 1.0, leak)
        # a trial step may leap beyond the transition; sizes of e³⁰ are far beyond any
        return (slopes * z) @ (_SIGNS * np.exp(2 * np.minimum(state[:2], 30.0))), slopes

    def field(state: np.ndarray) -> np.ndarray:
        rho, (f, slopes) = state[2:].reshape(2, -1), outputs(state)
        g = (of.residual(f, y)[:, None] * slopes * _SIGNS).T @ x / len(x)
        along = np.sum(g * rho, axis=1)
        return np.concatenate([along, (g - along[:, None] * rho).ravel()])

    look = {"name": "two neurons", "method": "RK45", "rtol": _RTOL, "atol": _RTOL}
    states, stats = integrated(field, _start(network, data, equal), ts, **look)
    return np.array([np.mean(of.value(outputs(state)[0], y)) for state in states]), stats.evaluations * _RTOL


def _start(network: Network, data: Dataset, equal: bool) -> np.ndarray:
    """ln|r₁±| and ±β̄."""
    growing = growing_part(network, data)
    parts = [np.linalg.norm(growing.neurons[sign * growing.neurons > 0]) for sign in _SIGNS]
    sizes = np.full(2, np.sqrt(0.5)) if equal else np.array(parts)
    return np.concatenate([np.log(growing.norm * sizes), growing.r, -growing.r])
