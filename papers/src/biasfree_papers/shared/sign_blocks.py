"""First layers under a fixed second one: runs saved at doubling steps, and blocks of neurons by sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.trajectory import Trajectory
from biasfree_papers.shared import fixed_patterns
from biasfree_papers.shared.descent_margins import descent_margins


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


def since_settled(run: Trajectory, data: Dataset, step: float) -> dict[str, Any]:
    """The saved step from which on the activation pattern is fixed, the last margins, and bounds on them."""
    steps = np.rint(run.ts / step).astype(int)
    turned = theory.pattern_changes(run, data, theory.activation_patterns(run[-1], data.x))
    first = int(np.flatnonzero(turned).max(initial=-1)) + 1
    # followed on inputs that are not orthogonal too, where it is no theorem
    everywhere: Any = {"orthogonal_tolerance": np.inf, "patterns_tolerance": 1.0}
    left = [steps[-1] - steps[first]]
    low, high = descent_margins(run[first], data, left, step=step, **everywhere)
    z = diagnostics.margins(run[-1], data).values
    return {"settled": steps[first], "low": low[0], "high": high[0], "z": z}


def final_patterns(network: Network, data: Dataset) -> tuple[np.ndarray]:
    """The final activation pattern of orthogonal inputs, computed for any inputs."""
    return fixed_patterns.final_patterns(network, data, orthogonal_tolerance=np.inf)


def shrunk(reduced: Span, factor: float) -> Span:
    """The same initial weights with a first layer `factor` times as large."""
    first, *above = reduced.network.weights
    network = Network((factor * first, *above), leak=reduced.network.leak)
    return Span(network, reduced.data, reduced.basis, factor * reduced.rest)


def stable_ranks(gram: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Stable rank of the neurons with a > 0, and of those with a < 0, from the products of all."""
    blocks = outer > 0, outer < 0
    return np.array([diagnostics.stable_rank_of_gram(gram[np.ix_(block, block)]) for block in blocks])
