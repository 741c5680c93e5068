"""Runs on orthogonal samples: who covers all of them, what training comes to, and escapes one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several_whole
from biasfree_papers.shared.escape_sequence import escape_sequence
from biasfree_papers.shared.orthogonal_inputs import interpolator_norm
from biasfree_papers.town2026.uncovered_samples import (
    interpolation_probability,
    loss_floor,
    uncovered_samples,
)

GROWN = 1e-2  # |a_h||w_h| above which a neuron has grown; sizes at the end are about 1
_DOMINANCE = np.sqrt(2)  # initially |a_h|/|w_h|: above 1, so that a_h never vanishes
_SPREAD = 0.45  # widths are sampled from this much below to twice this much above the one of ½
_LATE, _SETTLING = 1.15, 40.0  # of the last escape's predicted time, and halvings of errors after it
_FINE = 0.03  # the step over √n of escapes one by one: e-foldings are timed to 1 %


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of orthogonal samples."""

    samples: tuple[int, ...] = setting(
        (8, 16, 32, 64, 128), "two or more numbers of samples, 4 or more each", several_whole(low=4, least=2)
    )
    further: tuple[int, ...] = setting(
        (256, 512), "more numbers of samples, for the limit γ → 0 alone", several_whole(low=4, least=1)
    )
    width: int = setting(40, "a number of neurons that nearly always suffices", at_least(1))
    few: int = setting(16, "a number of neurons for the escapes one by one", at_least(1))
    scale: float = setting(1e-12, "the initial norm of the first layer, a small positive number", positive)
    tiny: float = setting(1e-60, "the same for the escapes one by one", positive)
    step: float = setting(0.2, "the step of descent over √n, a positive number", positive)
    draws: int = setting(400, "a number of seeds at every width, without training", at_least(10))
    apart: int = setting(1000, "from the first seed to as many others, for escapes one by one", at_least(1))
    seeds: int = seeds(16)


SECONDS = 26
SMALL: dict[str, Any] = {
    "samples": (4, 8), "further": (6, 12), "width": 12, "few": 6, "scale": 1e-6, "tiny": 1e-20, "draws": 40,
    "seeds": 3,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Coverage of many seeds, training of some at every n, their limit, and single saddles at the least n."""

    def at(samples: int) -> dict[str, Any]:
        report(f"{samples} samples: {settings.draws} seeds at every width; training of {settings.seeds}")
        covered = _covered(settings, samples)
        return {**covered, **_trained(settings, samples, int(np.ceil(covered["exact_half"])))}

    def limit(limit_samples: int, seed: int) -> dict[str, Any]:
        """½|θ|² as γ → 0 of a seed at the large width: no training needed."""
        start = start_of(limit_samples, settings.width, scale=settings.scale, seed=seed)
        return {"limit_norm": _escapes(start, samples_of(limit_samples)).shares.sum()}

    every = {"limit_samples": np.union1d(settings.samples, settings.further).tolist()}
    found = [
        bf.sweeps.tabulate(at, over={"samples": settings.samples}),
        bf.sweeps.tabulate(limit, over=every, seeds=settings.all_seeds),
        _one_by_one(settings, report),
    ]
    used = {"draws": settings.draws, "step": settings.step}
    return threshold(xarray.merge([*found, used], join="exact"))


def samples_of(n: int, y: np.ndarray | None = None) -> bf.Dataset:
    """The axes as inputs, labels ±1 alternating unless given.

    Gaussian weights are isotropic, so all orthonormal inputs are equivalent; on the axes w_h·x_i is one
    weight, and what is zero in theory is zero in floating point.
    """
    return bf.Dataset(np.eye(n), bf.data.orthogonal(n, n).y if y is None else y)


def start_of(n: int, width: int, *, scale: float, seed: int) -> bf.Network:
    """Gaussian w_h of total norm `scale`, |a_h| = √2|w_h|, random signs."""
    first, second = bf.networks.balanced((n, width, 1), scale=scale, seed=seed).weights
    return bf.Network((first, _DOMINANCE * second))


def probability(n: int, width: int) -> float:
    """The probability that a network of this width covers n samples with alternating labels."""
    return interpolation_probability((n + 1) // 2, n // 2, width)


def _covered(settings: Settings, n: int) -> dict[str, Any]:
    """The number of seeds that cover every sample, at widths around the threshold: no training needed."""
    half, data = exact_half(n), samples_of(n)
    widths = np.unique(np.round(half * np.linspace(1 - _SPREAD, 1 + 2 * _SPREAD, 9)).astype(int))

    def covers(width: int, i: int) -> bool:
        seed = settings.seed + 1000 * (width + 1000 * n) + i  # every n and width has its own seeds
        return not uncovered_samples(start_of(n, width, scale=1.0, seed=seed), data).any()

    counts = np.array([sum(covers(width, i) for i in range(settings.draws)) for width in widths.tolist()])
    shares = counts / settings.draws
    again = np.random.default_rng(settings.seed).binomial(settings.draws, shares, size=(400, len(widths)))
    return {
        "widths": ("cell", widths),
        "covered": ("cell", counts),
        "probability": ("cell", [probability(n, width) for width in widths.tolist()]),
        "exact_half": half,
        "half": crossing(widths, shares),
        "half_again": ("bootstrap", [crossing(widths, share) for share in again / settings.draws]),
    }


def exact_half(n: int) -> float:
    """The width at which the probability is ½, on straight lines between whole widths."""
    low = 1
    while probability(n, low + 1) < 0.5:
        low += 1
    one, two = probability(n, low), probability(n, low + 1)
    return low + (0.5 - one) / (two - one)


def crossing(widths: np.ndarray, shares: np.ndarray) -> float:
    """The width at which the shares reach ½, interpolated linearly; NaN if they do not."""
    above = np.flatnonzero(shares >= 0.5)
    if not len(above) or above[0] == 0:
        return np.nan
    i = above[0]
    return float(np.interp(0.5, shares[i - 1 : i + 1], widths[i - 1 : i + 1]))


def _trained(settings: Settings, n: int, narrow: int) -> dict[str, Any]:
    """Networks at the width at which half of them fit, and at the large one: how low they get, and norms."""
    data, seeds = samples_of(n), settings.all_seeds
    below, norms = [], []
    for width in (narrow, settings.width):
        starts = [start_of(n, width, scale=settings.scale, seed=seed) for seed in seeds]
        due = [_escapes(start, data) for start in starts]
        runs = _descended(starts, [data] * len(starts), due, step=settings.step, saves=60, save=lambda _: 0.0)
        floors = np.array([loss_floor(start, data) for start in starts])
        below.append(np.array([run.loss.min() for run in runs]) - floors)
        norms.append(np.array([bf.diagnostics.half_norm(run[-1]) for run in runs]))
    return {
        "trained_width": ("trained_width", ["half", "large"]),
        "seed": ("seed", seeds),
        "below": (("trained_width", "seed"), below),
        "norm": (("trained_width", "seed"), norms),
        "least": interpolator_norm(data),
    }


def _escapes(start: bf.Network, data: bf.Dataset) -> Any:
    return escape_sequence(start, data)


def _descended(
    starts: list[bf.Network], data: list[bf.Dataset], due: Any, *, step: float, saves: int, save: Any
) -> list[bf.Trajectory]:
    """Descent of all networks with `step`·√n, until well after their last predicted escape."""
    root = np.sqrt(len(data[0]))
    last = max(_LATE * one.times.max(initial=0.0) for one in due) + _SETTLING * root
    steps = int(np.ceil(last / (step * root)))
    every = max(steps // saves, 1)
    return bf.gradient_descent(starts, data, step=step * root, steps=steps, save_every=every, save=save)


def _one_by_one(settings: Settings, report: Report) -> xarray.Dataset:
    """Far smaller weights: directions that have grown half-way from every escape to the next.

    Targets have sizes from ½ to 1½, so that no two sets of samples exert equal forces.
    """
    n, seeds = min(settings.samples), settings.all_seeds
    numbers = [*seeds, *(seed + max(settings.apart, len(seeds)) for seed in seeds)]
    report(f"{n} samples, weights of {settings.tiny:g}: escapes one by one")
    sizes = {seed: np.random.default_rng(seed).uniform(0.5, 1.5, size=n) for seed in numbers}
    data = [samples_of(n, samples_of(n).y * sizes[seed]) for seed in numbers]
    starts = [start_of(n, settings.few, seed=seed, scale=settings.tiny) for seed in numbers]
    due = [_escapes(start, one) for start, one in zip(starts, data, strict=True)]
    runs = _descended(starts, data, due, step=_FINE, saves=800, save=directions)

    def grown(saddle_seed: int) -> dict[str, Any]:
        i = numbers.index(saddle_seed)
        run, times = runs[i], due[i].times
        between = (times + np.append(times[1:], run.ts[-1])) / 2
        at = np.minimum(np.searchsorted(run.ts, between), len(run.ts) - 1)
        return {"directions": ("escape", np.asarray(run.saved)[at].astype(float))}

    shown = int(np.argmax([len(one.times) for one in due[: len(seeds)]]))
    return bf.sweeps.tabulate(grown, over={"saddle_seed": numbers}).assign(
        shown=shown,
        shown_time=("time", runs[shown].ts),
        shown_loss=("time", runs[shown].loss),
        shown_due=("shown_escape", due[shown].times),
        shown_left=("shown_escape", due[shown].left),
    )


def directions(network: bf.Network) -> int:
    """The number of directions that have grown, added over the signs of a_h."""
    first, outer = network.weights[0], network.weights[1][0]
    big = np.linalg.norm(first, axis=1) * np.abs(outer) > GROWN
    groups = [first[big & (sign * outer > 0)] for sign in (1, -1)]
    found = [bf.Network((rows, np.ones((1, len(rows))))) for rows in groups if len(rows)]
    return sum(len(bf.diagnostics.direction_clusters(one, negligible=0.0)) for one in found)


def threshold(n: xarray.Dataset) -> xarray.Dataset:
    """The width of ½ fitted against ln n, with its χ²."""
    logs, again, half = np.log(n.samples.values), n.half_again.values, n.half.values
    errors, misfit = np.nanstd(again, axis=1), np.nan
    if len(logs) > 2:  # two points always lie on a line
        line = np.polyval(np.polyfit(logs, half, 1, w=1 / errors), logs)
        misfit = float(np.sum(((half - line) / errors) ** 2))
    return n.assign(
        half_error=("samples", errors),
        slope=np.polyfit(logs, half, 1)[0],
        slope_error=np.polyfit(logs, again[:, np.isfinite(again).all(axis=0)], 1)[0].std(),
        misfit=misfit,
    )
