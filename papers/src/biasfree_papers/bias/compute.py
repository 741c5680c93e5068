"""Runs of the bias experiment: max-margin classifiers of x and [x, 1], and networks trained on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.bias.six_points import SixSettings, of_plane, run_six, with_biases, with_third
from biasfree_papers.named_arrays import layers
from biasfree_papers.settings import Report, at_least, seeds, setting
from biasfree_papers.shared.linear_twins import even_width

#: Samples with y = +1; the first is the point of their convex hull nearest to the origin.
POSITIVES = np.array([[1.0, 1.2], [2.6, 0.4], [3.0, 1.2], [2.2, 2.0]])
#: Up to here the first sample and its former mirror image are the support of all classifiers.
MOST_SHIFT = 1.5
_SIZE = 1.0  # of the shift of the asymmetric data
_SHIFT = np.array([0.0, 1.0])  # its direction: neither along the first sample nor across it
_UNITS = {"origin": 0.0, "stacked": 1.0, "free": np.inf}  # of the extra input


@dataclass(frozen=True)
class Settings(SixSettings):
    """Settings of the bias experiment."""

    width: int = setting(50, "an even number of neurons", even_width)
    scale: float = setting(1e-2, "the initial norm of a layer, a positive number", positive)
    step: float = setting(0.1, "the step of gradient descent, a positive number", positive)
    epochs: int = setting(100_000, "a number of steps", at_least(2))
    times: int = setting(1000, "a number of saved times, of which some 60 are measured", at_least(2))
    seeds: int = seeds(5)


SECONDS = 18
SMALL: dict[str, Any] = {
    "width": 10, "scale": 0.1, "epochs": 500, "times": 50, "seeds": 2, "six_width": 12, "six_scale": 0.5,
    "six_step": 0.1, "six_epochs": 1200,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Linear classifiers on symmetric and on shifted data, and networks without and with biases on both."""
    symmetric = tasks.symmetrize(Dataset(POSITIVES, np.ones(len(POSITIVES))))
    data = {"symmetric": symmetric, "shifted": shifted(symmetric, _SIZE)}
    linear = xarray.Dataset(
        {
            "x": (("data", "sample", "input"), [each.x for each in data.values()]),
            "y": ("sample", symmetric.y),
            "margin": theory.max_margin(symmetric).margin,
            "line": (("data", "classifier", "part"), [classifiers(each) for each in data.values()]),
        },
        {"data": list(data), "classifier": list(_UNITS), "part": ["w₁", "w₂", "b"]},
    )
    parts = [linear, _sweep(symmetric), _trained(data, settings, report)]
    report("six points")
    return xarray.merge([*parts, run_six(settings)], join="exact")


def shifted(data: Dataset, size: float) -> Dataset:
    return Dataset(data.x + size * _SHIFT, data.y)


def classifiers(data: Dataset) -> np.ndarray:
    """(w, b) of largest margin through the origin, of [x, 1], and with b free: y(w·x + b) ≥ 1 for all."""
    origin, stacked = theory.max_margin(data).w, theory.max_margin(with_third(data, 1.0)).w
    return np.array([np.append(origin, 0.0), stacked, _free_offset(data)])


def _free_offset(data: Dataset) -> np.ndarray:
    """min |w|² with y(w·x + b) ≥ 1: w·(x₊ − x₋) ≥ 2 for all pairs, and then some b fits."""
    up, down = data.x[data.y > 0], data.x[data.y < 0]
    pairs = np.array([a - b for a in up for b in down])
    w = 2 * theory.max_margin(Dataset(pairs, np.ones(len(pairs)))).w
    return np.append(w, 1 - (up @ w).min())


def closed_form(c: np.ndarray, s: np.ndarray, unit: float) -> tuple[np.ndarray, float]:
    """The max-margin w of [x, unit] with the support c + s (y = +1) and s − c (y = −1).

    w = [(|s|² + κ²)c − (c·s)s]/[|c|²(|s|² + κ²) − (c·s)²], κ = `unit`, if |c·s| ≤ |s|² + κ²; else the nearer
    one alone is the support. κ = 0 is the classifier of x through the origin, κ = ∞ that with a free offset.
    The second value is the condition number of the products between the samples of the support.
    """
    along, size = c @ s, s @ s + unit**2
    if np.isinf(unit):
        return c / (c @ c), 1.0
    if abs(along) <= size and size > 0:
        support = np.array([[*(c + s), unit], [*(c - s), -unit]])
        return (size * c - along * s) / (c @ c * size - along**2), float(np.linalg.cond(support) ** 2)
    nearer = c - np.sign(along) * s
    return nearer / (nearer @ nearer + unit**2), 1.0


def _sweep(symmetric: Dataset) -> xarray.Dataset:
    """Angles to the classifier with a free offset, degrees, against the shift: solver and closed form."""
    shifts, c = np.linspace(0, MOST_SHIFT, 16), POSITIVES[0]
    solved = [[_degrees(w[:2], c) for w in classifiers(shifted(symmetric, size))] for size in shifts]
    closed = [[closed_form(c, size * _SHIFT, unit) for size in shifts] for unit in _UNITS.values()]
    axes = ("classifier", "shift")
    return xarray.Dataset(
        {
            "angle": (axes, np.transpose(solved)),
            "closed_angle": (axes, [[_degrees(w, c) for w, _ in row] for row in closed]),
            "condition": (axes, [[condition for _, condition in row] for row in closed]),
        },
        {"classifier": list(_UNITS), "shift": shifts},
    )


def _degrees(w: np.ndarray, c: np.ndarray) -> float:
    """The angle from c to w."""
    return float(np.rad2deg(np.arctan2(c[0] * w[1] - c[1] * w[0], c @ w)))


def _trained(data: dict[str, Dataset], settings: Settings, report: Report) -> xarray.Dataset:
    """All seeds on both datasets; the symmetric one is measured at times evenly spaced in ln t."""
    from biasfree.dynamics import gradient_descent

    every = max(1, settings.epochs // settings.times)
    found, step, steps = {}, settings.step, settings.epochs
    kept: dict[str, Any] = {}
    for kind in ("plain", "biased"):
        report(f"networks {'with' if kind == 'biased' else 'without'} biases")
        given = [with_third(one, 1.0) if kind == "biased" else one for one in data.values()]
        sizes, scale = (2, settings.width, 1), settings.scale
        starts = [networks.gaussian(sizes, scale=scale, seed=seed) for seed in settings.all_seeds]
        starts = [with_biases(one) for one in starts] if kind == "biased" else starts
        both = [one for one in given for _ in starts]
        runs = gradient_descent(2 * starts, both, step=step, steps=steps, save_every=every, loss="logistic")
        symmetric, moved = runs[: len(starts)], runs[len(starts)]
        chosen = np.unique(np.geomspace(1, len(moved) - 1, 60).round().astype(int))
        found[kind] = [[_margin(run[int(i)], given[0]) for i in chosen] for run in symmetric]
        for name, shown in (("symmetric", symmetric[0]), ("shifted", moved)):
            kept |= layers(f"{kind}_{name}", of_plane(shown[-1]))
        kept["time"] = "time", moved.ts[chosen]
    margin = theory.max_margin(data["symmetric"]).margin
    largest = [np.sqrt(margin**2 + (kind == "biased")) / 4 for kind in found]
    return xarray.Dataset(
        {"margins": (("kind", "seed", "time"), [*found.values()]), "largest": ("kind", largest), **kept},
        {"kind": list(found), "seed": settings.all_seeds},
    )


def _margin(network: Network, data: Dataset) -> float:
    normalized = diagnostics.margins(network, data).normalized
    assert normalized is not None  # bias-free, on [x, 1]
    return float(normalized.min())
