"""Networks of the exact structure of Eq. 40: simulated flow beside Proposition 12, and Eq. 42 as printed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray

from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory

if TYPE_CHECKING:
    from biasfree_papers.fig5.compute import Settings

#: Initial norm of a layer in the structure, times, every other one twice an earlier one, and the tolerance.
_START, _TIMES, _RTOL = 0.6, np.linspace(0, 30, 31), 1e-6


def exact(settings: Settings, wide: Dataset, small: Dataset) -> xarray.Dataset:
    """For every depth, measurements of what the theorem predicts for initial weights of the structure.

    Flows have the small size: at every kink of the printed one, hundreds of units cross at once.
    """
    seed = settings.seed
    found = tabulate(
        lambda depth: _followed(_structured(depth, settings.flow_width, small, seed), small),
        over={"depth": settings.depths},
    )
    slopes = _slopes(_structured(3, settings.width, wide, seed), wide, settings.step)
    return xarray.merge([found, slopes])


def _structured(depth: int, width: int, data: Dataset, seed: int) -> Network:
    """Initial weights whose direction r is not β̄, so that it has to turn."""
    rng = np.random.default_rng(seed)
    direction = data.beta + 0.3 * np.linalg.norm(data.beta) * rng.normal(size=data.dimensions)
    return networks.low_rank(direction, widths=(width,) * (depth - 1), scale=_START, seed=seed)


def _followed(start: Network, data: Dataset) -> dict[str, float]:
    """Distances of the simulated flow from theory and from its twin, with bounds.

    Kinks are met where r·x changes its sign: all units of the first layer cross at once, and x and −x change
    halves. Units that do not see a sample have z = 0 exactly and stay inactive, σ′(0) = 0.
    """
    from biasfree.dynamics import gradient_flow

    relu = gradient_flow(start, data, _TIMES, method="events", rtol=_RTOL)
    linear = gradient_flow(theory.deep_linear_twin(start), data, _TIMES, method="smooth", rtol=_RTOL)
    solved = theory.deep_flow(start, data, _TIMES)
    norms, twin = (run.map(lambda network: network.norms) for run in (relu, linear))
    grown = float((norms.max() / _START) ** (start.depth - 2))
    middle = [w for network in relu for w in network.weights[1:-1]]
    return {
        "exact_gap": _apart(relu, solved),
        "exact_half_speed": float(np.abs(norms[::2] / (np.sqrt(2) * twin[: len(_TIMES) // 2 + 1]) - 1).max()),
        "exact_bound": grown * sum(_error(run) for run in (relu, linear, solved)),
        "exact_rounding": grown * relu.stats.evaluations * np.finfo(float).eps,
        "exact_least": min(float(w.min()) for w in middle),
        "exact_third": max(_third(w) for w in middle),
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


def _third(w: np.ndarray) -> float:
    values = np.linalg.svd(w, compute_uv=False)
    return float(values[2] / values[0])


def _slopes(network: Network, data: Dataset, step: float) -> xarray.Dataset:
    """Errors of Eq. 42, corrected and as printed, against the slope that one step of descent shows.

    As printed, blocks of unequal signs are as large as those that belong, since |r_l⁺| = |r_l⁻|: the error is
    the slope itself in the middle layers; the first and the last have no such blocks.
    """
    from biasfree.dynamics import gradient_descent

    first, last = gradient_descent(network, data, step=step, steps=1, until=1e-300)
    raw = [(b - a) / step for a, b in zip(first.weights, last.weights, strict=True)]
    sizes = [np.linalg.norm(w) / (step * np.linalg.norm(g)) for w, g in zip(first.weights, raw, strict=True)]
    both = theory.deep_slope(network, data), _printed(network, data)
    errors = [[_relative(a, b) for a, b in zip(found, raw, strict=True)] for found in both]
    return xarray.Dataset(
        {
            "slope_error": (("version", "layer"), errors),
            "slope_expected": (("version", "layer"), [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            "slope_rounding": ("layer", 100 * np.finfo(float).eps * np.array(sizes)),
        },
        {"version": ["corrected", "printed"], "layer": [1, 2, 3]},
    )


def _relative(found: np.ndarray, right: np.ndarray) -> float:
    return float(np.linalg.norm(found - right) / np.linalg.norm(right))


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
