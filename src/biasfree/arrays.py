"""Arrays as they enter the package: float64, finite, copied and read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def real(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """`value` as a read-only float64 array of its own, refused unless every entry is a finite real number."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array; use its .filled() or .compressed() values.")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of different lengths: {error}"
        ) from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got an array of dtype {array.dtype}.")
    frozen = array.flags.owndata and not array.flags.writeable  # nobody can change it: no need of a copy
    array = np.array(array, dtype=np.float64, copy=None if frozen else True)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(
            f"{name} must be finite, got {array[where]} at index {where}; "
            "remove or replace NaN and infinite entries first."
        )
    return _frozen(array)


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array


def increasing_times(ts: ArrayLike, *, infinite: bool = False) -> NDArray[np.float64]:
    """Times at which to save: one-dimensional, non-negative, strictly increasing.

    With `infinite=True` the last of them may be infinity, the limit that a closed form knows.
    """
    times = np.asarray(ts)
    if infinite and times.ndim == 1 and times.dtype.kind == "f" and times.size and times[-1] == np.inf:
        return _frozen(np.append(increasing_times(times[:-1]) if times.size > 1 else times[:0], np.inf))
    times = real("ts", ts)
    if times.ndim != 1 or times.size == 0:
        raise ValueError(f"ts must be a one-dimensional array of at least one time, got shape {times.shape}.")
    if times[0] < 0:
        raise ValueError(f"ts must not be negative, got {times[0]}; the network given is the state at t = 0.")
    if (np.diff(times) <= 0).any():
        i = int(np.argmax(np.diff(times) <= 0))
        raise ValueError(
            f"ts must be strictly increasing, got {times[i]} followed by {times[i + 1]} at index {i + 1}; "
            "sort it and drop repeats, as np.unique(ts) does."
        )
    return times


def finite(name: str, value: Any) -> float:
    """`value` as a float, refused unless it is a finite number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return number


def positive(name: str, value: Any) -> float:
    """`value` as a float, refused unless it is a finite number above zero."""
    number = finite(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be positive, got {value!r}.")
    return number


def non_negative(name: str, value: Any) -> float:
    """`value` as a float, refused unless it is a finite number of at least zero."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}.")
    return number


def whole(name: str, value: Any, *, at_least: int = 1) -> int:
    """`value` as an int, refused unless it is a whole number of at least `at_least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """The random numbers that belong to `seed`, a whole number; the same seed always gives the same ones."""
    return np.random.default_rng(whole("seed", seed, at_least=0))


def row_norms(rows: np.ndarray) -> np.ndarray:
    """|w_h| of every row, also where squares would under- or overflow."""
    largest = np.abs(rows).max(axis=1)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1.0)[:, None], axis=1)
