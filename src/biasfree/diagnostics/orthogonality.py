"""How nearly orthogonal inputs are."""

from __future__ import annotations

import numpy as np

from biasfree.data import Dataset


def near_orthogonality(data: Dataset) -> float:
    """How much all other samples may weigh against one: ε = n·max|x_i·x_j|/min|x_i|², over i ≠ j.

    |Σ c_i x_i|² is within a share ε of Σ c_i²|x_i|² for any c. It is 0 for orthogonal inputs, and theorems
    on nearly orthogonal ones need it to be small; infinite for an input of length 0.

    Reference: Frei et al. (2022), Kou et al. (2023).
    """
    x = data.x / (np.abs(data.x).max() or 1.0)  # no square under- or overflows
    gram = x @ x.T
    least = float(np.diag(gram).min())
    apart = float(np.abs(gram - np.diag(np.diag(gram))).max())
    return len(data) * apart / least if least > 0 else np.inf
