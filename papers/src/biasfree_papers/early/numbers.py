"""Runs behind Theorem 13: small random weights along their plateau, with all of its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import accuracy, stacked, weight_gap
from biasfree_papers.types import Numbers, Report

_INSIDE = 20  # saved times in Lemma 12's window, its end among them


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every leak and seed; arrays have these two as their leading axes."""
    data = tasks.odd_sine(settings["samples"], settings["dimensions"], seed=settings["data_seed"])
    seeds = seeds_of(settings)
    rows = []
    for leak in settings["leaks"]:
        for seed in seeds:
            report(f"leak {leak:g}, seed {seed}")
            rows.append(_course(_start(settings, leak, int(seed)), data, settings))
    shape = (len(settings["leaks"]), len(seeds))
    return {
        **{name: value.reshape(*shape, *value.shape[1:]) for name, value in stacked(rows).items()},
        "leaks": np.array(settings["leaks"]),
        "seeds": seeds,
    }


def _start(settings: Mapping[str, Any], leak: float, seed: int) -> Network:
    sizes = (settings["dimensions"], settings["width"], 1)
    return networks.gaussian(sizes, scale=settings["scale"], leak=leak, seed=seed)


def _course(start: Network, data: Dataset, settings: Mapping[str, Any]) -> dict[str, Any]:
    """One network through its plateau."""
    from biasfree.dynamics import gradient_flow

    window, end = theory.lemma12_window(start, data), theory.plateau_end(start, data)
    shares = np.linspace(0, settings["span"], settings["times"])
    inside = window * np.geomspace(0.01, 1, _INSIDE)  # its bound is tight only in the beginning
    ts = np.sort(np.concatenate([shares * end, inside, [end * (1 + 1e-9)]]))  # never twice the same time
    run = gradient_flow(start, data, ts, rtol=settings["rtol"])
    # to the end on purpose: how far it is off once outputs matter is what is shown
    linear = theory.early_flow(start, data, ts, small_tolerance=np.inf)
    return {
        "ts": ts,
        "window": window,
        "plateau": end,
        "loss": run.loss,
        "reduced_loss": theory.reduced_flow(
            theory.aligned(start, data, both_signs_tolerance=1.0), data, ts
        ).loss,
        "half": _half(run, data),
        "earliest_half": _earliest_half(start, run, data),
        "error": accuracy(run),
        **_growth(run, linear, start, data),
        **_structure(run, linear, data),
    }


def _growth(run: Trajectory, linear: Trajectory, start: Network, data: Dataset) -> dict[str, np.ndarray]:
    """Norms with their bounds, and the distance from Eq. 23 with its own."""
    weights = zip(run, linear, strict=True)
    return {
        "norm": run.map(lambda network: network.norms.max()),
        "linear_norm": linear.map(lambda network: network.norms.max()),
        "bound": theory.norm_bound(start, data, run.ts),
        "lemma_bound": theory.lemma12_bound(start, data, run.ts),
        "gap": np.array([weight_gap(one, other) for one, other in weights]),
        "gap_bound": theory.early_error(start, data, run.ts),
        "lead_gap": _lead_gap(run, start, data),
        "size": linear.map(lambda network: np.linalg.norm(network.norms)),
    }


def _lead_gap(run: Trajectory, start: Network, data: Dataset) -> np.ndarray:
    """|W − e^{cst}[r₁β̄ᵀ, r₁ᵀ]|, the distance from the growing term of Eq. 23 alone."""
    first, second = start.weights
    direction = data.beta / np.linalg.norm(data.beta)
    r1 = (first @ direction + second[0]) / 2
    lead = (np.outer(r1, direction), r1[None])
    growth = np.exp(theory.growth_rate(start, data) * run.ts)
    grown = (Network(tuple(factor * w for w in lead), leak=start.leak) for factor in growth)
    return np.array([weight_gap(one, other) for one, other in zip(run, grown, strict=True)])


def _structure(run: Trajectory, linear: Trajectory, data: Dataset) -> dict[str, np.ndarray]:
    """The distances of W₁ from W₂ᵀrᵀ and of r from β̄, simulated and by Eq. 23."""
    direction = data.beta / np.linalg.norm(data.beta)
    found = {}
    for name, course in (("", run), ("linear_", linear)):
        distances = [diagnostics.assumption_distance(network) for network in course]
        assert all(distance is not None for distance in distances)  # W₂W₁ ≠ 0 in a random draw
        found[f"{name}residual"] = np.array([d.residual for d in distances if d])
        found[f"{name}angle"] = np.array([_angle(d.r, direction) for d in distances if d])
    return found


def _angle(r: np.ndarray, direction: np.ndarray) -> float:
    """The angle between unit vectors, by its chord, which keeps digits where it is small."""
    return float(2 * np.arcsin(min(np.linalg.norm(r - direction) / 2, 1.0)))


def _drop(data: Dataset) -> float:
    """From the loss of f = 0 to that of least squares."""
    return float(data.beta @ theory.least_squares(data)) / 2


def _half(run: Trajectory, data: Dataset) -> float:
    """The first saved time at which the loss has fallen half the way to least squares; infinity for never."""
    done = run.loss <= run.loss[0] - _drop(data) / 2
    return float(run.ts[np.argmax(done)]) if done.any() else np.inf


def _earliest_half(start: Network, run: Trajectory, data: Dataset) -> float:
    """The time before which the loss cannot have fallen half the way.

    L(0) − L ≤ ⟨yf⟩ − ⟨yf₀⟩ + ⟨f₀²⟩/2, f₀ = f(0), where ⟨yf⟩ = cW₂W₁β ≤ cs·u² ≤ cs·u(0)²e^{2cst}, −⟨yf₀⟩ ≤
    cs·u(0)² and ⟨f₀²⟩ ≤ TrΣ·u(0)⁴.
    """
    rate, small = theory.growth_rate(start, data), run[0].norms.max() ** 2
    room = (_drop(data) - np.trace(data.sigma) * small**2) / 2 / (rate * small) - 1
    return float(np.log(room) / (2 * rate))
