"""Corollary 6: where training ends under the logistic loss, the hard-margin classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.losses import Logistic
from biasfree.networks import Network
from biasfree.theory.hypotheses import EQUIVALENCE, LABELS, MIRROR, Hypothesis, result

if TYPE_CHECKING:
    from jaxtyping import Float

_ROUNDING = 1e-12  # relative to |x_i||w|, the size of the terms of w·x_i: some thousand roundings
_BLOCK = 1000  # rows solved at a time
_LEAST_MARGIN = 1e-10  # of unit inputs; below it rounding decides on which side a sample is


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The hard-margin classifier w: y_i w·x_i ≥ 1 on every sample, with equality on the support.

    `margin` = 1/|w| is the distance of the support from the boundary. `multipliers`, one a sample, are
    λ_i ≥ 0 with w = Σλ_i y_i x_i; where several sets of them do, as with mirrored samples, one is given.
    """

    w: Float[np.ndarray, "D"]
    margin: float
    support: np.ndarray
    multipliers: Float[np.ndarray, "P"]

    def __post_init__(self):
        for name in ("w", "multipliers"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    @property
    def direction(self) -> Float[np.ndarray, "D"]:
        """w/|w|, what the direction of a trained network tends to."""
        return self.w * self.margin


@result("logistic loss: training ends at the hard-margin direction", lambda: ASSUMES)
def max_margin(data: Dataset) -> MaxMargin:
    """The hard-margin classifier through the origin, whose direction logistic training ends at.

    w = argmin ½|w|² with y_i w·x_i ≥ 1 for all i. Training approaches w/|w| only as 1/ln t; two layers, where
    the support does not span the inputs, as 1/√ln t, since W₁ stands still off that span. Solved by an
    active-set method, exactly but for rounding: |y_i w·x_i − 1| ≤ 1e-12·|x_i||w| makes the support.

    Assumes: labels −1 and +1; one output; separable by a plane through the origin: some w of length 1 with
    y_i w·x_i ≥ 1e-10·|x_i|. Of the network, Theorem 5 (TMLR 8), which does not enter w and is not checked.
    Reference: [ZSL25] Corollary 6, after Soudry et al. (2018); the method is Goldfarb & Idnani's (1983).
    """
    z = _signed(data)
    found, size = _shortest(z), np.linalg.norm(z, axis=1)
    if found is None or (z @ found[0] < _LEAST_MARGIN * size * np.linalg.norm(found[0])).any():
        SEPARABLE.check(None, data)  # w itself is no witness: measured on unit inputs, which may have another
    assert found is not None  # the hypothesis holds
    w, multipliers = found
    length = np.linalg.norm(w)
    slack = np.abs(z @ w - 1) <= _ROUNDING * length * size
    return MaxMargin(w, float(1 / length), np.flatnonzero(slack), multipliers)


def _signed(data: Dataset) -> Float[np.ndarray, "P D"]:
    """z_i = y_i x_i, of which only the labels' signs matter."""
    if data.outputs != 1:
        raise ValueError(f"max_margin is about one output, got {data.outputs}; pass each y[:, k] alone.")
    Logistic().check(data.y)
    return data.targets * data.x


def _shortest(z: Float[np.ndarray, "P D"]) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest w with Zw ≥ 1 and its multipliers, w = Zᵀλ; None where there is no such w.

    Of many rows some are solved first, then their support with those that fall short most, until none does.
    The length of w rises every time, so no set comes twice; and where some rows have no w, all have none.
    """
    size = np.linalg.norm(z, axis=1)
    if not size.all():
        return None
    inside, kept = np.unique(np.linspace(0, len(z) - 1, _BLOCK).astype(int)), 0
    while True:
        found = _active_set(z[inside], size[inside], kept)
        if found is None:
            return None
        w, multipliers = found
        short = (1 - z @ w) / size
        short[inside] = 0.0
        worst = np.argsort(-short)[:_BLOCK]
        worst = worst[short[worst] > _ROUNDING * np.linalg.norm(w)]
        if len(worst) == 0:
            every = np.zeros(len(z))
            every[inside] = multipliers
            return w, every
        support = inside[multipliers > 0]
        inside, kept = np.concatenate([support, worst]), len(support)


def _active_set(
    z: Float[np.ndarray, "P D"], size: Float[np.ndarray, "P"], kept: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest w with Zw ≥ 1 and its multipliers, or None.

    From the first `kept` rows, a support with its solution, or from w = 0: the row that w falls short of by
    the largest distance becomes active, until none is left. The length of w rises with every entry, so no
    active set comes twice.
    """
    active = list(range(kept))
    w, multipliers = _on(z[:kept]) if kept else (np.zeros(z.shape[1]), np.zeros(0))
    for _ in range(100 * sum(z.shape)):
        short = (1 - z @ w) / size
        j = int(np.argmax(short))
        if short[j] <= _ROUNDING * np.linalg.norm(w):
            found = np.zeros(len(z))
            found[active] = multipliers
            return w, found
        entered = _enter(z, size, active, multipliers, w, j)
        if entered is None:
            return None
        active = entered
        w, multipliers = _on(z[active])
    raise RuntimeError(f"the active-set method did not settle on {len(z)} samples; please report the data.")


def _enter(
    z: np.ndarray, size: np.ndarray, active: list[int], multipliers: np.ndarray, w: np.ndarray, j: int
) -> Any:
    """The active set with row j in it, rows whose multipliers fall to zero leaving; None if j cannot hold."""
    active = list(active)
    while True:
        share = np.linalg.lstsq(z[active].T, z[j], rcond=None)[0] if active else np.zeros(0)
        across = z[j] - share @ z[active]
        independent = len(active) < z.shape[1] and np.linalg.norm(across) > 1e-11 * size[j]
        full = (1 - z[j] @ w) / (across @ across) if independent else np.inf
        falling = share * size[active] > 1e-12 * size[j]
        ratios = np.divide(multipliers, share, out=np.full(len(share), np.inf), where=falling)
        step = min(full, ratios.min(initial=np.inf))
        if step == np.inf:  # z_j = −Σ|share|z_active: no w is on the right side of both
            return None
        if step == full:
            return [*active, j]
        leaves = int(np.argmin(ratios))
        w = w + step * across if independent else w
        multipliers = np.delete(multipliers - step * share, leaves)
        del active[leaves]


def _on(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest w with w·z = 1 on the rows, w = Zᵀλ, by QR of Zᵀ: w = QR⁻ᵀ1, λ = R⁻¹R⁻ᵀ1."""
    q, r = np.linalg.qr(rows.T)
    solved = np.linalg.solve(r.T, np.ones(len(rows)))
    return q @ solved, np.maximum(np.linalg.solve(r, solved), 0.0)


def _overlap(network: Network, data: Dataset) -> float:
    """The least of ⟨max(0, 1 − y w·x/|x|)⟩ over w, as the dual linear programme; 0 for separable data."""
    from scipy.optimize import linprog

    if data.outputs != 1 or LABELS.defect(network, data) > 0:
        return np.nan
    z, size = data.targets * data.x, np.linalg.norm(data.x, axis=1, keepdims=True)
    unit = np.divide(z, size, out=np.zeros_like(z), where=size > 0)
    found = _shortest(unit)
    if found is not None and np.linalg.norm(found[0]) * _LEAST_MARGIN <= 1:
        return 0.0
    if len(z) > 5 * _BLOCK:  # the linear programme of so many takes minutes: that of some is a lower bound
        z = unit = unit[np.linspace(0, len(z) - 1, 2 * _BLOCK).astype(int)]
    dual = linprog(-np.ones(len(z)), A_eq=unit.T, b_eq=np.zeros(z.shape[1]), bounds=(0, 1), method="highs")
    return max(1.0, -dual.fun) / len(unit)  # a combination Σα_i z_i = 0 can be scaled until one α_i is 1


SEPARABLE = Hypothesis(
    "separable",
    "data separable by a plane through the origin (Corollary 6 of v1)",
    "the least mean hinge loss ⟨max(0, 1 − y w·x/|x|)⟩ over w",
    _overlap,
    'there is no margin to tend to: follow the flow with bf.theory.reduced_flow(..., loss="logistic")',
)
ASSUMES = (*EQUIVALENCE, MIRROR, LABELS, SEPARABLE)
