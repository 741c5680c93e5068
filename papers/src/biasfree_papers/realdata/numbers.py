"""Runs on handwritten digits, without and with mirror images: ReLU networks and linear twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared import opposite_pairs as opposites
from biasfree_papers.shared.trajectories import least_squares_loss, named, rounding
from biasfree_papers.types import Numbers, Report

KINDS = ("centred", "mirrored")
LOSSES = ("square", "logistic")
SAVES = 100  # of every run


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Digits 3 against 5: their symmetry, and training with both losses on both kinds of data."""
    centered = tasks.center(tasks.digits())
    data = dict(zip(KINDS, (centered, tasks.symmetrize(centered)), strict=True))
    seeds = seeds_of(settings)
    starts = [_start(settings, centered, int(seed)) for seed in seeds]
    found = {}
    for loss in LOSSES:
        report(f"{loss} loss, linear twins")
        linear = _descend(settings, starts, centered, loss, leak=1.0)  # which do not see mirror images
        found["rescaled"] = linear[0].ts
        for kind in KINDS:
            report(f"{loss} loss, digits {kind}")
            runs = _descend(settings, starts, data[kind], loss, leak=0.0)
            found |= named(f"{loss}_{kind}", _compared(runs, linear, data[kind]))
    report("symmetry of the digits")
    return {
        "seeds": seeds,
        **found,
        **_symmetry(centered, settings["flips"]),
        **_halves(centered),
        "rounding": np.array(rounding(data["mirrored"], settings["width"], settings["steps"])),
    }


def _start(settings: Mapping[str, Any], data: Dataset, seed: int) -> Network:
    sizes = (data.dimensions, settings["width"], 1)
    return networks.opposite(sizes, scale=settings["scale"], leak=1.0, seed=seed)


def _compared(runs: list[Trajectory], linear: list[Trajectory], data: Dataset) -> Numbers:
    """ReLU networks and their twins: one row per seed, at common rescaled times."""
    unit = opposites.rms(np.array([twin[-1](data.x) for twin in linear]))
    beside = list(zip(runs, linear, strict=True))
    return {
        "loss": np.array([[one.loss for one in pair] for pair in beside]),
        "wrong": np.array([[_wrong(one, data) for one in pair] for pair in beside]),
        "gap": np.array([opposites.gap(run, twin, data, unit) for run, twin in beside]),
        "weight_error": np.array([diagnostics.weight_errors(run, twin) for run, twin in beside]),
        "nonlinear": np.array([diagnostics.nonlinear_share(run[-1], data.x)[0] for run in runs]),
        "maps": np.array([diagnostics.linear_map(one[-1], data.x) for one in beside[0]]),
    }


def _descend(
    settings: Mapping[str, Any], starts: list[Network], data: Dataset, loss: str, *, leak: float
) -> list[Trajectory]:
    steps = settings["steps"]
    every = max(steps // SAVES, 1)
    return twins.descent(
        starts, data, leak=leak, step=settings["step"], steps=steps, save_every=every, loss=loss
    )


def _wrong(run: Trajectory, data: Dataset) -> np.ndarray:
    """The share of training samples on the wrong side at every saved time."""
    return np.array([np.mean(network(data.x) * data.y <= 0) for network in run])


def _symmetry(data: Dataset, flips: int) -> Numbers:
    """The defect of Condition 3, of the samples and of the samples with random signs."""
    found = diagnostics.symmetry(data, flips=flips)
    return {
        "defects": np.array(found.searched),
        "p_values": np.array([found.p_inputs, found.p_targets, found.p_value]),
        "null": np.array([found.null_inputs, found.null_targets]),
    }


def _halves(data: Dataset) -> Numbers:
    """Square loss: the limit of two kinds of neurons, each active on one half of the data; gap and loss."""
    halves, best = opposites.of_halves(data), opposites.least_squares(data)
    return {
        "halves_gap": np.array(opposites.rms(halves - best) / opposites.rms(best)),
        "halves_loss": np.array(np.mean((data.y - halves) ** 2) / 2),
        "least_squares": np.array(least_squares_loss(data)),
    }
