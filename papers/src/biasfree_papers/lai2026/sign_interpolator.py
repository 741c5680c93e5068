"""Interpolators of linearly independent inputs with one neuron per sign of the targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real, representable, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import Hypothesis
from biasfree.threads import load

if TYPE_CHECKING:
    from jaxtyping import Float

_DEPENDENT = 1e-6  # singular values of unit inputs below it count as zero: rounding would decide the fit


@dataclass(frozen=True, eq=False)
class SignInterpolator:
    """f(x) = σ(v₊·x) − σ(v₋·x): `neurons` are v₊ and v₋, zero for a sign that no target has.

    `error` bounds their distance from the shortest ones, relative to their norm, by the multipliers of the
    constraints. It is the square root of a difference, so about 1e-8 for neurons that are exact up to
    rounding.
    """

    neurons: Float[np.ndarray, "2 D"]
    error: float

    def __post_init__(self):
        object.__setattr__(self, "neurons", real("neurons", self.neurons))

    @property
    def linear(self) -> Float[np.ndarray, "D"]:
        """v₊ − v₋ = W₂W₁, twice the linear part of f."""
        return self.neurons[0] - self.neurons[1]

    @property
    def network(self) -> Network:
        """The balanced network: one neuron per sign of the targets, w± = v±/√|v±|, a± = ±√|v±|."""
        root = np.sqrt(row_norms(self.neurons))
        present = root > 0
        outer = np.array([1.0, -1.0]) * root
        return Network((self.neurons[present] / root[present, None], outer[None, present]), leak=0.0)


def sign_interpolator(data: Dataset) -> SignInterpolator:
    """The shortest v± with ±v±·x_i = y_i on the samples of their sign and v±·x_j ≤ 0 on the others.

    Among all interpolating networks with one neuron per sign that is inactive on the samples of the other
    sign, it has the least |v₊|² + |v₋|² and the least ½|θ|² = |v₊| + |v₋|. On orthogonal inputs it is the
    interpolator of least norm of all, and v₊ − v₋ is `bf.theory.least_squares`; on other inputs networks
    without this structure may have a smaller norm. `error` bounds the numerical error.

    Assumes: linearly independent inputs, so at most D; one output; a target that is not zero.
    Reference: derived here; Boursier et al. (2022) for orthogonal inputs, Lai et al. (2026) for the setting.
    """
    if data.outputs != 1:
        raise ValueError(f"the data must have one output, got {data.outputs}; pass each y[:, k] separately.")
    y = data.targets[:, 0]
    if not y.any():
        raise ValueError("every target is zero, so both neurons are zero; give other targets.")
    INDEPENDENT.check(None, data)
    size = row_norms(data.x)  # the problem is the same for unit inputs
    with np.errstate(over="ignore"):
        unit, wanted = data.x / size[:, None], representable("y/|x|", y / size)
    largest = np.abs(wanted).max()
    found = [_shortest(unit, sign * wanted / largest) for sign in (1, -1)]
    neurons = np.array([v for v, _ in found])
    error = np.linalg.norm([distance for _, distance in found]) / np.linalg.norm(neurons)
    return SignInterpolator(largest * neurons, float(error))


def _shortest(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """The shortest v with v·x_i = y_i where y_i > 0 and v·x_j ≤ 0 elsewhere, and a bound on its error.

    v = u − Σλ_j z_j, λ ≥ 0: u is the shortest solution of the equalities alone, and z_j the part of x_j that
    is orthogonal to the inputs of the equalities.
    """
    active, inactive = x[y > 0], x[y <= 0]
    inverse = np.linalg.pinv(active)
    base = inverse @ y[y > 0]
    across = inactive - inactive @ inverse @ active
    multipliers = _least_distance(across, inactive @ base)
    v = base - multipliers @ across
    slack = -(inactive @ v)  # |v − shortest|² ≤ λ·slack + λ*·violation, and λ* is λ up to rounding
    square = np.abs(multipliers * slack).sum() + multipliers.sum() * np.max(-slack, initial=0.0)
    misfit = np.linalg.norm(inverse @ (active @ v - y[y > 0]))  # distance from the equalities
    return v, float(np.sqrt(square) + misfit)


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
    size = row_norms(data.x)[:, None]
    unit = np.divide(data.x, size, out=np.zeros_like(data.x), where=size > 0)
    return len(data) - int(np.sum(np.linalg.svd(unit, compute_uv=False) > _DEPENDENT))


INDEPENDENT = Hypothesis(
    "rank",
    "linearly independent inputs",
    "the least number of samples that depend on the others",
    _dependent,
    "give at least as many dimensions as samples, or simulate with bf.gradient_flow",
)
