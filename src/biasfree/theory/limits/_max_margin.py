"""Corollary 6: the hard-margin classifier, whose direction training under the logistic loss approaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, real
from biasfree.data import Dataset
from biasfree.losses import Logistic
from biasfree.networks import Network
from biasfree.theory.hypotheses import EQUIVALENCE, LABELS, MIRROR, Hypothesis, result
from biasfree.threads import load

_ROUNDING = 1e-12  # relative to |x_i||w|, the size of the terms of w·x_i: some thousand roundings
_BLOCK = 1000  # rows per subproblem
_LEAST_MARGIN = 1e-10  # of unit inputs; below it the sign of w·x is rounding


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The hard-margin classifier w: y_i w·x_i ≥ 1 on every sample, with equality on the support.

    `margin` = 1/|w| is the distance of the support from the boundary. `multipliers`, one per sample, are
    λ_i ≥ 0 with w = Σλ_i y_i x_i; they are not unique for mirrored samples, where one choice is returned.
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
        """w/|w|, the limit of the direction of a trained network."""
        return self.w * self.margin


@public
@result("logistic loss: training approaches the hard-margin direction", lambda: ASSUMES)
def max_margin(data: Dataset) -> MaxMargin:
    """The hard-margin classifier through the origin, whose direction logistic training approaches.

    w = argmin ½|w|² with y_i w·x_i ≥ 1 for all i. Training approaches w/|w| as 1/ln t. Two layers approach it
    as 1/√ln t if the support does not span the inputs, since W₁ does not move off that span. Solved by an
    active-set method, exact to rounding; the support has |y_i w·x_i − 1| ≤ 1e-12·|x_i||w|.

    Assumes: labels −1 and +1; one output; separable by a plane through the origin: some w of length 1 with
    y_i w·x_i ≥ 1e-10·|x_i|. The hypotheses of Theorem 5 (TMLR 8) on the
    network do not enter w and are checked by `coverage`, not here.
    Reference: [ZSL25] Corollary 6, after Soudry et al. (2018); the method is Goldfarb & Idnani's (1983).
    """
    z = _signed(data)
    found = _shortest(z)
    size = np.linalg.norm(z, axis=1)
    if found is None or (z @ found[0] < _LEAST_MARGIN * size * np.linalg.norm(found[0])).any():
        SEPARABLE.check(None, data)  # measured on unit inputs, whose classifier may differ from w
    assert found is not None  # the hypothesis holds
    w, multipliers = found
    length = np.linalg.norm(w)
    slack = np.abs(z @ w - 1) <= _ROUNDING * length * size
    return MaxMargin(w, float(1 / length), np.flatnonzero(slack), multipliers)


def _signed(data: Dataset) -> Float[np.ndarray, "P D"]:
    """z_i = y_i x_i, for one output of labels ±1."""
    if data.outputs != 1:
        raise ValueError(f"max_margin needs one output, got {data.outputs}; call it for each y[:, k].")
    Logistic().check(data.y)
    return data.targets * data.x


def _shortest(z: Float[np.ndarray, "P D"]) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest w with Zw ≥ 1 and its multipliers, w = Zᵀλ; None where there is no such w.

    A subset of rows is solved first, then its support with the rows violated most, until none is violated.
    The length of w increases every time, so no subset recurs; a subset without a solution proves that there
    is none.
    """
    size = np.linalg.norm(z, axis=1)
    if not size.all():
        return None
    inside = np.unique(np.linspace(0, len(z) - 1, _BLOCK).astype(int))
    kept = 0
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
        inside = np.concatenate([support, worst])
        kept = len(support)


def _active_set(
    z: Float[np.ndarray, "P D"], size: Float[np.ndarray, "P"], kept: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The shortest w with Zw ≥ 1 and its multipliers, or None.

    Begins with the first `kept` rows, a support with its solution, or with w = 0. The row violated by the
    largest distance becomes active, until none is violated. The length of w increases with every entry, so no
    active set recurs.
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
    raise RuntimeError(f"the active-set method did not converge on {len(z)} samples; please report the data.")


def _enter(
    z: np.ndarray, size: np.ndarray, active: list[int], multipliers: np.ndarray, w: np.ndarray, j: int
) -> Any:
    """The active set after row j enters and rows whose multipliers reach zero leave; None if infeasible."""
    active = list(active)
    while True:
        share = np.linalg.lstsq(z[active].T, z[j], rcond=None)[0] if active else np.zeros(0)
        across = z[j] - share @ z[active]
        independent = len(active) < z.shape[1] and np.linalg.norm(across) > 1e-11 * size[j]
        full = (1 - z[j] @ w) / (across @ across) if independent else np.inf
        falling = share * size[active] > 1e-12 * size[j]
        ratios = np.divide(multipliers, share, out=np.full(len(share), np.inf), where=falling)
        step = min(full, ratios.min(initial=np.inf))
        if step == np.inf:  # z_j = −Σ|share|z_active: no w satisfies all of them
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
    """The minimum over w of ⟨max(0, 1 − y w·x/|x|)⟩, by the dual linear program; 0 for separable data."""
    linprog = load("scipy.optimize").linprog

    if data.outputs != 1 or LABELS.defect(network, data) > 0:
        return np.nan
    z = data.targets * data.x
    size = np.linalg.norm(data.x, axis=1, keepdims=True)
    unit = np.divide(z, size, out=np.zeros_like(z), where=size > 0)
    found = _shortest(unit)
    if found is not None and np.linalg.norm(found[0]) * _LEAST_MARGIN <= 1:
        return 0.0
    if len(z) > 5 * _BLOCK:  # so many take minutes; a subset gives a lower bound
        z = unit = unit[np.linspace(0, len(z) - 1, 2 * _BLOCK).astype(int)]
    dual = linprog(-np.ones(len(z)), A_eq=unit.T, b_eq=np.zeros(z.shape[1]), bounds=(0, 1), method="highs")
    return max(1.0, -dual.fun) / len(unit)  # a combination Σα_i z_i = 0 can be scaled so that one α_i is 1


SEPARABLE = Hypothesis(
    "separable",
    "data separable by a plane through the origin (Corollary 6 of v1)",
    "the least mean hinge loss ⟨max(0, 1 − y w·x/|x|)⟩ over w",
    _overlap,
    'there is no margin to approach: use bf.theory.reduced_flow(..., loss="logistic")',
)
ASSUMES: tuple[Hypothesis, ...] = (*EQUIVALENCE, MIRROR, LABELS, SEPARABLE)
