"""Runs behind Kou et al.: leaky and ReLU networks on Gaussian inputs that approach orthogonal ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network, Span
from biasfree.trajectory import Trajectory
from biasfree_papers.kou2023.random_patterns import random_blocks
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.sign_blocks import (
    descended,
    doubling,
    final_patterns,
    shrunk,
    since_settled,
    stable_ranks,
)
from biasfree_papers.shared.trajectories import named, stacked
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every number of dimensions and exactly orthogonal inputs, every seed, every leak."""
    if settings["dimensions"][0] < settings["samples"]:
        raise ValueError(
            f"dimensions must be at least samples, {settings['samples']}, got {settings['dimensions'][0]}: "
            "with fewer the samples are linearly dependent, and may not be separable."
        )
    seeds, rows = seeds_of(settings), []
    for kind in (*settings["dimensions"], None):
        for seed in seeds:
            report(f"{'orthogonal inputs' if kind is None else f'{kind} dimensions'}, seed {seed}")
            reduced = _start(settings, kind, int(seed))
            rows.append(stacked([_run(settings, reduced, leak) for leak in settings["leaks"]]))
    kinds = len(settings["dimensions"]) + 1
    found = {k: v.reshape(kinds, len(seeds), *v.shape[1:]) for k, v in stacked(rows).items()}
    kept = ("dimensions", "leaks", "samples", "width", "step", "window")
    widths = named("drawn", random_blocks(settings["samples"] // 2, settings["widths"], seeds))
    turned = _turned(settings, seeds, report)
    return {
        "seeds": seeds,
        **{k: np.array(settings[k]) for k in kept},
        "widths": np.array(settings["widths"]),
        "steps": doubling(settings["doublings"]),
        **found,
        **widths,
        **named("turned", turned),
    }


def _start(settings: Mapping[str, Any], dimensions: int | None, seed: int) -> Span:
    """Gaussian inputs of length about 1, or orthogonal ones of length 1, and a small network on them."""
    n, data_seed = settings["samples"], settings["data_seed"] + seed
    d = settings["dimensions"][0] if dimensions is None else dimensions
    if dimensions is None:
        data = tasks.orthogonal(n, d, seed=data_seed)
    else:
        drawn = tasks.gaussian_mixture(n, d, 0.0, seed=data_seed)
        data = Dataset(drawn.x / np.sqrt(d), drawn.y)
    network = networks.xavier((d, settings["width"], 1), factor=settings["factor"], seed=seed, signs=True)
    return networks.in_span(network, data)


def _run(settings: Mapping[str, Any], reduced: Span, leak: float) -> dict[str, Any]:
    """One run: measurements along it and at its end, and the predictions for orthogonal inputs."""
    start, data = Network(reduced.network.weights, leak=leak), reduced.data
    path = descended(start, data, step=settings["step"], doublings=settings["doublings"])
    outer = start.weights[1][0]
    return {
        "near_orthogonality": diagnostics.near_orthogonality(data),
        "loss": path.loss,
        "ranks": path.map(lambda network: stable_ranks(reduced.gram(network), outer)),
        "spread": path.map(lambda network: diagnostics.margins(network, data).spread),
        "size": path.map(lambda network: np.trace(reduced.gram(network))),
        **_end(path, data),
        **since_settled(path, reduced, settings["step"]),
    }


def _turned(settings: Mapping[str, Any], seeds: np.ndarray, report: Report) -> Numbers:
    """The share of ReLU gates that differ from the prediction, over sizes of weights, in few dimensions."""
    kinds, factors = settings["dimensions"][:-1] or settings["dimensions"], settings["start_factors"]
    shares = np.zeros((len(kinds), len(seeds), len(factors)))
    for k, d in enumerate(kinds):
        report(f"ReLU networks from initial weights of many sizes, {d} dimensions")
        for s, seed in enumerate(seeds):
            reduced = _start(settings, d, int(seed))
            for i, factor in enumerate(factors):
                start = shrunk(reduced, factor / settings["factor"])
                path = descended(
                    start.network, start.data, step=settings["step"], doublings=settings["short"]
                )
                shares[k, s, i] = _other_gates(path, start.data)
    return {"dimensions": np.array(kinds), "factors": np.array(factors), "shares": shares}


def _other_gates(path: Trajectory, data: Dataset) -> float:
    """The share of final gates that differ from the initial prediction for orthogonal inputs."""
    return theory.pattern_changes(path, data, final_patterns(path[0], data))[-1]


def _end(path: Trajectory, data: Dataset) -> dict[str, Any]:
    """The max-margin network of the final gates, and the number of gates that differ from the prediction."""
    last, outer = path[-1], path[-1].weights[1][0]
    patterns = theory.activation_patterns(last, data.x)
    end = theory.neighbors.gated_max_margin(last, data, patterns=patterns)
    w = end.network.weights[0]
    # measured on inputs that are not orthogonal too, where the bound is no theorem
    blocks = theory.neighbors.sign_block_ranks(
        last, data, orthogonal_tolerance=np.inf, patterns_tolerance=1.0
    )
    return {
        "limit": stable_ranks(w @ w.T, outer),
        "constant": end.multipliers.sum(),
        "on_margin": np.mean(end.on_margin),
        "other_gates": _other_gates(path, data),
        "ideal": blocks.ranks,
        "length": blocks.norms,
        "ceiling": blocks.bounds,
    }
