"""What the minima of two ReLU layers, off all kinks, at which descent can settle are like: for all widths.

At a network that interpolates the Hessian is GᵀG/P, G the P gradients of the outputs, if no sample is on a
kink. Its largest eigenvalue is that of GGᵀ/P, whose quotient on the vector of ones is

    |Gᵀ1|²/P² = Σ_h[(w_h·S_h)² + a_h²|S_h|²]/P² ≥ 2Σ_h|a_h|g(w_h),  g(w) = (w·S)|S|/P²,

S the sum of the samples that w is active on. The largest quotient of all is `flattest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import non_negative, positive, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, SETTING, Hypothesis, check, result
from biasfree.theory.neighbors._flattest import flattest
from biasfree.theory.neighbors._planar_cones import Cones, misfit
from biasfree.theory.parts._linear_phase import representable

if TYPE_CHECKING:
    from jaxtyping import Float

_MOST = 32  # samples: the programme has P²/2 unknowns, and takes half a minute at 32

_sharpness = result(
    "the sharpness at a network that interpolates, from below and along its kinks", lambda: ASSUMES_NETWORK
)


_settling = result(
    "samples of the plane: the steps and norms at which descent can settle, for any width", lambda: ASSUMES
)


@_sharpness
def sharpness_bound(network: Network, data: Dataset, **tolerances: float) -> float:
    """What the sharpness at an interpolating network is at least: 2Σ_h|a_h|g(w_h), in any dimension.

    g(w) = (w·S)|S|/P², S = Σ_{w·x_i>0} x_i. So descent with step η settles there only if Σ|a|g ≤ 1/η. Where
    outputs are off by r = √⟨(f − y)²⟩ the sharpness may be lower by max|x_i|·r. A bound, right to rounding,
    that is reached where ones are the sharpest direction and |a_h||S_h| = w_h·S_h; the sharpness itself is
    `tangent_sharpness` with within=0, or `bf.sharpness`.

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
    """The sharpness at an interpolating network over the moves that keep neurons on the kinks they are on.

    The largest eigenvalue of GTTᵀGᵀ/P, T the moves in which a neuron nearer than `within` to the kink of x_i,
    |w_h·x_i| ≤ within·|x_i|, moves across x_i only. Without neurons on kinks it is the sharpness, right to
    rounding.

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
    size = np.abs(g).max() or 1.0
    with np.errstate(over="ignore"):
        value = np.linalg.norm(g / size, ord=2) ** 2 * size * size / len(data)
    return float(representable("the sharpness", value))


@_settling
def least_sharpness(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """The least sharpness of all ReLU networks that interpolate, whatever their width.

    min λ_max(GGᵀ/P) over all networks with f(x_i) = y_i: convex in what the neurons of each direction add up
    to, so its dual proves it, the largest m·y over V ⪰ 0, Tr V = 1 with |Σ_i m_iσ(u·x_i)| ≤
    (2/P)√(σ_uᵀVσ_u·|V^½X_u|²) for every unit vector u, X_u the samples that u is active on. Never above the
    least, and below it by at most 1e-6 of it; networks come as near as one likes, some with neurons as near
    to kinks. 2|y_i||x_i|/P is the least where every sample can have neurons that see no other.

    Assumes: two-dimensional inputs, at most 32 samples; one output; targets that two bias-free layers fit
    (interpolable_tolerance=1e-8); of the network, two layers, no biases, α = 0, no sample on a kink.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    cones, y, x_size, y_size = _scaled(data, interpolable_tolerance)
    if len(y) > _MOST:
        raise ValueError(
            f"the least sharpness is found for at most {_MOST} samples, got {len(y)}; "
            "bf.theory.neighbors.sharpness_bound bounds that of one network on any number."
        )
    least = flattest(cones, y).value if y.any() else 0.0
    with np.errstate(over="ignore"):
        return float(representable("the sharpness", np.float64(x_size) * y_size * least))


@_settling
def largest_settling_step(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """The step η_c above which descent settles at no interpolating network off all kinks, whatever its width.

    η_c = 2/least_sharpness: at a stable minimum the sharpness is at most 2/η. At smaller steps there are such
    networks, at η_c in the limit. Never below, and above by at most 1e-6 of it. Infinite for targets that are
    all zero. A minimum with a neuron on the kink of a sample has no sharpness, and may hold larger steps.

    Assumes: what `least_sharpness` does (interpolable_tolerance=1e-8).
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    least = least_sharpness(data, interpolable_tolerance=interpolable_tolerance)
    with np.errstate(over="ignore"):
        return float(representable("the step", np.divide(2, least))) if least > 0 else np.inf


@_settling
def least_path_norm(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> float:
    """What Σ_h|a_h||w_h| of every ReLU network that interpolates is at least.

    ½|θ|² of such a network is at least this too, since ½(a² + |w|²) ≥ |a||w|. It is m·y, m of
    `path_norm_multipliers`, sought on the kinks and 5760 directions: never above the least, and below it by
    π|m|·|x|/5760 of it at most, mostly by 1e-6.

    Assumes: two-dimensional inputs; one output; targets that two bias-free layers fit
    (interpolable_tolerance=1e-8); of the network, two layers, no biases, α = 0.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    m = path_norm_multipliers(data, interpolable_tolerance=interpolable_tolerance)
    return float(m @ data.targets[:, 0])


@_settling
def path_norm_multipliers(data: Dataset, *, interpolable_tolerance: float = 1e-8) -> Float[np.ndarray, "P"]:
    """The m that proves `least_path_norm`: |Σ_i m_iσ(u·x_i)| ≤ 1 for every unit vector u, exactly.

    Σ_i m_i f(x_i) = Σ_h a_h Σ_i m_iσ(w_h·x_i) ≤ Σ_h|a_h||w_h|: with f(x_i) = y_i the left side is m·y, and
    for outputs that are off by e it is m·y + m·e.

    Assumes: what `least_path_norm` does (interpolable_tolerance=1e-8).
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    cones, y, x_size, _ = _scaled(data, interpolable_tolerance)
    return cones.norm_multipliers(y) / x_size if y.any() else np.zeros(len(y))


def largest_path_norm(data: Dataset, *, step: float) -> float:
    """What Σ_h|a_h||w_h| where descent with step η settles, off all kinks, is at most: 1/(η·min g).

    min g is over unit vectors, g as in `sharpness_bound`; infinite where some half-plane holds no sample. A
    bound, right to rounding, which networks need not reach.

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
    """G: the gradient of every output f(x_i) in the weights (a, w), at a fixed activation pattern.

    Reference: Nacson et al. (2023), the sharpness of a network that interpolates.
    """
    w, a = network.weights[0], network.weights[1][0]
    with np.errstate(over="ignore", invalid="ignore"):
        active = data.x @ w.T > 0
        by_w = (active * a)[:, :, None] * data.x[:, None, :]
        found = np.concatenate([np.maximum(data.x @ w.T, 0), by_w.reshape(len(data), -1)], axis=1)
    return representable("a gradient", found)


def kink_distances(network: Network, data: Dataset) -> Float[np.ndarray, "H P"]:
    """How far w_h is from the hyperplane of sample i, |w_h·x_i|/|x_i|; infinite for x_i = 0, which has none.

    Reference: derived here; a minimum on a kink has no Hessian.
    """
    along, size = np.abs(network.weights[0] @ data.x.T), row_norms(data.x)
    return np.divide(along, size, out=np.full_like(along, np.inf), where=size > 0)


def _scaled(data: Dataset, tolerance: float) -> tuple[Cones, Float[np.ndarray, "P"], float, float]:
    """The cones and targets of samples of size 1, which the solver's tolerances are for, and their sizes."""
    if data.outputs != 1:
        raise ValueError(f"this is about one output, got {data.outputs}; pass each y[:, k] alone.")
    PLANAR.check(None, data)
    y = data.targets[:, 0]
    x_size, y_size = float(np.abs(data.x).max()), float(np.abs(y).max())
    scaled = Dataset(data.x / (x_size or 1.0), y / (y_size or 1.0))
    INTERPOLABLE.check(None, scaled, tolerance)
    return Cones(scaled.x), scaled.y, x_size, y_size


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
    "the number of dimensions more or fewer than two",
    lambda _, data: abs(data.dimensions - 2),
    "give inputs of the plane; in other dimensions bf.theory.neighbors.sharpness_bound bounds one network at "
    "a time",
)
INTERPOLABLE = Hypothesis(
    "interpolable",
    "targets that two bias-free layers fit, linear plus even (Theorem 1)",
    "the least |y − f|/|y|",
    _misfit,
    "nothing interpolates: keep one of the samples on a ray, or give targets of opposite samples a linear "
    "odd part; for the least loss of a trained network use bf.gradient_flow",
    tolerance=1e-8,
)
FIT = Hypothesis(
    "fit",
    "a network that interpolates, f(x_i) = y_i,",
    "√⟨(f − y)²⟩/√⟨y²⟩",
    _residual,
    "train on with bf.gradient_descent, measure with bf.sharpness, or open fit_tolerance=",
    tolerance=1e-6,
)
ASSUMES_NETWORK = (*SETTING, RELU, FIT)
ASSUMES = (*SETTING, RELU, PLANAR, INTERPOLABLE)
