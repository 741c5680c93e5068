"""Runs of Fig. 1: two tasks, two and three layers, without and with biases, over seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.named_arrays import layers
from biasfree_papers.settings import Report, SeededSettings, at_least, only, seeds, setting
from biasfree_papers.shared.trajectories import accuracy, drift_of, split_defect

#: Kinds of networks, in the order of the panels: layers, and whether they have biases.
KINDS = {"two": (2, False), "two_biased": (2, True), "three": (3, False), "three_biased": (3, True)}
_FLOW_LEARNED = 1e-7  # the share of the first loss at which a flow ends
_TOGETHER = 4  # runs side by side: more of three layers leave the cache
_MOST_STEPS = 10_000  # of a flow
_EVEN = only(at_least(6), lambda n: n % 2 == 0, "be even, so that points have mirror images")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of Fig. 1."""

    width: int = setting(100, "a number of neurons of a hidden layer, 2 or more", at_least(2))
    points: int = setting(40, "a number of points of the circle, even, 6 or more", _EVEN)
    scale: float = setting(1e-2, "the initial norm of a layer, a positive number", positive)
    step: float = setting(0.2, "the step of gradient descent, a positive number", positive)
    epochs: int = setting(10_000, "a number of steps of two layers", at_least(2))
    deep_epochs: int = setting(80_000, "a number of steps of three layers", at_least(2))
    other_width: int = setting(50, "another width of three bias-free layers on g, 2 or more", at_least(2))
    other_scale: float = setting(1e-3, "another initial norm of theirs, a positive number", positive)
    flow_width: int = setting(20, "the width of three bias-free layers in flows, 2 or more", at_least(2))
    flow_end: float = setting(4000.0, "the last time of a flow, a positive number", positive)
    rtol: float = setting(5e-6, "the simulator's tolerance for a step of a flow, a positive number", positive)
    times: int = setting(400, "a number of saved times", at_least(1))
    seeds: int = seeds(8)

    def epochs_of(self, kind: str) -> int:
        """The epochs of a kind of networks."""
        return self.epochs if KINDS[kind][0] == 2 else self.deep_epochs


SECONDS = 130
SMALL: dict[str, Any] = {  # six points of the circle: both tasks have the same shapes
    "width": 12, "points": 6, "scale": 0.3, "epochs": 300, "deep_epochs": 600, "other_width": 8,
    "other_scale": 0.1, "flow_width": 6, "flow_end": 120.0, "times": 30, "seeds": 1,
}  # fmt: skip


def datasets(points: int) -> dict[str, Dataset]:
    """The two tasks."""
    return {"six": tasks.six_points(0.0), "g": tasks.circle(points, tasks.separation_target)}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Losses over time and last networks of every kind on both tasks, and the bounds on two layers."""
    data = datasets(settings.points)
    circle = data["g"]
    bounds = xarray.Dataset(
        {
            "width": settings.width,
            "scale": settings.scale,
            "flow_width": settings.flow_width,
            "points": settings.points,
            "samples": ("task", list(map(len, data.values()))),
            "floor": ("task", [4 / 9, theory.two_layer_gap(tasks.separation_target, circle.x).bound / 2]),
            "first_loss": ("task", [np.mean(one.y**2) / 2 for one in data.values()]),
            "exact_loss": np.mean((circle.y - theory.separation_network()(circle.x)) ** 2) / 2,
        },
        {"task": list(data)},
    )
    parts = [_descents(settings, data, report), _others(settings, circle, report)]
    return xarray.merge([bounds, *parts, flows(settings, data, report)], join="exact")


def _descents(settings: Settings, data: dict[str, Dataset], report: Report) -> xarray.Dataset:
    """Every kind on both tasks, all seeds."""
    ends: dict[str, Any] = {}

    def descended(task: str, kind: str) -> dict[str, Any]:
        steps = settings.epochs_of(kind)
        report(f"{task}, {kind}: {steps} steps of {settings.seeds} networks")
        starts = [_start(settings, seed, kind) for seed in settings.all_seeds]
        runs = _descended(starts, data[task], steps, settings)
        ends.update(layers(f"{task}_{kind}", runs[0][-1]))
        gaps = [diagnostics.homogeneity_defect(run[-1], data[task].x) for run in runs]
        split = [split_defect(run, data[task]) if kind == "two" else np.nan for run in runs]
        return {
            "epochs": steps,
            "ts": ("save", runs[0].ts),
            "loss": (("seed", "save"), np.array([run.loss for run in runs])),
            "last": ("seed", np.array([run.loss[-1] for run in runs])),
            "inhomogeneity": ("seed", np.array(gaps)),
            "split": ("seed", np.array(split)),
        }

    found = tabulate(descended, over={"task": list(data), "kind": list(KINDS)})
    return found.assign(ends).assign_coords(seed=settings.all_seeds)


def _start(settings: Settings, seed: int, kind: str) -> Network:
    depth, biased = KINDS[kind]
    sizes = (2, *[settings.width] * (depth - 1), 1)
    made = networks.gaussian(sizes, scale=settings.scale, seed=seed)
    return Network(made.weights, biases=tuple(np.zeros(len(w)) for w in made.weights)) if biased else made


def _others(settings: Settings, circle: Dataset, report: Report) -> xarray.Dataset:
    """The last loss on g of three bias-free layers of another width, and of another initial norm."""
    others = [(settings.other_width, settings.scale), (settings.width, settings.other_scale)]

    def descended(other: int) -> dict[str, Any]:
        width, scale = others[other]
        report(f"g, three bias-free layers: width {width}, initial norm {scale:g}")
        changed = replace(settings, width=width, scale=scale)
        starts = [_start(changed, seed, "three") for seed in settings.all_seeds]
        runs = _descended(starts, circle, settings.deep_epochs, settings)
        last = np.array([run.loss[-1] for run in runs])
        return {"other_width": width, "other_scale": scale, "other_last": ("seed", last)}

    found = tabulate(descended, over={"other": range(len(others))})
    return found.assign_coords(seed=settings.all_seeds)


def _descended(starts: list[Network], data: Dataset, steps: int, settings: Settings) -> list[Trajectory]:
    """Gradient descent of which losses are saved, and the last networks."""
    from biasfree.dynamics import gradient_descent

    step, every = settings.step, max(1, steps // settings.times)
    groups = [starts[i : i + _TOGETHER] for i in range(0, len(starts), _TOGETHER)]
    descents = [
        gradient_descent(group, data, save=lambda net: net.depth, step=step, steps=steps, save_every=every)
        for group in groups
    ]
    return [run for group in descents for run in group]


def flows(settings: Settings, data: dict[str, Dataset], report: Report) -> xarray.Dataset:
    """Three bias-free layers by exact flow, to the last time or until the task is learned.

    A flow that cannot be followed has no losses.
    """
    from biasfree.dynamics import UnfinishedError, gradient_flow

    ts = np.append(0.0, np.geomspace(1.0, settings.flow_end, settings.times))
    sizes = (2, settings.flow_width, settings.flow_width, 1)

    def flow(task: str, seed: int) -> dict[str, Any]:
        report(f"{task}, three: exact flow, seed {seed}")
        start, loss = networks.gaussian(sizes, scale=settings.scale, seed=seed), np.full(len(ts), np.nan)
        options: Any = {"method": "events", "rtol": settings.rtol, "max_steps": _MOST_STEPS}
        until = _FLOW_LEARNED * float(np.mean(data[task].y ** 2) / 2)
        missing = dict.fromkeys(("flow_last", "flow_error", "flow_drift"), np.nan)
        found = {"flow_loss": ("flow_time", loss), "flow_time": ("flow_time", ts)}
        try:
            run = gradient_flow(start, data[task], ts, until=until, **options)
        except UnfinishedError:
            return {**found, **missing}
        loss[: len(run.loss)] = run.loss[: len(ts)]
        return {
            **found,
            "flow_last": run.loss[-1],
            "flow_error": accuracy(run),
            "flow_drift": drift_of([run[0], run[-1]]),
        }

    return tabulate(flow, over={"task": list(data)}, seeds=settings.all_seeds)
