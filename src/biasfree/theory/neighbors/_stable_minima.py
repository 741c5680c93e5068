"""Bounds on sharpness, step and norm of the minima at which descent can settle, for networks of any width.

At a network that interpolates, and has no sample on a kink, the Hessian is GᵀG/P, G the gradients of the P
outputs. Its largest eigenvalue is that of GGᵀ/P, whose Rayleigh quotient on the vector of ones is

    |Gᵀ1|²/P² = Σ_h[(w_h·S_h)² + a_h²|S_h|²]/P² ≥ 2Σ_h|a_h|g(w_h),  g(w) = (w·S)|S|/P²,

S the sum of the samples on which w is active. `flattest` minimizes the largest quotient over networks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import non_negative, positive, row_norms
from biasfree.caching import cached_per_object
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, SETTING, Hypothesis, check, result
from biasfree.theory.neighbors._flattest import flattest
from biasfree.theory.neighbors._planar_cones import Cones, misfit
from biasfree.theory.parts._linear_phase import representable

if TYPE_CHECKING:
    from jaxtyping import Float

_MOST = 32  # samples: the semidefinite program has P²/2 unknowns, and takes half a minute at 32

_sharpness = result(
    "the sharpness at a network that interpolates, from below and along its kinks", lambda: ASSUMES_NETWORK
)


_settling = result(
    "samples of the plane: the steps and norms at which descent can settle, for any width", lambda: ASSUMES
)


@_sharpness
def sharpness_bound(network: Network, data: Dataset, **tolerances: float) -> float:
    """A lower bound 2Σ_h|a_h|g(w_h) on the sharpness at an interpolating network, in any dimension.

    g(w) = (w·S)|S|/P², S = Σ_{w·x_i>0} x_i. So descent with step η settles there only if Σ|a|g ≤ 1/η. If the
    outputs have an error r = √⟨(f − y)²⟩, the sharpness may be lower by max|x_i|·r. The bound is attained if
    the vector of ones is the sharpest direction and |a_h||S_h| = w_h·S_h. The sharpness itself is
    `tangent_sharpness` with within=0, or `bf.sharpness`. Exact up to rounding.

    Assumes: two layers, one output, no biases; α = 0; f(x_i) = y_i (fit_tolerance=1e-6, r over √⟨y²⟩); no
    sample on a kink, without which there is no Hessian.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    check(ASSUMES_NETWORK, network, data, tolerances)
    w, a = network.weights[0], network.weights[1][0]
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (w @ data.x.T > 0) @ data.x
        g = np.abs(a) * np.sum(w * sums, axis=1) * (row_norms(sums) / len(data) ** 2)
        return float(representable("the sharpness", 2 * np.sum(g)))


@_sharpness
def tangent_sharpness(network: Network, data: Dataset, *, within: float, **tolerances: float) -> float:
    """The sharpness at an interpolating network, restricted to moves that keep neurons on their kinks.

    The largest eigenvalue of GTTᵀGᵀ/P, where T projects on the moves in which every neuron within a distance
    `within` of the kink of x_i, |w_h·x_i| ≤ within·|x_i|, moves orthogonally to x_i. Without neurons on kinks
    it is the sharpness. Exact up to rounding.

    Assumes: two layers, one output, no biases; α = 0; f(x_i) = y_i (fit_tolerance=1e-6).
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    check(ASSUMES_NETWORK, network, data, tolerances)
    g, width = output_gradients(network, data), len(network.weights[0])
    by_w = g[:, width:].reshape(len(data), width, -1).copy()
    for h, on in enumerate(kink_distances(network, data) <= non_negative("within", within)):
        if on.any():
            _, size, basis = np.linalg.svd(data.x[on], full_matrices=True)
            free = basis[np.sum(size > 1e-12 * size[0]) :]
            by_w[:, h] = by_w[:, h] @ free.T @ free
    g = np.concatenate([g[:, :width], by_w.reshape(len(data), -1)], axis=1)
    largest = np.abs(g).max() or 1.0
    with np.errstate(over="ignore"):
        value = np.linalg.norm(g / largest, ord=2) ** 2 * largest * largest / len(data)
    return float(representable("the sharpness", value))


@_settling
def least_sharpness(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """The least sharpness of all ReLU networks that interpolate the samples, of any width.

    min λ_max(GGᵀ/P) over all networks with f(x_i) = y_i. It is convex in the sums over neurons of each
    direction, and certified by its dual: the largest m·y over V ⪰ 0, Tr V = 1 with |Σ_i
    m_iσ(u·x_i)| ≤ (2/P)√(σ_uᵀVσ_u·|V^½X_u|²) for every unit vector u, X_u the samples on which u is active.
    The result is never above the least sharpness, and below it by at most 1e-6 of it. There are networks
    arbitrarily close to it, some with neurons arbitrarily close to kinks. It is max 2|y_i||x_i|/P if every
    sample can have neurons that are active on no other sample.

    Assumes: two-dimensional inputs, at most 32 samples; one output; targets that two bias-free layers fit
    (interpolable_tolerance=1e-8); of the network, two layers, no biases, α = 0, no sample on a kink.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    _check(data, interpolable_tolerance)
    if len(data) > _MOST:
        raise ValueError(
            f"the least sharpness is computed for at most {_MOST} samples, got {len(data)}; "
            "bf.theory.neighbors.sharpness_bound bounds that of a given network for any number of samples."
        )
    return _flattest(data)


@_settling
def largest_settling_step(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """The largest step η_c at which descent can settle at an interpolating network off all kinks.

    η_c = 2/least_sharpness, for networks of any width: at a stable minimum the sharpness is at most 2/η. For
    every smaller step there are such networks. The result is never below η_c, and above it by at most 1e-6 of
    it. Infinite for targets that are all zero. A minimum with a neuron on the kink of a sample has no
    sharpness, and may be stable at larger steps.

    Assumes: the hypotheses of `least_sharpness` (interpolable_tolerance=1e-8).
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    least = least_sharpness(data, interpolable_tolerance=interpolable_tolerance)
    with np.errstate(over="ignore"):
        return float(representable("the step", np.divide(2, least))) if least > 0 else np.inf


@_settling
def least_path_norm(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """A lower bound on the path norm Σ_h|a_h||w_h| of every ReLU network that interpolates the samples.

    It bounds ½|θ|² too, since ½(a² + |w|²) ≥ |a||w|. It is m·y, with m of `path_norm_multipliers`, computed
    on the kinks and 5760 directions: never above the least path norm, and below it by at most a fraction
    π|m|·|x|/5760, in most cases 1e-6.

    Assumes: two-dimensional inputs; one output; targets that two bias-free layers fit
    (interpolable_tolerance=1e-8); of the network, two layers, no biases, α = 0.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    m = path_norm_multipliers(data, interpolable_tolerance=interpolable_tolerance)
    return float(m @ data.targets[:, 0])


@_settling
def path_norm_multipliers(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> Float[np.ndarray, "P"]:
    """The multipliers m that prove `least_path_norm`: |Σ_i m_iσ(u·x_i)| ≤ 1 for every unit vector u, exactly.

    Σ_i m_i f(x_i) = Σ_h a_h Σ_i m_iσ(w_h·x_i) ≤ Σ_h|a_h||w_h|. The left side is m·y if f(x_i) = y_i, and
    m·y + m·e for outputs with errors e.

    Assumes: the hypotheses of `least_path_norm` (interpolable_tolerance=1e-8).
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    _check(data, interpolable_tolerance)
    return _multipliers(data).copy()


def largest_path_norm(data: Dataset, *, step: float) -> float:
    """An upper bound 1/(η·min g) on the path norm Σ_h|a_h||w_h| of minima off all kinks at step η.

    It holds where descent settles. The minimum is over unit vectors, g as in `sharpness_bound`; infinite if
    some half-plane has no sample. Networks need not attain the bound. Exact up to rounding.

    Assumes: two-dimensional inputs; of the network, that it interpolates, two layers, one output, no biases,
    α = 0, no sample on a kink.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    step = positive("step", step)
    PLANAR.check(None, data)
    size = float(row_norms(data.x).max()) or 1.0
    least = Cones(data.x / size).least_gain()
    with np.errstate(over="ignore"):
        bound = np.float64(1) / step / size / size / least if least > 0 else None
    return np.inf if bound is None else float(representable("the bound", bound))


def output_gradients(network: Network, data: Dataset) -> Float[np.ndarray, "P N"]:
    """The gradients G of every output f(x_i) in the weights (a, w), at a fixed activation pattern.

    Assumes: two ReLU layers, one output, no biases.
    Reference: Nacson et al. (2023), the sharpness of a network that interpolates.
    """
    check((*SETTING, RELU), network, data, {})
    w, a = network.weights[0], network.weights[1][0]
    with np.errstate(over="ignore", invalid="ignore"):
        active = data.x @ w.T > 0
        by_w = (active * a)[:, :, None] * data.x[:, None, :]
        found = np.concatenate([np.maximum(data.x @ w.T, 0), by_w.reshape(len(data), -1)], axis=1)
    return representable("a gradient", found)


def kink_distances(network: Network, data: Dataset) -> Float[np.ndarray, "H P"]:
    """The distances |w_h·x_i|/|x_i| of neurons from the hyperplanes of samples; infinite for x_i = 0.

    Assumes: two ReLU layers, one output, no biases.
    Reference: derived here; a minimum on a kink has no Hessian.
    """
    check((*SETTING, RELU), network, data, {})
    along, size = np.abs(network.weights[0] @ data.x.T), row_norms(data.x)
    return np.divide(along, size, out=np.full_like(along, np.inf), where=size > 0)


def _check(data: Dataset, tolerance: float) -> None:
    if data.outputs != 1:
        raise ValueError(f"the data must have one output, got {data.outputs}; pass each y[:, k] separately.")
    PLANAR.check(None, data)
    INTERPOLABLE.check(None, _scaled(data)[0], tolerance)


def _scaled(data: Dataset) -> tuple[Dataset, float, float]:
    """The samples scaled to size 1, as the solver's tolerances need, and their sizes."""
    y = data.targets[:, 0]
    x_size, y_size = float(np.abs(data.x).max()), float(np.abs(y).max())
    return Dataset(data.x / (x_size or 1.0), y / (y_size or 1.0)), x_size, y_size


@cached_per_object
def _flattest(data: Dataset) -> float:
    scaled, x_size, y_size = _scaled(data)
    least = flattest(Cones(scaled.x), scaled.y).value if scaled.y.any() else 0.0
    with np.errstate(over="ignore"):
        return float(representable("the sharpness", np.float64(x_size) * y_size * least))


@cached_per_object
def _multipliers(data: Dataset) -> Float[np.ndarray, "P"]:
    scaled, x_size, _ = _scaled(data)
    return Cones(scaled.x).norm_multipliers(scaled.y) / x_size if scaled.y.any() else np.zeros(len(data))


def _misfit(network: Network, data: Dataset) -> float:  # noqa: ARG001
    planar = data.dimensions == 2 and data.outputs == 1
    return misfit(data.x, data.targets[:, 0]) if planar else np.nan


def _residual(network: Network, data: Dataset) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        off = network(data.x).reshape(len(data), -1) - data.targets
    if not np.isfinite(off).all():
        return np.inf
    size = max(np.abs(off).max(), np.abs(data.y).max()) or 1.0
    off, size = np.linalg.norm(off / size), np.linalg.norm(data.y / size)
    return float(off / size) if size > 0 else float(off and np.inf)


PLANAR = Hypothesis(
    "planar",
    "two-dimensional inputs",
    "the difference between the number of dimensions and two",
    lambda _, data: abs(data.dimensions - 2),
    "give inputs of the plane, or bound the sharpness of one network with "
    "bf.theory.neighbors.sharpness_bound",
)
INTERPOLABLE = Hypothesis(
    "interpolable",
    "targets that two bias-free layers fit, linear plus even (Theorem 1)",
    "the least |y − f|/|y| over such networks",
    _misfit,
    "no network interpolates: keep one sample per ray, or give targets of opposite samples a linear odd "
    "part; for the loss of a trained network use bf.gradient_flow",
    tolerance=1e-8,
)
FIT = Hypothesis(
    "fit",
    "a network that interpolates, f(x_i) = y_i,",
    "√⟨(f − y)²⟩/√⟨y²⟩",
    _residual,
    "train longer with bf.gradient_descent, measure with bf.sharpness, or relax fit_tolerance=",
    tolerance=1e-6,
)
ASSUMES_NETWORK: tuple[Hypothesis, ...] = (*SETTING, RELU, FIT)
ASSUMES: tuple[Hypothesis, ...] = (*SETTING, RELU, PLANAR, INTERPOLABLE)
