"""Runs behind Frei et al.: the first layer on Gaussian mixtures of growing dimension."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.arrays import Float, positive
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.sweeps import tabulate
from biasfree.theory import activation_patterns
from biasfree.theory.hypotheses import LABELS, SETTING, check
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several, several_whole
from biasfree_papers.shared.fixed_patterns import final_patterns, gated_max_margin
from biasfree_papers.shared.sign_blocks import check_dimensions, descended, doubling, shrunk

_EXPONENT = 0.26  # of the separation d^0.26 of the means, rebuilt
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
    leak: float = setting(0.1, "the leak, a positive number up to 1", positive)
    step: float = setting(0.01, "the step for growing dimension, a positive number", positive)
    large_step: float = setting(0.16, "the step in the last dimension, a positive number", positive)
    doublings: int = setting(10, "how often the number of steps doubles, for growing dimension", at_least(2))
    long: int = setting(12, "how often it doubles with the large step", at_least(2))
    data_seed: int = setting(1000, "the first seed of the data", at_least(0))
    seeds: int = seeds(4)


SECONDS = 40
SMALL: dict[str, Any] = {
    "samples": 8, "width": 6, "dimensions": (20, 60), "factors": (0.02, 1), "step": 0.05, "large_step": 1.0,
    "doublings": 4, "long": 7, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Descent with a small step in every dimension and with a large one in the last; the limits."""
    check_dimensions(settings.dimensions[0], settings.samples)
    mixture = cache(lambda d, seed: _mixture(settings, d, seed))
    kept = {name: getattr(settings, name) for name in ("samples", "width", "step", "large_step", "tiny")}
    saves = doubling(max(settings.doublings, settings.long))
    found = xarray.merge([_descents(settings, mixture, report), _limits(settings, mixture)], join="exact")
    return found.assign(**kept, smallest=settings.factors[0]).assign_coords(save=saves)


def _mixture(settings: Settings, d: int, seed: int) -> tuple[Span, np.ndarray]:
    """Initial weights of Xavier's size and samples to learn in their span, and as many held-out inputs."""
    n = settings.samples
    data = tasks.gaussian_mixture(2 * n, d, d**_EXPONENT, seed=settings.data_seed + seed)
    network = networks.xavier((d, settings.width, 1), leak=settings.leak, seed=seed, signs=True)
    return networks.in_span(network, Dataset(data.x[:n], data.y[:n])), data.x[n:]


def _descents(settings: Settings, mixture: Any, report: Report) -> xarray.Dataset:
    """The runs: all dimensions and sizes with the small step; the last with the large one, and tiny."""
    runs = [(d, False, factor) for d in settings.dimensions for factor in settings.factors]
    runs += [(settings.dimensions[-1], True, factor) for factor in (*settings.factors, settings.tiny)]
    lengths = {False: (settings.step, settings.doublings), True: (settings.large_step, settings.long)}

    def descent(run: int, seed: int) -> dict[str, Any]:
        d, large, factor = runs[run]
        report(f"mixture in {d} dimensions, initial weights {factor:g}, seed {seed}")
        (span, held_out), (eta, doublings) = mixture(d, seed), lengths[large]
        start = shrunk(span, factor)
        path = descended(start.network, start.data, step=eta, doublings=doublings)
        ranks = path.map(lambda network: _rank(start.gram(network)))
        random = np.random.default_rng([seed, 1]).normal(size=(_POINTS, start.data.dimensions))
        seen = (path[-1], random), (start.restored(path[-1]), held_out)
        gradient = logistic_slope(start.network, start.data)
        first = start.network.weights[0]
        low, high = step_rank_bounds(first, eta * gradient, start.rest)
        linear = min(linear_share(*each) for each in seen)
        return {"ranks": ("save", ranks), "end": ranks[-1], "low": low, "high": high, "linear": linear}

    found = tabulate(descent, over={"run": range(len(runs))}, seeds=settings.all_seeds)
    inputs, large, factor = (("run", list(each)) for each in zip(*runs, strict=True))
    return found.assign(inputs=inputs, large=large, factor=factor)


def linear_share(network: Network, x: np.ndarray) -> float:
    """The share of inputs whose class the linear part of f tells, W₂W₁x times a positive number."""
    first, outer = network.weights
    return float(np.mean(np.sign(network(x)) == np.sign(x @ (outer @ first)[0])))


def _limits(settings: Settings, mixture: Any) -> xarray.Dataset:
    """The max-margin network whose neurons are on their side of all samples, for every mixture."""

    def limit(dimension: int, seed: int) -> dict[str, Any]:
        network, data = mixture(dimension, seed)[0].network, mixture(dimension, seed)[0].data
        patterns = final_patterns(network, data, orthogonal_tolerance=np.inf)
        end = gated_max_margin(network, data, patterns=patterns)
        w = end.network.weights[0]
        return {
            "near_orthogonality": diagnostics.near_orthogonality(data),
            "limit_rank": _rank(w @ w.T),
            "on_margin": np.mean(end.on_margin),
            "off_side": end.changed,
        }

    return tabulate(limit, over={"dimension": settings.dimensions}, seeds=settings.all_seeds)


def logistic_slope(network: Network, data: Dataset) -> Float[np.ndarray, "H D"]:
    """The negative gradient −∂L/∂W₁ of the logistic loss.

    Its rows are a_h⟨y_i φ′_hi x_i/(1 + e^{z_i})⟩, z_i = y_i f(x_i). One step of descent adds η times this to
    W₁. σ′(0) = α. Exact up to rounding.

    Assumes: two layers, one output, no biases; labels −1 and +1.
    Reference: derived here.
    """
    check((*SETTING, LABELS), network, data, {})
    y = data.targets[:, 0]
    slopes = np.where(activation_patterns(network, data.x)[0], 1.0, network.leak)
    outer = network.weights[1][0]
    force = y * np.exp(-np.logaddexp(0, y * network(data.x).reshape(-1))) / len(y)
    return (outer[:, None] * slopes.T * force) @ data.x


def step_rank_bounds(w: np.ndarray, move: np.ndarray, rest: np.ndarray) -> tuple[float, float]:
    """Bounds on the stable rank of W + M + R from the Frobenius and spectral norms of the three matrices.

    ((|M|_F − |W|_F)² + |R|_F²)/((|M|₂ + |W|₂)² + |R|₂²) and
    ((|M|_F + |W|_F)² + |R|_F²)/max((|M|₂ − |W|₂)², |R|₂²), or the number of rows or columns if that is less.
    For a step of descent W is the first layer in the span of the inputs, M = ηG the step, and `rest` = R the
    first layer off the span, as given by `bf.networks.in_span`. The rows of R are orthogonal to those of W
    and M, so (W + M + R)(W + M + R)ᵀ = (W + M)(W + M)ᵀ + RRᵀ; the norms of W + M obey triangle inequalities.
    Exact up to rounding.

    Assumes: `rest` orthogonal to W and M, in coordinates of its own.
    Reference: derived here.
    """
    (v, v2), (g, g2), (r, r2) = ((np.linalg.norm(one), _spectral(one)) for one in (w, move, rest))
    low = ((g - v) ** 2 + r**2) / ((g2 + v2) ** 2 + r2**2)
    with np.errstate(divide="ignore"):
        high = np.float64((g + v) ** 2 + r**2) / max((g2 - v2) ** 2, r2**2)
    return float(low), float(min(high, len(w), w.shape[1] + rest.shape[1]))


def _spectral(w: Float[np.ndarray, "H D"]) -> float:
    """|W|₂ by its smaller Gram matrix."""
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    return float(np.sqrt(np.linalg.eigvalsh(gram)[-1])) if gram.size else 0.0
