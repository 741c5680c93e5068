"""Runs: two neurons and random networks on Gaussian samples, and their final distance from linear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import diagnostics, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.lai2026.models import (
    KINDS,
    Case,
    along_sums,
    cases,
    descend_networks,
    descend_pairs,
    labels,
    pair_steps,
    two_neurons,
)
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named, rounding, stacked
from biasfree_papers.types import Numbers, Report

#: The steps of the orthogonal control, each as the share of a sample that one step fits.
KICKS = (0.01, 0.03, 0.1, 0.3)
_ALONG = 50.0  # the largest d/n at which the two neurons start along D±


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Distances of both models for every kind of targets, number of samples, d/n and seed, and controls."""
    seeds = seeds_of(settings)
    axes = (len(KINDS), len(settings["ratios"]), len(seeds))
    found = []
    for n in settings["samples"]:
        report(f"n = {n}: {2 * int(np.prod(axes))} runs")
        rows = stacked(_of_one_size(settings, n))
        found.append({name: values.reshape(axes) for name, values in rows.items()})
    return {
        "seeds": seeds,
        "samples": np.array(settings["samples"]),
        "ratios": np.array(settings["ratios"]),
        "asymptotic": np.array(settings["asymptotic"]),
        "kick": np.array(settings["kick"]),
        **{name: np.moveaxis(values, 0, 1) for name, values in stacked(found).items()},
        **_control(settings),
        **named("along", _along(settings)),
    }


def _of_one_size(settings: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """A row for every kind, d/n and seed, in this order."""
    drawn = [[cases(settings, n, ratio, int(s)) for s in seeds_of(settings)] for ratio in settings["ratios"]]
    flat = [case[kind] for kind in KINDS for row in drawn for case in row]
    data = [case.data for case in flat]
    starts = [two_neurons(each, settings["scale"] ** 2) for each in data]
    pairs = descend_pairs(starts, data, settings, settings["kick"])
    wide = descend_networks([case.network for case in flat], data, settings)
    return [_compared(settings, *each) for each in zip(flat, pairs, wide, strict=True)]


def _compared(settings: Mapping[str, Any], case: Case, pair: Network, wide: Network) -> dict[str, Any]:
    data, linear, relu = (
        case.data,
        theory.least_squares(case.data),
        theory.neighbors.sign_interpolator(case.data),
    )
    size, eigenvalues = np.linalg.norm(linear), np.linalg.eigvalsh(data.x @ data.x.T)
    off = float(np.sqrt(max(0.0, wide.weights[1][0] @ case.rest @ wide.weights[1][0])))
    gap = np.linalg.norm(pair.weights[0] - relu.neurons) / np.linalg.norm(relu.neurons)
    return {
        **named("two", _distances(pair, data, linear, eigenvalues)),
        **named("wide", _distances(wide, data, linear, eigenvalues, off=off)),
        "two_relu": gap,
        "relu_linear": np.linalg.norm(relu.linear - linear) / size,
        "relu_error": relu.error,
        "wide_rank": max(_gathered(wide, case.rest, sign) for sign in (1, -1)),
        "rounding": np.sqrt(eigenvalues[-1] / eigenvalues[0]) * rounding(data, settings["width"], 1),
    }


def _distances(
    network: Network, data: Dataset, linear: np.ndarray, eigenvalues: np.ndarray, *, off: float = 0.0
) -> dict[str, Any]:
    """|v − X⁺y|/|X⁺y| of v = Σ a_h w_h, and its terms.

    `off` is the length of v orthogonal to the samples. y − Xv = (y − f) + s, the part that is not fitted and
    the part of inactive neurons, s_i = Σ a_h σ(−w_h·x_i), since σ(z) = z + σ(−z).
    """
    first, second = network.weights
    silent, missing = np.maximum(-(data.x @ first.T), 0) @ second[0], data.y - network(data.x)
    size, apart = np.linalg.norm(linear), linear - second[0] @ first
    cause = np.linalg.lstsq(data.x, silent + missing, rcond=None)[0]
    return {
        "linear": np.hypot(np.linalg.norm(apart), off) / size,
        "defect": np.linalg.norm(apart - cause) / size,
        "silent": np.linalg.norm(silent) / size,
        "low": np.linalg.norm(silent + missing) / np.sqrt(eigenvalues[-1]) / size,
        "high": np.linalg.norm(silent + missing) / np.sqrt(eigenvalues[0]) / size + off / size,
        "loss": np.mean(missing**2) / np.mean(data.y**2),
    }


def _gathered(network: Network, rest: np.ndarray, sign: int) -> float:
    """The stable rank of the neurons of one sign, each times its outer weight: 1 in one direction."""
    first, second = network.weights
    chosen = sign * second[0] > 0
    if not chosen.any():
        return 0.0
    a = second[0][chosen]
    gram = first[chosen] @ first[chosen].T + rest[np.ix_(chosen, chosen)]
    return float(diagnostics.stable_rank_of_gram(np.outer(a, a) * gram))


def _control(settings: Mapping[str, Any]) -> Numbers:
    """Orthonormal samples: the distance at the end, from neurons of their own sign and from all active."""
    n = min(settings["samples"])
    data = tasks.orthogonal(n, n, seed=settings["seed"], y=labels(n))
    target, tiny = theory.least_squares(data), settings["scale"] ** 2
    rows = []
    for kick in KICKS:
        starts = [two_neurons(data, tiny, everywhere=every) for every in (False, True)]
        ends = descend_pairs(starts, [data, data], settings, kick)
        maps = [end.weights[1][0] @ end.weights[0] for end in ends]
        own, every = (np.linalg.norm(v - target) / np.linalg.norm(target) for v in maps)
        steps = pair_steps(settings, kick)
        # both neurons keep ±scale on the samples they are silent on, and (1 − kick)^steps is not fitted
        left = tiny + (1 + tiny) * (1 - kick) ** (steps - 1)
        rows.append({"own": own, "every": every, "bound": left + rounding(data, 2, steps)})
    return {"kicks": np.array(KICKS), **named("control", stacked(rows))}


def _along(settings: Mapping[str, Any]) -> Numbers:
    """Labels, the fewest samples: two neurons along D±, in the steps of all runs and in large ones.

    Rows of `distance`: those two, and the start of all runs in its steps; columns: draws.
    """
    n, ratio = (
        min(settings["samples"]),
        max([r for r in settings["ratios"] if r <= _ALONG] or [min(settings["ratios"])]),
    )
    data = [cases(settings, n, ratio, int(seed))["labels"].data for seed in seeds_of(settings)]
    curvature = max(float(np.linalg.eigvalsh(one.x @ one.x.T)[-1]) for one in data)
    kicks, tiny = (settings["kick"], 1 / curvature), settings["scale"] ** 2
    along, own = ([make(one, tiny) for one in data] for make in (along_sums, two_neurons))
    rows = [
        [
            _distance(end, one)
            for end, one in zip(descend_pairs(starts, data, settings, kick), data, strict=True)
        ]
        for starts, kick in ((along, kicks[0]), (along, kicks[1]), (own, kicks[0]))
    ]
    return {"ratio": np.array(ratio), "kicks": np.array(kicks), "distance": np.array(rows)}


def _distance(network: Network, data: Dataset) -> float:
    linear = theory.least_squares(data)
    return float(np.linalg.norm(network.weights[1][0] @ network.weights[0] - linear) / np.linalg.norm(linear))
