"""A module of a PyTorch model as a function: its samples, N, additivity and behavior under scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree.arrays import Float, as_array
from biasfree.diagnostics._hooks import Call, first_tensor
from biasfree.ties import EPS

#: Samples more than independent inputs that an estimate of N needs: its relative error is then √(2/10), 45 %.
SPARE = 10
_PAIRS = 200  # rows on which additivity and scale are measured
_TRIED = 8  # rows on which a module is tried at single positions
_ROUNDINGS = 8  # roundings after which a singular value counts as zero
_BLOCK = 2**22  # numbers per block of outputs

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Linear maps of given inputs, fitted to any outputs; affine maps if there is an `intercept`.

    `basis` has orthonormal columns that span the inputs and, for affine maps, the constant.
    """

    basis: Float[np.ndarray, "P R"]
    intercept: bool = False

    @property
    def rank(self) -> int:
        """The number of independent inputs, the constant included."""
        return self.basis.shape[1]

    @property
    def known(self) -> bool:
        """Whether there are enough samples to tell a linear function from another."""
        return len(self.basis) - self.rank >= SPARE

    def with_intercept(self) -> LinearFit:
        """Affine maps of the same inputs."""
        constant = np.full(len(self.basis), 1 / np.sqrt(len(self.basis)))
        constant -= self.basis @ (self.basis.T @ constant)
        size = np.linalg.norm(constant)
        if size < 1e-6:  # the inputs hold a constant already
            return LinearFit(self.basis, intercept=True)
        return LinearFit(np.column_stack([self.basis, constant / size]), intercept=True)

    def unexplained(self, f: Float[np.ndarray, "P M"]) -> float | None:
        """The share of ⟨|f|²⟩, or of the variance for affine maps, that the best map leaves; None if unknown.

        Squares are divided by their degrees of freedom: the share does not fall as inputs become many.
        """
        if not self.known:
            return None
        largest = float(np.abs(f).max(initial=0)) or 1.0
        columns = max(1, _BLOCK // len(f))
        rest = energy = 0.0
        for i in range(0, f.shape[1], columns):
            part = np.asarray(f[:, i : i + columns], dtype=np.float64) / largest
            rest += float(np.sum((part - self.basis @ (self.basis.T @ part)) ** 2))
            energy += float(np.sum((part - part.mean(axis=0) if self.intercept else part) ** 2))
        if energy <= (len(f) * EPS) ** 2:  # zero or a constant, to rounding
            return 0.0
        return min(1.0, rest / (len(f) - self.rank) * (len(f) - self.intercept) / energy)


def linear_fit(x: Float[np.ndarray, "P D"], *, rounding: float) -> LinearFit:
    """Linear maps of the inputs x, whose entries have a relative rounding error of size `rounding`."""
    x = np.asarray(x, dtype=np.float64)
    x = x / (np.abs(x).max(initial=0) or 1.0)
    if x.shape[1] <= len(x):
        u, s, _ = np.linalg.svd(x, full_matrices=False)
        least = _ROUNDINGS * rounding
    else:  # as many dimensions as samples: the basis comes from the small matrix of inner products
        squares, u = np.linalg.eigh(x @ x.T)
        s = np.sqrt(np.maximum(squares, 0))
        least = max(_ROUNDINGS * rounding, np.sqrt(len(x) * EPS))
    return LinearFit(u[:, s > least * s.max(initial=0)])


def measured_rows(call: Call, samples: int) -> tuple[np.ndarray, np.ndarray, Rows | None]:
    """The inputs and outputs of a call and, if it treats positions alone, both with a row per position."""
    output = first_tensor(call.output)
    if not call.inputs:
        raise ValueError("it has no floating-point input")
    if output is None:
        raise ValueError("it returns no floating-point tensor")
    if len(output) != call.rows:
        raise ValueError(f"it returns {len(output)} rows for {call.rows}")
    tensors = [call.at(place) for place in call.inputs]
    axis = _feature_axis(call, tensors[0], output) if len(tensors) == 1 else None
    inputs = _array(tensors[0])
    if len(tensors) > 1:
        inputs = np.concatenate([_array(tensor).reshape(len(tensor), -1) for tensor in tensors], axis=1)
    f = _array(output)
    if not (np.isfinite(inputs).all() and np.isfinite(f).all()):
        raise ValueError("its inputs or outputs are not finite")
    return inputs, f, None if axis is None else _by_position(inputs, f, axis, samples)


def directional(call: Call) -> dict[str, float]:
    """Additivity and scale, as `LayerLinearity` defines them, on the first rows and their neighbors."""
    rows = min(_PAIRS, call.rows)

    def at(change: Any) -> np.ndarray:
        found = _array(call.outputs(change, rows)).astype(np.float64)
        if not np.isfinite(found).all():
            raise ValueError("outputs are not finite")
        return found

    f = at(lambda x: x.clone())
    other = at(lambda x: x.roll(1, 0))
    zero = at(lambda x: x * 0)
    both = [(at(lambda x, s=s: x + s * x.roll(1, 0)), s) for s in (1, -1)]
    scaled = [at(lambda x, c=c: c * x) / c for c in (0.5, 2.0)]
    return {
        "additivity": _share([found - f - s * other for found, s in both], f),
        "affine_additivity": _share([found - f - s * (other - zero) for found, s in both], f - zero),
        "scale": _share([found - f for found in scaled], f),
    }


def _share(gaps: list[np.ndarray], f: np.ndarray) -> float:
    """The mean of |gap|²/|f|²; 0 for gaps of zero."""
    away = sum(float(np.sum(gap**2)) for gap in gaps) / len(gaps)
    size = float(np.sum(f**2))
    return away / size if size > 0 else (0.0 if away == 0 else float("inf"))


def _array(tensor: Any) -> np.ndarray:
    return as_array("a tensor", tensor)


def _feature_axis(call: Call, x: Any, f: Any) -> int | None:
    """The axis of features if the module computes the outputs at a position from the inputs there alone.

    Tried at the last position and in the middle, by calls with one position only.
    """
    if x.ndim < 3 or x.ndim != f.ndim:
        return None
    for axis in (x.ndim - 1, 1):
        places = [i for i in range(1, x.ndim) if i != axis]
        if [x.shape[i] for i in places] != [f.shape[i] for i in places] or not any(
            x.shape[i] > 1 for i in places
        ):
            continue
        if all(_alone(call, f, places, part) for part in (1.0, 0.5)):
            return axis
    return None


def _alone(call: Call, f: Any, places: list[int], part: float) -> bool:
    import torch

    def one(tensor: Any) -> Any:
        for i in places:
            tensor = tensor.narrow(i, int(part * (tensor.shape[i] - 1)), 1)
        return tensor

    rows = min(_TRIED, call.rows)
    try:
        found = call.outputs(lambda x: one(x).clone(), rows)
    except Exception:  # a module for whole images or sequences may raise anything on one position
        return False
    expected = one(f[:rows])
    close = 64 * torch.finfo(f.dtype).eps * float(f.abs().max())  # sums in another order
    return found.shape == expected.shape and bool((found - expected).abs().max() <= close)


def _by_position(x: np.ndarray, f: np.ndarray, axis: int, samples: int) -> Rows:
    """Inputs and outputs with a row per position, evenly thinned to `samples` rows of features each."""
    x, f = (np.moveaxis(part, axis, -1).reshape(-1, part.shape[axis]) for part in (x, f))
    rows = max(samples, 4 * x.shape[1])
    chosen = np.linspace(0, len(x) - 1, min(rows, len(x))).astype(int)
    return x[chosen], f[chosen]
