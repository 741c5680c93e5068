"""Near-orthogonality of inputs, and orthogonal separability of labeled inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import row_norms
from biasfree.data import Dataset


@dataclass(frozen=True)
class OrthogonalSeparability:
    """Cosines of the angles between samples: the least `within` a label, the largest `between` labels.

    `within` includes each sample with itself, 0 for a zero input; `between` is −1 if there is only one label.
    """

    within: float
    between: float

    @property
    def defect(self) -> float:
        """The size of the largest cosine of the wrong sign, 0 if there is none."""
        return max(0.0, -self.within, self.between)

    @property
    def holds(self) -> bool:
        """Whether x_i·x_j > 0 within a label and x_i·x_j ≤ 0 between labels."""
        return self.within > 0 and self.between <= 0


def largest_cosine(data: Dataset) -> float:
    """The largest |cos(x_i, x_j)| of two different samples: 0 for orthogonal inputs, NaN if an input is zero.

    At most max(2000, D + 1) samples are compared: more than D cannot all be orthogonal.

    Reference: Boursier et al. (2022), Frei et al. (2022): what orthogonal inputs are.
    """
    size = row_norms(data.x)
    if not size.all():
        return np.nan
    few = max(data.dimensions + 1, 2000)
    unit = data.x[:few] / size[:few, None]
    return float(np.abs(unit @ unit.T - np.diag(np.sum(unit**2, axis=1))).max())


def near_orthogonality(data: Dataset) -> float:
    """The deviation of the inputs from orthogonality, ε = n·max|x_i·x_j|/min|x_i|² over i ≠ j.

    |Σ c_i x_i|² = (1 ± ε)Σ c_i²|x_i|² for any c. ε is 0 for orthogonal inputs, and theorems on nearly
    orthogonal inputs need it to be small. It is infinite if an input is zero.

    Reference: Frei et al. (2022), Kou et al. (2023).
    """
    x = data.x / (np.abs(data.x).max() or 1.0)  # no square under- or overflows
    gram = x @ x.T
    least = float(np.diag(gram).min())
    apart = float(np.abs(gram - np.diag(np.diag(gram))).max())
    return len(data) * apart / least if least > 0 else np.inf


def orthogonal_separability(data: Dataset) -> OrthogonalSeparability:
    """Test whether labeled samples have x_i·x_j > 0 for y_i = y_j and x_i·x_j ≤ 0 otherwise.

    Only angles matter; cosines within rounding of 0 count as 0. Orthogonally separable data are linearly
    separable by Σ y_i x_i: y_i x_i·Σ y_j x_j ≥ |x_i|² > 0.

    Assumes: one output, labels ±1.
    Reference: Phuong and Lampert (2021), defined in [ZSL25] App. A of v1.
    """
    if data.outputs != 1 or not (np.abs(data.y) == 1).all():
        raise ValueError(
            f"orthogonal separability needs labels +1 and -1, got {data!r} with other targets; "
            "use bf.Dataset(x, np.sign(y)) for their signs."
        )
    sizes = row_norms(data.x)
    unit = data.x / np.where(sizes > 0, sizes, 1.0)[:, None]
    cosines = unit @ unit.T
    # the product of two rounded unit vectors has an error of at most D + 4 roundings
    cosines[np.abs(cosines) <= (data.dimensions + 4) * np.finfo(float).eps] = 0.0
    equal = np.equal.outer(data.targets[:, 0], data.targets[:, 0])
    return OrthogonalSeparability(float(cosines[equal].min()), float(cosines[~equal].max(initial=-1.0)))
