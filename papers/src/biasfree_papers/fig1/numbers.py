"""Runs of Fig. 1: two tasks, two and three layers, without and with biases, over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.fig1.flows import flows
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, named, split_defect
from biasfree_papers.types import Numbers, Report

TASKS = ("six", "g")
#: Kinds of networks, in the order of the panels: layers, and whether they have biases.
KINDS = {"two": (2, False), "two_biased": (2, True), "three": (3, False), "three_biased": (3, True)}
_FLOWN = "three"  # the kind whose draws follow the exact flow; descent trains its first draw only
_LEARNED = 1e-24  # outputs right to some 1e-12: nothing is left for a longer run
_TOGETHER = 4  # runs side by side: more of three layers leave the cache


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Losses over time and last networks of every kind on both tasks, and the bounds on two layers."""
    circle = tasks.circle(settings["points"], tasks.separation_target)
    data = {"six": tasks.six_points(0.0), "g": circle}
    numbers: Numbers = {
        "seeds": seeds_of(settings),
        "width": np.array(settings["width"]),
        "g_floor": np.array(theory.two_layer_gap(tasks.separation_target, circle.x).bound / 2),
        "six_floor": np.array(4 / 9),
        "exact_loss": np.array(np.mean((circle.y - theory.separation_network()(circle.x)) ** 2) / 2),
    }
    for task in TASKS:
        numbers |= {f"{task}_x": data[task].x, f"{task}_y": data[task].y}
        numbers[f"{task}_least_squares"] = theory.least_squares(data[task])
        for kind in KINDS:
            found = _runs(
                settings, data[task], kind, _epochs(settings, kind), _about(report, f"{task}, {kind}")
            )
            numbers |= named(f"{task}_{kind}", found)
        numbers |= named(f"{task}_flow", flows(settings, data[task], _about(report, f"{task}, three")))
    return numbers


def _about(report: Report, name: str) -> Report:
    return lambda text: report(f"{name}: {text}")


def _epochs(settings: Mapping[str, Any], kind: str) -> tuple[int, int]:
    """The epochs of every seed, and of the first."""
    if KINDS[kind][0] == 2:
        return settings["epochs"], settings["epochs"]
    most = settings["deep_epochs"]
    return min(most, settings["draw_epochs"]), most


def _runs(
    settings: Mapping[str, Any], data: Dataset, kind: str, epochs: tuple[int, int], report: Report
) -> Numbers:
    """All seeds of one kind of network, or the first; the first one may be trained for longer."""
    steps, most = epochs
    seeds = seeds_of(settings)[:1] if kind == _FLOWN else seeds_of(settings)
    starts = [_start(settings, int(seed), kind) for seed in seeds]
    runs = _descended(starts, data, steps, settings, report)
    done, last, ts, loss = steps, runs[0][-1], runs[0].ts, runs[0].loss
    if most > steps and loss[-1] > _LEARNED:
        report("the first seed for longer")
        (rest,) = _descended([last], data, most - steps, settings, report)
        done, last = most, rest[-1]
        ts, loss = np.append(ts, ts[-1] + rest.ts[1:]), np.append(loss, rest.loss[1:])
    return {
        "epochs": np.array(epochs),
        "long_epochs": np.array(done),
        "ts": runs[0].ts,
        "loss": np.array([run.loss for run in runs]),
        "long_ts": ts,
        "long_loss": loss,
        "inhomogeneity": np.array([diagnostics.homogeneity_defect(run[-1], data.x) for run in runs]),
        **({"split": np.array([split_defect(run, data) for run in runs])} if kind == "two" else {}),
        **layers(last),
    }


def _start(settings: Mapping[str, Any], seed: int, kind: str) -> Network:
    layers, biased = KINDS[kind]
    sizes = (2, *[settings["width"]] * (layers - 1), 1)
    drawn = networks.gaussian(sizes, scale=settings["scale"], seed=seed)
    return Network(drawn.weights, biases=tuple(np.zeros(len(w)) for w in drawn.weights)) if biased else drawn


def _descended(
    starts: list[Network], data: Dataset, steps: int, settings: Mapping[str, Any], report: Report
) -> list[Trajectory]:
    """Gradient descent of which losses are saved, and the last networks."""
    from biasfree.dynamics import gradient_descent

    runs, options = [], {"step": settings["step"], "save_every": max(1, steps // settings["times"])}
    for first in range(0, len(starts), _TOGETHER):
        together = starts[first : first + _TOGETHER]
        report(f"{steps} steps of {len(together)} networks, {first} of {len(starts)} done")
        runs += gradient_descent(together, data, steps=steps, save=lambda network: network.depth, **options)
    return runs
