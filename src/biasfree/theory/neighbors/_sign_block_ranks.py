"""Sign blocks of the first layer on orthogonal inputs: stable ranks of the neurons with a > 0 and a < 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.asymmetric._gated_flow import activation_patterns
from biasfree.theory.hypotheses import LABELS, SETTING, Hypothesis, check, result
from biasfree.theory.neighbors._fixed_patterns import FIXED_PATTERNS
from biasfree.theory.neighbors._orthogonal_inputs import ORTHOGONAL_INPUTS
from biasfree.theory.neighbors._stable_rank import stable_rank
from biasfree.theory.parts._linear_phase import representable

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

_LEAST = 1e-290  # squares below it have lost digits


@dataclass(frozen=True, eq=False)
class SignBlockRanks:
    """Stable ranks and Frobenius norms of two blocks, neurons with a_h > 0 first, and bounds on the ranks."""

    ranks: Float[np.ndarray, "2"]
    norms: Float[np.ndarray, "2"]
    bounds: Float[np.ndarray, "2"]

    def __post_init__(self):
        for name in ("ranks", "norms", "bounds"):
            object.__setattr__(self, name, real(name, getattr(self, name)))


@result("orthogonal inputs, second layer fixed: the stable ranks of both sign blocks", lambda: ASSUMES)
def sign_block_ranks(network: Network, data: Dataset, **tolerances: float) -> SignBlockRanks:
    """The stable ranks of both sign blocks of the part of W₁ that grows under logistic training.

    This part, W₁ less its `conserved_part`, is the shortest first layer with the margins z_i = y_i f(x_i) and
    the activation patterns of `network`: w_h·x_i/|x_i| = a_h y_i φ′_hi z_i/(A_i|x_i|), A_i = Σ_h(a_hφ′_hi)².
    A Rayleigh quotient with the vector of ones bounds the stable rank of a block of H neurons by

    H·Σ_i(v_i/N_i)/Σ_i v_i, v_i = (z_i/|x_i|)²,

    over the samples with the sign of the block, N_i its neurons that are active on sample i. For a leak α > 0
    rank and bound are 1; for ReLU neurons with random patterns the bound is about 2. Exact up to rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1, both of them; neurons of both signs;
    orthogonal inputs (orthogonal_tolerance=1e-8); fixed activation patterns, those of `final_patterns`
    (patterns_tolerance=0); equal |a_h| (equal_tolerance=1e-8). The last two are needed for the bound only.
    Reference: derived here; Kou et al. (2023), who prove that the stable rank of ReLU blocks is bounded.
    """
    check(ASSUMES, network, data, tolerances)
    outer, y = network.weights[1][0], data.targets[:, 0]
    slope = np.where(activation_patterns(network, data.x)[0].T, 1.0, network.leak)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z, size = y * network(data.x).reshape(-1), np.linalg.norm(data.x, axis=1)
        strength, v = outer**2 @ slope**2, (z / size) ** 2
        seen = slope.any(axis=0)
        w = outer[:, None] * slope * (y * z / (np.where(seen, strength, 1.0) * size))
    lost = np.any(seen & (strength < _LEAST)) or np.any((z != 0) & (v < _LEAST))
    representable("the first layer", np.concatenate([w.ravel(), strength, v, [np.inf if lost else 0.0]]))
    blocks = [_block(w[sign * outer > 0], slope[sign * outer > 0], v, sign * y > 0) for sign in (1, -1)]
    ranks, norms, bounds = (np.array(values) for values in zip(*blocks, strict=True))
    return SignBlockRanks(ranks, norms, bounds)


def _block(
    w: Float[np.ndarray, "H P"],
    slope: Float[np.ndarray, "H P"],
    v: Float[np.ndarray, "P"],
    own: Bool[np.ndarray, "P"],
) -> tuple[float, float, float]:
    """Stable rank, norm and bound of one block, w in the coordinates x_i/|x_i|."""
    if not w.any() or not v[own].any():
        raise ValueError(
            "the neurons of one sign of a_h fit no sample of their sign, so their block has no stable rank; "
            "give neurons of both signs that are active on samples of their label."
        )
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(w)
        on = (slope[:, own] == 1).sum(axis=0)
        bound = len(w) * np.sum(v[own] / np.maximum(on, 1)) / v[own].sum()
    lost = norm**2 < _LEAST
    representable("the norm of a block", np.array([np.inf if lost else norm, bound]))
    return stable_rank(w), float(norm), float(bound)


def _inequality(network: Network, data: Dataset) -> float:  # noqa: ARG001
    if network.depth != 2 or network.sizes[-1] != 1:
        return np.nan
    outer = np.abs(network.weights[1][0])
    return float(1 - outer.min() / outer.max()) if outer.any() else np.nan


EQUAL_OUTER = Hypothesis(
    "equal",
    "outer weights of equal size |a_h|",
    "1 − min|a_h|/max|a_h|",
    _inequality,
    "take a second layer of random signs, as bf.networks.xavier(..., signs=True) has, or measure the blocks "
    "with bf.diagnostics.stable_rank",
    tolerance=1e-8,
)
ASSUMES: tuple[Hypothesis, ...] = (*SETTING, LABELS, ORTHOGONAL_INPUTS, FIXED_PATTERNS, EQUAL_OUTER)
