"""Interpolators of linearly independent inputs with one neuron per sign of the targets."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float, row_norms, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import Hypothesis
from biasfree.threads import load
from biasfree_papers.shared.orthogonal_inputs import one_target

_DEPENDENT = 1e-6  # singular values of unit inputs below it count as zero: rounding would decide the fit


def sign_interpolator(data: Dataset) -> Float[np.ndarray, "2 D"]:
    """The shortest v₊ and v₋ with ±v±·x_i = y_i on the samples of their sign and v±·x_j ≤ 0 on the others.

    They are the neurons of f(x) = σ(v₊·x) − σ(v₋·x), zero for a sign that no target has. Among all
    interpolating networks with one neuron per sign that is inactive on the samples of the other sign, it has
    the least |v₊|² + |v₋|² and the least ½|θ|² = |v₊| + |v₋|. On orthogonal inputs it is the
    interpolator of least norm of all, and v₊ − v₋ is `bf.theory.least_squares`; on other inputs networks
    without this structure may have a smaller norm.

    Assumes: linearly independent inputs, so at most D; one output; a target that is not zero.
    Reference: derived here; Boursier et al. (2022) for orthogonal inputs, Lai et al. (2026) for the setting.
    """
    y = one_target(data)
    if not y.any():
        raise ValueError("every target is zero, so both neurons are zero; give other targets.")
    INDEPENDENT.check(None, data)
    size = row_norms(data.x)  # the problem is the same for unit inputs
    unit = data.x / size[:, None]
    wanted = y / size
    largest = np.abs(wanted).max()
    return largest * np.array([_shortest(unit, sign * wanted / largest) for sign in (1, -1)])


def _shortest(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The shortest v with v·x_i = y_i where y_i > 0 and v·x_j ≤ 0 elsewhere.

    v = u − Σλ_j z_j, λ ≥ 0: u is the shortest solution of the equalities alone, and z_j the part of x_j that
    is orthogonal to the inputs of the equalities.
    """
    active, inactive = x[y > 0], x[y <= 0]
    inverse = np.linalg.pinv(active)
    base = inverse @ y[y > 0]
    across = inactive - inactive @ inverse @ active
    return base - _least_distance(across, inactive @ base) @ across


def _least_distance(z: np.ndarray, g: np.ndarray) -> np.ndarray:
    """λ ≥ 0 of the shortest u = −Zᵀλ with Zu ≤ −g, by nonnegative least squares (Lawson and Hanson)."""
    nnls = load("scipy.optimize").nnls

    if (g <= 0).all():
        return np.zeros(len(g))
    length, size = np.linalg.norm(z, axis=1).max(), g.max()
    z, g = z / length, g / size  # 1 − g·shares keeps its digits if |u| is about 1
    target = np.zeros(z.shape[1] + 1)
    target[-1] = 1.0
    shares = nnls(np.vstack([-z.T, g]), target, maxiter=100 * len(g))[0]
    return shares / (1 - g @ shares) * size / length**2


def _dependent(network: Network, data: Dataset) -> float:  # noqa: ARG001
    """The least number of samples whose removal leaves independent inputs."""
    if len(data) > data.dimensions:
        return len(data) - data.dimensions  # for very many samples this lower bound suffices
    return len(data) - int(np.sum(np.linalg.svd(unit_rows(data.x), compute_uv=False) > _DEPENDENT))


INDEPENDENT = Hypothesis(
    "rank",
    "linearly independent inputs",
    "the least number of samples that depend on the others",
    _dependent,
    "give at least as many dimensions as samples, or simulate with bf.gradient_flow",
)
