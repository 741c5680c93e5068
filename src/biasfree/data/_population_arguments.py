"""Arguments of a population, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from biasfree.arrays import Float, positive, real

Teacher = Any  # a `bf.Network`, of a later stage
Odd = tuple[Any, Callable[[Any], Any]]


def vector_of(name: str, value: Any, d: int) -> Float[np.ndarray, "D"]:
    """A vector of d numbers."""
    vector = real(name, value)
    if vector.shape != (d,):
        raise ValueError(f"{name} must be a vector of {d} numbers, got shape {vector.shape}.")
    return vector


def checked_covariance(value: Any, radius: Any, d: int) -> float | Float[np.ndarray, "D D"] | None:
    """A positive definite matrix, or ν for νI; None for a sphere."""
    if radius is not None:
        if value is not None:
            raise ValueError(
                "covariance and radius are both given; leave out one: on the sphere Σ = radius²/D·I."
            )
        return None
    matrix = real("covariance", 1.0 if value is None else value)
    if matrix.ndim == 0:
        return positive("covariance", float(matrix))
    if matrix.shape != (d, d):
        raise ValueError(
            f"covariance must be a number or have shape ({d}, {d}), got shape {matrix.shape}; match it to "
            "dimensions."
        )
    largest = np.abs(matrix).max()
    skew = np.abs(matrix - matrix.T).max()
    if skew > 1e-12 * largest:
        raise ValueError(
            f"covariance must be symmetric, but its entries differ from those of its transpose by up to "
            f"{skew:.3g}; pass (S + S.T)/2."
        )
    matrix = real("covariance", (matrix + matrix.T) / 2)
    values = np.linalg.eigvalsh(matrix)
    if values[0] <= d * np.finfo(float).eps * values[-1]:
        raise ValueError(
            f"covariance must be positive definite, but its least eigenvalue is {values[0]:.3g} and its "
            f"largest {values[-1]:.3g}; leave out directions in which the inputs do not vary."
        )
    white = not np.any(matrix - matrix[0, 0] * np.eye(d))
    return float(matrix[0, 0]) if white else matrix


def checked_odd(value: Any, d: int) -> Odd:
    """A pair of a nonzero vector u and a function g."""
    if not isinstance(value, tuple | list) or len(value) != 2 or not callable(value[1]):
        raise ValueError(
            "odd must be a pair of a vector u and an odd function g, such as odd=(u, np.sin); use samples of "
            "other targets, bf.Dataset(x, y)."
        )
    u = vector_of("the vector of odd", value[0], d)
    if not u.any():
        raise ValueError("the vector of odd is zero, so g(u·x) is zero; leave odd out.")
    return u, value[1]


def checked_teachers(value: Any, d: int) -> tuple[Teacher, ...]:
    """Two-layer networks of one output, without biases."""
    teachers: tuple[Any, ...] = tuple(value) if isinstance(value, list | tuple) else (value,)
    for one in teachers:
        if "Network" not in {base.__name__ for base in type(one).__mro__}:
            raise ValueError(f"teacher must be a bf.Network or a list of them, got a {type(one).__name__}.")
        sizes = one.sizes
        remedy = "take samples of it, bf.Dataset(x, teacher(x))"
        if sizes[0] != d:
            raise ValueError(f"the teacher takes {sizes[0]} inputs, but dimensions is {d}; match them.")
        if one.biases is not None:
            raise ValueError(f"the teacher must have no biases, got {one!r}; {remedy}.")
        if len(one.weights) != 2:
            raise ValueError(f"the teacher must have two layers, got {one!r}; {remedy}.")
        if sizes[-1] != 1:
            raise ValueError(f"the teacher must have one output, got {one!r}; {remedy}.")
    return teachers
