"""Runs of a linear teacher and a fixed second layer: the linearity of the boundary (Sarussi et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biasfree.trajectory import Trajectory
from biasfree_papers.sarussi2021 import exact
from biasfree_papers.sarussi2021.boundary import Boundary, inputs, measured
from biasfree_papers.sarussi2021.teacher import Task, start, task
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named, stacked
from biasfree_papers.types import Numbers, Report

_EARLY = 100.0  # a time by which nearly all samples are classified, before margins level out
_SQUARE = (0.05, 4000)  # step and steps of descent with the square loss: the curvature is at most ⟨|x|²⟩


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Distances of boundaries from linear, by samples, scale, leak and width; mirrored data; square loss."""
    found = {"seeds": seeds_of(settings), "early": np.array(_EARLY), "horizon": np.array(settings["horizon"])}
    found |= {name: np.array(settings[name]) for name in ("samples", "scales", "leaks", "widths", "leak")}
    for i, scale in enumerate(settings["scales"]):
        report(f"logistic loss, initial scale {scale:g}")
        found |= named(
            f"scale{i}", _by_samples(settings, scale, neurons=i in (0, len(settings["scales"]) - 1))
        )
    report("leaks and widths")
    found |= _by_leak_and_width(settings)
    report("mirrored data")
    found |= named("mirrored", exact.mirrored(settings))
    report("square loss")
    found |= named("square", _square(settings))
    report("linear models")
    return found | named("exact", exact.flows(settings)) | named("descent", exact.descents(settings))


def _by_samples(settings: Mapping[str, Any], scale: float, *, neurons: bool) -> Numbers:
    """All numbers of samples and seeds at one scale: (times, samples, seeds)."""
    pairs = [(n, int(seed)) for n in settings["samples"] for seed in seeds_of(settings)]
    found = [task(settings, n, seed) for n, seed in pairs]
    starts = [start(settings, scale=scale, seed=seed) for _, seed in pairs]
    courses = _descended(settings, starts, found)
    shape = (len(settings["samples"]), settings["seeds"])
    numbers = _at_two_times(courses, found, shape) | {"ts": courses[0].ts}
    differ = [_differs(course, one) for course, one in zip(courses, found, strict=True)]
    numbers["course"] = np.stack(differ, axis=1).reshape(-1, *shape)
    if neurons:  # of the first draw with the most samples
        last = courses[-settings["seeds"]][-1]
        numbers |= {"W1": last.weights[0], "W2": last.weights[1]}
    return numbers


def _descended(settings: Mapping[str, Any], starts: Sequence[Any], found: Sequence[Task]) -> list[Trajectory]:
    """In two parts, so that the early time is among those saved."""
    from biasfree.dynamics import long_descent

    data, rest = [one.repeated for one in found], settings["horizon"] - _EARLY
    begun = long_descent(starts, data, horizon=_EARLY, train=(True, False))
    ended = long_descent([course[-1] for course in begun], data, horizon=rest, train=(True, False))
    return [_joined(first, then) for first, then in zip(begun, ended, strict=True)]


def _joined(first: Trajectory, then: Trajectory) -> Trajectory:
    """Two successive runs as one; the second begins at the end of the first."""
    ts = np.append(first.ts, first.ts[-1] + then.ts[1:])
    weights = tuple(np.concatenate([a, b[1:]]) for a, b in zip(first.weights, then.weights, strict=True))
    losses = {
        name: np.append(getattr(first, name), getattr(then, name)[1:]) for name in ("loss", "objective")
    }
    return replace(then, ts=ts, weights=weights, **losses)


def _at_two_times(courses: Sequence[Trajectory], found: Sequence[Task], shape: tuple[int, ...]) -> Numbers:
    """All measures at the early time and at the last, each (2, *shape)."""
    early, last = int(np.flatnonzero(courses[0].ts == _EARLY)[0]), len(courses[0]) - 1
    rows = [
        stacked([measured(course[i], one) for course, one in zip(courses, found, strict=True)])
        for i in (early, last)
    ]
    return {name: np.stack([row[name].reshape(shape) for row in rows]) for name in rows[0]}


def _differs(course: Trajectory, one: Task) -> np.ndarray:
    """At all times but the first."""
    return course.map(lambda net: Boundary.of(net, inputs(one)).differ)[1:]


def _by_leak_and_width(settings: Mapping[str, Any]) -> Numbers:
    """Every leak, and every width, at the least scale and the most samples: (2, leaks or widths, seeds)."""
    seeds, least = [int(seed) for seed in seeds_of(settings)], min(settings["scales"])
    starts = [start(settings, scale=least, leak=leak, seed=s) for leak in settings["leaks"] for s in seeds]
    starts += [
        start(settings, scale=least, width=width, seed=s) for width in settings["widths"] for s in seeds
    ]
    shape = (len(starts) // len(seeds), len(seeds))
    found = [task(settings, max(settings["samples"]), seed) for _ in range(shape[0]) for seed in seeds]
    numbers, cut = _at_two_times(_descended(settings, starts, found), found, shape), len(settings["leaks"])
    by_leak = {name: value[:, :cut] for name, value in numbers.items()}
    return named("leak", by_leak) | named("width", {name: value[:, cut:] for name, value in numbers.items()})


def _square(settings: Mapping[str, Any]) -> Numbers:
    """The square loss on the same labels, every scale and the most samples: (2, scales, seeds)."""
    from biasfree.dynamics import gradient_descent

    pairs = [(scale, int(seed)) for scale in settings["scales"] for seed in seeds_of(settings)]
    found = [task(settings, max(settings["samples"]), seed) for _, seed in pairs]
    starts = [start(settings, scale=scale, seed=seed) for scale, seed in pairs]
    step, steps = _SQUARE
    runs = gradient_descent(
        starts,
        [one.repeated for one in found],
        step=step,
        steps=steps,
        save_every=round(_EARLY / step),
        train=(True, False),
    )
    shape = (len(settings["scales"]), settings["seeds"])
    loss = np.array([run.loss[-1] for run in runs]).reshape(shape)
    return {**_at_two_times(runs, found, shape), "loss": loss, "ts": runs[0].ts[[1, -1]]}
