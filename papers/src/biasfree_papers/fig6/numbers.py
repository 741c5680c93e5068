"""Runs of Fig. 6: descent for every δ and seed, exact flow, and predictions from the initial weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import networks
from biasfree.data import six_points
from biasfree.diagnostics import nonlinear_share
from biasfree.networks import Network
from biasfree.theory import SixPointEscape, six_point_escape
from biasfree.trajectory import Trajectory
from biasfree_papers.fig6.slopes import neuron_slopes
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, least_squares_loss, named
from biasfree_papers.types import Numbers, Report

SAVES = 600  # of every run
SMALL = 0.1  # the largest δ that the straight line is fitted to
_CURVE = np.geomspace(0.015, 0.45, 40)  # where predictions over many draws are made


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Plateau durations and final losses; one δ and δ = 0 over time; predictions from initial weights."""
    seeds = seeds_of(settings)
    starts = [_start(settings, int(seed)) for seed in seeds]
    return {
        "seeds": seeds,
        "left": np.array(settings["left"]),
        "step": np.array(settings["step"]),
        **_swept(settings, starts, report),
        **_shown(settings, starts, report),
        **_flows(settings, starts[0], report),
        **_many_draws(settings, report),
        "slopes": neuron_slopes(six_points(0.0)),
    }


def _start(settings: Mapping[str, Any], seed: int) -> Network:
    return networks.gaussian((2, settings["width"], 1), scale=settings["scale"], seed=seed)


def _escape(start: Network, delta: float) -> SixPointEscape:
    """The prediction for one network, also where theory is not accurate: the figure shows where that is."""
    beyond = dict.fromkeys(("small_tolerance", "growing_tolerance", "halves_tolerance"), np.inf)
    return six_point_escape(start, delta, delta_tolerance=2.0, **beyond)


def _end(settings: Mapping[str, Any], delta: float) -> float:
    """The end time of the runs: plateaus last for about 1/δ."""
    return settings["horizon"] / delta


def _descend(settings: Mapping[str, Any], starts: list[Network], delta: float, end: float, **kept: Any):
    from biasfree.dynamics import gradient_descent

    steps = round(end / settings["step"])
    every = max(steps // SAVES, 1)
    data = six_points(delta)
    return gradient_descent(starts, data, step=settings["step"], steps=steps, save_every=every, **kept)


def _swept(settings: Mapping[str, Any], starts: list[Network], report: Report) -> Numbers:
    """Every δ and seed: the time and duration of the plateau, and the end of the run."""
    found, left = [], settings["left"]
    for delta in settings["deltas"]:
        end = _end(settings, delta)
        report(f"descent at δ = {delta:g}, {len(starts)} seeds to t = {end:.0f}")
        runs = _descend(settings, starts, delta, end, save=lambda _: 0.0)
        found.append([(*_plateau(run, delta, left), float(run.loss[-1])) for run in runs])
    begins, durations, finals = np.moveaxis(np.array(found), -1, 0)
    deltas = settings["deltas"]
    return {
        "deltas": np.array(deltas),
        "ends": np.array([_end(settings, delta) for delta in deltas]),
        "begins": begins,
        "durations": durations,
        **_fitted(np.array(deltas), durations),
        "finals": finals,
        "predicted": np.array([[_escape(s, d).duration(left) for s in starts] for d in deltas]),
        "plateaus": np.array([least_squares_loss(six_points(delta)) for delta in deltas]),
        "stuck": np.array([_escape(starts[0], delta).stuck_level for delta in deltas]),
    }


def _fitted(deltas: np.ndarray, durations: np.ndarray) -> Numbers:
    """Quartiles of 1/duration over the seeds that escape, and the slope of their medians for small δ."""
    quartiles = np.array([_quartiles(1 / row) for row in durations]).T
    small = (deltas <= max(SMALL, deltas[0])) & np.isfinite(quartiles[1])
    square = np.sum(deltas[small] ** 2)
    slope = deltas[small] @ quartiles[1, small] / square if small.any() else np.nan
    return {"rates": quartiles, "slope": np.array(slope), "small": small}


def _quartiles(rates: np.ndarray) -> np.ndarray:
    """The value of the seeds that escape; NaN if none does."""
    return np.quantile(rates[rates > 0], [0.25, 0.5, 0.75]) if (rates > 0).any() else np.full(3, np.nan)


def _plateau(run: Trajectory, delta: float, left: float) -> tuple[float, float]:
    """From half-way down to the least-squares loss until `left` times it; infinite if the run ends before."""
    level = least_squares_loss(six_points(delta))
    start = run.time_of((run.loss[0] + level) / 2)
    return start, run.time_of(left * level) - start


def _shown(settings: Mapping[str, Any], starts: list[Network], report: Report) -> Numbers:
    """One δ, and δ = 0, over time; the first seed's network in the middle of its plateau and at the end."""
    delta = settings["shown"]
    end, data = _end(settings, delta), six_points(delta)
    report(f"descent at δ = {delta:g} and 0 over time")
    runs = _descend(settings, starts, delta, end)
    symmetric = _descend(settings, starts, 0.0, end, save=lambda _: 0.0)
    middles = [run[_middle(run, delta, settings["left"])] for run in runs]
    return {
        "shown": np.array(delta),
        "shown_ts": runs[0].ts,
        "shown_loss": np.array([run.loss for run in runs]),
        "shown_level": np.array(least_squares_loss(data)),
        "shown_share": np.array(_escape(starts[0], delta).nonlinear_share),
        "shown_stuck": np.array(_escape(starts[0], delta).stuck_level),
        "symmetric_loss": np.array([run.loss for run in symmetric]),
        "sigmoids": np.array([_escape(start, delta).loss(runs[0].ts) for start in starts]),
        "share": np.array([nonlinear_share(middle, data.x)[0] for middle in middles]),
        **named("middle", layers(middles[0])),
        **named("last", layers(runs[0][-1])),
    }


def _middle(run: Trajectory, delta: float, left: float) -> int:
    """The saved time next to the middle of the plateau, which may last until the end."""
    start, lasts = _plateau(run, delta, left)
    middle = (start + min(start + lasts, run.ts[-1])) / 2
    return int(np.argmin(np.abs(run.ts - middle)))


def _flows(settings: Mapping[str, Any], start: Network, report: Report) -> Numbers:
    """The exact flow of the first seed at some δ."""
    from biasfree.dynamics import gradient_flow, sharpness

    found = []
    for delta in settings["flows"]:
        report(f"exact flow at δ = {delta:g}")
        ts = np.linspace(0, _end(settings, delta), SAVES + 1)
        run = gradient_flow(
            start, six_points(delta), ts, rtol=settings["rtol"], method="events", save=lambda _: 0.0
        )
        sharp = sharpness(run[-1], six_points(delta))
        found.append((_plateau(run, delta, settings["left"])[1], run.loss[-1], run.stats.error, sharp))
    durations, finals, errors, sharp = np.array(found).T
    return {
        "flow_deltas": np.array(settings["flows"]),
        "flow_durations": durations,
        "flow_finals": finals,
        "flow_errors": errors,
        "stable_steps": 2 / sharp,
    }


def _many_draws(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Predictions for many seeds: the share that escapes, and quartiles of 1/duration of those."""
    report("predictions for many seeds")
    starts = [_start(settings, settings["seed"] + i) for i in range(settings["draws"])]
    left = settings["left"]
    rates = 1 / np.array([[_escape(s, delta).duration(left) for s in starts] for delta in _CURVE])
    return {
        "curve": _CURVE,
        "curve_share": np.mean(rates > 0, axis=1),
        "curve_rates": np.array([_quartiles(row) for row in rates]).T,
        "draws": np.array(len(starts)),
    }
