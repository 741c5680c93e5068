"""The digits that come with the package equal those of scikit-learn."""

from importlib.resources import files

import numpy as np
from sklearn.datasets import load_digits

import biasfree as bf


def test_digits_are_those_of_scikit_learn_to_the_last_bit():
    x, y = load_digits(return_X_y=True)
    pair = (y == 3) | (y == 5)
    data = bf.data.digits()
    assert np.array_equal(data.x, x[pair] / 16)
    assert np.array_equal(data.y, np.where(y[pair] == 3, 1.0, -1.0))


def test_the_file_names_its_source_and_licence():
    first = (files("biasfree.data") / "digits_3_5.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert all(word in first for word in ("Optical Recognition of Handwritten Digits", "UCI", "CC BY 4.0"))
