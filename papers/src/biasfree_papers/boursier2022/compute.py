"""Runs: two orthogonal points from ever smaller weights, and a dozen orthogonal samples from many seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several
from biasfree_papers.shared.escape_sequence import escape_sequence
from biasfree_papers.shared.orthogonal_inputs import (
    alignment_directions,
    covers_all_samples,
    escape_times,
    interpolator_norm,
)

_FOLLOWED = 5  # seeds of either kind that are followed to other scales
_FEW = 4  # neurons on two samples: enough to fit them often, from neurons active on one sample or on both
_INPUTS, _SAMPLES, _WIDTH = 10, 5, 20  # of the teacher: fewer samples than inputs leave the rank open
_CONE = 45.0  # degrees from the teacher to its inputs
_LEARNED = 1e-8  # the share of the first loss at which a flow ends
_LATE = 10.0, 2e4  # the last time over ln(1/γ): two samples escape at 2 at most, slow modes of others decay


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the pair and of the dozen."""

    width: int = setting(60, "a number of neurons", at_least(1))
    scale: float = setting(1e-6, "the initial norm of a layer, a small positive number", positive)
    scales: tuple[float, ...] = setting(
        (1e-24, 1e-12, 1e-6, 1e-3),
        "two or more scales from 1e-140 to 0.01",
        several(low=1e-140, high=1e-2, least=2),
    )
    samples: int = setting(12, "a number of orthogonal samples", at_least(2))
    draws: int = setting(40, "a number of seeds of these samples' targets and of weights", at_least(1))
    rtol: float = setting(1e-8, "the simulator's tolerance for a step, a positive number", positive)
    seeds: int = seeds(5)


SECONDS = 16
SMALL: dict[str, Any] = {
    "width": 8, "scales": (1e-8, 1e-3), "scale": 1e-3, "samples": 2, "draws": 12, "rtol": 1e-6, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Escapes and norms of both sets; names of the pair begin with pair_."""
    parts = [_pair(settings, report), _dozen(settings, report), ranks(settings, report)]
    return xarray.merge(parts, join="exact").assign(scale=settings.scale)


def _pair(settings: Settings, report: Report) -> xarray.Dataset:
    """Every scale and seed: loss over time, escapes, the end, and neurons before, between and after these."""
    from biasfree.dynamics import gradient_flow

    data = tasks.orthogonal_pair()

    def flow(gamma: float, seed: int) -> dict[str, Any]:
        report(f"the pair, γ = {gamma:g}, seed {seed}")
        start = networks.balanced((2, settings.width, 1), scale=gamma, seed=seed)
        predicted = escape_times(start, data)
        ts = np.linspace(0, 1.4 * predicted.max(), 401)
        run = gradient_flow(start, data, ts, method="events", rtol=settings.rtol)
        measured = escapes_of(run, data)
        shown = 0, measured.min() / 2, measured.mean(), ts[-1]
        at = [int(np.argmin(np.abs(ts - t))) for t in shown]
        return {
            "pair_ts": ("time", ts),
            "pair_loss": ("time", run.loss),
            "pair_predicted": ("sign", predicted),
            "pair_measured": ("sign", measured),
            "pair_falls": sum(plateau.finished for plateau in diagnostics.plateaus(run, data)),
            "shown_ts": ("when", ts[at]),
            "inner": (("when", "neuron", "axis"), run.weights[0][at]),
            "outer": (("when", "output", "neuron"), run.weights[1][at]),
            **{f"pair_{name}": value for name, value in _norms(run[-1], data).items()},
        }

    found = tabulate(flow, over={"gamma": settings.scales}, seeds=settings.all_seeds)
    rate = np.linalg.norm(alignment_directions(data), axis=1)  # |D±|
    return found.assign(pair_rate=("sign", rate))


def _norms(network: Network, data: Dataset) -> dict[str, float]:
    """½|θ|², and that of the shortest networks with these targets and with these outputs."""
    return {
        "norm": diagnostics.half_norm(network),
        "minimum": interpolator_norm(data),
        "least": interpolator_norm(Dataset(data.x, network(data.x))),
    }


def escapes_of(run: Trajectory, data: Dataset) -> np.ndarray:
    """The time at which each sign is half learned, Σ y·f = ½Σy² over its samples; infinity if never."""
    outputs = run.map(lambda network: network(data.x))
    found = []
    for sign in (1, -1):
        y = np.where(sign * data.y > 0, data.y, 0.0)
        share = outputs @ y / (y @ y)
        found.append(_reached(run.ts, share) if share[-1] >= 0.5 else np.inf)
    return np.array(found)


def _reached(ts: np.ndarray, share: np.ndarray) -> float:
    """The time at which the share reaches ½, interpolated in its logit, which is linear for one mode."""
    i = max(int(np.argmax(share >= 0.5)), 1)
    ends = np.clip(share[i - 1 : i + 1], 1e-300, 1 - 1e-15)
    return float(np.interp(0.0, np.log(ends / (1 - ends)), ts[i - 1 : i + 1]))


def targets(n: int, seed: int) -> Dataset:
    """The axes as inputs, targets of alternating signs and of sizes from ½ to 1½."""
    sizes = np.random.default_rng(seed).uniform(0.5, 1.5, size=n)
    return Dataset(np.eye(n), tasks.orthogonal(n, n).y * sizes)


def _dozen(settings: Settings, report: Report) -> xarray.Dataset:
    """All seeds at one scale, then the norms of the first few of either kind at every scale."""
    from biasfree.dynamics import gradient_flow

    draws = (settings.seed + np.arange(settings.draws)).tolist()

    def flow(gamma: float, draw: int) -> dict[str, Any]:
        report(f"{settings.samples} orthogonal samples, γ = {gamma:g}, seed {draw}")
        data = targets(settings.samples, draw)
        start = networks.balanced((len(data), settings.width, 1), scale=gamma, seed=draw)
        due = escape_sequence(start, data)
        end = 1.2 * float(due.times.max(initial=0.0)) + 8 * len(data) / np.abs(data.y).min()
        run = gradient_flow(start, data, np.linspace(0, end, 101), method="events", rtol=1e-6)
        gained = np.sum((run[-1].weights[0] > 0) & (start.weights[0] <= 0))
        covers = covers_all_samples(start, data)
        return {"covers": covers, "gained": gained, **_norms(run[-1], data)}

    every = tabulate(flow, over={"gamma": [settings.scale], "draw": draws}).isel(gamma=0, drop=True)
    kinds = [every.draw.values[every.covers == kind][:_FOLLOWED] for kind in (True, False)]
    chosen = np.sort(np.concatenate(kinds)).tolist()
    some = tabulate(flow, over={"gamma": settings.scales, "draw": chosen}).rename(draw="followed")
    covers = every.covers.sel(draw=chosen).values
    return every.assign(excess=some.norm / some.minimum - 1, followed_covers=("followed", covers))


def ranks(settings: Settings, report: Report) -> xarray.Dataset:
    """For every seed how far W₁ ends from rank one, what is left of the loss, and what predicts the rank."""
    gamma, draws = min(settings.scales), (settings.seed + np.arange(settings.draws)).tolist()

    def two(draw: int) -> dict[str, Any]:
        report(f"the rank on two samples, seed {draw}")
        start = networks.balanced((2, _FEW, 1), scale=gamma, seed=draw)
        both = (start.weights[0] > 0).all(axis=1) & (start.weights[1][0] > 0)
        found = _ended(start, Dataset(np.eye(2), np.ones(2)), _LATE[0] * -np.log(gamma))
        return {"two_left": found["left"], "two_off": found["off"], "two_both": both.any()}

    def teacher(draw: int) -> dict[str, Any]:
        report(f"the rank around a teacher, seed {draw}")
        start = networks.gaussian((_INPUTS, _WIDTH, 1), scale=gamma, seed=draw)
        found = _ended(start, around_teacher(draw), _LATE[1] * -np.log(gamma))
        return {"teacher_left": found["left"], "teacher_off": found["off"]}

    return xarray.merge([tabulate(one, over={"draw": draws}) for one in (two, teacher)], join="exact")


def around_teacher(seed: int) -> Dataset:
    """Unit inputs within `_CONE` of a unit vector v, and y = relu(v·x), which is v·x."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=_INPUTS)
    v /= np.linalg.norm(v)
    across = rng.normal(size=(_SAMPLES, _INPUTS))
    across -= np.outer(across @ v, v)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angles = np.deg2rad(_CONE) * rng.uniform(size=(_SAMPLES, 1))
    x = np.cos(angles) * v + np.sin(angles) * across
    return Dataset(x, x @ v)


def _ended(start: Network, data: Dataset, end: float) -> dict[str, float]:
    """The share of the loss that is left, and of |W₁|² off its largest singular vector."""
    from biasfree.dynamics import gradient_flow

    first = float(np.mean(data.y**2) / 2)
    run = gradient_flow(start, data, [0.0, end], until=_LEARNED * first)
    squares = np.linalg.svd(run[-1].weights[0], compute_uv=False) ** 2
    return {"left": run.loss[-1] / first, "off": 1 - squares[0] / squares.sum()}
