"""The first step of logistic descent, second layer fixed: the gradient, and the stable rank after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory import activation_patterns
from biasfree.theory.hypotheses import LABELS, SETTING, check

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_SQUARED = 1e100  # numbers between 1/this and this can be squared twice


def logistic_slope(network: Network, data: Dataset) -> Float[np.ndarray, "H D"]:
    """The negative gradient −∂L/∂W₁ of the logistic loss.

    Its rows are a_h⟨y_i φ′_hi x_i/(1 + e^{z_i})⟩, z_i = y_i f(x_i). One step of descent adds η times this to
    W₁. σ′(0) = α. Exact up to rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1.
    Reference: derived here.
    """
    check((*SETTING, LABELS), network, data, {})
    y = data.targets[:, 0]
    slopes = np.where(activation_patterns(network, data.x)[0], 1.0, network.leak)
    outer = network.weights[1][0]
    force = y * np.exp(-np.logaddexp(0, y * network(data.x).reshape(-1))) / len(y)
    return (outer[:, None] * slopes.T * force) @ data.x


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
