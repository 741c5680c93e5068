"""Targets on the circle: learning rates per frequency at infinite width, and a network for even targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import positive, real, row_norms, whole
from biasfree.data import Dataset, mirror_pairs
from biasfree.networks import Network
from biasfree.theory.hypotheses import Hypothesis, result
from biasfree.theory.neighbors._stable_minima import PLANAR
from biasfree.theory.parts._linear_phase import representable

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_ZERO = 1e-12  # of the largest rate: below it a rate is zero to rounding


def circle_rates(
    k: ArrayLike, *, scale: float, points: int | None = None, biases: bool = False
) -> Float[np.ndarray, "_"]:
    """The rates λ_k at which two-layer ReLU networks of infinite width learn cos kφ on the unit circle.

    The error along cos kφ decays as e^{−λ_k t}, λ_k = ⟨K(φ)cos kφ⟩ over `points` evenly spaced angles, or
    over the whole circle, with the tangent kernel

    K(φ) = γ²[(π − φ)(cos φ + b)/2π + (sin φ + (π − φ)cos φ)/4π] + b for 0 ≤ φ ≤ π, even in φ,

    γ = `scale` the initial norm of each layer, and b = 1 with biases in both layers, initially zero, or 0
    without. Over the whole circle

    λ_k = γ²(k² + 2)/π²(k² − 1)² for even k, 3γ²/16 for k = 1, and 0 for odd k ≥ 3,

    which two bias-free layers cannot express. Biases add γ²/π²k² for odd k, and 1 + γ²/4 for k = 0. For large
    k the times 1/λ_k grow as k². On an even number of points odd k ≥ 3 have rate 0 as well. On n points k and
    n − k are the same function, so 2k ≤ n is required. Accurate to 1e-14 of the largest rate.

    Assumes: Gaussian layers, outputs that are initially zero, a width → ∞ at fixed γ; square loss.
    Reference: derived here, from the kernel of the network linearized at initialization; the question is that
    of Basri et al. (2019).
    """
    if not isinstance(biases, bool):
        raise ValueError(f"biases must be True or False, got {biases!r}.")
    ks, gamma2 = _frequencies(k), positive("scale", scale) ** 2
    if points is None:
        return gamma2 * _bias_free(ks) + float(biases) * _of_biases(ks, gamma2)
    if 2 * ks.max() > whole("points", points):
        raise ValueError(
            f"{points} points cannot distinguish cos kφ from a lower frequency for k above {points // 2}, "
            f"got k = {ks.max():g}; increase points=."
        )
    angles = 2 * np.pi * np.arange(points) / points
    phi, b = np.minimum(angles, 2 * np.pi - angles), float(biases)
    first = (np.pi - phi) * (np.cos(phi) + b) / (2 * np.pi)
    second = (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / (4 * np.pi)
    return np.cos(np.outer(ks, angles)) @ (gamma2 * (first + second) + b) / points


def halving_times(rates: ArrayLike, *, step: float | None = None) -> Float[np.ndarray, "_"]:
    """The times at which errors that decay at these rates are halved, by flow or by descent of size `step`.

    t = ln 2/λ for flow, and η ln ½/ln(1 − ηλ) for descent with step η. Infinite for rates that are 0 to
    rounding (1e-12 of the largest). Exact up to rounding.

    Assumes: ηλ < 1, so that no step overshoots.
    Reference: derived here, for the rates of `circle_rates`.
    """
    given = np.atleast_1d(real("rates", rates))
    if not given.size or (given < -_ZERO * np.abs(given).max()).any():
        raise ValueError(f"rates must be at least one number, none of them negative, got {rates!r}.")
    lam = np.where(given > _ZERO * np.abs(given).max(), given, 0.0)
    if step is not None and positive("step", step) * lam.max() >= 1:
        raise ValueError(
            f"step must be below 1/λ = {1 / lam.max():.3g} for the largest rate, got {step}: larger steps "
            "overshoot, and have no closed form; take a smaller one."
        )
    with np.errstate(divide="ignore"):
        return np.log(2) / lam if step is None else step * np.log(0.5) / np.log1p(-step * lam)


@result("in the plane, two layers through every sample of an even target", lambda: ASSUMES)
def even_network(data: Dataset, *, even_tolerance: float = 1e-8, lines_tolerance: float = 1e8) -> Network:
    """A bias-free two-layer ReLU network that fits every sample of an even target in the plane.

    f(x) = Σ_j b_j|u_j·x|, with one j per pair ±x_j and u_j ⟂ x_j of length |x_j|, so that f has a kink at
    every sample. On the unit circle, for samples sorted by angle φ_j and δ_j = φ_{j+1} − φ_j,

    2b_j = (y_{j+1} − y_j cos δ_j)/sin δ_j + (y_{j−1} − y_j cos δ_{j−1})/sin δ_{j−1},

    the jump of the slope at sample j of a function that is a sinusoid between neighboring samples. So b
    exists and is unique. It is computed from the linear system Σ_j|u_j·x_i|b_j = y_i, which leaves a smaller
    residual: outputs are exact up to rounding of Σ_j|b_j||u_j·x|.

    Assumes: two-dimensional inputs; a sample −x for every x, with the same target (even_tolerance=1e-8); no
    two other samples parallel, and at least two lines through the origin (lines_tolerance=1e8).
    Reference: derived here; Basri et al. (2019), who show that even frequencies are expressible.
    """
    for hypothesis in (PLANAR, PAIRED):
        hypothesis.check(None, data)
    EVEN.check(None, data, even_tolerance)
    LINES.check(None, data, lines_tolerance)
    half = _pairs(data)[0]
    size, height = float(np.abs(data.x).max()), float(np.abs(data.targets).max()) or 1.0
    x = data.x[half] / size
    across = x @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    b = np.linalg.solve(np.abs(x @ across.T), data.targets[half] / height).T
    with np.errstate(over="ignore"):
        representable("the input of a hidden neuron", 2 * np.float64(size) ** 2)
        b = representable("an outer weight", b * (np.float64(height) / size / size))
    return Network((size * np.vstack([across, -across]), np.hstack([b, b])))


def _frequencies(k: ArrayLike) -> Float[np.ndarray, "_"]:
    ks = np.atleast_1d(real("k", k))
    if ks.ndim != 1 or not ks.size or (ks < 0).any() or (ks != np.round(ks)).any():
        raise ValueError(
            f"k must be whole numbers of at least 0, got {k!r}; only these have cos kφ on a circle."
        )
    return ks


def _bias_free(ks: Float[np.ndarray, "_"]) -> Float[np.ndarray, "_"]:
    k = np.maximum(ks, 2.0)  # the others are cases of their own
    even = (1 + 2 / k**2) / (np.pi * (k - 1 / k)) ** 2
    return np.select([ks == 0, ks == 1, ks % 2 == 0], [2 / np.pi**2, 3 / 16, even], 0.0)


def _of_biases(ks: Float[np.ndarray, "_"], gamma2: float) -> Float[np.ndarray, "_"]:
    """The contribution of both biases; the bias of the output changes k = 0 only."""
    odd = gamma2 / (np.pi * np.maximum(ks, 1)) ** 2
    return np.where(ks == 0, 1 + gamma2 / 4, np.where(ks % 2 == 1, odd, 0.0))


def _pairs(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the samples x and −x of each pair; empty where a sample is unpaired."""
    return mirror_pairs(Dataset(data.x, np.zeros(len(data)))) or (np.array([], int), np.array([], int))


def _unpaired(network: Network | None, data: Dataset) -> float:  # noqa: ARG001
    return 1 - 2 * len(_pairs(data)[0]) / len(data)


def _odd_share(network: Network | None, data: Dataset) -> float:  # noqa: ARG001
    one, two = _pairs(data)
    if 2 * len(one) != len(data):
        return np.nan
    size = np.abs(data.targets).max()
    return float(np.abs(data.targets[one] - data.targets[two]).max() / size) if size > 0 else 0.0


def _nearness(network: Network | None, data: Dataset) -> float:  # noqa: ARG001
    """1/sin of the smallest angle between neighboring lines; a single line is its own neighbor."""
    one, _ = _pairs(data)
    if data.dimensions != 2 or not len(one):
        return np.nan
    size = row_norms(data.x[one])[:, None]
    if not size.all():
        return np.nan
    unit = data.x[one] / size
    unit = unit[np.argsort(np.arctan2(unit[:, 1], unit[:, 0]) % np.pi)]
    after = np.roll(unit, -1, axis=0)
    with np.errstate(divide="ignore"):
        return float(1 / np.abs(unit[:, 0] * after[:, 1] - unit[:, 1] * after[:, 0]).min())


PAIRED = Hypothesis(
    "paired",
    "a sample −x for every x",
    "the fraction of samples x without −x",
    _unpaired,
    "add them with their targets: an even function has y(−x) = y(x)",
)
EVEN = Hypothesis(
    "even",
    "an even target, the same on x and −x,",
    "the largest |y(x) − y(−x)| over the largest |y|",
    _odd_share,
    "use (y(x) + y(−x))/2 for both; two bias-free layers express no odd function that is not linear",
    tolerance=1e-8,
)
LINES = Hypothesis(
    "lines",
    "no two samples on one line through the origin, except x and −x, and more than one line,",
    "1/sin of the smallest angle between two such lines",
    _nearness,
    "drop samples of equal direction: every bias-free network has f(ax) = a·f(x) for a > 0",
    tolerance=1e8,
)
ASSUMES: tuple[Hypothesis, ...] = (PLANAR, PAIRED, EVEN, LINES)
