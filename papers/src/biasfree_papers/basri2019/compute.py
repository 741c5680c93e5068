"""Runs on cos kφ on the circle: two layers without and with biases, and three layers without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree_papers.settings import Report, SeededSettings, at_least, only, seeds, setting, several_whole
from biasfree_papers.shared.linear_twins import even_width
from biasfree_papers.shared.statistics import fitted

#: Kinds of networks: layers, and whether they have biases.
KINDS = {"two layers": (2, False), "with biases": (2, True), "three layers": (3, False)}
_HALVED = 0.25  # the loss, over its initial value, at which the error is halved
_FINE = 2 * np.pi * np.arange(241) / 240
_ZERO = 1e-12  # of the largest rate: below it a rate is zero to rounding
_NARROW = 8  # neurons of the narrow networks of the floor
_EARLY, _SAVES = 300, 100  # steps of which every one is saved, and saves of the rest


_EVEN = only(at_least(4), lambda n: n % 2 == 0, "be even, so that every point has its antipode")
_FREQUENCIES = only(
    several_whole(low=1, least=4),
    lambda ks: ks[:4] == (1, 2, 3, 4),
    "begin with 1, 2, 3, 4, whose functions are drawn",
)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of frequencies on the circle."""

    frequencies: tuple[int, ...] = setting(
        tuple(range(1, 9)), "frequencies k, four or more, with 1, 2, 3 and 4", _FREQUENCIES
    )
    points: int = setting(40, "an even number of points, more than twice the largest frequency", _EVEN)
    width: int = setting(512, "an even number of neurons of two layers", even_width)
    scale: float = setting(60.0, "the initial norm of a layer, of two layers", positive)
    step: float = setting(7e-4, "the step of descent, of two layers", positive)
    steps: int = setting(1500, "a number of steps of two layers", at_least(2))
    deep_width: int = setting(64, "an even number of neurons of each hidden layer of three", even_width)
    deep_scale: float = setting(10.0, "the initial norm of a layer, of three layers", positive)
    deep_step: float = setting(0.004, "the step of descent, of three layers", positive)
    deep_steps: int = setting(6000, "a number of steps of three layers", at_least(2))
    seeds: int = seeds(4)


SECONDS = 33
SMALL: dict[str, Any] = {
    "frequencies": (1, 2, 3, 4), "points": 16, "width": 8, "scale": 6, "step": 0.05, "steps": 200,
    "deep_width": 8, "deep_scale": 6, "deep_step": 0.05, "deep_steps": 200, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Losses of every kind, frequency and seed; rates of very wide networks; the floor from other weights."""
    ks, points = np.array(settings.frequencies), settings.points
    if 2 * ks.max() >= points:
        raise ValueError(
            f"points must be more than twice the largest frequency, {ks.max()}, got {points}; add points."
        )
    data = {k: bf.data.circle(points, wave(k)) for k in settings.frequencies}
    odd = (ks % 2 == 1) & (ks > 1)
    kinds = {"kind": list(KINDS)}
    trained = bf.sweeps.tabulate(lambda kind: _trained(settings, kind, data, report), over=kinds)
    can = np.array([np.ones(len(ks)) if biased or depth > 2 else ~odd for depth, biased in KINDS.values()])
    return _grown(
        trained.assign_coords(frequency=ks, seed=settings.all_seeds).assign(
            can=(("kind", "frequency"), can.astype(bool)),
            floor=("frequency", [bf.theory.two_layer_gap(wave(k), data[1].x).bound / 2 for k in data]),
            wide_halving=(("kind", "frequency"), _very_wide(settings, ks)),
            **_lowest(settings, trained, {k: data[k] for k in ks[odd].tolist()}, report),
        )
    )


def wave(k: int) -> Callable[[Any], Any]:
    """cos kφ as a function of points."""
    return lambda x: np.cos(k * np.arctan2(x[:, 1], x[:, 0]))


def paired(sizes: tuple[int, ...], *, scale: float, seed: int, biased: bool = False) -> bf.Network:
    """Gaussian layers of norm `scale`, the last hidden neurons in pairs of opposite outer weights: f = 0."""
    *below, width, out = sizes
    half = bf.networks.gaussian((*below, width // 2, out), scale=scale, seed=seed)
    *first, last, outer = half.weights
    root = np.sqrt(0.5)
    weights = (*first, root * np.vstack([last, last]), root * np.hstack([outer, -outer]))
    return bf.Network(weights, biases=tuple(np.zeros(len(w)) for w in weights) if biased else None)


def _trained(settings: Settings, kind: str, data: dict[int, bf.Dataset], report: Report) -> dict[str, Any]:
    """All frequencies and seeds of one kind of network: losses, halving times, functions of one seed."""
    depth, biased = KINDS[kind]
    prefix = "deep_" if depth > 2 else ""
    width, scale, step, steps = (
        getattr(settings, prefix + name) for name in ("width", "scale", "step", "steps")
    )
    sizes, seeds = (2, *[width] * (depth - 1), 1), settings.all_seeds
    starts = [paired(sizes, scale=scale, seed=seed, biased=biased) for seed in seeds]
    report(f"{kind}: {len(data) * len(seeds)} runs")
    rows = _descended(starts, data, step=step, steps=steps)
    circle = np.column_stack([np.cos(_FINE), np.sin(_FINE)])
    each, loss = ("frequency", "seed"), np.array([[run.loss for run in row] for row in rows])
    return {
        "first": (each, loss[:, :, 0]),
        "lowest_loss": (each, loss.min(axis=-1)),
        "last": (each, loss[:, :, -1]),
        "halving": (each, [[_halving_time(run.ts, run.loss) for run in row] for row in rows]),
        "angle": ("angle", _FINE),
        "function": (("frequency", "angle"), [row[0][-1](circle) for row in rows]),
    }


def _descended(
    starts: list[bf.Network], data: dict[int, bf.Dataset], *, step: float, steps: int
) -> list[list[bf.Trajectory]]:
    """Descent of all weights for every frequency, saved at each of the first steps, then rarely."""
    early, every = min(steps, _EARLY), max(1, (steps - _EARLY) // _SAVES)
    saves = [*range(1, early + 1), *range(early + every, steps + 1, every)]
    networks, sets = [start for _ in data for start in starts], [one for one in data.values() for _ in starts]
    often: Any = {"save_every": saves, "save": lambda network: network.depth}
    runs = bf.gradient_descent(networks, sets, step=step, steps=steps, **often)
    return [runs[i : i + len(starts)] for i in range(0, len(runs), len(starts))]


def _halving_time(ts: np.ndarray, loss: np.ndarray) -> float:
    """The time at which the loss is a quarter of its initial value; linear in ln L between saved times."""
    level = _HALVED * loss[0]
    below = np.flatnonzero(loss <= level)
    if not len(below):
        return np.inf
    i = below[0]
    left, right = np.log(loss[i - 1 : i + 1])
    return float(ts[i - 1] + (left - np.log(level)) / (left - right) * (ts[i] - ts[i - 1]))


def _very_wide(settings: Settings, ks: np.ndarray) -> list[np.ndarray]:
    """Halving times of two layers of infinite width, for every kind; NaN for three, of which we know none.

    The error is halved at t = η ln ½/ln(1 − ηλ), at no time if λ is zero to rounding.
    """
    times = []
    for depth, biased in KINDS.values():
        rates = circle_rates(ks, scale=settings.scale, points=settings.points, biases=biased)
        rates = np.where(rates > _ZERO * rates.max(), rates, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            halved = settings.step * np.log(0.5) / np.log1p(-settings.step * rates)
        times.append(halved if depth == 2 else np.full(len(ks), np.nan))
    return times


def circle_rates(ks: np.ndarray, *, scale: float, points: int, biases: bool = False) -> np.ndarray:
    """The rates λ_k at which two-layer ReLU networks of infinite width learn cos kφ on the unit circle.

    The error along cos kφ decays as e^{−λ_k t}, λ_k = ⟨K(φ)cos kφ⟩ over evenly spaced `points`, with the
    tangent kernel

    K(φ) = γ²[(π − φ)(cos φ + b)/2π + (sin φ + (π − φ)cos φ)/4π] + b for 0 ≤ φ ≤ π, even in φ,

    γ = `scale` the initial norm of each layer, and b = 1 with biases in both layers, initially zero, or 0
    without. Without biases and on an even number of points odd k ≥ 3 have rate 0: two layers cannot express
    them. For large k the times 1/λ_k grow as k². Accurate to 1e-14 of the largest rate.

    Assumes: Gaussian layers, outputs that are initially zero, a width → ∞ at fixed γ; square loss; 2k ≤ n on
    n points, where k and n − k are the same function.
    Reference: derived here, from the kernel of the network linearized at initialization; the question is that
    of Basri et al. (2019).
    """
    angles = 2 * np.pi * np.arange(points) / points
    phi = np.minimum(angles, 2 * np.pi - angles)
    first = (np.pi - phi) * (np.cos(phi) + biases) / (2 * np.pi)
    second = (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / (4 * np.pi)
    kernel = scale**2 * (first + second) + biases
    return np.cos(np.outer(ks, angles)) @ kernel / points


def _lowest(
    settings: Settings, trained: xarray.Dataset, data: dict[int, bf.Dataset], report: Report
) -> dict[str, Any]:
    """Two bias-free layers on odd k ≥ 3, from f = 0 and from unpaired weights: the lowest loss of each run.

    A sum over H neurons of d inputs rounds outputs by (H + d)ε Σ|a||w| ≤ (H + d)ε½|θ|², a mean over P points
    by Pε; errors |y − f| are at most 1 near the floor, and ½|θ|² does not grow, since ⟨yf⟩ = 0.
    """
    report("other initial weights on odd frequencies")
    seeds = settings.all_seeds
    starts = [[paired((2, settings.width, 1), scale=settings.scale, seed=seed) for seed in seeds]]
    losses = []
    for width in (_NARROW, settings.width):
        starts.append([bf.networks.gaussian((2, width, 1), scale=3.0, seed=seed) for seed in seeds])
        rows = _descended(starts[-1], data, step=0.1, steps=_EARLY)
        losses.append([[run.loss for run in row] for row in rows])
    at_zero = trained.lowest_loss.isel(kind=0).values[[k in data for k in settings.frequencies]]
    norms = [max(map(bf.diagnostics.half_norm, row)) for row in starts]
    sums = [(row[0].sizes[1] + 2) * norm + settings.points for row, norm in zip(starts, norms, strict=True)]
    return {
        "odd": ("odd", list(data)),
        "start": ("start", ["f = 0", f"{_NARROW} neurons", f"{settings.width} neurons"]),
        "lowest": (("start", "odd", "seed"), [at_zero, *np.min(losses, axis=-1)]),
        "unpaired_first": np.max(np.array(losses)[..., 0]),
        "unpaired_last": np.max(np.array(losses)[..., -1]),
        "rounding": ("start", np.finfo(float).eps * np.array(sums)),
    }


def _grown(n: xarray.Dataset) -> xarray.Dataset:
    """The exponent of the halving times against k ≥ 2, with its standard error."""
    times = n.halving.where(n.can & (n.frequency > 1))
    found = [fitted(n.frequency.values, times.sel(kind=kind).values) for kind in KINDS]
    return n.assign(
        exponent=("kind", [one.estimate for one in found]),
        exponent_error=("kind", [one.error for one in found]),
    )
