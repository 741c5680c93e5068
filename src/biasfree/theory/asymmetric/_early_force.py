"""The early force G(r) = ⟨eσ(r·x)⟩ on a direction r, as a linear plus an even function of it.

σ(z) = cz + d|z|, c = (1+α)/2, d = (1−α)/2, so G(r) = b·r + Σ_l κ_l|n_l·r|: b = c⟨ex⟩, and per line l through
the origin on which samples lie, of unit vector n_l, κ_l = (d/P)Σ_{i on l} e_i|x_i|. G is linear between the
hyperplanes n_l·r = 0. Lines whose κ_l cancels, as those of mirror images do, have no hyperplane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biasfree.arrays import Bool, Float, row_norms

#: Relative to ⟨|e||x|⟩, to 1 or to radians: what is smaller is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class EarlyForce:
    """b, n_l and κ_l ≠ 0 of G; `size` is ⟨|e||x|⟩, which bounds |G| before terms cancel."""

    b: Float[np.ndarray, "D"]
    lines: Float[np.ndarray, "L D"]
    kinks: Float[np.ndarray, "L"]
    size: float

    @cached_property
    def negative(self) -> EarlyForce:
        """−G, whose maxima are the minima of G."""
        return EarlyForce(-self.b, self.lines, -self.kinks, self.size)

    def moment(self, signs: Float[np.ndarray, "L"]) -> Float[np.ndarray, "D"]:
        """∇G where sgn(n_l·r) is `signs`, 0 for lines that are left out."""
        return self.b + (signs * self.kinks) @ self.lines

    def __call__(self, r: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        return r @ self.b + np.abs(r @ self.lines.T) @ self.kinks

    def on_hyperplanes(self, r: Float[np.ndarray, "D"]) -> Bool[np.ndarray, "L"]:
        """The lines whose hyperplane the unit vector r lies on."""
        return np.abs(self.lines @ r) <= ROUNDING


def early_force(
    x: Float[np.ndarray, "P D"], e: Float[np.ndarray, "P"], leak: float, samples: int
) -> EarlyForce:
    """The early force of residuals e at zero output; the mean is over `samples`, of which x may be a part."""
    length = row_norms(x)
    unit = x / length[:, None]
    first, line, side = _lines(unit)
    share = e * length / samples
    kinks, sizes = (np.bincount(line, weights, minlength=len(first)) for weights in (share, np.abs(share)))
    kept = (np.abs(kinks) > ROUNDING * sizes) & (leak < 1)
    # Per line, so that mirror images add up exactly as duplicates do.
    b = np.bincount(line, side * share, minlength=len(first)) @ unit[first]
    return EarlyForce(
        (1 + leak) / 2 * b, unit[first][kept], (1 - leak) / 2 * kinks[kept], float(np.abs(share).sum())
    )


def _lines(unit: Float[np.ndarray, "P D"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first sample of every line through the origin, and per sample its line and its side of the origin.

    Samples of one line are neighbors in the order of their distance from the hyperplane of a fixed vector.
    """
    across = np.random.default_rng(0).standard_normal(unit.shape[1])
    order = np.argsort(np.abs(unit @ across), kind="stable")
    sorted_ = unit[order] * np.where(unit[order] @ across < 0, -1.0, 1.0)[:, None]
    new = np.append(True, (np.abs(np.diff(sorted_, axis=0)) > ROUNDING).any(axis=1))
    line = np.empty(len(unit), dtype=int)
    line[order] = np.cumsum(new) - 1
    first = order[new]
    return first, line, np.where(np.sum(unit * unit[first][line], axis=1) < 0, -1.0, 1.0)
