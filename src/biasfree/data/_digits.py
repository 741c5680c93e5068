"""A real dataset that comes with the package: handwritten digits."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from biasfree.arguments import public
from biasfree.data._dataset import Dataset


@public
def digits() -> Dataset:
    """The handwritten digits 3 and 5 as 365 images of 8 × 8 pixels: x in [0, 1], y = +1 for a 3, −1 for a 5.

    The data are neither centered nor mirrored: see `center` and `symmetrize`.

    Reference: Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository
    (CC BY 4.0), the samples that scikit-learn's `load_digits` has.
    """
    lines = (files("biasfree.data") / "digits_3_5.csv").read_text(encoding="utf-8").splitlines()
    table = np.loadtxt(lines, delimiter=",")  # the line with source and license starts with #
    return Dataset(table[:, :-1] / 16, np.where(table[:, -1] == 3, 1.0, -1.0))
