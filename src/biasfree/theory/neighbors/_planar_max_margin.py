"""The largest normalized margin of two-layer networks on samples of the plane: a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import finite, whole
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import LABELS
from biasfree.theory.hypotheses._hypothesis import AssumptionError
from biasfree.theory.neighbors._planar_cones import Cones, unit
from biasfree.theory.neighbors._stable_minima import PLANAR
from biasfree.theory.parts._linear_phase import representable
from biasfree.threads import load

if TYPE_CHECKING:
    from jaxtyping import Float

_NEGLIGIBLE = 1e-9  # of the largest neuron: neurons below it are zero up to rounding
_MET = 1e-6  # how well y f ≥ 1 must be met; the solver works to 1e-7


@dataclass(frozen=True, eq=False)
class PlanarMaxMargin:
    """A balanced network, its normalized margin min y f/|θ|², and the `bound` that no network exceeds."""

    network: Network
    margin: float
    bound: float


def planar_max_margin(data: Dataset, *, leak: float = 0.0, directions: int = 720) -> PlanarMaxMargin:
    """The network of largest normalized margin min y f(x)/|θ|² whose neurons have directions on a grid.

    Balanced neurons ±√m_k(u_k, 1) give f(x) = Σ_k ±m_kσ(u_k·x) and |θ|² = |W₁|² + |W₂|² = 2Σm_k: the least
    Σm_k with y_i f(x_i) ≥ 1, a linear program over u_k = (cos φ_k, sin φ_k) at `directions` even angles. Its
    solution has no more neurons than samples. Its multipliers λ_i ≥ 0 bound all networks of any width and
    direction, min y f/|θ|² ≤ max_u|Σ_i λ_i y_iσ(u·x_i)|/(2Σλ_i), with the maximum over all unit vectors u. On
    data without symmetry the margin may exceed that of the best linear function; on symmetric data it is that
    of `bf.theory.largest_margin`. Margins are met to 1e-6; `bound` − `margin` measures the error of the grid.

    Assumes: two-dimensional inputs; labels −1 and +1; one output; samples that some network classifies.
    Reference: derived here; Lyu et al. (2021), who ask whether training ends at the largest margin.
    """
    leak, count = finite("leak", leak), whole("directions", directions, at_least=3)
    if not 0 <= leak <= 1:
        raise ValueError(f"leak must lie in [0, 1], got {leak}; 0 is ReLU, 1 is linear.")
    if data.outputs != 1:
        raise ValueError(f"the data must have one output, got {data.outputs}; pass each y[:, k] separately.")
    for hypothesis in (PLANAR, LABELS):
        hypothesis.check(None, data)
    size = 2.0 ** np.floor(np.log2(np.abs(data.x).max() or 1.0))  # exact: no digit of the inputs is lost
    x, y = data.x / size, data.targets[:, 0]
    u = unit(np.arange(count) * 2 * np.pi / count)
    h = x @ u.T
    features = np.where(h > 0, h, leak * h) * y[:, None]
    masses, multipliers = _solved(np.hstack([features, -features]))
    kept = np.flatnonzero(masses > _NEGLIGIBLE * masses.max())
    root, signs = np.sqrt(masses[kept] / size), np.where(kept < count, 1.0, -1.0)
    network = Network((root[:, None] * u[kept % count], (signs * root)[None]), leak=leak)
    reached = float((y * network(data.x).reshape(-1)).min())
    if not reached >= 1 - _MET:
        raise ValueError(
            f"the linear program meets y f ≥ 1 only to {1 - reached:.2g}: the lengths of the samples differ "
            "too much; leave out the shortest, or rescale them."
        )
    margin = representable("the margin", reached / np.sum(network.norms**2))
    bound = size * _largest(x, y * multipliers, leak) / (2 * multipliers.sum())
    return PlanarMaxMargin(network, float(margin), float(representable("the bound", bound)))


def _solved(features: Float[np.ndarray, "P N"]) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "P"]]:
    """The least Σm with features·m ≥ 1 and m ≥ 0, and its multipliers."""
    found = _program(np.ones(features.shape[1]), features)
    if found.status == 2:
        raise AssumptionError(
            "samples that some bias-free two-layer network classifies",
            "the least mean hinge loss ⟨max(0, 1 − y f)⟩ over these networks",
            defect=_hinge(features),
            tolerance=0.0,
            remedy="there is no margin: remove zero inputs and samples of one ray with two labels, or give "
            "more directions=",
        )
    if not found.success:
        raise RuntimeError(f"the linear program of {len(features)} samples was not solved: {found.message}")
    return found.x, np.maximum(-found.ineqlin.marginals, 0.0)


def _program(costs: np.ndarray, features: np.ndarray) -> Any:
    linprog = load("scipy.optimize").linprog

    return linprog(costs, A_ub=-features, b_ub=-np.ones(len(features)), method="highs-ds")


def _hinge(features: Float[np.ndarray, "P N"]) -> float:
    """The least mean hinge loss: slack variables beside the neurons, which cost nothing."""
    samples, neurons = features.shape
    costs = np.append(np.zeros(neurons), np.full(samples, 1 / samples))
    return float(_program(costs, np.hstack([features, np.eye(samples)])).fun)


def _largest(x: Float[np.ndarray, "P 2"], m: Float[np.ndarray, "P"], leak: float) -> float:
    """max_u|Σ_i m_iσ(u·x_i)| over unit vectors; σ(z) = max(z, 0) − α·max(−z, 0), so −x_i has weight −αm_i."""
    return Cones(np.vstack([x, -x])).largest(np.append(m, -leak * m))
