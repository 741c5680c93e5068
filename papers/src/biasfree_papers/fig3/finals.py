"""The final weight error over seeds: simulated and predicted at full size, at small widths, and its law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

import biasfree as bf
from biasfree import theory
from biasfree_papers.settings import Report
from biasfree_papers.shared.statistics import law_distance
from biasfree_papers.shared.trajectories import accuracy

if TYPE_CHECKING:
    from biasfree_papers.fig3.compute import Settings

_SMALL = {"n": 20, "d": 3}  # a task on which many networks train at once; the law does not depend on the task
_SMALL_SCALE = 1e-6
_SMALL_STEP = 0.1  # of the ReLU network, in units of 1/s


def start(sizes: Sequence[int], scale: float, seed: int, leak: float) -> bf.Network:
    """Initial weights: √(1/c) times those of a linear network, which is the same for all leaks."""
    linear = bf.networks.gaussian(sizes, scale=scale, leak=1.0, seed=seed)
    return theory.from_linear_twin(linear, leak=leak)


def kept(run: bf.Trajectory) -> float:
    """The norm of the initial weights, which linear terms do not shrink, over the final one: |W(0)|/|W|."""
    return float(np.linalg.norm(run[0].norms) / np.linalg.norm(run[-1].norms))


def at_full_size(pairs: Sequence[tuple[bf.Trajectory, bf.Trajectory]], data: bf.Dataset) -> xarray.Dataset:
    """Simulated and predicted final errors of ReLU against linear, bounds on the difference, and maps."""
    lefts = [_remainder(relu[0], theory.reduced_flow, data, relu.ts[-1]) + kept(relu) for relu, _ in pairs]
    bounds = [
        3 * left + accuracy(relu) + accuracy(linear)
        for left, (relu, linear) in zip(lefts, pairs, strict=True)
    ]
    found = {
        "final_measured": [bf.diagnostics.weight_error(relu[-1], linear[-1]) for relu, linear in pairs],
        "final_predicted": [theory.final_weight_error(relu[0], data) for relu, _ in pairs],
        "final_bound": bounds,
        "map_error": [_map_error(relu, linear) for relu, linear in pairs],
    }
    return xarray.Dataset({name: ("seed", values) for name, values in found.items()})


def over_many(settings: Settings, data: bf.Dataset, report: Report) -> xarray.Dataset:
    """Predicted errors of many seeds and their law, for the figure's width and over widths."""
    seeds, small = _first(settings, settings.draws), _small_task(settings)
    report(f"{len(seeds)} seeds of every width, predicted")

    def predicted(width: int) -> dict[str, float]:
        errors = _predicted(width, small, seeds)
        return {"distance": law_distance(errors, theory.final_weight_error_law(width))}

    full, law = _predicted(settings.width, data, seeds), theory.final_weight_error_law(settings.width)
    fine = np.geomspace(law.quantile(0.02), law.quantile(0.999), 100)
    return bf.sweeps.tabulate(predicted, over={"width": settings.widths}).assign(
        many_predicted=("many", full),
        many_distance=law_distance(full, law),
        law_error=("fine", fine),
        law_share=("fine", law.cdf(fine)),
    )


def at_small_widths(settings: Settings, report: Report) -> xarray.Dataset:
    """Simulated and predicted final errors of many seeds at small widths, by descent on a small task."""
    data, seeds = _small_task(settings), _first(settings, settings.small_draws)

    def trained(small_width: int) -> dict[str, Any]:
        report(f"{len(seeds)} seeds of width {small_width}, simulated")
        return _trained(small_width, data, seeds)

    return bf.sweeps.tabulate(trained, over={"small_width": settings.small_widths})


def _map_error(relu: bf.Trajectory, linear: bf.Trajectory) -> float:
    """The largest |w − w_lin|/|w_lin| along the path, w the linear map of the network."""
    apart, sizes = (np.linalg.norm(maps, axis=(1, 2)) for maps in (relu.maps - linear.maps, linear.maps))
    return float((apart / sizes).max())


def _remainder(network: bf.Network, flow: Any, data: bf.Dataset, end: float) -> float:
    """The distance of the slower half of a ReLU network from its limit at time `end`, |W − W*|/|W*|.

    ReLU and linear are at least as close to theirs, so the weight error is within 3 of these of its limit.
    """
    half = min(theory.halves(network, data), key=lambda network: network.norms[0])
    first, second = flow(half, data, [end])[-1].weights
    target = theory.least_squares(data)
    norm = theory.final_norm(target)
    neurons = second[0] / np.linalg.norm(second)
    limit = norm * np.outer(neurons, target / np.linalg.norm(target))
    apart = np.hypot(np.linalg.norm(first - limit), np.linalg.norm(second[0] - norm * neurons))
    return float(apart / (np.sqrt(2) * norm))


def _first(settings: Settings, count: int) -> Sequence[int]:
    return range(settings.seed, settings.seed + count)


def _small_task(settings: Settings) -> bf.Dataset:
    return bf.data.whiten(bf.data.odd_sine(**_SMALL, seed=settings.data_seed))


def _predicted(width: int, data: bf.Dataset, seeds: Sequence[int]) -> np.ndarray:
    """The prediction for ReLU from the initial weights of each seed."""
    relus = [start((data.dimensions, width, 1), _SMALL_SCALE, seed, 0.0) for seed in seeds]
    return np.array([theory.final_weight_error(relu, data) for relu in relus])


def _trained(width: int, data: bf.Dataset, seeds: Sequence[int]) -> dict[str, Any]:
    """ReLU with step η and linear with η/2, to ten time constants after the plateau.

    On white data descent has the limits of the flow, W ∝ r₁β̄ᵀ: each step multiplies both layers alike.
    """
    s, sizes = float(np.linalg.norm(data.beta)), (data.dimensions, width, 1)
    relus, linears = ([start(sizes, _SMALL_SCALE, seed, leak) for seed in seeds] for leak in (0.0, 1.0))
    step = _SMALL_STEP / s
    steps = int((np.log(np.sqrt(s) / _SMALL_SCALE) + 10) / np.log1p(_SMALL_STEP / 2))
    ends = bf.gradient_descent(relus, data, step=step, steps=steps, save_every=steps)
    twins = bf.gradient_descent(linears, data, step=step / 2, steps=steps, save_every=steps)
    measured = np.array([bf.diagnostics.weight_error(a[-1], b[-1]) for a, b in zip(ends, twins, strict=True)])
    slowed = step * steps * (1 - _SMALL_STEP / 4)  # forward Euler grows by ln(1 + z) ≥ z(1 − z/2), z = ηs/2
    left = [
        _remainder(relu, theory.white_flow, data, slowed) + kept(run)
        for relu, run in zip(relus, ends, strict=True)
    ]
    predicted = [theory.final_weight_error(relu, data) for relu in relus]
    return {
        "small_measured": ("small_seed", measured),
        "small_predicted": ("small_seed", np.array(predicted)),
        "small_bound": ("small_seed", 3 * np.array(left)),
        "small_distance": law_distance(measured, theory.final_weight_error_law(width)),
    }
