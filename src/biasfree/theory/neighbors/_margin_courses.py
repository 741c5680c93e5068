"""Margins over time on orthogonal inputs, second layer fixed, logistic loss: z + e^z = ct for each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import increasing_times, positive, real, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.asymmetric._gated_flow import activation_patterns
from biasfree.theory.hypotheses import SETTING, check, result
from biasfree.theory.neighbors._fixed_patterns import ASSUMES_PATTERNS, FIXED_PATTERNS
from biasfree.theory.parts._linear_phase import representable
from biasfree.threads import load

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_LARGE = 600.0  # beyond it e^z may overflow, and z + e^z is e^z to rounding

ASSUMES = (*ASSUMES_PATTERNS, FIXED_PATTERNS)

_course = result(
    "orthogonal inputs, second layer fixed: every margin by itself, z + e^z = ct", lambda: ASSUMES
)


@_course
def orthogonal_margins(
    network: Network, data: Dataset, ts: ArrayLike, **tolerances: float
) -> Float[np.ndarray, "T P"]:
    """The margins z_i = y_i f(x_i) over time, for logistic flow of the first layer, second layer fixed.

    ż_i = c_i/(1 + e^{z_i}), so z_i + e^{z_i} = z_i(0) + e^{z_i(0)} + c_i t/τ, with c_i of `margin_rates`. For
    large t every margin is ln t + O(1): normalized margins become equal as 1/ln t, and the loss tends to
    ⟨τ/(c_i t)⟩. Accurate to 1e-13 of max(|z_i|, 1).

    Assumes: two layers, one output, no biases; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); no ReLU neuron exactly on the hyperplane of a sample with the sign of a_h
    (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 as under descent); fixed activation
    patterns, those of `final_patterns` (patterns_tolerance=0).
    Reference: derived here; Frei et al. (2022) and Kou et al. (2023) have the equal margins and the loss 1/t.
    """
    check(ASSUMES, network, data, tolerances)
    return margin_course(_margins(network, data), margin_rates(network, data), ts)


@_course
def descent_margins(
    network: Network, data: Dataset, steps: ArrayLike, *, step: float, **tolerances: float
) -> tuple[Float[np.ndarray, "T P"], Float[np.ndarray, "T P"]]:
    """Lower and upper bounds on every margin after so many `steps` of descent of size `step`.

    A step of descent changes z by δ = ηc/(1 + e^z), and z + e^z by ηc(1 + e^z(e^δ − 1 − δ)/(δ(1 + e^z))): at
    least ηc, as flow does, and at most ηc(e^δ − 1)/δ. The upper bound increases with δ, and δ is at most that
    of the flow; its values after 0, 1, 2, 4, 8, … steps bound all steps up to the next of these. Exact up to
    rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); no ReLU neuron exactly on the hyperplane of a sample with the sign of a_h
    (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 as under descent); fixed activation
    patterns, those of `final_patterns` (patterns_tolerance=0).
    Reference: derived here.
    """
    check(ASSUMES, network, data, tolerances)
    counts, eta = increasing_times(steps), positive("step", step)
    z, rate = _margins(network, data), margin_rates(network, data)
    marks = 2.0 ** np.arange(np.log2(max(counts[-1], 1.0)))
    grid = np.union1d(counts, [0.0, *marks])
    low = margin_course(z, rate, eta * grid)
    delta = eta * rate * np.exp(-np.logaddexp(0, low[:-1]))
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.divide(np.expm1(delta), delta, out=np.ones_like(delta), where=delta > 0)
        grown = np.cumsum(eta * np.diff(grid)[:, None] * rate * most, axis=0)
    representable("the upper bound for steps of this size", grown)
    high = _grown(z, np.concatenate([np.zeros((1, len(z))), grown]))
    asked = np.searchsorted(grid, counts)
    return low[asked], high[asked]


def margin_rates(network: Network, data: Dataset) -> Float[np.ndarray, "P"]:
    """The rates c_i = |x_i|²Σ_h(a_hφ′_hi)²/P in the equation ż_i = c_i/(1 + e^{z_i}) of a margin.

    c_i = |∂z_i/∂W₁|²/P, with φ′ = 1 where a neuron is active and α elsewhere; 0 for a sample on which no ReLU
    neuron is active. Exact up to rounding.

    Assumes: two layers, one output, no biases.
    Reference: derived here.
    """
    check(SETTING, network, data, {})
    slopes = np.where(activation_patterns(network, data.x)[0], 1.0, network.leak)
    with np.errstate(over="ignore"):
        lengths = row_norms(data.x) * row_norms(slopes * network.weights[1][0])
        return representable("a rate", lengths**2 / len(data))


def margin_course(start: ArrayLike, rate: ArrayLike, ts: ArrayLike) -> Float[np.ndarray, "T *P"]:
    """The solution z(t) of ż = c/(1 + e^z), z(0) = `start`, c = `rate`: z + e^z = z(0) + e^{z(0)} + ct.

    z = ln ω(z(0) + e^{z(0)} + ct), with Wright's function ω(v) + ln ω(v) = v, for every time and every rate.
    Accurate to 1e-13 of max(|z|, 1).

    Assumes: τ = 1; rates not negative.
    Reference: derived here.
    """
    start, rate, ts = real("start", start), real("rate", rate), increasing_times(ts)
    if (rate < 0).any():
        raise ValueError(
            f"rates must not be negative, got {rate.min()}; bf.theory.neighbors.margin_rates computes them."
        )
    if start.shape != rate.shape:
        raise ValueError(f"start and rate must have one shape, got {start.shape} and {rate.shape}.")
    return _grown(start, np.multiply.outer(ts, rate))


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


def _margins(network: Network, data: Dataset) -> Float[np.ndarray, "P"]:
    with np.errstate(over="ignore", invalid="ignore"):
        return representable("a margin", data.targets[:, 0] * network(data.x).reshape(-1))
