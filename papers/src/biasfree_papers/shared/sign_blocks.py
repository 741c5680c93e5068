"""First layers under a fixed second one: runs saved at doubling steps, and blocks of neurons by sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.trajectory import Trajectory


def check_dimensions(fewest: int, samples: int) -> None:
    """Refuse inputs in fewer dimensions than there are samples."""
    if fewest < samples:
        raise ValueError(
            f"dimensions must be at least samples, {samples}, got {fewest}: with fewer the samples are "
            "linearly dependent, and may not be separable."
        )


def doubling(doublings: int) -> np.ndarray:
    """The steps at which runs are saved: 0, 1, 2, 3, 4, 6, 8, 12, … up to 2^doublings."""
    later = [count for k in range(doublings) for count in (3 * 2**k // 2, 2 ** (k + 1))]
    return np.unique([0, 1, *later])


def descended(network: Network, data: Dataset, *, step: float, doublings: int) -> Trajectory:
    """Gradient descent of the first layer alone, logistic loss."""
    from biasfree.dynamics import gradient_descent

    saves = doubling(doublings)
    return gradient_descent(
        network, data, step=step, steps=int(saves[-1]), save_every=saves.tolist(), loss="logistic",
        train=(True, False),
    )  # fmt: skip


def since_settled(run: Trajectory, reduced: Span, step: float) -> dict[str, Any]:
    """Quantities since the activation pattern is fixed: constant part of W₁, bounds on the last margins."""
    data, steps = reduced.data, np.rint(run.ts / step).astype(int)
    turned = theory.pattern_changes(run, data, theory.activation_patterns(run[-1], data.x))
    first = int(np.flatnonzero(turned).max(initial=-1)) + 1
    unmoved = [theory.neighbors.conserved_part(run[i], data) for i in range(first, len(run))]
    # followed on inputs that are not orthogonal too, where it is no theorem
    everywhere: Any = {"orthogonal_tolerance": np.inf, "patterns_tolerance": 1.0}
    outer, left = run[-1].weights[1][0], [steps[-1] - steps[first]]
    low, high = theory.neighbors.descent_margins(run[first], data, left, step=step, **everywhere)
    return {
        "settled": steps[first],
        "moved": max(np.linalg.norm(one - unmoved[0]) for one in unmoved)
        / np.linalg.norm(run[-1].weights[0]),
        "low": low[0],
        "high": high[0],
        "z": diagnostics.margins(run[-1], data).values,
        "rate": theory.neighbors.margin_rates(run[-1], data),
        "kept": _norms_by_label(unmoved[-1], outer, data),
        "rest": block_norms(reduced.rest, outer),
    }


def final_patterns(network: Network, data: Dataset) -> tuple[np.ndarray]:
    """The final activation pattern of orthogonal inputs, computed for any inputs."""
    return theory.neighbors.final_patterns(network, data, orthogonal_tolerance=np.inf)


def shrunk(reduced: Span, factor: float) -> Span:
    """The same initial weights with a first layer `factor` times as large."""
    first, *above = reduced.network.weights
    network = Network((factor * first, *above), leak=reduced.network.leak)
    return Span(network, reduced.data, reduced.basis, factor * reduced.rest)


def stable_ranks(gram: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Stable rank of the first layer, of its neurons with a > 0, and of those with a < 0."""
    return np.array([diagnostics.stable_rank_of_gram(gram[np.ix_(block, block)]) for block in _blocks(outer)])


def block_norms(w: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """|W|_F of all neurons, of those with a > 0, and of those with a < 0."""
    return np.array([np.linalg.norm(w[block]) for block in _blocks(outer)])


def _norms_by_label(w: np.ndarray, outer: np.ndarray, data: Dataset) -> np.ndarray:
    """`block_norms` of the parts of w along orthogonal inputs of label +1 and of label −1."""
    along = w @ (data.x / np.linalg.norm(data.x, axis=1, keepdims=True)).T
    return np.stack([block_norms(along[:, sign * data.y > 0], outer) for sign in (1, -1)], axis=-1)


def _blocks(outer: np.ndarray) -> tuple[np.ndarray, ...]:
    return np.ones(len(outer), dtype=bool), outer > 0, outer < 0


def allowed(
    found: np.ndarray, rank: np.ndarray, e: np.ndarray, beside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Distance of a stable rank from that of U, and the bound on it, for W₁ = U + E + R."""
    low, high = theory.neighbors.perturbed_stable_rank(rank, e, beside=beside)
    return np.abs(found - rank), np.where(found < rank, rank - low, high - rank)
