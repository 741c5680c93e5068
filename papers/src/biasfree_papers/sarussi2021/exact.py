"""Mirrored data: networks with a fixed second layer that are linear models, and small weights near them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.sarussi2021.boundary import Boundary, inputs
from biasfree_papers.sarussi2021.teacher import readout, start, task
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import accuracy, rounding, stacked
from biasfree_papers.types import Numbers

_COARSER = 100.0  # the tolerance of the solutions that tell how accurate the others are
_END = 30.0  # of the flows that are compared
_STEPS = 64  # of one size
_VANISHING = 1e-12  # the linear model from 0, where the side of every sample is that of β


def mirrored_task(settings: Mapping[str, Any], seed: int) -> Dataset:
    """Half of the most samples and their mirror images: the shape that all tasks have."""
    return tasks.symmetrize(task(settings, max(settings["samples"]) // 2, seed).data)


def nonlinear(settings: Mapping[str, Any]) -> list[float]:
    """The leaks below 1, for which the network is nonlinear."""
    return [leak for leak in settings["leaks"] if leak < 1]


def mirrored(settings: Mapping[str, Any]) -> Numbers:
    """Random weights of every scale: distance from the linear model, even part, boundary; (scales, seeds)."""
    pairs = [(scale, int(seed)) for scale in settings["scales"] for seed in seeds_of(settings)]
    data = [mirrored_task(settings, seed) for _, seed in pairs]
    starts = [start(settings, scale=scale, seed=seed) for scale, seed in pairs]
    rows = []
    for (_, seed), one, course in zip(pairs, data, _descended(settings, starts, data), strict=True):
        net, x = course[-1], inputs(task(settings, 1, seed))
        second = net.weights[1]
        vanishing = Network((_VANISHING * np.outer(second, one.beta), second), leak=net.leak)
        rows.append(
            {
                "gap": _gap(net, _linear_model(vanishing, one, course)),
                "even": diagnostics.even_fraction(net, x),
                "differ": Boundary.of(net, x).differ,
                "directions": len(diagnostics.direction_clusters(net).sizes),
            }
        )
    shape = (len(settings["scales"]), settings["seeds"])
    return {name: value.reshape(shape) for name, value in stacked(rows).items()}


def descents(settings: Mapping[str, Any]) -> Numbers:
    """Descent from rank-one weights against the linear model with c² times the step: (leaks, seeds)."""
    pairs = [(leak, int(seed)) for leak in nonlinear(settings) for seed in seeds_of(settings)]
    data = [mirrored_task(settings, seed) for _, seed in pairs]
    starts = [_rank_one(settings, leak, seed) for leak, seed in pairs]
    courses, gaps = _descended(settings, starts, data), []
    for one, course in zip(data, courses, strict=True):
        gaps.append(_gap(course[-1], _linear_model(course[0], one, course)))
    return {
        "gap": np.reshape(gaps, (-1, settings["seeds"])),
        "bound": np.array(rounding(data[0], max(settings["widths"]), courses[0].stats.accepted)),
    }


def _descended(settings: Mapping[str, Any], starts: list[Network], data: list[Dataset]) -> list[Trajectory]:
    from biasfree.dynamics import long_descent

    return long_descent(starts, data, horizon=settings["horizon"], train=(True, False), save_every=_STEPS)


def _linear_model(begun: Network, data: Dataset, course: Trajectory) -> Network:
    """Logistic regression from W₁ = W₂ᵀvᵀ by the steps of `course`."""
    sizes = (np.diff(course.ts) / _STEPS).repeat(_STEPS)
    count = len(sizes)
    return theory.neighbors.fixed_readout_descent(
        begun, data, sizes, count, save_every=count, loss="logistic"
    )[-1]


def _gap(network: Network, other: Network) -> float:
    return float(np.linalg.norm(network.weights[0] - other.weights[0]) / network.norms[0])


def _rank_one(settings: Mapping[str, Any], leak: float, seed: int) -> Network:
    """W₁ = W₂ᵀvᵀ whose linear map cv is Gaussian, of length about 1 and the same for all leaks."""
    width, d = max(settings["widths"]), settings["dimensions"]
    outer = readout(width, width)
    v = np.random.default_rng([seed, 2]).normal(size=d) / np.sqrt(d) * 2 / (1 + leak)
    return Network((np.outer(outer, v), outer[None]), leak=leak)


def flows(settings: Mapping[str, Any]) -> Numbers:
    """Gradient flow of rank-one weights against theory, both losses, the first seed: (losses, leaks).

    All leaks are saved at the same times of the linear model, c²t.
    """
    seed = settings["seed"]
    data, ts = mirrored_task(settings, seed), np.append(0.0, np.geomspace(0.1, _END, 15))
    rows = [
        [_compared(_rank_one(settings, leak, seed), data, ts, loss) for leak in nonlinear(settings)]
        for loss in ("square", "logistic")
    ]
    found = stacked([stacked(row) for row in rows])
    return {"ts": ts, "leaks": np.array(nonlinear(settings)), **found}


def _compared(network: Network, data: Dataset, own: np.ndarray, loss: str) -> dict[str, Any]:
    """Map and gap of a run, its own error estimate, and the distance between two solutions."""
    from biasfree.dynamics import gradient_flow

    ts = own * 4 / (1 + network.leak) ** 2

    run = gradient_flow(network, data, ts, loss=loss, rtol=1e-8, train=(True, False))
    solved, rough = (
        theory.neighbors.fixed_readout_flow(network, data, ts, loss=loss, rtol=1e-10 * factor)
        for factor in (1, _COARSER)
    )
    return {
        "simulated": np.linalg.norm(run.maps[:, 0], axis=1),
        "solved": np.linalg.norm(solved.maps[:, 0], axis=1),
        "gap": _apart(run, solved),
        "accuracy": accuracy(run) + _apart(solved, rough),
    }


def _apart(one: Trajectory, other: Trajectory) -> float:
    """The largest |W₁ − W₁'| over time, over the largest |W₁|."""
    gap = np.linalg.norm(one.weights[0] - other.weights[0], axis=(1, 2)).max()
    return float(gap / np.linalg.norm(one.weights[0], axis=(1, 2)).max())
