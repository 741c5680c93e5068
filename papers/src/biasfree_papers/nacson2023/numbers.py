"""Descent on small sets in the plane at several steps, from the same weights, then a perturbation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.neighbors import output_gradients
from biasfree.trajectory import Trajectory
from biasfree_papers.nacson2023 import minima
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import stacked, weight_gap
from biasfree_papers.types import Numbers, Report

#: What becomes of a run.
CONVERGED, RESTING, MOVING, DIVERGED = range(4)
_SAVES = 8  # saved states of a run; the loss has to be low at the last quarter of them
_CURVE = 400  # first steps whose losses are shown
_POINTS = 6  # samples of the largest set


def circle() -> Dataset:
    """Five evenly spaced points of the circle, labels alternating."""
    return tasks.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))


def generic(seed: int) -> Dataset:
    """One random point in every fifth of the circle, and Gaussian targets scaled so that η_c is 1.

    η_c falls as targets grow, and the runs of a batch share their step.
    """
    rng = np.random.default_rng(seed)
    x, y = _unit(2 * np.pi * (np.arange(5) + rng.uniform(size=5)) / 5), rng.normal(size=5)
    return Dataset(x, y * theory.neighbors.largest_settling_step(Dataset(x, y)))


#: Those that are drawn, for every start anew, take a seed.
DRAWN = (generic,)
SETS: dict[str, Callable[..., Dataset]] = {
    "circle": circle,
    "generic": generic,
    "six points": tasks.six_points,
    "orthogonal pair": tasks.orthogonal_pair,
}


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every set at every step, in units of the largest step that any minimum of the set can be stable at."""
    found = stacked([_on_set(settings, name, report) for name in SETS])
    common = {name: np.array(settings[name]) for name in ("rungs", "level", "kicked")}
    curves = _curves(settings, {name: values[0] for name, values in found.items()})
    return {**found, **common, "curves": curves, "sets": np.array(list(SETS)), "seeds": seeds_of(settings)}


def _on_set(settings: Mapping[str, Any], name: str, report: Report) -> Numbers:
    data = _drawn(settings, SETS[name])
    facts = _facts(settings, data)
    starts, ends, rows = _starts(settings, facts), [], []
    for rung in settings["rungs"]:
        report(f"{name}: step {rung:.3g} of the largest")
        step = float(rung * facts["ceiling"][0])
        runs = _descend(settings, starts, data, step)
        ends.append(runs[0][-1])
        rows.append(_at_step(settings, runs, data, step))
    found = stacked(rows)
    return {**facts, **found, **_first_start(data[0], found["outcome"][:, 0], ends)}


def _drawn(settings: Mapping[str, Any], make: Callable[..., Dataset]) -> list[Dataset]:
    """One set per seed: its own if sets are random, else the same one."""
    seeds = seeds_of(settings)
    return [make(int(seed)) for seed in seeds] if make in DRAWN else [make()] * len(seeds)


def _starts(settings: Mapping[str, Any], facts: Numbers) -> list[Network]:
    return [
        networks.gaussian((2, settings["width"], 1), scale=float(scale), seed=int(seed))
        for scale, seed in zip(facts["scale"], seeds_of(settings), strict=True)
    ]


def _facts(settings: Mapping[str, Any], data: list[Dataset]) -> Numbers:
    """Properties of the set of every seed, before any run; programs are solved once per set."""
    known = {one: _facts_of(settings, one) for one in dict.fromkeys(data)}
    return stacked([known[one] for one in data])


def _facts_of(settings: Mapping[str, Any], data: Dataset) -> Numbers:
    """With the initial scale: √(least norm) times `excess`."""
    multipliers = theory.neighbors.path_norm_multipliers(data)
    least_norm = multipliers @ data.y
    facts = {
        "ceiling": theory.neighbors.largest_settling_step(data),
        "least_norm": least_norm,
        "multipliers": np.linalg.norm(multipliers),
        "least_gain": 1 / theory.neighbors.largest_path_norm(data, step=1.0),
        "scale": settings["excess"] * np.sqrt(least_norm),
        "longest": np.linalg.norm(data.x, axis=1).max(),
        "samples": len(data),
    }
    return {name: np.array(value) for name, value in facts.items()}


def _descend(
    settings: Mapping[str, Any], starts: list[Network], data: list[Dataset], step: float
) -> list[Trajectory]:
    """All seeds in one batch; those that diverge end there."""
    from biasfree.dynamics import gradient_descent

    steps = max(int(settings["time"] / step), settings["steps"])
    every = -(-steps // _SAVES)
    return gradient_descent(
        starts, data, step=step, steps=_SAVES * every, save_every=every, keep_diverged=True
    )


def _at_step(
    settings: Mapping[str, Any], runs: list[Trajectory], data: list[Dataset], step: float
) -> Numbers:
    """One step size: one row per seed; measurements of a minimum are NaN where none was reached."""
    outcome = np.array([_outcome(run, settings["level"]) for run in runs])
    converged, ends = outcome == CONVERGED, [run[-1] for run in runs]
    found = stacked(
        [
            minima.measured(end, one) if there else minima.NONE
            for end, one, there in zip(ends, data, converged, strict=True)
        ]
    )
    kicked = _kicked(settings, ends, data, step, converged)
    longest = np.array([np.linalg.norm(one.x, axis=1).max() for one in data])
    reach = _reach(settings["kicked"] * step, found["sharpness"], longest, kicked)
    tangent = [
        theory.neighbors.tangent_sharpness(end, one, within=far, fit_tolerance=np.inf) if there else np.nan
        for end, one, far, there in zip(ends, data, reach, converged, strict=True)
    ]
    loss = np.array([run.loss[-1] for run in runs])
    return {**found, **kicked, "outcome": outcome, "loss": loss, "reach": reach, "tangent": np.array(tangent)}


def _reach(time: float, sharpness: np.ndarray, longest: np.ndarray, kicked: Numbers) -> np.ndarray:
    """How far from its minimum a kick Δ₀ that does not grow can get in a time ηn: what is nearer to a kink
    than that counts as on it.

    Δ ≤ Δ₀ + ηn·max|∇L|, and |∇L| ≤ (√λ + XΔ)√(2L), λ the sharpness at the minimum, X the longest input.
    """
    rate = time * np.sqrt(2 * kicked["kick_loss"])
    left = 1 - longest * rate
    return np.where(left > 0, (kicked["distance"] + np.sqrt(sharpness) * rate) / left, np.inf)


def _outcome(run: Trajectory, level: float) -> int:
    if run.stats.stopped.startswith("diverged"):
        return DIVERGED
    late = run.loss[-1 - _SAVES // 4 :]
    if late.max() <= level:
        return CONVERGED
    return RESTING if np.ptp(late) <= 1e-9 * late[-1] else MOVING


def _kicked(
    settings: Mapping[str, Any], ends: list[Network], data: list[Dataset], step: float, converged: np.ndarray
) -> Numbers:
    """Every minimum moved a little in a random direction, and descent from there, seen at every step.

    `top` is the share of the residual that the kick puts along the sharpest direction.
    """
    from biasfree.dynamics import gradient_descent

    found = np.full((4, len(ends)), np.nan)
    if converged.any():
        there = np.where(converged, np.arange(len(ends)), converged.argmax())  # as many as compiled for
        minimum, sets = [ends[i] for i in there], [data[i] for i in there]
        moved = [_moved(one, settings["kick"], i) for i, one in enumerate(minimum)]
        runs = gradient_descent(moved, sets, step=step, steps=settings["kicked"], keep_diverged=True)
        rows = [
            (weight_gap(a, b), run.loss[0], _largest(run), _top(a, b, one))
            for a, b, run, one in zip(minimum, moved, runs, sets, strict=True)
        ]
        found[:, converged] = np.array(rows).T[:, converged]
    return dict(zip(("distance", "kick_loss", "kick_largest", "top"), found, strict=True))


def _moved(network: Network, kick: float, seed: int) -> Network:
    """The network with a random vector of length kick·|weights| added."""
    rng = np.random.default_rng(seed)
    drawn = [rng.normal(size=w.shape) for w in network.weights]
    factor = kick * np.linalg.norm(network.norms) / np.sqrt(sum(np.sum(d**2) for d in drawn))
    return Network(tuple(w + factor * d for w, d in zip(network.weights, drawn, strict=True)))


def _largest(run: Trajectory) -> float:
    return np.inf if run.stats.stopped.startswith("diverged") else float(run.loss.max())


def _top(end: Network, moved: Network, data: Dataset) -> float:
    g = output_gradients(end, data)
    residual = moved(data.x) - data.y
    return float(abs(np.linalg.eigh(g @ g.T)[1][:, -1] @ residual) / np.linalg.norm(residual))


def _first_start(data: Dataset, outcome: np.ndarray, ends: list[Network]) -> Numbers:
    """For the first seed: its functions on the circle at the least and the largest step it converges at, and
    which steps these are, with one half-way between."""
    stable = np.flatnonzero(outcome == CONVERGED)
    shown = stable[[0, len(stable) // 2, -1]] if len(stable) else np.zeros(3, dtype=int)
    angles = np.linspace(-np.pi, np.pi, 721)
    points = np.full((2, _POINTS), np.nan)
    points[0, : len(data)] = np.arctan2(data.x[:, 1], data.x[:, 0])
    points[1, : len(data)] = data.y / np.linalg.norm(data.x, axis=1)
    return {
        "angles": angles,
        "functions": np.array(
            [ends[i](_unit(angles)) if len(stable) else np.nan * angles for i in shown[[0, 2]]]
        ),
        "shown": shown,
        "points": points,
    }


def _curves(settings: Mapping[str, Any], found: Numbers) -> np.ndarray:
    """The first losses of the first seed on the first set, at its three steps."""
    data, starts = _drawn(settings, next(iter(SETS.values()))), _starts(settings, found)
    steps = found["ceiling"][0] * np.array(settings["rungs"])[found["shown"]]
    return np.array([_curve(starts, data, float(step)) for step in steps])


def _curve(starts: list[Network], data: list[Dataset], step: float) -> np.ndarray:
    """The losses of the first seed; all are run, since a single run would be compiled again."""
    from biasfree.dynamics import gradient_descent

    loss = gradient_descent(starts, data, step=step, steps=_CURVE, keep_diverged=True)[0].loss
    return np.append(loss, np.full(_CURVE + 1 - len(loss), np.inf))


def _unit(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
