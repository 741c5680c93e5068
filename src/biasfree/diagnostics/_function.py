"""Measurements of a function: its even part, linear maps and homogeneity.

A model is a `Network` or any function that maps an array (P, D) to (P,) or (P, K), row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import Float, compressed, real
from biasfree.data import Dataset, Population
from biasfree.diagnostics import _infinite_data as infinite
from biasfree.networks import Network
from biasfree.theory import (
    AssumptionError,
    _expressivity,
    even_part,
    least_squares_fit,
    max_margin,
    odd_part,
)
from biasfree.theory.hypotheses import LABELS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Model = Network | Callable[[Any], Any]

_BLOCK = 2**21  # activations of a layer per block of samples


@dataclass(frozen=True, eq=False)
class MapDistances:
    """The distance of a model's effective linear map from least squares and from maximum margin, per output.

    `map` and `least_squares` are (K, D); `distance` is |w − w*|/|w*| and `angle` the angle between w and w*
    in degrees, NaN where either is zero. `margin_angle` is the angle to the hard-margin classifier; it is
    None unless there is one output with labels ±1 that a hyperplane through the origin separates.
    """

    map: Float[np.ndarray, "K D"]
    least_squares: Float[np.ndarray, "K D"]
    distance: Float[np.ndarray, "K"]
    angle: Float[np.ndarray, "K"]
    margin_angle: float | None


def outputs(model: Model, x: ArrayLike) -> Float[np.ndarray, "P K"]:
    """f(x) as (P, K). Networks are evaluated in blocks of samples, so memory does not grow with P·H."""
    x = samples(model, x)
    if isinstance(model, Network):
        return _by_blocks(model, model, x)
    values = real("f(x)", model(x.copy()))  # a copy: the model may write to its argument
    if values.ndim not in (1, 2) or len(values) != len(x) or values.size == 0:
        raise ValueError(
            f"the model must return one value or row per sample, ({len(x)},) or ({len(x)}, K), "
            f"got shape {values.shape}."
        )
    return values.reshape(len(x), -1)


def even_fraction(model: Model, x: ArrayLike) -> float:
    """The fraction of the energy of f in its even part, on the samples x and −x: 0 for odd f, 1 for even f.

    ⟨f_e²⟩/(⟨f_e²⟩ + ⟨f_o²⟩), f_e = (f(x) + f(−x))/2, f_o = (f(x) − f(−x))/2; 0 if f = 0.

    Reference: [ZSL25] Thm. 1, f_e = k·W₂|W₁x| for two layers.
    """
    odd, even = _parts(model, x)
    largest = max(np.abs(odd).max(), np.abs(even).max())
    if largest == 0:
        return 0.0
    odd_energy, even_energy = np.sum((odd / largest) ** 2), np.sum((even / largest) ** 2)
    return float(even_energy / (odd_energy + even_energy))


def linear_map(model: Model, x: ArrayLike) -> Float[np.ndarray, "D"] | Float[np.ndarray, "K D"]:
    """The least-squares linear map w of the odd part of f on the samples: min ⟨(f_o(x) − w·x)²⟩.

    For two layers it is exactly c·W₂W₁ if the samples span the input space. Otherwise it is the fit of least
    norm. (D,) for one output, else (K, D).

    Reference: [ZSL25] Thm. 1.
    """
    w = _fitted(samples(model, x), _parts(model, x)[0])
    return w[0] if len(w) == 1 else w


def nonlinear_share(model: Model, x: ArrayLike | Population) -> Float[np.ndarray, "K"]:
    """N = 1 − R² of the best linear map to the model's outputs, per output: min_w ⟨(f − w·x)²⟩/⟨f²⟩.

    The map has no intercept and ⟨f²⟩ is not centered, so a constant counts as nonlinear. 0 if f = 0. For a
    network of two layers, x may be a `bf.data.Population`: means over infinite data, exact.

    Reference: derived here.
    """
    if isinstance(x, Population):
        return np.array([infinite.even_share(model, x)])
    return unexplained(samples(model, x), outputs(model, x))


def unexplained(x: Float[np.ndarray, "P D"], f: Float[np.ndarray, "P K"]) -> Float[np.ndarray, "K"]:
    """`nonlinear_share` of given outputs f."""
    f = f / np.where(f.any(axis=0), np.abs(f).max(axis=0), 1.0)  # no square under- or overflows
    rest, energy = np.sum((f - x @ _fitted(x, f).T) ** 2, axis=0), np.sum(f**2, axis=0)
    return np.divide(rest, energy, out=np.zeros_like(rest), where=energy > 0)


def map_distances(model: Model, data: Dataset) -> MapDistances:
    """The distance of a model's effective linear map from least squares and, for labels, maximum margin.

    Reference: [ZSL25] Corollary 6, for where training ends.
    """
    w = _fitted(data.x, outputs(model, data.x))
    best = least_squares_fit(data)[0]
    if w.shape != best.shape:
        raise ValueError(f"the model has {len(w)} outputs, but the data have {len(best)}.")
    away, size = np.linalg.norm(w - best, axis=1), np.linalg.norm(best, axis=1)
    distance = np.divide(away, size, out=np.where(away > 0, np.inf, 0.0), where=size > 0)
    angle = np.array([degrees(one, other) for one, other in zip(w, best, strict=True)])
    classifier = _max_margin(data)
    return MapDistances(w, best, distance, angle, None if classifier is None else degrees(w[0], classifier))


def square_loss(model: Model, data: Dataset | Population) -> float:
    """The square loss ⟨|y − f|²⟩/2, outputs summed; on infinite data the exact mean, for two layers.

    So a network trained on samples can be judged on the law they came from:
    `run.map(lambda network: square_loss(network, population))`. The share of the targets that is not fitted
    is 2L/⟨|y|²⟩; for a Population, ⟨y²⟩ is `population.mean_square`.

    Reference: derived here; on infinite data with Cho & Saul (2009).
    """
    if isinstance(data, Population):
        return infinite.exact_loss(model, data)
    f = outputs(model, data.x)
    if f.shape != data.targets.shape:
        raise ValueError(f"the model has {f.shape[1]} outputs, but the data have {data.outputs}.")
    return float(np.sum((data.targets - f) ** 2) / (2 * len(data)))


def homogeneity_defect(
    model: Model, x: ArrayLike, factors: Sequence[float] = (0.125, 0.5, 2.0, 8.0)
) -> float:
    """The largest |f(ax) − a·f(x)| over the factors a > 0, relative to the largest |f(ax)| or a|f(x)|.

    Rounding for bias-free networks of any depth, and exactly 0 for powers of two, as the default factors are
    (short of underflow); positive where biases matter.

    Reference: [ZSL25] Sec. 3, g(ax) = a·g(x) for a > 0.
    """
    return _expressivity.homogeneity_defect(lambda z: outputs(model, z), samples(model, x), factors)


def degrees(one: Float[np.ndarray, "D"], other: Float[np.ndarray, "D"]) -> float:
    """The angle between two vectors, accurate for small angles; NaN if one is zero."""
    if not one.any() or not other.any():
        return float("nan")
    one, other = (v / np.abs(v).max() for v in (one, other))
    one, other = (v / np.linalg.norm(v) for v in (one, other))
    return float(np.degrees(2 * np.arctan2(np.linalg.norm(one - other), np.linalg.norm(one + other))))


def samples(model: Model, x: ArrayLike) -> Float[np.ndarray, "P D"]:
    """x as (P, D); raises ValueError unless it fits the model."""
    x, d = real("x", x), model.sizes[0] if isinstance(model, Network) else "D"
    if x.ndim != 2 or 0 in x.shape or (isinstance(d, int) and x.shape[1] != d):
        raise ValueError(f"x must have shape (samples, {d}), got {x.shape}.")
    return x


def _by_blocks(function: Callable[[Any], Any], network: Network, x: np.ndarray) -> np.ndarray:
    """function(x) in blocks of rows, stacked, with an output axis."""
    rows = max(1, _BLOCK // max(network.sizes))
    found = [function(x[i : i + rows]) for i in range(0, len(x), rows)]
    return np.concatenate(found).reshape(len(x), -1)


def _parts(model: Model, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The odd and even parts f_o and f_e, each (P, K)."""
    x = samples(model, x)
    if isinstance(model, Network):
        odd = _by_blocks(lambda block: odd_part(model, block), model, x)
        return odd, _by_blocks(lambda block: even_part(model, block), model, x)
    here, there = outputs(model, x), outputs(model, -x)
    return (here - there) / 2, (here + there) / 2


def _fitted(x: Float[np.ndarray, "P D"], f: Float[np.ndarray, "P K"]) -> Float[np.ndarray, "K D"]:
    return np.linalg.lstsq(*compressed(x, f), rcond=None)[0].T


def _max_margin(data: Dataset) -> Float[np.ndarray, "D"] | None:
    """The direction of the hard-margin classifier, or None if there is none."""
    if data.outputs != 1 or LABELS.defect(None, data) > 0:
        return None
    try:
        return max_margin(data).direction
    except AssumptionError:
        return None
