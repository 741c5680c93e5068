"""Runs behind Frei et al.: Gaussian mixtures of growing dimension, and orthogonal inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.trajectory import Trajectory
from biasfree_papers.frei2022.boundary import Boundary, beyond_two
from biasfree_papers.frei2022.one_step import one_step
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.sign_blocks import descended, doubling, shrunk, since_settled, stable_ranks
from biasfree_papers.shared.trajectories import named, stacked
from biasfree_papers.types import Numbers, Report

EXPONENT = 0.26  # of the separation d^0.26 of the means, rebuilt


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Mixtures with a small step for every dimension, the last one with a large step, orthogonal inputs."""
    if settings["dimensions"][0] < settings["samples"]:
        raise ValueError(
            f"dimensions must be at least samples, {settings['samples']}, got {settings['dimensions'][0]}: "
            "with fewer the samples are linearly dependent, and may not be separable."
        )
    seeds = seeds_of(settings)
    sweep, large, curve = [], [], []
    for d in settings["dimensions"]:
        for seed in seeds:
            report(f"mixture in {d} dimensions, seed {seed}")
            boundary = _mixture(settings, d, int(seed))
            sweep.append(_runs(settings, boundary, settings["factors"], "step", "doublings"))
            if d == settings["dimensions"][-1]:
                factors = (*settings["factors"], settings["tiny"])
                large.append(_runs(settings, boundary, factors, "large_step", "long"))
                curve.append(_one_steps(settings, boundary.reduced))
    found = {name: _by_dimension(values, settings) for name, values in stacked(sweep).items()}
    return {
        "seeds": seeds,
        **{name: np.array(settings[name]) for name in _KEPT},
        "steps": doubling(settings["doublings"]),
        "long_steps": doubling(settings["long"]),
        "cases": np.array(_cases(settings)),
        "curve_factors": _curve_factors(settings["tiny"]),
        **found,
        **named("large", stacked(large)),
        **named("curve", stacked(curve)),
        **named("orthogonal", _orthogonal(settings, seeds, report)),
    }


_KEPT = ("dimensions", "factors", "tiny", "step", "large_step", "leak", "leaks", "samples", "width")


def _by_dimension(values: np.ndarray, settings: Mapping[str, Any]) -> np.ndarray:
    return values.reshape(len(settings["dimensions"]), settings["seeds"], *values.shape[1:])


def _mixture(settings: Mapping[str, Any], d: int, seed: int) -> Boundary:
    """A network of factor 1 and samples to learn in their span, and as many that are held out."""
    n = settings["samples"]
    drawn = tasks.gaussian_mixture(2 * n, d, d**EXPONENT, seed=settings["data_seed"] + seed)
    network = networks.xavier((d, settings["width"], 1), leak=settings["leak"], seed=seed, signs=True)
    reduced = networks.in_span(network, Dataset(drawn.x[:n], drawn.y[:n]))
    return Boundary.of(reduced, Dataset(drawn.x[n:], drawn.y[n:]), seed=seed)


def _runs(
    settings: Mapping[str, Any], boundary: Boundary, factors: tuple[float, ...], step: str, doublings: str
) -> Numbers:
    """One run per factor, and properties of the data."""
    eta, rows = settings[step], []
    for factor in factors:
        start = shrunk(boundary.reduced, factor)
        path = descended(start.network, start.data, step=eta, doublings=settings[doublings])
        rows.append(
            {
                **along(path, start),
                **one_step(start, path[1], eta),
                **boundary.measured(path[-1], factor),
            }
        )
    ratio = diagnostics.near_orthogonality(boundary.reduced.data)
    return {**stacked(rows), **boundary.limit(), "near_orthogonality": np.array(ratio)}


def along(path: Trajectory, start: Span) -> Numbers:
    """Measurements along a run: loss, stable ranks, share beyond rank two, spread of margins."""
    outer = start.network.weights[1][0]
    return {
        "loss": path.loss,
        "ranks": path.map(lambda network: stable_ranks(start.gram(network), outer)),
        "beyond": path.map(lambda network: beyond_two(start.gram(network))),
        "spread": path.map(lambda network: diagnostics.margins(network, start.data).spread),
        "margin": path.map(lambda network: diagnostics.margins(network, start.data).values.mean()),
    }


def _one_steps(settings: Mapping[str, Any], reduced: Span) -> Numbers:
    """One step from initial weights of many sizes in closed form, for the small and the large step."""
    starts = [shrunk(reduced, factor) for factor in _curve_factors(settings["tiny"])]
    etas = settings["step"], settings["large_step"]
    return stacked([stacked([one_step(start, None, eta) for start in starts]) for eta in etas])


def _curve_factors(tiny: float) -> np.ndarray:
    """Sizes of initial weights from 1 to the tiny one."""
    return np.geomspace(1, tiny, 13)


def _cases(settings: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Step and leak of the runs on orthogonal inputs: all leaks with the small step, one with the large."""
    small = [(settings["orthogonal_step"], leak) for leak in settings["leaks"]]
    return [*small, (settings["large_step"], settings["leak"])]


def _orthogonal(settings: Mapping[str, Any], seeds: np.ndarray, report: Report) -> Numbers:
    """Tiny initial weights on orthogonal inputs, as many and as long as those of the mixture."""
    n, d = settings["samples"], settings["dimensions"][-1]
    rows = []
    for seed in seeds:
        report(f"orthogonal inputs, seed {seed}")
        data = tasks.orthogonal(n, d, seed=settings["data_seed"] + int(seed), norms=np.sqrt(d))
        network = networks.xavier((d, settings["width"], 1), seed=int(seed), signs=True)
        reduced = shrunk(networks.in_span(network, data), settings["tiny"])
        rows.append(stacked([_case(settings, reduced, *case) for case in _cases(settings)]))
    return stacked(rows)


def _case(settings: Mapping[str, Any], reduced: Span, eta: float, leak: float) -> dict[str, Any]:
    """One run, its limit, and the quantities derived once the activation pattern is fixed."""
    data = reduced.data
    start = Span(Network(reduced.network.weights, leak=leak), data, reduced.basis, reduced.rest)
    path = descended(start.network, data, step=eta, doublings=settings["long"])
    return {
        **along(path, start),
        **one_step(start, path[1], eta),
        **since_settled(path, start, eta),
        "limit": theory.neighbors.stable_rank_limit(start.network, data),
    }
