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
    """Linear maps of given inputs, fitted to any outputs; affine maps if `centered`.

    `basis` has orthonormal columns that span those of the inputs; `rank` counts them, and the constant of an
    affine map. The leverage h of a sample is how much the fit at this sample depends on its own output.
    """

    basis: Float[np.ndarray, "P R"]
    rank: int
    centered: bool

    @property
    def known(self) -> bool:
        """Whether there are enough samples to tell a linear function from another."""
        return len(self.basis) - self.rank >= SPARE

    def unexplained(self, f: Float[np.ndarray, "P M"]) -> float | None:
        """The share of ⟨|f|²⟩, or of the variance for affine maps, that the best map leaves; None if unknown.

        Every squared residual is divided by 1 − h, its expected value for residuals that are noise, so that
        the share does not fall as the number of inputs grows.
        """
        if not self.known:
            return None
        spare = 1 - np.sum(self.basis**2, axis=1) - self.centered / len(self.basis)
        kept = spare > _LONE
        rest = energy = 0.0
        for part in _blocks(f):
            part = part - part.mean(axis=0) if self.centered else part
            left = part - self.basis @ (self.basis.T @ part)
            rest += float(np.sum(left[kept] ** 2 / spare[kept, None]))
            energy += float(np.sum(part[kept] ** 2))
        if self.centered:
            energy /= 1 - 1 / len(self.basis)
        return min(1.0, rest / energy) if energy > 0 else 0.0


def linear_fit(x: Float[np.ndarray, "P D"], *, rounding: float, centered: bool = False) -> LinearFit:
    """Linear maps of the inputs x, whose entries have a relative rounding error of size `rounding`."""
    x = np.asarray(x, dtype=np.float64)
    x = x / (np.abs(x).max(initial=0) or 1.0)
    mean = x.mean(axis=0) if centered else np.zeros(x.shape[1])
    x = x - mean
    if x.shape[1] <= len(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        least = _ROUNDINGS * rounding
    else:  # as many dimensions as samples: the basis comes from the small matrix of inner products
        squares, u = np.linalg.eigh(x @ x.T)
        s = np.sqrt(np.maximum(squares, 0))
        least = max(_ROUNDINGS * rounding, np.sqrt(len(x) * np.finfo(float).eps))
    size = max(s.max(initial=0), np.sqrt(len(x)) * np.linalg.norm(mean))  # the mean was rounded too
    basis = u[:, s > least * size]
    return LinearFit(basis, basis.shape[1] + int(centered), centered)


def _blocks(f: np.ndarray) -> Iterator[np.ndarray]:
    """The columns of f in float64, in blocks of limited memory, divided by the largest entry of f."""
    largest = float(np.abs(f).max(initial=0)) or 1.0
    columns = max(1, _BLOCK // max(1, len(f)))
    for i in range(0, f.shape[1], columns):
        yield np.asarray(f[:, i : i + columns], dtype=np.float64) / largest
