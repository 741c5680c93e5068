"""Datasets, infinite data, the tasks of the papers, and transformations of data."""

from biasfree.data._absolute_products import AbsoluteProducts as AbsoluteProducts
from biasfree.data._absolute_products import Polar as Polar
from biasfree.data._dataset import Dataset
from biasfree.data._digits import digits
from biasfree.data._loading import load
from biasfree.data._loading import read_columns as read_columns
from biasfree.data._mirror import mirror_pairs
from biasfree.data._population import Population
from biasfree.data._tasks import (
    circle,
    five_points,
    gaussian_mixture,
    linear_teacher,
    odd_sine,
    orthogonal,
    orthogonal_pair,
    separation_target,
    six_points,
    xor,
)
from biasfree.data._transforms import center, desymmetrize, symmetrize, whiten

__all__ = [
    "Dataset",
    "Population",
    "center",
    "circle",
    "desymmetrize",
    "digits",
    "five_points",
    "gaussian_mixture",
    "linear_teacher",
    "load",
    "mirror_pairs",
    "odd_sine",
    "orthogonal",
    "orthogonal_pair",
    "separation_target",
    "six_points",
    "symmetrize",
    "whiten",
    "xor",
]
