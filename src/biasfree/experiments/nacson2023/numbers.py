"""Descent on small sets of the plane at a ladder of steps, from the same starts, and a kick at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers, Report
from biasfree.experiments.measures import stacked, weight_gap
from biasfree.experiments.nacson2023 import minima
from biasfree.experiments.settings import seeds_of
from biasfree.networks import Network
from biasfree.theory.planar_cones import unit
from biasfree.theory.stable_minima import output_gradients
from biasfree.trajectory import Trajectory

#: What becomes of a run.
CONVERGED, RESTING, MOVING, DIVERGED = range(4)
_SAVES = 8  # saved states of a run; the loss has to be low at the last quarter of them
_CURVE = 400  # first steps whose losses are shown
_POINTS = 6  # samples of the largest set


def circle() -> Dataset:
    """Five evenly spaced points of the circle, labels alternating."""
    return tasks.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))


def generic() -> Dataset:
    """Five points of the circle at random angles, Gaussian targets."""
    rng = np.random.default_rng(0)
    return Dataset(unit(rng.uniform(0, 2 * np.pi, 5)), rng.normal(size=5))


SETS = {
    "circle": circle,
    "generic": generic,
    "six points": tasks.six_points,
    "orthogonal pair": tasks.orthogonal_pair,
}


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every set at every step, in units of the largest step that any minimum of the set can be stable at."""
    found = stacked([_on_set(settings, name, report) for name in SETS])
    common = {name: np.array(settings[name]) for name in ("rungs", "level", "kicked")}
    return {**found, **common, "sets": np.array(list(SETS)), "seeds": seeds_of(settings)}


def _on_set(settings: Mapping[str, Any], name: str, report: Report) -> Numbers:
    data = SETS[name]()
    facts = _facts(settings, data)
    sizes, scale = (2, settings["width"], 1), float(facts["scale"])
    starts = [networks.gaussian(sizes, scale=scale, seed=int(seed)) for seed in seeds_of(settings)]
    ends, rows = [], []
    for rung in settings["rungs"]:
        report(f"{name}: step {rung:.3g} of the largest")
        step = float(rung * facts["ceiling"])
        runs = _descend(settings, starts, data, step)
        ends.append(runs[0][-1])
        rows.append(_at_step(settings, runs, data, step))
    found = stacked(rows)
    steps = facts["ceiling"] * np.array(settings["rungs"])
    return {**facts, **found, **_first_start(starts, data, steps, found["outcome"][:, 0], ends)}


def _facts(settings: Mapping[str, Any], data: Dataset) -> Numbers:
    """What is known of a set before any run, and the initial scale: √(least norm) times `excess`."""
    least_norm, multipliers = theory.least_path_norm(data), theory.path_norm_multipliers(data)
    facts = {
        "ceiling": theory.largest_settling_step(data),
        "least_norm": least_norm,
        "multipliers": np.linalg.norm(multipliers),
        "least_gain": 1 / theory.largest_path_norm(data, step=1.0),
        "scale": settings["excess"] * np.sqrt(least_norm),
        "longest": np.linalg.norm(data.x, axis=1).max(),
        "samples": len(data),
    }
    return {name: np.array(value) for name, value in facts.items()}


def _descend(
    settings: Mapping[str, Any], starts: list[Network], data: Dataset, step: float
) -> list[Trajectory]:
    """All starts side by side; those that diverge end there."""
    from biasfree.dynamics import gradient_descent

    steps = max(int(settings["time"] / step), settings["steps"])
    every = -(-steps // _SAVES)
    return gradient_descent(
        starts, data, step=step, steps=_SAVES * every, save_every=every, keep_diverged=True
    )


def _at_step(settings: Mapping[str, Any], runs: list[Trajectory], data: Dataset, step: float) -> Numbers:
    """One step size: a row for every start; what is measured of a minimum is NaN where none was reached.

    `reach` is how far a kicked minimum can go: the kick, and as many steps as follow it, of at most
    η|∇L| ≤ η√(2·sharpness·loss) each. What is nearer to a kink counts as on it.
    """
    outcome = np.array([_outcome(run, settings["level"]) for run in runs])
    converged, ends = outcome == CONVERGED, [run[-1] for run in runs]
    found = stacked(
        [minima.measured(e, data) if c else minima.NONE for e, c in zip(ends, converged, strict=True)]
    )
    kicked = _kicked(settings, ends, data, step, converged)
    each = step * np.sqrt(2 * found["sharpness"] * kicked["kick_loss"])
    reach = kicked["distance"] + settings["kicked"] * each
    tangent = [
        theory.tangent_sharpness(e, data, within=r, fit_tolerance=np.inf) if c else np.nan
        for e, r, c in zip(ends, reach, converged, strict=True)
    ]
    loss = np.array([run.loss[-1] for run in runs])
    return {**found, **kicked, "outcome": outcome, "loss": loss, "reach": reach, "tangent": np.array(tangent)}


def _outcome(run: Trajectory, level: float) -> int:
    if run.stats.stopped.startswith("diverged"):
        return DIVERGED
    late = run.loss[-1 - _SAVES // 4 :]
    if late.max() <= level:
        return CONVERGED
    return RESTING if np.ptp(late) <= 1e-9 * late[-1] else MOVING


def _kicked(
    settings: Mapping[str, Any], ends: list[Network], data: Dataset, step: float, converged: np.ndarray
) -> Numbers:
    """Every minimum moved a little in a random direction, and descent from there.

    `top` is the share of the residual that the kick puts along the sharpest direction.
    """
    from biasfree.dynamics import gradient_descent

    found = np.full((4, len(ends)), np.nan)
    if converged.any():
        there = np.where(converged, np.arange(len(ends)), converged.argmax())  # as many as compiled for
        minimum = [ends[i] for i in there]
        moved = [_moved(one, settings["kick"], i) for i, one in enumerate(minimum)]
        steps, every = settings["kicked"], max(settings["kicked"] // 50, 1)
        runs = gradient_descent(moved, data, step=step, steps=steps, save_every=every, keep_diverged=True)
        rows = [
            (weight_gap(a, b), run.loss[0], _largest(run), _top(a, b, data))
            for a, b, run in zip(minimum, moved, runs, strict=True)
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


def _first_start(
    starts: list[Network], data: Dataset, steps: np.ndarray, outcome: np.ndarray, ends: list[Network]
) -> Numbers:
    """Of the first start: its functions on the circle at the least and the largest step it converges at, and
    the losses of its first steps there and half-way between."""
    stable = np.flatnonzero(outcome == CONVERGED)
    shown = stable[[0, len(stable) // 2, -1]] if len(stable) else np.zeros(3, dtype=int)
    angles = np.linspace(-np.pi, np.pi, 721)
    points = np.full((2, _POINTS), np.nan)
    points[0, : len(data)] = np.arctan2(data.x[:, 1], data.x[:, 0])
    points[1, : len(data)] = data.y / np.linalg.norm(data.x, axis=1)
    return {
        "angles": angles,
        "functions": np.array(
            [ends[i](unit(angles)) if len(stable) else np.nan * angles for i in shown[[0, 2]]]
        ),
        "curves": np.array([_curve(starts, data, float(steps[i])) for i in shown]),
        "shown": shown,
        "points": points,
    }


def _curve(starts: list[Network], data: Dataset, step: float) -> np.ndarray:
    """The losses of the first start; all go, since a run alone would compile anew."""
    from biasfree.dynamics import gradient_descent

    loss = gradient_descent(starts, data, step=step, steps=_CURVE, keep_diverged=True)[0].loss
    return np.append(loss, np.full(_CURVE + 1 - len(loss), np.inf))
