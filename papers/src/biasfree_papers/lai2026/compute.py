"""Runs on Gaussian samples: two neurons and random networks, and how far from linear they end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree_papers.lai2026.sign_interpolator import sign_interpolator
from biasfree_papers.settings import (
    Report,
    SeededSettings,
    at_least,
    only,
    seeds,
    setting,
    several,
    several_whole,
)
from biasfree_papers.shared.statistics import fitted
from biasfree_papers.shared.trajectories import rounding

TARGETS = ["labels", "noise"]  # alternating +1, −1, and independent N(0, 1)
MODELS = ["two neurons", "networks"]
MEASURES = ["two neurons to X⁺y", "networks to X⁺y", "two neurons to the ReLU interpolator"]
_KICKS = (0.01, 0.03, 0.1, 0.3)  # steps on orthonormal samples: the share of a sample that one fits


_TINY = only(positive, lambda s: s <= 0.05, "be at most 0.05, so that initial outputs are small")


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of high-dimensional samples."""

    samples: tuple[int, ...] = setting((20, 40, 80), "numbers n of samples, from 4 on", several_whole(low=4))
    ratios: tuple[float, ...] = setting(
        (2, 5, 10, 20, 50, 100), "values of d/n, 1.5 or more", several(low=1.5, least=2)
    )
    asymptotic: float = setting(10.0, "the least d/n that exponents are fitted from", positive)
    width: int = setting(40, "a number of neurons of the wide networks", at_least(2))
    scale: float = setting(1e-3, "the initial norm of a layer, √(initial outputs), at most 0.05", _TINY)
    kick: float = setting(0.01, "the share of a unit sample that one step of the two neurons fits", positive)
    end: float = setting(60.0, "the time at which the two neurons end, in 1/rate of a unit sample", positive)
    step: float = setting(0.1, "the step of the wide networks over √n, a positive number", positive)
    steps: int = setting(2000, "a number of steps of the wide networks", at_least(2))
    seeds: int = seeds(6)


SECONDS = 34
SMALL: dict[str, Any] = {
    "samples": (8,), "ratios": (2, 20), "asymptotic": 2, "width": 12, "kick": 0.05, "end": 30, "steps": 600,
    "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Distances of both models for every kind of targets, number of samples, d/n and seed, and controls."""

    def compared(samples: int, **given: list[Any]) -> dict[str, Any]:
        report(f"n = {samples}: {2 * np.prod([len(values) for values in given.values()])} runs")
        return _compared(settings, samples, **given)

    over = {"target": TARGETS, "samples": settings.samples, "ratio": settings.ratios}
    found = bf.sweeps.tabulate(
        compared, over=over, seeds=settings.all_seeds, group=("target", "ratio", "seed")
    ).assign_coords(measure=MEASURES, model=MODELS)
    return exponents(found.assign(asymptotic=settings.asymptotic, **_orthonormal(settings)))


class _Case(NamedTuple):
    """Samples and a random network in their span; RRᵀ of the first layer's part R orthogonal to them."""

    data: bf.Dataset
    network: bf.Network
    rest: np.ndarray


def _cases(settings: Settings, n: int, ratio: float, seed: int) -> dict[str, _Case]:
    """For both kinds of targets the same inputs, N(0, I/d) in d = n·ratio dimensions, and network."""
    d, rng = round(n * ratio), np.random.default_rng((seed, n, round(1000 * ratio)))
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    targets = dict(zip(TARGETS, (_labels(n), rng.normal(size=n)), strict=True))
    start = bf.networks.balanced((d, settings.width, 1), scale=settings.scale, seed=seed)
    reduced = bf.networks.in_span(start, bf.Dataset(x, targets["labels"]))
    rest = reduced.rest @ reduced.rest.T
    return {name: _Case(bf.Dataset(reduced.data.x, y), reduced.network, rest) for name, y in targets.items()}


def _labels(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2, -1.0, 1.0)


def _two_neurons(data: bf.Dataset, scale: float, *, everywhere: bool = False) -> bf.Network:
    """f(x) = σ(v₊·x) − σ(v₋·x), v±·x_i = scale on the samples of that sign or `everywhere`, else −scale."""
    signs = np.ones(len(data)) if everywhere else np.sign(data.y)
    v = np.linalg.lstsq(data.x, scale * signs, rcond=None)[0]
    return bf.Network((np.array([v, v if everywhere else -v]), np.array([[1.0, -1.0]])))


def _pairs(
    settings: Settings, starts: list[bf.Network], data: list[bf.Dataset], kick: float
) -> tuple[list[bf.Network], int]:
    """Two neurons with fixed outer weights, and the number of steps, each of a share `kick` of a sample."""
    steps = max(2, round(settings.end / kick))
    options: Any = {"step": kick * len(data[0]), "steps": steps, "save_every": steps, "train": (True, False)}
    return [run[-1] for run in bf.gradient_descent(starts, data, **options)], steps


def _compared(
    settings: Settings, n: int, target: list[str], ratio: list[float], seed: list[int]
) -> dict[str, Any]:
    """Two neurons and networks on all sets of one size; the step of networks grows as the curvature falls."""
    made = [[_cases(settings, n, r, s) for s in seed] for r in ratio]
    cases = [case[name] for name in target for row in made for case in row]
    data = [case.data for case in cases]
    pairs, _ = _pairs(settings, [_two_neurons(one, settings.scale**2) for one in data], data, settings.kick)
    options: Any = {"step": settings.step * np.sqrt(n), "steps": settings.steps, "save_every": settings.steps}
    wide = bf.gradient_descent([case.network for case in cases], data, **options)
    ends = [run[-1] for run in wide]
    rows = [_measured(settings, *each) for each in zip(cases, pairs, ends, strict=True)]
    shape = (len(target), len(ratio), len(seed))
    return {
        name: (dims, np.reshape([row[name][1] for row in rows], (*shape, *np.shape(value))))
        for name, (dims, value) in rows[0].items()
    }


def _measured(settings: Settings, case: _Case, pair: bf.Network, wide: bf.Network) -> dict[str, Any]:
    """Relative distances and their defects, losses, and the distance between the two interpolators."""
    data = case.data
    relu, linear = sign_interpolator(data), bf.theory.least_squares(data)
    off = float(np.sqrt(max(0.0, wide.weights[1][0] @ case.rest @ wide.weights[1][0])))
    both = [_from_linear(pair, data, linear), _from_linear(wide, data, linear, off=off)]
    distances, defects, losses = zip(*both, strict=True)
    to_relu = np.linalg.norm(pair.weights[0] - relu) / np.linalg.norm(relu)
    eigenvalues = np.linalg.eigvalsh(data.x @ data.x.T)
    return {
        "distance": (("measure",), [*distances, to_relu]),
        "defect": (("model",), defects),
        "fit_error": (("model",), losses),
        "relu_linear": ((), np.linalg.norm(relu[0] - relu[1] - linear) / np.linalg.norm(linear)),
        "rounding": ((), np.sqrt(eigenvalues[-1] / eigenvalues[0]) * rounding(data, settings.width, 1)),
    }


def _from_linear(
    network: bf.Network, data: bf.Dataset, linear: np.ndarray, *, off: float = 0.0
) -> tuple[float, float, float]:
    """|v − X⁺y|/|X⁺y| of v = Σ a_h w_h, with length `off` orthogonal to the samples; what it misses of its
    causes; and the loss over that of f = 0.

    y − Xv = (y − f) + s, what is not fitted and what neurons are inactive on, s_i = Σ a_h σ(−w_h·x_i), since
    σ(z) = z + σ(−z).
    """
    first, second = network.weights
    inactive, missing = np.maximum(-(data.x @ first.T), 0) @ second[0], data.y - network(data.x)
    size, apart = np.linalg.norm(linear), linear - second[0] @ first
    cause = np.linalg.lstsq(data.x, inactive + missing, rcond=None)[0]
    return (
        float(np.hypot(np.linalg.norm(apart), off) / size),
        float(np.linalg.norm(apart - cause) / size),
        float(np.mean(missing**2) / np.mean(data.y**2)),
    )


def _orthonormal(settings: Settings) -> dict[str, Any]:
    """Orthonormal samples: the distance at the end, from neurons of their own sign and from all active.

    Both neurons keep ±scale on the samples they are inactive on, and (1 − kick)^steps is not fitted.
    """
    n, tiny, found = min(settings.samples), settings.scale**2, []
    data = bf.data.orthogonal(n, n, seed=settings.seed, y=_labels(n))
    linear = bf.theory.least_squares(data)
    for kick in _KICKS:
        starts = [_two_neurons(data, tiny, everywhere=every) for every in (False, True)]
        ends, steps = _pairs(settings, starts, [data, data], kick)
        left = tiny + (1 + tiny) * (1 - kick) ** (steps - 1) + rounding(data, 2, steps)
        found.append((*(_from_linear(end, data, linear)[0] for end in ends), left))
    own, everywhere, bound = np.transpose(found)
    return {
        "kick": ("kick", list(_KICKS)),
        "control": (("active", "kick"), [own, everywhere]),
        "active": ("active", ["own sign", "all samples"]),
        "control_bound": ("kick", bound),
    }


def exponents(n: xarray.Dataset) -> xarray.Dataset:
    """The exponents of all distances against n/d, all n together, with their errors, from `asymptotic` on."""

    def exponent(measure: str, target: str) -> dict[str, float]:
        values = n.distance.sel(measure=measure, target=target, ratio=slice(float(n.asymptotic), None))
        found = fitted(np.broadcast_to(1 / values.ratio, values.shape[:2]), values.values)
        return {"exponent": found.estimate, "exponent_error": found.error}

    return n.merge(bf.sweeps.tabulate(exponent, over={"measure": MEASURES, "target": TARGETS}))
