"""Runs of the bias experiment: max-margin classifiers of x and [x, 1], and networks trained on both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.bias.square import run_square
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import layers, named
from biasfree_papers.types import Numbers, Report

#: Samples with y = +1; the first is the point of their convex hull nearest to the origin.
POSITIVES = np.array([[1.0, 1.2], [2.6, 0.4], [3.0, 1.2], [2.2, 2.0]])
#: Up to here the first sample and its former mirror image are the support of all classifiers.
MOST_SHIFT = 1.5
_SHIFT = np.array([0.0, 1.0])  # its direction: neither along the first sample nor across it
_DATA = ("symmetric", "shifted")


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Linear classifiers on symmetric and on shifted data, and networks without and with biases on both."""
    symmetric = tasks.symmetrize(Dataset(POSITIVES, np.ones(len(POSITIVES))))
    data = {"symmetric": symmetric, "shifted": shifted(symmetric, settings["shift"])}
    numbers: Numbers = {
        "seeds": seeds_of(settings),
        "width": np.array(settings["width"]),
        "margin": np.array(theory.max_margin(symmetric).margin),
        "shift": np.array(settings["shift"]),
        "least_product": np.array((POSITIVES @ POSITIVES.T).min()),
        **{f"{name}_x": each.x for name, each in data.items()},
        "y": symmetric.y,
    }
    for name in _DATA:
        numbers |= named(name, _classifiers(data[name]))
    numbers |= _sweep(symmetric) | _first_step(symmetric, settings)
    for biased in (False, True):
        report(f"networks {'with' if biased else 'without'} biases")
        numbers |= _trained(data, biased, settings)
    report("six points and a line")
    return numbers | run_square(settings)


def stacked(data: Dataset) -> Dataset:
    """The data with an extra input fixed to 1, whose weights are hidden biases."""
    return Dataset(np.column_stack([data.x, np.ones(len(data))]), data.y)


def shifted(data: Dataset, size: float) -> Dataset:
    return Dataset(data.x + size * _SHIFT, data.y)


def _classifiers(data: Dataset) -> Numbers:
    """(w, b) of largest margin through the origin, of [x, 1], and with b free: y(w·x + b) ≥ 1 for all."""
    through, stack = theory.max_margin(data).w, theory.max_margin(stacked(data)).w
    return {"origin": np.append(through, 0.0), "stacked": stack, "free": _free_offset(data)}


def _free_offset(data: Dataset) -> np.ndarray:
    """min |w|² with y(w·x + b) ≥ 1: w·(x₊ − x₋) ≥ 2 for all pairs, and then some b fits."""
    up, down = data.x[data.y > 0], data.x[data.y < 0]
    pairs = (up[:, None] - down[None]).reshape(-1, data.dimensions)
    w = 2 * theory.max_margin(Dataset(pairs, np.ones(len(pairs)))).w
    return np.append(w, 1 - (up @ w).min())


def closed_form(c: np.ndarray, s: np.ndarray, unit: float) -> np.ndarray:
    """The max-margin w of [x, unit] with the support c + s (y = +1) and s − c (y = −1).

    w = [(|s|² + κ²)c − (c·s)s]/[|c|²(|s|² + κ²) − (c·s)²], κ = `unit`, if |c·s| ≤ |s|² + κ²; else the nearer
    one alone is the support. κ = 0 is the classifier of x through the origin, κ → ∞ that with a free offset.
    """
    along, size = c @ s, s @ s + unit**2
    if abs(along) <= size and size > 0:
        return (size * c - along * s) / (c @ c * size - along**2)
    nearer = c - np.sign(along) * s
    return nearer / (nearer @ nearer + unit**2)


def _sweep(symmetric: Dataset) -> Numbers:
    """Angles to the classifier with a free offset, degrees, against the shift: solver and closed form."""
    shifts, c = np.linspace(0, MOST_SHIFT, 16), POSITIVES[0]
    found = [_classifiers(shifted(symmetric, size)) for size in shifts]
    solved = [[_degrees(each[kind][:2], c) for each in found] for kind in ("origin", "stacked", "free")]
    closed = [[_degrees(closed_form(c, size * _SHIFT, unit), c) for size in shifts] for unit in (0.0, 1.0)]
    return {"shifts": shifts, "sweep": np.array(solved), "sweep_closed": np.array([*closed, 0 * shifts])}


def _degrees(w: np.ndarray, c: np.ndarray) -> float:
    """The angle from c to w."""
    return float(np.rad2deg(np.arctan2(c[0] * w[1] - c[1] * w[0], c @ w)))


def _first_step(symmetric: Dataset, settings: Mapping[str, Any]) -> Numbers:
    """The change of the hidden biases by one step, for a network that is the max-margin classifier."""
    from biasfree.dynamics import gradient_descent

    w, step = theory.max_margin(symmetric).w, settings["step"]
    neurons = (
        np.where(np.arange(settings["width"]) % 2, -1.0, 1.0)
        * theory.final_norm(w)
        / np.sqrt(settings["width"])
    )
    first = np.outer(neurons, np.append(w / np.linalg.norm(w), 0.0))
    network = Network((first, neurons[None]))
    moved = gradient_descent(network, stacked(symmetric), step=step, steps=1, loss="logistic")[-1]
    missing = np.mean(1 / (1 + np.exp(symmetric.y * network(stacked(symmetric).x))))
    return {"bias_step": moved.weights[0][:, 2], "bias_step_predicted": step * np.abs(neurons) * missing / 2}


def _trained(data: Mapping[str, Dataset], biased: bool, settings: Mapping[str, Any]) -> Numbers:
    """All seeds on both datasets, in one batch; measured at times evenly spaced in ln t."""
    from biasfree.dynamics import gradient_descent

    seeds = seeds_of(settings)
    given = [stacked(data[name]) if biased else data[name] for name in _DATA for _ in seeds]
    starts = [_start(settings, int(seed), biased) for _ in _DATA for seed in seeds]
    steps = settings["epochs"]
    every = max(1, steps // settings["times"])
    runs = gradient_descent(
        starts, given, step=settings["step"], steps=steps, save_every=every, loss="logistic"
    )
    chosen = np.unique(np.geomspace(1, len(runs[0]) - 1, 60).round().astype(int))
    kind = "biased" if biased else "plain"
    symmetric, shifted = runs[: len(seeds)], runs[len(seeds) :]
    return {
        "ts": runs[0].ts[chosen],
        **named(f"{kind}_symmetric", layers(symmetric[0][-1])),
        **named(f"{kind}_shifted", layers(shifted[0][-1])),
        **named(kind, _measured(symmetric, given[0], chosen)),
    }


def _start(settings: Mapping[str, Any], seed: int, biased: bool) -> Network:
    """The same initial weights for both; biases are initially zero."""
    drawn = networks.gaussian((2, settings["width"], 1), scale=settings["scale"], seed=seed)
    first, second = drawn.weights
    return Network((np.column_stack([first, np.zeros(len(first))]), second)) if biased else drawn


def _measured(runs: list[Trajectory], data: Dataset, chosen: np.ndarray) -> Numbers:
    """Margins and biases over time, and the last losses and even shares, on the symmetric data."""
    lasts = [run[-1] for run in runs]
    return {
        "loss": np.array([run.loss[-1] for run in runs]),
        "margins": np.array([[_margin(run[int(i)], data) for i in chosen] for run in runs]),
        "ratios": np.array([[_bias_ratio(run[int(i)]) for i in chosen] for run in runs]),
        "even": np.array([diagnostics.even_fraction(of_plane(network), data.x[:, :2]) for network in lasts]),
        "accuracy": np.array([np.mean(data.y * network(data.x) > 0) for network in lasts]),
    }


def _margin(network: Network, data: Dataset) -> float:
    normalized = diagnostics.margins(network, data).normalized
    assert normalized is not None  # bias-free, on [x, 1]
    return float(normalized.min())


def _bias_ratio(network: Network) -> float:
    """b/|u| of the positive neurons together, (u, b) = Σ a_h(w_h, b_h) over a_h > 0; 0 without biases."""
    first, second = network.weights
    total = np.maximum(second[0], 0) @ first
    return float(total[2] / np.linalg.norm(total[:2])) if len(total) == 3 else 0.0


def of_plane(network: Network) -> Any:
    """The network as a function of x, with the 1 supplied."""
    return (lambda x: network(np.column_stack([x, np.ones(len(x))]))) if network.sizes[0] == 3 else network
