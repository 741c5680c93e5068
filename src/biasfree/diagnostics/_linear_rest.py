"""The share of outputs that no linear map of the inputs explains, corrected for the number of inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float

#: Samples more than independent inputs that an estimate needs: its relative error is then √(2/10), 45 %.
SPARE = 10
_ROUNDINGS = 8  # roundings after which a singular value counts as zero
_LONE = 1e-6  # 1 − leverage of a sample that no other resembles: its residual is zero for every f
_BLOCK = 2**22  # numbers per block of outputs


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Linear maps of given inputs, fitted to any outputs; affine maps if there is an `intercept`.

    `basis` has orthonormal columns that span the inputs and, for affine maps, the constant. The leverage h of
    a sample is how much the fit at this sample depends on its own output.
    """

    basis: Float[np.ndarray, "P R"]
    intercept: bool = False

    @property
    def rank(self) -> int:
        """The number of independent inputs, the constant included."""
        return self.basis.shape[1]

    @property
    def known(self) -> bool:
        """Whether there are enough samples to tell a linear function from another."""
        return len(self.basis) - self.rank >= SPARE

    def with_intercept(self) -> LinearFit:
        """Affine maps of the same inputs."""
        constant = np.full(len(self.basis), 1 / np.sqrt(len(self.basis)))
        constant -= self.basis @ (self.basis.T @ constant)
        size = np.linalg.norm(constant)
        if size < _LONE:  # the inputs hold a constant already
            return LinearFit(self.basis, intercept=True)
        return LinearFit(np.column_stack([self.basis, constant / size]), intercept=True)

    def unexplained(self, f: Float[np.ndarray, "P M"]) -> float | None:
        """The share of ⟨|f|²⟩, or of the variance for affine maps, that the best map leaves; None if unknown.

        Every squared residual is divided by 1 − h, its expected value for residuals that are noise, so that
        the share does not fall as the number of inputs grows.
        """
        if not self.known:
            return None
        spare = 1 - np.sum(self.basis**2, axis=1)
        kept = spare > _LONE
        rest = energy = 0.0
        for part in _blocks(f):
            left = part - self.basis @ (self.basis.T @ part)
            rest += float(np.sum(left[kept] ** 2 / spare[kept, None]))
            energy += float(np.sum((part - part.mean(axis=0) if self.intercept else part)[kept] ** 2))
        if energy <= (len(f) * np.finfo(float).eps) ** 2:  # zero or a constant, to rounding
            return 0.0
        return min(1.0, rest / energy)


def linear_fit(x: Float[np.ndarray, "P D"], *, rounding: float) -> LinearFit:
    """Linear maps of the inputs x, whose entries have a relative rounding error of size `rounding`."""
    x = np.asarray(x, dtype=np.float64)
    x = x / (np.abs(x).max(initial=0) or 1.0)
    if x.shape[1] <= len(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        least = _ROUNDINGS * rounding
    else:  # as many dimensions as samples: the basis comes from the small matrix of inner products
        squares, u = np.linalg.eigh(x @ x.T)
        s = np.sqrt(np.maximum(squares, 0))
        least = max(_ROUNDINGS * rounding, np.sqrt(len(x) * np.finfo(float).eps))
    return LinearFit(u[:, s > least * s.max(initial=0)])


def _blocks(f: np.ndarray) -> Iterator[np.ndarray]:
    """The columns of f in float64, in blocks of limited memory, divided by the largest entry of f."""
    largest = float(np.abs(f).max(initial=0)) or 1.0
    columns = max(1, _BLOCK // max(1, len(f)))
    for i in range(0, f.shape[1], columns):
        yield np.asarray(f[:, i : i + columns], dtype=np.float64) / largest
