"""The asymptote of logistic training as its direction tends to the largest margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree import theory
from biasfree.data import Dataset


@dataclass(frozen=True, eq=False)
class Asymptote:
    """w → Lŵ + ρ, L → ∞: ŵ the hard-margin classifier, ρ ⊥ ŵ fixed where the support spans the inputs.

    The direction is fixed where g ∝ (I + rrᵀ)⁻¹w, which is ŵ as r → ŵ/|ŵ|. So Σ_i e^{−z_i·ρ}z_i ∝ ŵ = Σλ_iz_i
    over the support z_i = y_ix_i: z_i·ρ = −ln λ_i up to a constant. At finite |w| the angle ρ/|w| turns r,
    and that moves ρ by V⁻¹ρ·margin/|w| to first order, V the variance of z ⊥ ŵ under λ; samples off the
    support contribute with their remaining weight. `spread` is the least variance of V.
    """

    direction: np.ndarray
    margin: float
    offset: np.ndarray
    spread: float
    off_support: np.ndarray
    support: np.ndarray

    @classmethod
    def of(cls, data: Dataset) -> Asymptote:
        """The asymptote of separable data; the offset is NaN if the support does not span the inputs."""
        best = theory.max_margin(data)
        z = data.y[:, None] * data.x
        on = np.zeros(len(z), dtype=bool)
        on[best.support] = True
        support = np.unique(z[on], axis=0)  # mirror images are one
        offset, spread = _offset(support, best.w)
        return cls(best.direction, best.margin, offset, spread, np.unique(z[~on], axis=0), support)

    def towards(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Along maps w(t): the angle, the margin over the largest, and |w|."""
        along = w @ self.direction
        across = w - along[..., None] * self.direction
        size = np.linalg.norm(w, axis=-1)
        smallest = np.min(w @ np.concatenate([self.support, self.off_support]).T, axis=-1)
        angle = np.arctan2(np.linalg.norm(across, axis=-1), along)
        return {"angle": angle, "margin_share": smallest / size / self.margin, "size": size}

    def offsets(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Along maps w(t): the distance of ρ(t) from its limit, and the allowed distance."""
        across = w - (w @ self.direction)[:, None] * self.direction
        gap = np.linalg.norm(across - self.offset, axis=1)
        return {"offset_gap": gap, "offset_bound": np.array([self._bound(one) for one in w])}

    def _bound(self, w: np.ndarray) -> float:
        """Twice the first-order move of ρ; infinity where that is not small against the samples."""
        near, far = self.support @ w, self.off_support @ w
        weights = np.exp(near.min() - far) / np.exp(near.min() - near).sum()  # of their forces
        pulled = np.sum(weights * np.linalg.norm(self.off_support, axis=1))
        turned = self.margin * np.linalg.norm(self.offset) / np.linalg.norm(w)
        move = 2 * (turned + pulled) / self.spread
        return float(move) if move * np.linalg.norm(self.support, axis=1).max() < 1 else np.inf


def _offset(support: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """ρ and the least variance of the support across ŵ, under its multipliers."""
    if len(support) != len(w) or np.linalg.matrix_rank(support) < len(w):
        return np.full(len(w), np.nan), np.nan
    multipliers, direction = np.linalg.solve(support.T, w), w / np.linalg.norm(w)
    offset = np.linalg.solve(support, -np.log(multipliers))
    across = support - np.outer(support @ direction, direction)
    variance = (across * (multipliers / multipliers.sum())[:, None]).T @ across
    return offset - direction * (offset @ direction), float(np.sort(np.linalg.eigvalsh(variance))[1])
