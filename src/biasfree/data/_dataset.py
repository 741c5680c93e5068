"""The dataset: a finite set of samples with their targets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arrays import Float, real, reduce_to_fields
from biasfree.cards import card, scatter
from biasfree.files import save_npz
from biasfree.threads import one_blas_thread


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples {x_μ, y_μ}, μ = 1…P; ⟨·⟩ is the mean over them.

    x is (P, D); y is (P,) for one output or (P, K). Both are copied and made read-only.
    """

    x: Float[np.ndarray, "P D"]
    y: Float[np.ndarray, "P"] | Float[np.ndarray, "P K"]

    if TYPE_CHECKING:  # whatever NumPy reads as an array is taken

        def __init__(self, x: ArrayLike, y: ArrayLike) -> None: ...

    def __post_init__(self):
        x = real("x", self.x)
        y = real("y", self.y)
        if x.ndim != 2:
            raise ValueError(
                f"x must have shape (samples, dimensions), got {x.shape}; use x[:, None] for one dimension."
            )
        if y.ndim not in (1, 2):
            raise ValueError(f"y must have shape (samples,) or (samples, outputs), got {y.shape}.")
        if len(x) != len(y):
            raise ValueError(f"x and y must have the same length, got {len(x)} and {len(y)} samples.")
        if 0 in x.shape or 0 in y.shape:
            raise ValueError(f"the dataset is empty: x has shape {x.shape} and y {y.shape}.")
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    __reduce__ = reduce_to_fields

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        outputs = "" if self.y.ndim == 1 else f", outputs={self.outputs}"
        return f"Dataset(samples={len(self)}, dimensions={self.dimensions}{outputs})"

    def _repr_html_(self) -> str:
        y = self.targets[:, 0]
        across = self.x[:, :2] if self.dimensions > 1 else np.column_stack([self.x[:, 0], y])
        axes = "first two inputs" if self.dimensions > 1 else "input and target"
        lines = [f"first target from {y.min():.3g} to {y.max():.3g}, {np.mean(y > 0):.0%} positive"]
        return card(
            repr(self), lines, scatter(across, y, f"{axes} of the samples, by the sign of the target")
        )

    @property
    def dimensions(self) -> int:
        """D, the number of inputs."""
        return self.x.shape[1]

    @property
    def outputs(self) -> int:
        """K, the number of targets per sample."""
        return 1 if self.y.ndim == 1 else self.y.shape[1]

    @property
    def targets(self) -> Float[np.ndarray, "P K"]:
        """y as (P, K), also for one output."""
        return self.y.reshape(len(self), -1)

    @cached_property
    @one_blas_thread
    def sigma(self) -> Float[np.ndarray, "D D"]:
        """Σ = ⟨xxᵀ⟩, the second moment of the inputs (not centered)."""
        return real("sigma", self.x.T @ self.x / len(self))

    @cached_property
    @one_blas_thread
    def beta(self) -> Float[np.ndarray, "D"] | Float[np.ndarray, "K D"]:
        """β = ⟨yx⟩, the correlation of inputs and targets: (D,) for y of shape (P,), (K, D) for (P, K)."""
        return real("beta", self.y.T @ self.x / len(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write x and y to a `.npz` file that `bf.data.load` reads."""
        save_npz(path, {"x": self.x, "y": self.y})
