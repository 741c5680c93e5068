"""Bounds on sharpness, step and norm of the minima at which descent can settle, for networks of any width.

At a network that interpolates, and has no sample on a kink, the Hessian is GᵀG/P, G the gradients of the P
outputs. Its largest eigenvalue is that of GGᵀ/P, whose Rayleigh quotient on the vector of ones is

    |Gᵀ1|²/P² = Σ_h[(w_h·S_h)² + a_h²|S_h|²]/P² ≥ 2Σ_h|a_h|g(w_h),  g(w) = (w·S)|S|/P²,

S the sum of the samples on which w is active. `flattest` minimizes the largest quotient over networks.
"""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float, positive, row_norms
from biasfree.caching import cached_per_object
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import RELU, SETTING, Hypothesis, check
from biasfree_papers.nacson2023.flattest import flattest
from biasfree_papers.nacson2023.planar_cones import Cones
from biasfree_papers.shared.orthogonal_inputs import one_target

_MOST = 32  # samples: the semidefinite program has P²/2 unknowns, and takes half a minute at 32


def least_sharpness(data: Dataset) -> float:
    """The least sharpness of all ReLU networks that interpolate the samples, of any width.

    min λ_max(GGᵀ/P) over all networks with f(x_i) = y_i. It is convex in the sums over neurons of each
    direction, and certified by its dual: the largest m·y over V ⪰ 0, Tr V = 1 with |Σ_i
    m_iσ(u·x_i)| ≤ (2/P)√(σ_uᵀVσ_u·|V^½X_u|²) for every unit vector u, X_u the samples on which u is active.
    The result is never above the least sharpness, and below it by at most 1e-6 of it. There are networks
    arbitrarily close to it, some with neurons arbitrarily close to kinks. It is max 2|y_i||x_i|/P if every
    sample can have neurons that are active on no other sample.

    Assumes: two-dimensional inputs, at most 32 samples; one output; targets that two bias-free layers fit,
    to 1e-8; of the network, two layers, no biases, α = 0, no sample on a kink.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    _check(data)
    if len(data) > _MOST:
        raise ValueError(
            f"the least sharpness is computed for at most {_MOST} samples, got {len(data)}; "
            "bf.sharpness measures that of one network for any number of samples."
        )
    return _flattest(data)


def largest_settling_step(data: Dataset) -> float:
    """The largest step η_c at which descent can settle at an interpolating network off all kinks.

    η_c = 2/least_sharpness, for networks of any width: at a stable minimum the sharpness is at most 2/η. For
    every smaller step there are such networks. The result is never below η_c, and above it by at most 1e-6 of
    it. Infinite for targets that are all zero. A minimum with a neuron on the kink of a sample has no
    sharpness, and may be stable at larger steps.

    Assumes: the hypotheses of `least_sharpness`.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    least = least_sharpness(data)
    return 2 / least if least > 0 else np.inf


def path_norm_multipliers(data: Dataset) -> Float[np.ndarray, "P"]:
    """Multipliers m: m·y is a lower bound on the path norm Σ_h|a_h||w_h| of networks that interpolate.

    |Σ_i m_iσ(u·x_i)| ≤ 1 for every unit vector u, exactly, so Σ_i m_i f(x_i) = Σ_h a_h Σ_i m_iσ(w_h·x_i) ≤
    Σ_h|a_h||w_h|. The left side is m·y if f(x_i) = y_i, and m·y + m·e for outputs with errors e. It bounds
    ½|θ|² too, since ½(a² + |w|²) ≥ |a||w|. m is computed on the kinks and 5760 directions: m·y is never above
    the least path norm, and below it by at most a fraction π|m|·|x|/5760, in most cases 1e-6.

    Assumes: two-dimensional inputs; one output; targets that two bias-free layers fit,
    to 1e-8; of the network, two layers, no biases, α = 0.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    _check(data)
    return _multipliers(data).copy()


def largest_path_norm(data: Dataset, *, step: float) -> float:
    """An upper bound 1/(η·min g) on the path norm Σ_h|a_h||w_h| of minima off all kinks at step η.

    It holds where descent settles. The minimum is over unit vectors, g as above; infinite if some half-plane
    has no sample. Networks need not attain the bound. Exact up to rounding.

    Assumes: two-dimensional inputs; of the network, that it interpolates, two layers, one output, no biases,
    α = 0, no sample on a kink.
    Reference: derived here; Nacson et al. (2023) for the setting.
    """
    step = positive("step", step)
    PLANAR.check(None, data)
    size = float(row_norms(data.x).max()) or 1.0
    least = Cones(data.x / size).least_gain()
    return 1 / step / size / size / least if least > 0 else np.inf


def output_gradients(network: Network, data: Dataset) -> Float[np.ndarray, "P N"]:
    """The gradients G of every output f(x_i) in the weights (a, w), at a fixed activation pattern.

    Assumes: two ReLU layers, one output, no biases.
    Reference: Nacson et al. (2023), the sharpness of a network that interpolates.
    """
    check((*SETTING, RELU), network, data, {})
    w, a = network.weights[0], network.weights[1][0]
    active = data.x @ w.T > 0
    by_w = (active * a)[:, :, None] * data.x[:, None, :]
    return np.concatenate([np.maximum(data.x @ w.T, 0), by_w.reshape(len(data), -1)], axis=1)


def kink_distances(network: Network, data: Dataset) -> Float[np.ndarray, "H P"]:
    """The distances |w_h·x_i|/|x_i| of neurons from the hyperplanes of samples; infinite for x_i = 0.

    Assumes: two ReLU layers, one output, no biases.
    Reference: derived here; a minimum on a kink has no Hessian.
    """
    check((*SETTING, RELU), network, data, {})
    along, size = np.abs(network.weights[0] @ data.x.T), row_norms(data.x)
    return np.divide(along, size, out=np.full_like(along, np.inf), where=size > 0)


def _check(data: Dataset) -> None:
    one_target(data)
    PLANAR.check(None, data)
    INTERPOLABLE.check(None, _scaled(data)[0])


def _scaled(data: Dataset) -> tuple[Dataset, float, float]:
    """The samples scaled to size 1, as the solver's tolerances need, and their sizes."""
    y = data.targets[:, 0]
    x_size, y_size = float(np.abs(data.x).max()), float(np.abs(y).max())
    return Dataset(data.x / (x_size or 1.0), y / (y_size or 1.0)), x_size, y_size


@cached_per_object
def _flattest(data: Dataset) -> float:
    scaled, x_size, y_size = _scaled(data)
    least = flattest(Cones(scaled.x), scaled.y) if scaled.y.any() else 0.0
    return x_size * y_size * least


@cached_per_object
def _multipliers(data: Dataset) -> Float[np.ndarray, "P"]:
    scaled, x_size, _ = _scaled(data)
    return Cones(scaled.x).norm_multipliers(scaled.y) / x_size if scaled.y.any() else np.zeros(len(data))


def _misfit(network: Network, data: Dataset) -> float:  # noqa: ARG001
    """The least |y − f|/|y| of two bias-free ReLU layers, of any width; 0 for targets that are all zero.

    On a cone σ(w·x_i) is linear in w, so the outputs of the directions that span the cones span all outputs.
    """
    if data.dimensions != 2 or data.outputs != 1:
        return np.nan
    y, columns = data.targets[:, 0], Cones(data.x).columns.reshape(-1, len(data)).T
    left = y - columns @ np.linalg.lstsq(columns, y, rcond=1e-10)[0]
    return float(np.linalg.norm(left) / (np.linalg.norm(y) or 1.0))


PLANAR = Hypothesis(
    "planar",
    "two-dimensional inputs",
    "the difference between the number of dimensions and two",
    lambda _, data: abs(data.dimensions - 2),
    "give inputs of the plane, or measure the sharpness of one network with bf.sharpness",
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
