"""An experiment made into numbers: its network, its times, a preview, the exact run and the linear twin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from biasfree import networks
from biasfree.data import Dataset
from biasfree.dynamics import DivergenceError, gradient_descent, gradient_flow
from biasfree.lab._state import Experiment
from biasfree.networks import Network
from biasfree.theory import aligned, linear_twin
from biasfree.trajectory import Trajectory

#: Saved times of a run: evenly spaced ones, and ones in equal ratios from a share of the horizon on.
EVEN = 201
RATIOS = 61
FIRST = 1e-4
#: Saved times of a preview and of a descent.
PREVIEW_SAVES = 60
DESCENT_SAVES = 240
#: Steps of a preview, its largest step, and its work at most: steps times samples times neurons.
PREVIEW_STEPS = 8000
PREVIEW_STEP = 0.25
PREVIEW_WORK = 1.5e7
#: A diverging preview is tried again with a fourth of the step, so many times.
RETRIES = 3


@dataclass(frozen=True)
class Preview:
    """A coarse run, and what it is in words."""

    run: Trajectory
    label: str


def network_of(experiment: Experiment) -> Network:
    """The initial network."""
    hidden = [experiment.width] * (int(experiment.depth) - 1)
    make = {"balanced": networks.balanced, "opposite": networks.opposite}.get(
        experiment.initial, networks.gaussian
    )
    network = make((2, *hidden, 1), scale=experiment.scale, leak=experiment.leak, seed=experiment.seed)
    return aligned(network, experiment.data) if experiment.initial == "aligned" else network


def times_of(experiment: Experiment) -> np.ndarray:
    """The saved times of a flow."""
    end = experiment.horizon
    return np.union1d(np.linspace(0, end, EVEN), np.geomspace(FIRST * end, end, RATIOS))


def save_every(experiment: Experiment) -> int:
    """Steps of descent between two saved states."""
    return max(1, experiment.steps // DESCENT_SAVES)


def run_of(experiment: Experiment, network: Network, data: Dataset, *, unit: float = 1.0) -> Trajectory:
    """The exact run: the flow, or the descent with its own step; all times are multiplied by `unit`."""
    if experiment.method == "flow":
        return gradient_flow(network, data, unit * times_of(experiment), loss=experiment.loss)
    return gradient_descent(
        network,
        data,
        step=unit * experiment.step,
        steps=experiment.steps,
        save_every=save_every(experiment),
        loss=experiment.loss,
    )


def preview_of(experiment: Experiment, network: Network, data: Dataset) -> Preview | None:
    """A coarse descent that ends within some milliseconds; None if every step tried diverges."""
    step = min(PREVIEW_STEP, experiment.horizon / PREVIEW_STEPS)
    neurons = experiment.width ** (int(experiment.depth) - 1)
    most = max(200, int(PREVIEW_WORK / (len(data) * neurons)))
    for _ in range(RETRIES + 1):
        steps = min(most, math.ceil(experiment.horizon / step))
        every = max(1, steps // PREVIEW_SAVES)
        try:
            run = gradient_descent(
                network, data, step=step, steps=steps, save_every=every, loss=experiment.loss
            )
        except DivergenceError:
            step /= 4
            continue
        until = "" if steps * step >= experiment.horizon else f", up to t = {steps * step:.3g}"
        return Preview(run, f"preview: descent with step {step:.3g}{until}")
    return None


def twin_of(experiment: Experiment, network: Network, data: Dataset) -> np.ndarray:
    """The loss of the linear twin at the times of the run.

    Two layers: the twin of Theorem 5 (TMLR 8) at its time ct, by descent with step cη. Three layers: the
    linear network from the same initial weights.
    """
    if network.depth == 2:
        return run_of(experiment, linear_twin(network), data, unit=(1 + network.leak) / 2).loss
    return run_of(experiment, Network(network.weights, leak=1.0), data).loss
