"""Runs behind Frei et al.: Gaussian mixtures of growing dimension, and orthogonal inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.sweeps import tabulate
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.shared.sign_blocks import (
    allowed,
    check_dimensions,
    descended,
    doubling,
    final_patterns,
    shrunk,
    since_settled,
    stable_ranks,
)
from biasfree_papers.types import Report

EXPONENT = 0.26  # of the separation d^0.26 of the means, rebuilt
_POINTS = 1000  # random points in the span
_rank = diagnostics.stable_rank_of_gram


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Frei et al."""

    samples: int = setting(100, "a number of samples to learn, 2 or more", at_least(2))
    width: int = setting(100, "a number of neurons, 2 or more", at_least(2))
    dimensions: tuple[int, ...] = setting(
        (200, 500, 1000, 2000, 5000, 10000), "numbers of inputs, more than samples", several_whole(low=3)
    )
    factors: tuple[float, ...] = setting(
        (0.02, 0.2, 1.0), "sizes of the initial weights in units of Xavier's", several(low=1e-12)
    )
    tiny: float = setting(1e-3, "a size of the initial weights below these, a positive number", positive)
    leak: float = setting(0.1, "the leak on mixtures, a positive number up to 1", positive)
    leaks: tuple[float, ...] = setting(
        (0.1, 0.3, 0.6, 1.0), "leaks on orthogonal inputs", several(low=0.01, high=1)
    )
    step: float = setting(0.01, "the step for growing dimension, a positive number", positive)
    orthogonal_step: float = setting(
        0.002, "the small step on orthogonal inputs, a positive number", positive
    )
    large_step: float = setting(0.16, "the step in the last dimension, a positive number", positive)
    doublings: int = setting(10, "how often the number of steps doubles, for growing dimension", at_least(2))
    long: int = setting(12, "how often it doubles with the large step and on orthogonal inputs", at_least(2))
    data_seed: int = setting(1000, "the first seed of the data", at_least(0))
    seeds: int = seeds(4)


SECONDS = 50
SMALL: dict[str, Any] = {
    "samples": 8, "width": 6, "dimensions": (20, 60), "factors": (0.02, 1), "leaks": (0.2, 1), "step": 0.05,
    "orthogonal_step": 0.05, "large_step": 1.0, "doublings": 4, "long": 7, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Mixtures with a small step for every dimension, the last one with a large step, orthogonal inputs."""
    check_dimensions(settings.dimensions[0], settings.samples)
    mixture = cache(lambda d, seed: Mixture(settings, d, seed))
    kept = {name: getattr(settings, name) for name in ("samples", "width", "step", "large_step", "tiny")}
    kept["smallest"] = settings.factors[0]
    saves = doubling(max(settings.doublings, settings.long))
    parts = [_mixtures(settings, mixture, report), _limits(settings, mixture), _curve(settings, mixture)]
    numbers = xarray.merge([*parts, _orthogonal(settings, report)], join="exact")
    return numbers.assign(kept).assign_coords(save=saves)


class Mixture:
    """Initial weights of Xavier's size and samples to learn in their span, with as many held out."""

    def __init__(self, settings: Settings, d: int, seed: int):
        n = settings.samples
        data = tasks.gaussian_mixture(2 * n, d, d**EXPONENT, seed=settings.data_seed + seed)
        network = networks.xavier((d, settings.width, 1), leak=settings.leak, seed=seed, signs=True)
        self.span = networks.in_span(network, Dataset(data.x[:n], data.y[:n]))
        self.points = np.random.default_rng([seed, 1]).normal(size=(_POINTS, self.span.data.dimensions))
        self.best = theory.max_margin(self.span.data).direction
        self.inside, self.outside = data.x[n:] @ self.span.basis, self.span.rest @ data.x[n:].T

    def held_out(self, network: Network, factor: float) -> tuple[np.ndarray, np.ndarray]:
        """The output for the held-out samples, mostly off the span, where W₁ is constant; its linear part."""
        hidden = network.weights[0] @ self.inside.T + factor * self.outside
        outer = network.weights[1][0]
        return outer @ np.maximum(hidden, network.leak * hidden), outer @ hidden

    def boundary(self, network: Network, factor: float) -> dict[str, Any]:
        """Angle of its linear part to the largest margin, and share of points with the sign of that part."""
        normal = network.weights[1][0] @ network.weights[0]
        pairs = (network(self.points), self.points @ normal), self.held_out(network, factor)
        agree = [np.mean(np.sign(f) == np.sign(linear)) for f, linear in pairs]
        return {"angle": angle(normal, self.best), "linear": min(agree)}


def angle(one: np.ndarray, other: np.ndarray) -> float:
    """The angle between two vectors, in degrees."""
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(2 * np.degrees(np.arctan2(np.linalg.norm(one - other), np.linalg.norm(one + other))))


def _mixtures(settings: Settings, mixture: Any, report: Report) -> xarray.Dataset:
    """The runs: all dimensions and sizes with the small step; the last with the large one, and tiny."""
    last, sizes = settings.dimensions[-1], (*settings.factors, settings.tiny)
    runs = [(d, False, factor) for d in settings.dimensions for factor in settings.factors]
    runs += [(last, True, factor) for factor in sizes]

    def descent(run: int, seed: int) -> dict[str, Any]:
        d, large, factor = runs[run]
        report(f"mixture in {d} dimensions, initial weights {factor:g}, seed {seed}")
        start = shrunk(mixture(d, seed).span, factor)
        eta, doublings = (
            (settings.large_step, settings.long) if large else (settings.step, settings.doublings)
        )
        path = descended(start.network, start.data, step=eta, doublings=doublings)
        low, high = _first_step(start, eta)[1:3]
        end = stable_ranks(start.gram(path[-1]), start.network.weights[1][0])
        return {
            "ranks": ("save", path.map(lambda network: _rank(start.gram(network)))),
            "end": end[0],
            "end_positive": end[1],
            "low": low,
            "high": high,
            **mixture(d, seed).boundary(path[-1], factor),
        }

    found = tabulate(descent, over={"run": range(len(runs))}, seeds=settings.all_seeds.tolist())
    names = ("inputs", "large", "factor")
    return found.assign(
        {name: ("run", list(each)) for name, each in zip(names, zip(*runs, strict=True), strict=True)}
    )


def _first_step(start: Span, eta: float) -> tuple[float, float, float, float]:
    """Stable rank of W₀ + ηG with its bounds by norms, and that of G."""
    first, outer = start.network.weights
    gradient = theory.neighbors.logistic_slope(start.network, start.data)
    moved = Network((first + eta * gradient, outer), leak=start.network.leak)
    low, high = theory.neighbors.step_rank_bounds(first, eta * gradient, rest=start.rest)
    return _rank(start.gram(moved)), low, high, _rank(gradient @ gradient.T)


def _limits(settings: Settings, mixture: Any) -> xarray.Dataset:
    """The max-margin network with the final activation pattern of orthogonal inputs, for every mixture."""

    def limit(dimension: int, seed: int) -> dict[str, Any]:
        one = mixture(dimension, seed)
        network, data = one.span.network, one.span.data
        end = theory.neighbors.gated_max_margin(network, data, patterns=final_patterns(network, data))
        w = end.network.weights[0]
        return {
            "near_orthogonality": diagnostics.near_orthogonality(data),
            "limit_rank": _rank(w @ w.T),
            "limit_angle": angle(network.weights[1][0] @ w, one.best),
            "on_margin": np.mean(end.on_margin),
            "off_side": end.changed,
            "limit_size": np.sum(end.multipliers),  # |W|_F² of margin 1
        }

    return tabulate(limit, over={"dimension": settings.dimensions}, seeds=settings.all_seeds.tolist())


def _curve(settings: Settings, mixture: Any) -> xarray.Dataset:
    """One step from initial weights of many sizes in closed form, for the small and the large step."""

    def curve(eta: str, size: float, seed: int) -> dict[str, float]:
        start = shrunk(mixture(settings.dimensions[-1], seed).span, size)
        after, low, high, _ = _first_step(start, {"small": settings.step, "large": settings.large_step}[eta])
        return {"curve_after": after, "curve_low": low, "curve_high": high}

    sizes = np.geomspace(1, settings.tiny, 13).tolist()
    return tabulate(curve, over={"eta": ["small", "large"], "size": sizes}, seeds=settings.all_seeds.tolist())


def _orthogonal(settings: Settings, report: Report) -> xarray.Dataset:
    """Tiny initial weights on orthogonal inputs, as many and as long as those of the mixture."""
    n, d = settings.samples, settings.dimensions[-1]
    cases = [(settings.orthogonal_step, leak) for leak in settings.leaks]
    cases += [(settings.large_step, settings.leak)]

    def descent(case: int, seed: int) -> dict[str, Any]:
        eta, leak = cases[case]
        report(f"orthogonal inputs, leak {leak:g}, step {eta:g}, seed {seed}")
        data = tasks.orthogonal(n, d, seed=settings.data_seed + seed, norms=np.sqrt(d))
        network = networks.xavier((d, settings.width, 1), leak=leak, seed=seed, signs=True)
        start = shrunk(networks.in_span(network, data), settings.tiny)
        path = descended(start.network, start.data, step=eta, doublings=settings.long)
        limit = theory.neighbors.stable_rank_limit(start.network, start.data)
        gram = start.gram(path[-1])
        off, most = _from_limit(_rank(gram), limit, since_settled(path, start, eta), n)
        return {
            "orthogonal_ranks": ("save", path.map(lambda network: _rank(start.gram(network)))),
            "gradient": _first_step(start, eta)[3],
            "ceiling": theory.neighbors.gradient_rank_bound(start.network, start.data),
            "limit": limit,
            "off": off,
            "most_off": most,
            "orthogonal_end": _rank(gram),
            "beyond": np.clip(1 - np.linalg.eigvalsh(gram)[-2:].sum() / np.trace(gram), 0, 1),
        }

    found = tabulate(descent, over={"case": range(len(cases))}, seeds=settings.all_seeds.tolist())
    etas, leaks = zip(*cases, strict=True)
    return found.assign(case_step=("case", list(etas)), case_leak=("case", list(leaks)))


def _from_limit(found: float, limit: float, settled: dict[str, Any], n: int) -> tuple[float, float]:
    """The last stable rank less its limit, and what bounds that.

    W₁ = U + E + R with U the nearest layer of equal margins. E, orthogonal to it, is the constant part in the
    span and what margins differ by, orthogonal to one another; R is off the span.
    """
    z, rate, kept, rest = (settled[name] for name in ("z", "rate", "kept", "rest"))
    inverse = 1 / (n * rate)
    mean = np.sum(z * inverse) / inverse.sum()
    ideal, uneven = (np.sqrt(np.sum(part**2 * inverse)) for part in (mean, z - mean))
    moved = np.hypot(np.linalg.norm(kept[0]), uneven)
    turned = moved / np.hypot(ideal, moved)  # the sine of their angle
    off, bound = allowed(np.array(found), np.array(limit), turned, rest[0] / ideal)
    return float(off), float(bound)


def expected_near_orthogonality(d: np.ndarray, samples: int) -> np.ndarray:
    """The approximate n·max|x_i·x_j|/min|x_i|² of a mixture in d dimensions, means d^0.26 apart.

    Products have variance d about ±s²/4, s the separation, and squared lengths variance 2d about d + s²/4:
    medians of the largest of n(n − 1)/2, and of the least of n.
    """
    from scipy.special import ndtri

    pairs, shift = samples * (samples - 1) / 2, d ** (2 * EXPONENT) / 4
    largest, least = ndtri((1 + 0.5 ** (1 / pairs)) / 2), ndtri(0.5 ** (1 / samples))
    return samples * (largest * np.sqrt(d) + shift) / (d + shift - least * np.sqrt(2 * d))
