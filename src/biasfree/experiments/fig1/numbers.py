"""The runs of Fig. 1: two tasks, two and three layers, without and with biases, over draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.experiments.experiment import Numbers, Report
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

TASKS = ("six", "g")
#: Kinds of networks, in the order of the panels: layers, and whether they have biases.
KINDS = {"two": (2, False), "two_biased": (2, True), "three": (3, False), "three_biased": (3, True)}
_TOGETHER = 4  # runs side by side: more of three layers leave the cache


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Losses over time and last networks of every kind on both tasks, and the bounds on two layers."""
    circle = tasks.circle(settings["points"], tasks.separation_target)
    data = {"six": tasks.six_points(0.0), "g": circle}
    numbers: Numbers = {
        "seeds": settings["seed"] + np.arange(settings["seeds"]),
        "width": np.array(settings["width"]),
        "g_floor": np.array(theory.two_layer_gap(tasks.separation_target, circle.x).bound / 2),
        "six_floor": np.array(4 / 9),
        "exact_loss": np.array(np.mean((circle.y - theory.separation_network()(circle.x)) ** 2) / 2),
    }
    for task in TASKS:
        numbers |= {f"{task}_x": data[task].x, f"{task}_y": data[task].y}
        numbers[f"{task}_least_squares"] = theory.least_squares(data[task])
        for kind in KINDS:
            found = _runs(settings, data[task], kind, _named(report, f"{task}, {kind}"))
            numbers |= {f"{task}_{kind}_{name}": value for name, value in found.items()}
    return numbers


def _named(report: Report, name: str) -> Report:
    return lambda text: report(f"{name}: {text}")


def _runs(settings: Mapping[str, Any], data: Dataset, kind: str, report: Report) -> Numbers:
    """All draws of one kind of network; the first one of three layers goes on for longer."""
    most = settings["epochs"] if KINDS[kind][0] == 2 else settings["deep_epochs"]
    steps = most if KINDS[kind][0] == 2 else min(most, settings["draw_epochs"])
    starts = [_start(settings, settings["seed"] + i, kind) for i in range(settings["seeds"])]
    runs = _descended(starts, data, steps, settings, report)
    last, ts, loss = runs[0][-1], runs[0].ts, runs[0].loss
    if most > steps:
        report("the first draw for longer")
        (rest,) = _descended([last], data, most - steps, settings, report)
        last, ts, loss = rest[-1], np.append(ts, ts[-1] + rest.ts[1:]), np.append(loss, rest.loss[1:])
    return {
        "ts": runs[0].ts,
        "loss": np.array([run.loss for run in runs]),
        "long_ts": ts,
        "long_loss": loss,
        "inhomogeneity": np.array([theory.homogeneity_defect(run[-1], data.x) for run in runs]),
        **({"split": np.array([_split_defect(run, data) for run in runs])} if kind == "two" else {}),
        **_stored(last),
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


def _split_defect(run: Trajectory, data: Dataset) -> float:
    """The loss at the last time less the sum of its two parts: linear part against y, and even part."""
    return abs(float(run.loss[-1]) - theory.loss_split(run[-1], data).total)


def _stored(network: Network) -> Numbers:
    biases = network.biases or ()
    return {
        **{f"W{i}": w for i, w in enumerate(network.weights, 1)},
        **{f"b{i}": b for i, b in enumerate(biases, 1)},
    }
