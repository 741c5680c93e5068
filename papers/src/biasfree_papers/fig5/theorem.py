"""Networks of the exact structure of Eq. 40: simulated flow beside Proposition 12, and Eq. 42 as printed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.shared.trajectories import named, stacked
from biasfree_papers.types import Numbers

#: Where a start begins, its times, each other one of them twice an earlier one, and the tolerance of a step.
_START, _TIMES, _RTOL = 0.6, np.linspace(0, 30, 31), 1e-6


def exact(settings: Mapping[str, Any], wide: Dataset, small: Dataset) -> Numbers:
    """For every depth, measurements of what the theorem predicts for initial weights of the structure.

    Flows have the small size: at every kink of the printed one, hundreds of units cross at once.
    """
    seed = settings["seed"]
    rows = [_followed(depth, settings["flow_width"], small, seed) for depth in settings["depths"]]
    slopes = _slopes(_structured(3, settings["width"], wide, seed), wide, settings["step"])
    return {**named("exact", stacked(rows)), **slopes}


def _structured(depth: int, width: int, data: Dataset, seed: int) -> Network:
    """Initial weights whose direction r is not β̄, so that it has to turn."""
    rng = np.random.default_rng(seed)
    direction = data.beta + 0.3 * np.linalg.norm(data.beta) * rng.normal(size=data.dimensions)
    return networks.low_rank(direction, widths=(width,) * (depth - 1), scale=_START, seed=seed)


def _followed(depth: int, width: int, data: Dataset, seed: int) -> dict[str, float]:
    """Distances of the simulated flow from theory, from its twin and from the structure, with bounds.

    Kinks are met where r·x changes its sign: all units of the first layer cross at once, and x and −x change
    halves. Units that do not see a sample have z = 0 exactly and stay inactive, σ′(0) = 0.
    """
    from biasfree.dynamics import gradient_flow

    start = _structured(depth, width, data, seed)
    relu = gradient_flow(start, data, _TIMES, method="events", rtol=_RTOL)
    linear = gradient_flow(theory.deep_linear_twin(start), data, _TIMES, method="smooth", rtol=_RTOL)
    solved = theory.deep_flow(start, data, _TIMES)
    norms, twin = (run.map(lambda network: network.norms) for run in (relu, linear))
    grown = float((norms.max() / _START) ** (depth - 2))
    middle = [w for network in relu for w in network.weights[1:-1]]
    return {
        "gap": _apart(relu, solved),
        "half_speed": float(np.abs(norms[::2] / (np.sqrt(2) * twin[: len(_TIMES) // 2 + 1]) - 1).max()),
        "bound": grown * sum(_error(run) for run in (relu, linear, solved)),
        "outside": max(_outside(network) for network in relu),
        "rounding": grown * relu.stats.evaluations * np.finfo(float).eps,
        "least": min(float(w.min()) for w in middle),
        "third": max(_third(w) for w in middle),
    }


def _error(run: Trajectory) -> float:
    """The run's own estimate; a solved path has its tolerance for each of its steps."""
    return (run.stats.rtol or np.inf) * run.stats.accepted if run.stats.error is None else run.stats.error


def _apart(one: Trajectory, other: Trajectory) -> float:
    """The largest |W_l − W′_l|/|W′_l| along the path and over layers."""
    return max(
        float(np.linalg.norm(w - v) / np.linalg.norm(v))
        for a, b in zip(one, other, strict=True)
        for w, v in zip(a.weights, b.weights, strict=True)
    )


def _outside(network: Network) -> float:
    found = diagnostics.structure_distance(network)
    return np.inf if found is None else found.relu


def _third(w: np.ndarray) -> float:
    values = np.linalg.svd(w, compute_uv=False)
    return float(values[2] / values[0])


def _slopes(network: Network, data: Dataset, step: float) -> Numbers:
    """Errors of Eq. 42, corrected and as printed, against the slope that one step of descent shows."""
    from biasfree.dynamics import gradient_descent

    first, last = gradient_descent(network, data, step=step, steps=1, until=1e-300)
    raw = [(b - a) / step for a, b in zip(first.weights, last.weights, strict=True)]
    sizes = [np.linalg.norm(w) / (step * np.linalg.norm(g)) for w, g in zip(first.weights, raw, strict=True)]
    return {
        "slope_corrected": _errors(theory.deep_slope(network, data), raw),
        "slope_printed": _errors(_printed(network, data), raw),
        "slope_rounding": 100 * np.finfo(float).eps * np.array(sizes),
    }


def _errors(found: Sequence[np.ndarray], raw: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(found, raw, strict=True)])


def _printed(network: Network, data: Dataset) -> list[np.ndarray]:
    """Eq. 42 with all sign blocks: τẆ_l = (W_L⋯W_{l+1})ᵀ(½βᵀ − ¼W_L⋯W₁Σ)(W_{l−1}⋯W₁)ᵀ."""
    weights = network.weights
    error = data.beta[None] / 2 - _product(weights) @ data.sigma / 4
    return [
        _product(weights[i + 1 :], size=len(w)).T @ error @ _product(weights[:i], size=data.dimensions).T
        for i, w in enumerate(weights)
    ]


def _product(weights: Sequence[np.ndarray], size: int = 0) -> np.ndarray:
    """W_k⋯W_j, the unit matrix of `size` where there are none."""
    return functools.reduce(np.matmul, weights[::-1]) if weights else np.eye(size)
