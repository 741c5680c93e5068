"""Runs behind Corollary 6: rank-one initial weights under both losses, and the reduced flow to huge times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.limit.margin import Asymptote
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named, stacked
from biasfree_papers.types import Numbers, Report

_COARSER = 100.0  # the tolerance of the runs that tell how accurate the others are
_REDUCED = {"square": 1e-10, "logistic": 1e-9}  # tolerance of the reduced flow


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Square and logistic loss from the same weights, every leak, and other dimensions by theory alone."""
    if settings["samples"] < settings["dimensions"]:
        raise ValueError(
            f"samples must be at least dimensions, {settings['dimensions']}, got {settings['samples']}: with "
            "fewer Σ is singular, and least squares has no unique solution."
        )
    seeds = seeds_of(settings)
    starts = [_start(settings, settings["dimensions"], int(seed)) for seed in seeds]
    found = {"seeds": seeds, "leaks": np.array(settings["leaks"])}
    data = _regression(settings, settings["dimensions"])
    ts = np.linspace(0, _long(starts, data, settings["decays"]), settings["times"])
    found |= named("square", _losses(settings, starts, data, ts, "square", report))
    found |= named("square", _end(found["square_maps"], data, ts))
    labels = _labels(settings, settings["dimensions"])
    ts = np.append(0.0, np.geomspace(settings["end"] ** -0.2, settings["end"], settings["times"] - 1))
    found |= named("logistic", _losses(settings, starts, labels, ts, "logistic", report))
    found |= named("logistic", _towards(found["logistic_maps"], labels))
    return found | _margins(settings, int(seeds[0]), report)


def _regression(settings: Mapping[str, Any], dimensions: int) -> Dataset:
    return tasks.odd_sine(settings["samples"], dimensions, seed=settings["data_seed"])


def _labels(settings: Mapping[str, Any], dimensions: int) -> Dataset:
    """The same inputs, labeled by the sign of a linear function."""
    teacher = tasks.linear_teacher(settings["samples"], dimensions, seed=settings["data_seed"])
    return Dataset(teacher.x, np.where(teacher.y > 0, 1.0, -1.0))


def _start(settings: Mapping[str, Any], dimensions: int, seed: int) -> Network:
    """A linear rank-one network in a random direction."""
    direction = np.random.default_rng(seed).normal(size=dimensions)
    return networks.rank_one(direction, width=settings["width"], scale=settings["scale"], leak=1.0, seed=seed)


def _long(starts: list[Network], data: Dataset, decays: float) -> float:
    """A rescaled time at which the growth is over and the slowest mode, of rate |w*|λ_min, has decayed."""
    length = np.linalg.norm(theory.least_squares(data))
    grown = max(np.log(length / start.norms[0] ** 2) for start in starts) / np.linalg.norm(data.beta)
    return float(max(grown, 0) + decays / (length * np.linalg.eigvalsh(data.sigma)[0]))


def _losses(
    settings: Mapping[str, Any],
    starts: list[Network],
    data: Dataset,
    ts: np.ndarray,
    loss: str,
    report: Report,
) -> Numbers:
    """Every seed and leak at the same rescaled times: maps, losses, and distances between runs."""
    rows = []
    for i, start in enumerate(starts):
        report(f"{loss} loss, seed {i + 1} of {len(starts)}")
        pairs = [
            _flows(theory.from_linear_twin(start, leak=leak), data, ts, loss, settings["rtol"])
            for leak in settings["leaks"]
        ]
        linear = _flows(start, data, ts, loss, settings["rtol"])
        rows.append(_row(pairs, linear, data, loss))
    return {"ts": ts, **stacked(rows)}


def _flows(
    start: Network, data: Dataset, ts: np.ndarray, loss: str, rtol: float
) -> tuple[Trajectory, Trajectory]:
    """The flow at the tolerance asked for and at a coarser one; of rank-one networks kinks of ±x cancel."""
    from biasfree.dynamics import gradient_flow

    own = ts * 2 / (1 + start.leak)
    fine, coarse = (
        gradient_flow(start, data, own, loss=loss, rtol=rtol * factor) for factor in (1, _COARSER)
    )
    return fine, coarse


def _row(
    pairs: list[tuple[Trajectory, Trajectory]],
    twins: tuple[Trajectory, Trajectory],
    data: Dataset,
    loss: str,
) -> dict[str, Any]:
    """One seed: runs of all leaks against the linear twin's and against the reduced flow."""
    linear = twins[0]
    reduced, coarse = (
        theory.reduced_flow(linear[0], data, linear.ts, loss=loss, rtol=_REDUCED[loss] * factor)
        for factor in (1, _COARSER)
    )
    return {
        "maps": [fine.maps[:, 0] for fine, _ in pairs],
        "loss": [fine.loss for fine, _ in pairs],
        "reduced": reduced.maps[:, 0],
        "norms": [fine[-1].norms for fine, _ in pairs],
        "twin_error": [diagnostics.weight_errors(fine, linear).max() for fine, _ in pairs],
        "weight_accuracy": [_apart(fine, rough) for fine, rough in pairs],
        "linear_accuracy": _apart(*twins),
        "accuracy": [_gap(fine.maps, rough.maps) + _gap(reduced.maps, coarse.maps) for fine, rough in pairs],
    }


def _apart(one: Trajectory, other: Trajectory) -> float:
    """The largest |W − W'|/|W| over time, W the weights of both layers."""
    squares = [
        sum(np.sum(w**2, axis=(1, 2)) for w in layers)
        for layers in (one.weights, [a - b for a, b in zip(one.weights, other.weights, strict=True)])
    ]
    return float(np.sqrt(squares[1] / squares[0]).max())


def _gap(one: np.ndarray, other: np.ndarray) -> float:
    """The largest |w − w'| over time, over the largest |w|."""
    return float(np.linalg.norm(one - other, axis=-1).max() / np.linalg.norm(one, axis=-1).max())


def _end(maps: np.ndarray, data: Dataset, ts: np.ndarray) -> Numbers:
    """Least squares, and the bound on the distance from it that the loss gives.

    The excess E = δᵀΣδ/2 of δ = w − w* obeys dE/dt̃ = −|w|(|g|² + (g·r)²) ≤ −2λ_min|w|E, since
    |g|² = δᵀΣ²δ, so |δ| ≤ √(2E(0)/λ_min)·exp(−λ_min∫|w|dt̃).
    """
    from scipy.integrate import cumulative_simpson

    target, least = theory.least_squares(data), np.linalg.eigvalsh(data.sigma)[0]
    begun = maps[:, :, 0] - target
    excess = np.einsum("...i,ij,...j", begun, data.sigma, begun)
    grown = cumulative_simpson(np.linalg.norm(maps, axis=-1), x=ts, initial=0)
    return {
        "target": target,
        "bound": np.sqrt(excess / least)[..., None] * np.exp(-least * grown) / np.linalg.norm(target),
    }


def _towards(maps: np.ndarray, data: Dataset) -> Numbers:
    """Angle and margin of simulated maps, over those of the hard margin."""
    limit = Asymptote.of(data)
    found = limit.numbers(maps.reshape(-1, maps.shape[-1]))
    return {
        name: found[own].reshape(maps.shape[:-1])
        for name, own in (("angle", "angle"), ("share", "margin_share"))
    }


def _margins(settings: Mapping[str, Any], seed: int, report: Report) -> Numbers:
    """The reduced flow to the horizon, for every number of inputs, against the largest margin."""
    dimensions = sorted({settings["dimensions"], *settings["others"]})
    ts = np.geomspace(1, settings["horizon"], 4 * settings["times"])
    found: Numbers = {"margin_ts": ts, "margin_dimensions": np.array(dimensions)}
    for d in dimensions:
        report(f"reduced flow to t = {settings['horizon']:g}, {d} inputs")
        data, start = _labels(settings, d), _start(settings, d, seed)
        w = theory.reduced_flow(start, data, ts, loss="logistic", rtol=_REDUCED["logistic"]).maps[:, 0]
        limit = Asymptote.of(data)
        found |= {f"{name}_{d}": value for name, value in limit.numbers(w).items()}
    return found
