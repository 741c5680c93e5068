"""Expectations of products of absolute values, E|p·x||q·x|, over Gaussian inputs, and their gradients.

Vectors are whitened: the inputs have the covariance I. Angles are computed from the lengths of sums and
differences of unit vectors, so parallel, opposite and tiny vectors lose no digits; zero vectors give zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float, row_norms
from biasfree.threads import load


@dataclass(frozen=True, eq=False)
class Polar:
    """Vectors as lengths and unit vectors; the unit vector of zero is zero."""

    sizes: Float[np.ndarray, "N"]
    units: Float[np.ndarray, "N D"]

    @classmethod
    def of(cls, rows: Float[np.ndarray, "N D"]) -> Polar:
        """The lengths and unit vectors of the rows of a matrix."""
        sizes = row_norms(rows)
        scale = np.where(sizes > 0, sizes, 1.0)[:, None]
        units = rows / scale
        exact = np.linalg.norm(units, axis=1)[:, None]  # 1 up to rounding, or 0
        return cls(sizes, units / np.where(exact > 0, exact, 1.0))

    def __len__(self) -> int:
        return len(self.sizes)

    def with_rows(self, others: Polar) -> Polar:
        """These vectors, and the others after them."""
        return Polar(np.append(self.sizes, others.sizes), np.concatenate([self.units, others.units]))


@dataclass(frozen=True, eq=False)
class AbsoluteProducts:
    """M(p, q) = E|p·x||q·x| = (2/π)|p||q|(sin θ + (π/2 − θ)cos θ) of all pairs, θ the angle between p and q.

    `sines` are sin θ, and `complements` π/2 − θ.
    """

    p: Polar
    q: Polar
    sines: Float[np.ndarray, "P Q"]
    complements: Float[np.ndarray, "P Q"]
    values: Float[np.ndarray, "P Q"]

    @classmethod
    def of(cls, p: Polar, q: Polar) -> AbsoluteProducts:
        """The products of every vector in p with every vector in q."""
        cdist = load("scipy.spatial.distance").cdist

        apart, joined = cdist(p.units, q.units), cdist(p.units, -q.units)  # 2 sin(θ/2) and 2 cos(θ/2)
        sines = apart * joined / 2
        complements = np.pi / 2 - 2 * np.arctan2(apart, joined)
        cosines = (joined - apart) * (joined + apart) / 4
        values = (2 / np.pi) * (sines + complements * cosines) * np.multiply.outer(p.sizes, q.sizes)
        return cls(p, q, sines, complements, values)

    def gradients(self, weights: Float[np.ndarray, "Q"]) -> Float[np.ndarray, "P D"]:
        """Σ_j weights_j ∇_p M(p, q_j) for every p: (2/π)[sin θ|q|p/|p| + (π/2 − θ)q], summed; 0 at p = 0."""
        lengths = weights * self.q.sizes
        along = (self.sines @ lengths)[:, None] * self.p.units
        return (2 / np.pi) * (along + (self.complements * lengths) @ self.q.units)
