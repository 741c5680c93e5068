"""Validation and conversion of arrays and numbers: float64, finite, copied, read-only."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

if TYPE_CHECKING:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
else:  # shapes in annotations are for readers and type checkers, and jaxtyping is no dependency
    Bool = Float = Int = Any

#: Bytes of memory; without a bound where the system does not tell.
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else sys.maxsize


class _Owner(np.ndarray):
    """The owner of a copy's memory. Callers get views of it, which cannot be made writeable again."""

    #: Whether every entry is known to be finite.
    finite = False


def real(name: str, value: Any) -> NDArray[np.float64]:
    """A read-only float64 copy of `value`; raises ValueError unless every entry is a finite real number."""
    array = as_array(name, value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got an array of dtype {array.dtype}.")
    owner = _owner(array)
    if owner is None:
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which is refused
            owner = _copy(array, np.float64)
        array = owner.view(np.ndarray)
    if not owner.finite and not _all_finite(array):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(
            f"{name} must be finite, got {array[where]} at index {where}; "
            "remove or replace NaN and infinite entries first."
        )
    owner.finite = True
    return array


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that is read-only and cannot be made writeable again."""
    return _copy(array, array.dtype).view(np.ndarray)


def _copy(array: NDArray[Any], dtype: DTypeLike) -> _Owner:
    owner = _Owner(array.shape, dtype)
    owner[...] = array
    owner.flags.writeable = False
    return owner


def filled(shape: tuple[int, ...], write: Callable[[np.ndarray], object]) -> NDArray[np.float64]:
    """A new array that `write` fills; it is read-only afterwards, and `real` does not copy it."""
    owner = _Owner(shape, np.float64)
    write(owner.view(np.ndarray))
    owner.flags.writeable = False
    return owner.view(np.ndarray)


def as_array(name: str, value: Any) -> NDArray[Any]:
    """`value` as a NumPy array. PyTorch tensors are detached and moved to the CPU.

    bfloat16 and other floating-point types that NumPy lacks are converted to float64, which is exact.
    """
    if type(value) is np.ndarray:
        return value
    if _masked(value):
        raise ValueError(f"{name} must not be a masked array; use its .filled() or .compressed() values.")
    if is_tensor(value):
        return _of_tensor(name, value)
    if isinstance(value, list | tuple) and any(is_tensor(item) for item in value):
        value = [as_array(name, item) for item in value]
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of different lengths: {error}"
        ) from None
    except Exception as error:  # a user's __array__ may raise anything
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{name} must be an array of numbers, got a {type(value).__name__} NumPy cannot read: {reason}"
        ) from None


def is_tensor(value: Any) -> bool:
    """Whether `value` is a PyTorch tensor; does not import PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _of_tensor(name: str, tensor: Any) -> NDArray[Any]:
    import torch

    dense = tensor.layout == torch.strided and not (tensor.is_quantized or tensor.is_nested or tensor.is_meta)
    if not dense:
        kinds = ("quantized", tensor.is_quantized), ("nested", tensor.is_nested), ("meta", tensor.is_meta)
        kind = next((kind for kind, found in kinds if found), str(tensor.layout).removeprefix("torch."))
        raise ValueError(
            f"{name} must be a dense PyTorch tensor, got a {kind} one; convert it first, as .to_dense() does."
        )
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    known = (torch.float16, torch.float32, torch.float64)
    return (tensor.double() if tensor.is_floating_point() and tensor.dtype not in known else tensor).numpy()


def _masked(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_masked(item) for item in value)
    return isinstance(value, np.ma.MaskedArray)


def _owner(array: NDArray[Any]) -> _Owner | None:
    """The owner of a whole array of `real`, `frozen` or `filled`, which cannot change; None for others."""
    owner = array.base
    while isinstance(owner, np.ndarray) and not isinstance(owner, _Owner):
        owner = owner.base
    if not isinstance(owner, _Owner) or array.size != owner.size or array.dtype != np.float64:
        return None
    return owner if array.flags.c_contiguous and not array.flags.writeable else None


def _all_finite(array: NDArray[np.float64]) -> bool:
    """Whether all entries are finite. A finite sum proves it and needs no array of flags."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def reduce_to_fields(self: Any) -> tuple[Any, ...]:
    """`__reduce__` of a dataclass: `pickle` and `copy` then call its constructor, which freezes arrays."""
    return type(self), tuple(getattr(self, entry.name) for entry in fields(self))


def increasing_times(ts: ArrayLike, *, infinite: bool = False) -> NDArray[np.float64]:
    """Times at which to save: one-dimensional, non-negative, strictly increasing.

    With `infinite=True` the last time may be infinity, for closed forms whose limit is known.
    """
    times = as_array("ts", ts)
    if infinite and times.ndim == 1 and times.dtype.kind == "f" and times.size and times[-1] == np.inf:
        return frozen(np.append(increasing_times(times[:-1]) if times.size > 1 else times[:0], np.inf))
    times = real("ts", ts)
    if times.ndim == 0:
        raise ValueError(
            f"ts must be a one-dimensional array of at least one time, got the number {times:g}; pass the "
            f"times at which to save, such as [0, {times:g}] or np.linspace(0, {times:g}, 101)."
        )
    if times.ndim != 1 or times.size == 0:
        raise ValueError(f"ts must be a one-dimensional array of at least one time, got shape {times.shape}.")
    if times[0] < 0:
        raise ValueError(f"ts must not be negative, got {times[0]}; the given network is the state at t = 0.")
    if (stalled := times[1:] <= times[:-1]).any():
        i = int(np.argmax(stalled))
        raise ValueError(
            f"ts must be strictly increasing, got {times[i]} followed by {times[i + 1]} at index {i + 1}; "
            "sort it and drop repeats, as np.unique(ts) does."
        )
    return times


def finite(name: str, value: Any) -> float:
    """`value` as a float; raises ValueError unless it is a finite number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, got {described(value)}.")
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {described(value)}.")
    return number


def positive(name: str, value: Any) -> float:
    """`value` as a float; raises ValueError unless it is finite and positive."""
    number = finite(name, value)
    if not number > 0:
        raise ValueError(f"{name} must be positive, got {described(value)}.")
    return number


def non_negative(name: str, value: Any) -> float:
    """`value` as a float; raises ValueError unless it is finite and non-negative."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {described(value)}.")
    return number


def checked_leak(value: Any) -> float:
    """The leak α as a float; raises ValueError unless it lies in [0, 1]."""
    leak = non_negative("leak", value)
    if leak > 1:
        raise ValueError(f"leak must lie in [0, 1], got {leak:g}; 0 is ReLU, 1 is linear.")
    return leak


def whole(name: str, value: Any, *, at_least: int = 1) -> int:
    """`value` as an int; raises ValueError unless it is a whole number ≥ `at_least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {described(value)}.")
    return int(value)


def described(value: Any) -> str:
    """A short description of a value: the value itself if that is short, else its type and shape."""
    if value is None or (isinstance(value, int | float | str | bool | type) and len(repr(value)) < 60):
        return repr(value)
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" + ("" if shape is None else f" of shape {tuple(shape)}")


def representable(name: str, value: ArrayLike, *, infinite: bool = False) -> NDArray[np.float64]:
    """`value`, refused where it overflows floating point; with `infinite`, +∞ is allowed."""
    found = np.asarray(value, dtype=float)
    if not (np.isfinite(found) | (infinite & (found == np.inf))).all():
        raise ValueError(
            f"{name} overflows floating point for inputs, targets and weights of this size; divide them by a "
            "common factor."
        )
    return found


def affordable(what: str, numbers: int) -> None:
    """Raise ValueError if so many float64 numbers need more than all the memory of this machine."""
    if 8 * numbers > _MEMORY:
        raise ValueError(
            f"{what} need {8 * numbers // 10**9:,} GB, but this machine has {_MEMORY // 10**9:,} GB of "
            "memory; choose smaller sizes."
        )


def generator(seed: Any) -> np.random.Generator:
    """NumPy's random generator for `seed`, a whole number."""
    return np.random.default_rng(whole("seed", seed, at_least=0))


_BLOCK = 2**22  # numbers per block


def blocks(rows: np.ndarray) -> Iterator[slice]:
    """Slices of consecutive rows, to process a large matrix in blocks of limited memory."""
    size = max(1, _BLOCK // max(1, rows.shape[1]))
    return (slice(i, i + size) for i in range(0, len(rows), size))


def row_norms(rows: np.ndarray) -> np.ndarray:
    """|w_h| of every row, without under- or overflow of squares; computed in blocks of rows."""
    return np.concatenate([np.zeros(0), *(_norms(rows[part]) for part in blocks(rows))])


def _norms(rows: np.ndarray) -> np.ndarray:
    largest = np.abs(rows).max(axis=1)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1.0)[:, None], axis=1)


def unit_rows(rows: np.ndarray, *, zero: float = 0.0) -> np.ndarray:
    """w_h/|w_h| of every row, `zero` where the row is zero."""
    lengths = row_norms(rows)[:, None]
    return np.divide(rows, lengths, out=np.full_like(rows, zero), where=lengths > 0)


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a − b|² for every pair of rows, 0 where it is rounding; the mean of b is subtracted from both."""
    mean = b.mean(axis=0)
    a = a - mean
    b = b - mean
    size = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1)
    found = size - 2 * a @ b.T
    return np.where(found <= (a.shape[1] + 4) * np.finfo(float).eps * size, 0.0, found)


def compressed(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix x′ and a right-hand side y′ with the singular values, rank and least-squares fits of x and y.

    For large x, [x y] = QR is computed in blocks of rows, and R = [x′ y′] has D + K rows: orthogonal
    transformations do not change |y − xw| or its rounding. Small x and y are returned unchanged.
    """
    if x.size <= _BLOCK or len(x) <= 2 * (x.shape[1] + y.shape[1]):
        return x, y
    r = np.empty((0, x.shape[1] + y.shape[1]))
    for part in blocks(x):
        r = np.asarray(np.linalg.qr(np.vstack([r, np.column_stack([x[part], y[part]])]), mode="r"))
    return r[:, : x.shape[1]], r[:, x.shape[1] :]
