"""First layers under a fixed second one: runs saved ever more rarely, and the blocks of either sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.networks.span import Reduced
from biasfree.trajectory import Trajectory


def doubling(doublings: int) -> np.ndarray:
    """The steps after which runs are saved: 0, 1, 2, 3, 4, 6, 8, 12, … up to 2^doublings."""
    later = [count for k in range(doublings) for count in (3 * 2**k // 2, 2 ** (k + 1))]
    return np.unique([0, 1, *later])


def descended(network: Network, data: Dataset, *, step: float, doublings: int) -> Trajectory:
    """Logistic descent of the first layer alone."""
    from biasfree.dynamics import gradient_descent

    saves = doubling(doublings)
    return gradient_descent(
        network, data, step=step, steps=int(saves[-1]), save_every=saves.tolist(), loss="logistic",
        train=(True, False),
    )  # fmt: skip


def since_settled(run: Trajectory, reduced: Reduced, step: float) -> dict[str, Any]:
    """From the step on from which gates last: the unmoved part of W₁, and bounds on the last margins."""
    data, steps = reduced.data, np.rint(run.ts / step).astype(int)
    turned = theory.pattern_changes(run, data, theory.activation_patterns(run[-1], data.x))
    first = int(np.flatnonzero(turned).max(initial=-1)) + 1
    unmoved = [theory.unmoved_part(run[i], data) for i in range(first, len(run))]
    # followed on inputs that are not orthogonal too, where it is no theorem
    everywhere: Any = {"orthogonal_tolerance": np.inf, "lasting_tolerance": 1.0}
    left = [steps[-1] - steps[first]]
    low, high = theory.descent_margins(run[first], data, left, step=step, **everywhere)
    return {
        "settled": steps[first],
        "moved": max(np.linalg.norm(one - unmoved[0]) for one in unmoved)
        / np.linalg.norm(run[-1].weights[0]),
        "low": low[0],
        "high": high[0],
        "z": diagnostics.margins(run[-1], data).values,
        "rate": theory.margin_rates(run[-1], data),
        "remainder": np.hypot(np.linalg.norm(unmoved[-1]), np.linalg.norm(reduced.rest)),
    }


def final_patterns(network: Network, data: Dataset) -> tuple[np.ndarray]:
    """The gates of the end on orthogonal inputs, asked for on any: every neuron on its side."""
    return theory.final_patterns(network, data, orthogonal_tolerance=np.inf)


def shrunk(reduced: Reduced, factor: float) -> Reduced:
    """The same start with a first layer `factor` times as large."""
    first, *above = reduced.network.weights
    network = Network((factor * first, *above), leak=reduced.network.leak)
    return Reduced(network, reduced.data, reduced.basis, factor * reduced.rest)


def stable_ranks(gram: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Stable rank of the first layer, of its neurons with a > 0, and of those with a < 0."""
    blocks = (np.ones(len(outer), dtype=bool), outer > 0, outer < 0)
    return np.array([theory.stable_rank_of_gram(gram[np.ix_(block, block)]) for block in blocks])


def gaussian_ratio(d: np.ndarray, samples: int, separation: np.ndarray | float = 0.0) -> np.ndarray:
    """About what near-orthogonality is for Gaussian inputs in d dimensions, two clouds so far apart.

    Products have variance d about ±separation²/4, squared lengths variance 2d about d + separation²/4:
    medians of the largest of n(n − 1)/2, and of the least of n.
    """
    from scipy.special import ndtri

    pairs, shift = samples * (samples - 1) / 2, np.asarray(separation) ** 2 / 4
    largest, least = ndtri((1 + 0.5 ** (1 / pairs)) / 2), ndtri(0.5 ** (1 / samples))
    return samples * (largest * np.sqrt(d) + shift) / (d + shift - least * np.sqrt(2 * d))
