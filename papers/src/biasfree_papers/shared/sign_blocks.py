"""First layers under a fixed second one: runs at doubling steps, blocks by sign, bounds on margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.arrays import Float, increasing_times, positive, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.theory import activation_patterns
from biasfree.theory.hypotheses import check
from biasfree.threads import load
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.fixed_patterns import ASSUMES_PATTERNS, FIXED_PATTERNS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
_LARGE = 600.0  # beyond it e^z may overflow, and z + e^z is e^z to rounding


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


def shrunk(reduced: Span, factor: float) -> Span:
    """The same initial weights with a first layer `factor` times as large."""
    first, *above = reduced.network.weights
    network = Network((factor * first, *above), leak=reduced.network.leak)
    return Span(network, reduced.data, reduced.basis, factor * reduced.rest)


def stable_ranks(gram: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Stable rank of the neurons with a > 0, and of those with a < 0, from the products of all."""
    blocks = outer > 0, outer < 0
    return np.array([diagnostics.stable_rank_of_gram(gram[np.ix_(block, block)]) for block in blocks])


def descent_margins(
    network: Network, data: Dataset, steps: ArrayLike, *, step: float, **tolerances: float
) -> tuple[Float[np.ndarray, "T P"], Float[np.ndarray, "T P"]]:
    """Lower and upper bounds on every margin after so many `steps` of descent of size `step`.

    Under flow ż_i = c_i/(1 + e^{z_i}), c_i = |x_i|²Σ_h(a_hφ′_hi)²/P, so z + e^z grows by ct/τ: margins become
    equal as 1/ln t, and the loss tends to ⟨τ/(c_i t)⟩. A step of descent changes z by δ = ηc/(1 + e^z), and
    z + e^z by ηc(1 + e^z(e^δ − 1 − δ)/(δ(1 + e^z))): at least ηc, as flow does, and at most ηc(e^δ − 1)/δ.
    The upper bound increases with δ, and δ is at most that of the flow; its values after 0, 1, 2, 4, 8, …
    steps bound all steps up to the next of these. Exact up to rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); no ReLU neuron exactly on the hyperplane of a sample with the sign of a_h
    (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 as under descent); fixed activation
    patterns, those of `final_patterns` (patterns_tolerance=0).
    Reference: derived here; Frei et al. (2022) and Kou et al. (2023) have the equal margins and the loss 1/t.
    """
    check((*ASSUMES_PATTERNS, FIXED_PATTERNS), network, data, tolerances)
    counts, eta = increasing_times(steps), positive("step", step)
    z = data.targets[:, 0] * network(data.x).reshape(-1)
    rate = _rates(network, data)
    marks = 2.0 ** np.arange(np.log2(max(counts[-1], 1.0)))
    grid = np.union1d(counts, [0.0, *marks])
    low = _grown(z, np.multiply.outer(eta * grid, rate))
    delta = eta * rate * np.exp(-np.logaddexp(0, low[:-1]))
    most = np.divide(np.expm1(delta), delta, out=np.ones_like(delta), where=delta > 0)
    grown = np.cumsum(eta * np.diff(grid)[:, None] * rate * most, axis=0)
    high = _grown(z, np.concatenate([np.zeros((1, len(z))), grown]))
    asked = np.searchsorted(grid, counts)
    return low[asked], high[asked]


def _rates(network: Network, data: Dataset) -> Float[np.ndarray, "P"]:
    """c_i = |∂z_i/∂W₁|²/P = |x_i|²Σ_h(a_hφ′_hi)²/P; 0 for a sample on which no ReLU neuron is active."""
    slopes = np.where(activation_patterns(network, data.x)[0], 1.0, network.leak)
    lengths = row_norms(data.x) * row_norms(slopes * network.weights[1][0])
    return lengths**2 / len(data)


def _grown(start: Float[np.ndarray, "*P"], grown: Float[np.ndarray, "T *P"]) -> Float[np.ndarray, "T *P"]:
    """z at which z + e^z exceeds its value at `start` by `grown`."""
    with np.errstate(over="ignore", divide="ignore"):
        z, large = _inverse(start + np.exp(start) + grown), np.logaddexp(start, np.log(grown))
    return np.where(start > _LARGE, large, z)


def _inverse(value: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """z with z + e^z = value."""
    wrightomega = load("scipy.special").wrightomega

    # z = ln ω(value), but ω underflows for very negative values, where z = value − ω(value) keeps its digits
    above, below = np.maximum(value, 0.0), np.minimum(value, 0.0)
    return np.where(value > 0, np.log(wrightomega(above)), below - wrightomega(below))
