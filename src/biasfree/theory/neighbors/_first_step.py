"""The first step of logistic descent, second layer fixed: bounds on the stable rank of gradient and W₁."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.asymmetric._gated_flow import activation_patterns
from biasfree.theory.hypotheses import LABELS, SETTING, check, result
from biasfree.theory.neighbors._orthogonal_inputs import near_orthogonality
from biasfree.theory.parts._linear_phase import representable

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_SQUARED = 1e100  # numbers between 1/this and this can be squared twice
_LARGE = 40.0  # beyond it 1 + e^z is e^z to rounding

ASSUMES = (*SETTING, LABELS)


@result("second layer fixed, logistic loss: a bound on the stable rank of the gradient", lambda: ASSUMES)
def gradient_rank_bound(network: Network, data: Dataset) -> float:
    """A bound on the stable rank of the logistic gradient ∂L/∂W₁, for nearly orthogonal inputs.

    (1 + ε)/(1 − ε)·Σ_i A_i u_i/Σ_i κ_i² u_i, u_i = (|x_i|/(1 + e^{z_i}))², z_i = y_i f(x_i), with
    A_i = Σ_h(a_hφ′_hi)², κ_i = Σ_h a_h²φ′_hi/|a| and ε of `bf.diagnostics.near_orthogonality`; infinite for
    ε ≥ 1. The gradient G has rows a_h Σ_i c_iφ′_hi x_i, c_i = −y_i/(P(1 + e^{z_i})), and |Σ c_i x_i|² is
    Σ c_i²|x_i|² up to a factor 1 ± ε. That bounds |G|_F² from above, and |G|₂² ≥ |aᵀG|²/|a|² from below.
    Exact up to rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1; a gradient that is not zero.
    Reference: derived here; Frei et al. (2022), who bound the stable rank after the first step.
    """
    check(ASSUMES, network, data, {})
    y, outer = data.targets[:, 0], network.weights[1][0]
    off, squares = near_orthogonality(data), _scaled(outer) ** 2
    if not squares.any():
        raise ValueError("the second layer is zero, so the gradient is zero; give other weights.")
    slope = np.where(activation_patterns(network, data.x)[0], 1.0, network.leak)
    with np.errstate(over="ignore", invalid="ignore"):
        z = representable("a margin", y * network(data.x).reshape(-1))
    weights = np.sum(_scaled(data.x) ** 2, axis=1) / _squares(z)
    strength, along = slope**2 @ squares, slope @ squares / np.sqrt(squares.sum())
    if not weights @ along**2 > 0:
        raise ValueError("the gradient is zero to rounding; give neurons that are active on some sample.")
    bound = (weights @ strength) / (weights @ along**2)
    return float(bound * (1 + off) / (1 - off)) if off < 1 else np.inf


def gradient_rank_ceiling(leak: ArrayLike) -> Float[np.ndarray, "*L"]:
    """The largest value of `gradient_rank_bound` on orthogonal inputs, over all weights: (1 + α)²/(4α).

    It is the largest A_i/κ_i² = ⟨φ′²⟩/⟨φ′⟩², means over neurons with weights a_h². (φ′ − α)(φ′ − 1) = 0 gives
    ⟨φ′²⟩ = (1 + α)m − α with m = ⟨φ′⟩, and ((1 + α)m − α)/m² is largest at m = 2α/(1 + α). Infinite for
    α = 0. Exact up to rounding.

    Reference: derived here.
    """
    leak = real("leak", leak)
    if not ((leak >= 0) & (leak <= 1)).all():
        raise ValueError(f"leak must lie in [0, 1], got {leak}; 0 is ReLU, 1 is linear.")
    with np.errstate(divide="ignore", over="ignore"):
        return (1 + leak) ** 2 / (4 * leak)


def step_rank_bounds(w: ArrayLike, move: ArrayLike, *, rest: ArrayLike | None = None) -> tuple[float, float]:
    """Bounds on the stable rank of W + M + R from the Frobenius and spectral norms of the three matrices.

    ((|M|_F − |W|_F)² + |R|_F²)/((|M|₂ + |W|₂)² + |R|₂²) and
    ((|M|_F + |W|_F)² + |R|_F²)/max((|M|₂ − |W|₂)², |R|₂²), or the number of rows or columns if that is less.
    For a step of descent W is the first layer in the span of the inputs, M = ηG the step, and `rest` = R the
    first layer off the span, as given by `bf.networks.in_span`. The rows of R are orthogonal to those of W
    and M, so (W + M + R)(W + M + R)ᵀ = (W + M)(W + M)ᵀ + RRᵀ; the norms of W + M obey triangle inequalities.
    Exact up to rounding.

    Assumes: `rest` orthogonal to W and M, in coordinates of its own.
    Reference: derived here.
    """
    parts = [real("w", w), real("move", move)]
    parts.append(np.zeros((*parts[0].shape[:1], 0)) if rest is None else real("rest", rest))
    shapes = [part.shape for part in parts]
    matrices = all(part.ndim == 2 for part in parts)
    if not matrices or shapes[0] != shapes[1] or shapes[0][0] != shapes[2][0]:
        raise ValueError(
            f"w and move must be matrices of one shape, and rest have as many rows, got shapes {shapes}."
        )
    size = max(np.abs(part).max(initial=0.0) for part in parts)
    if size == 0:
        raise ValueError("w, move and rest are zero, and a zero matrix has no stable rank; give others.")
    size = 1.0 if 1 / _SQUARED < size < _SQUARED else size
    (v, v2), (g, g2), (r, r2) = ((np.linalg.norm(one), _spectral(one)) for one in (p / size for p in parts))
    low = ((g - v) ** 2 + r**2) / ((g2 + v2) ** 2 + r2**2)
    with np.errstate(divide="ignore", over="ignore"):
        high = np.float64((g + v) ** 2 + r**2) / max((g2 - v2) ** 2, r2**2)
    return float(low), float(min(high, min(shapes[1][0], shapes[1][1] + shapes[2][1])))


def _spectral(w: Float[np.ndarray, "H D"]) -> float:
    """|W|₂ by its smaller Gram matrix."""
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    return float(np.sqrt(np.linalg.eigvalsh(gram)[-1])) if gram.size else 0.0


def _scaled(values: np.ndarray) -> np.ndarray:
    """`values`, divided by the largest where squares would under- or overflow."""
    size = np.abs(values).max()
    return values if 1 / _SQUARED < size < _SQUARED or size == 0 else values / size


def _squares(z: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
    """(1 + e^z)², over the least of them where all are large."""
    with np.errstate(over="ignore"):
        return (1 + np.exp(z)) ** 2 if z.min() <= _LARGE else np.exp(2 * (z - z.min()))
