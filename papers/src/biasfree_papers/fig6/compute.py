"""Runs of Fig. 6: descent for every δ and seed, exact flow, and predictions from the initial weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import networks
from biasfree.arrays import positive
from biasfree.data import Dataset, six_points
from biasfree.diagnostics import boundary_distance, nonlinear_share
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.theory import SixPointEscape, six_point_escape
from biasfree.trajectory import Trajectory
from biasfree_papers.named_arrays import layers
from biasfree_papers.settings import Report, SeededSettings, at_least, only, seeds, setting, several
from biasfree_papers.shared.trajectories import least_squares_loss

SAVES = 600  # of every run
SMALL_DELTA = 0.1  # the largest δ that the straight line is fitted to
ZERO = 0.01  # of the plateau's loss: a network below has learned all
_CURVE = np.geomspace(0.015, 0.45, 40)  # where predictions over many seeds are made
_DELTAS = several(low=1e-3, high=0.5)
_SHARE = only(positive, lambda share: share < 1, "be a share of the plateau's loss, below 1")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Fig. 6."""

    width: int = setting(100, "a number of neurons", at_least(1))
    scale: float = setting(1e-3, "the initial norm of a layer, a positive number", positive)
    step: float = setting(0.025, "the step of descent, a positive number", positive)
    shown: float = setting(0.15, "the δ that is shown over time, a positive number", positive)
    deltas: tuple[float, ...] = setting(
        (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3), "δ from 0.001 to 0.5", _DELTAS
    )
    flows: tuple[float, ...] = setting(
        (0.05, 0.1, 0.15, 0.2), "δ from 0.001 to 0.5 at which the flow is exact", _DELTAS
    )
    horizon: float = setting(150.0, "δ times the last time, a positive number", positive)
    left: float = setting(0.8, "the share of the plateau's loss below which it is left", _SHARE)
    rtol: float = setting(
        1e-6, "the simulator's tolerance for a step of the flow, a positive number", positive
    )
    draws: int = setting(400, "a number of seeds of the weights for predictions", at_least(1))
    seeds: int = seeds(16)


SECONDS = 70
SMALL: dict[str, Any] = {
    "width": 40, "scale": 1e-2, "shown": 0.1, "deltas": (0.05, 0.1), "flows": (0.1,), "horizon": 100,
    "rtol": 1e-4, "draws": 20, "seeds": 3,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Plateau durations and final losses; one δ and δ = 0 over time; predictions from initial weights."""
    return xarray.merge(
        [
            {"left": settings.left, "step": settings.step, "slopes": ("set", neuron_slopes(six_points(0.0)))},
            _swept(settings, report),
            _shown(settings, report),
            _flows(settings, report),
            _predictions(settings, report),
        ],
        join="exact",
    )


def _start(settings: Settings, seed: int) -> Network:
    return networks.gaussian((2, settings.width, 1), scale=settings.scale, seed=seed)


def _starts(settings: Settings) -> list[Network]:
    return [_start(settings, seed) for seed in settings.all_seeds]


def _escape(start: Network, delta: float) -> SixPointEscape:
    """The prediction for one network, also where theory is not accurate: the figure shows where that is."""
    beyond = dict.fromkeys(("small_tolerance", "growing_tolerance", "halves_tolerance"), np.inf)
    return six_point_escape(start, delta, delta_tolerance=2.0, **beyond)


def _end(settings: Settings, delta: float) -> float:
    """The end time of the runs: plateaus last for about 1/δ."""
    return settings.horizon / delta


def _descend(settings: Settings, delta: float, end: float, **kept: Any) -> list[Trajectory]:
    from biasfree.dynamics import gradient_descent

    steps = round(end / settings.step)
    every = max(steps // SAVES, 1)
    options = {"step": settings.step, "steps": steps, "save_every": every, **kept}
    return gradient_descent(_starts(settings), six_points(delta), **options)


def _swept(settings: Settings, report: Report) -> xarray.Dataset:
    """Every δ and seed: the time and duration of the plateau, and the end of the run."""

    def descents(delta: float, seed: list[int]) -> dict[str, Any]:
        end = _end(settings, delta)
        report(f"descent at δ = {delta:g}, {len(seed)} seeds to t = {end:.0f}")
        runs = _descend(settings, delta, end, save=lambda _: 0.0)
        duration = [_plateau(run, delta, settings.left)[1] for run in runs]
        predicted = [_escape(start, delta).duration(settings.left) for start in _starts(settings)]
        final = np.array([run.loss[-1] for run in runs])
        return {"duration": duration, "predicted": predicted, "final": final}

    found = tabulate(descents, over={"delta": settings.deltas}, seeds=settings.all_seeds, group="seed")
    level = [least_squares_loss(six_points(delta)) for delta in settings.deltas]
    return fitted(found.assign(level=("delta", level)))


def fitted(found: xarray.Dataset) -> xarray.Dataset:
    """Quartiles of 1/duration over the seeds that escape, and the slope of their medians for small δ."""
    rate = _quartiles(1 / found.duration.values)
    delta = found.delta.values
    small = (delta <= max(SMALL_DELTA, delta[0])) & np.isfinite(rate[1])
    slope = delta[small] @ rate[1, small] / np.sum(delta[small] ** 2) if small.any() else np.nan
    return found.assign(rate=(("quartile", "delta"), rate), slope=slope, small=("delta", small))


def _quartiles(rates: np.ndarray) -> np.ndarray:
    """Quartiles of every row over the seeds that escape; NaN if none does."""
    rows = [np.quantile(r[r > 0], [0.25, 0.5, 0.75]) if (r > 0).any() else np.full(3, np.nan) for r in rates]
    return np.array(rows).T


def _plateau(run: Trajectory, delta: float, left: float) -> tuple[float, float]:
    """From half-way down to the least-squares loss until `left` times it; infinite if the run ends before."""
    level = least_squares_loss(six_points(delta))
    start = run.time_of((run.loss[0] + level) / 2)
    return start, run.time_of(left * level) - start


def _shown(settings: Settings, report: Report) -> xarray.Dataset:
    """One δ, and δ = 0, over time; the first seed's network in the middle of its plateau and at the end."""
    delta, starts = settings.shown, _starts(settings)
    end, data = _end(settings, delta), six_points(delta)
    report(f"descent at δ = {delta:g} and 0 over time")
    runs = _descend(settings, delta, end)
    symmetric = _descend(settings, 0.0, end, save=lambda _: 0.0)
    middles = [run[_middle(run, delta, settings.left)] for run in runs]
    escape = _escape(starts[0], delta)
    return xarray.Dataset(
        {
            "shown": delta,
            "loss": (("seed", "time"), [run.loss for run in runs]),
            "symmetric_loss": (("seed", "time"), [run.loss for run in symmetric]),
            "predicted_loss": (
                ("seed", "time"),
                [_escape(start, delta).loss(runs[0].ts) for start in starts],
            ),
            "shown_level": least_squares_loss(data),
            "shown_stuck": escape.stuck_level,
            "predicted_share": escape.nonlinear_share,
            "nonlinear_share": ("seed", [nonlinear_share(middle, data.x)[0] for middle in middles]),
            **layers("middle", middles[0]),
            **layers("last", runs[0][-1]),
            "middle_nearest": boundary_distance(middles[0], data).min(),
            "last_nearest": boundary_distance(runs[0][-1], data).min(),
        },
        {"time": runs[0].ts, "seed": settings.all_seeds},
    )


def _middle(run: Trajectory, delta: float, left: float) -> int:
    """The saved time next to the middle of the plateau, which may last until the end."""
    start, lasts = _plateau(run, delta, left)
    middle = (start + min(start + lasts, run.ts[-1])) / 2
    return int(np.argmin(np.abs(run.ts - middle)))


def _flows(settings: Settings, report: Report) -> xarray.Dataset:
    """The exact flow of the first seed at some δ."""
    from biasfree.dynamics import gradient_flow, sharpness

    def flow(flow_delta: float) -> dict[str, float]:
        report(f"exact flow at δ = {flow_delta:g}")
        data, ts = six_points(flow_delta), np.linspace(0, _end(settings, flow_delta), SAVES + 1)
        start, rtol = _start(settings, settings.seed), settings.rtol
        run = gradient_flow(start, data, ts, rtol=rtol, method="events", save=lambda _: 0.0)
        return {
            "flow_duration": _plateau(run, flow_delta, settings.left)[1],
            "flow_final": float(run.loss[-1]),
            "flow_error": float(run.stats.error or 0.0),
            "stable_step": 2 / sharpness(run[-1], data),
        }

    return tabulate(flow, over={"flow_delta": settings.flows})


def _predictions(settings: Settings, report: Report) -> xarray.Dataset:
    """Predictions for many seeds: the share that escapes, and quartiles of 1/duration of those."""
    report("predictions for many seeds")
    starts = [_start(settings, settings.seed + i) for i in range(settings.draws)]
    rates = 1 / np.array([[_escape(s, delta).duration(settings.left) for s in starts] for delta in _CURVE])
    return xarray.Dataset(
        {
            "curve_share": ("curve", np.mean(rates > 0, axis=1)),
            "curve_rate": (("quartile", "curve"), _quartiles(rates)),
        },
        {"curve": _CURVE},
    )


def neuron_slopes(data: Dataset) -> np.ndarray:
    """|⟨(y − w·x)x⟩| over the samples that a neuron is active on, w least squares, for every such set."""
    residual = data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    angles = np.arctan2(data.x[:, 1], data.x[:, 0]) + np.pi / 2
    edges = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 12))
    middles = (edges + np.append(edges[1:], edges[0] + 2 * np.pi)) / 2
    active = data.x @ np.stack([np.cos(middles), np.sin(middles)]) > 0
    return np.linalg.norm((active * residual[:, None]).T @ data.x / len(data), axis=1)
