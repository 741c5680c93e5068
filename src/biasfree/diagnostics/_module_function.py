"""A module of a PyTorch model as a function: its samples, its additivity and its behavior under scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.arrays import as_array
from biasfree.diagnostics._hooks import Call, first_tensor

_PAIRS = 200  # rows on which additivity and scale are measured
_TRIED = 8  # rows on which a module is tried at single positions
_SWITCHES = (
    "ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "CELU", "SELU", "GELU", "SiLU", "Mish",
    "Hardswish", "Softplus", "Threshold",
)  # fmt: skip

Rows = tuple[np.ndarray, np.ndarray]


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
    inputs = _array(tensors[0]) if len(tensors) == 1 else _beside(tensors)
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

    f, other, zero = at(lambda x: x.clone()), at(lambda x: x.roll(1, 0)), at(lambda x: x * 0)
    both = [(at(lambda x, s=s: x + s * x.roll(1, 0)), s) for s in (1, -1)]
    scaled = [at(lambda x, c=c: c * x) / c for c in (0.5, 2.0)]
    return {
        "additivity": _share([found - f - s * other for found, s in both], f),
        "affine_additivity": _share([found - f - s * (other - zero) for found, s in both], f - zero),
        "scale": _share([found - f for found in scaled], f),
    }


def switching(call: Call) -> float | None:
    """The share of an activation's units whose input takes both signs; None for other modules."""
    import torch

    kinds = tuple(getattr(torch.nn, name) for name in _SWITCHES)
    if not isinstance(call.module, kinds) or len(call.inputs) != 1:
        return None
    x = call.at(call.inputs[0])
    return float(((x > 0).any(dim=0) & (x < 0).any(dim=0)).double().mean())


def _share(gaps: list[np.ndarray], f: np.ndarray) -> float:
    """The mean of |gap|²/|f|²; 0 for gaps of zero."""
    away = sum(float(np.sum(gap**2)) for gap in gaps) / len(gaps)
    size = float(np.sum(f**2))
    return away / size if size > 0 else (0.0 if away == 0 else float("inf"))


def _array(tensor: Any) -> np.ndarray:
    return as_array("a tensor", tensor)


def _beside(tensors: list[Any]) -> np.ndarray:
    """Several inputs as one, flat."""
    return np.concatenate([_array(tensor).reshape(len(tensor), -1) for tensor in tensors], axis=1)


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
