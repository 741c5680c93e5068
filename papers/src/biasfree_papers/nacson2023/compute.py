"""Descent on small sets in the plane at several steps, from the same weights, then a perturbation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.diagnostics import path_norm
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.theory.neighbors import (
    kink_distances,
    largest_path_norm,
    largest_settling_step,
    path_norm_multipliers,
    tangent_sharpness,
)
from biasfree.trajectory import Trajectory
from biasfree_papers.nacson2023.minima import beside_kinks, kicks
from biasfree_papers.settings import SeededSettings, at_least, seeds, setting, several
from biasfree_papers.types import Report

#: What becomes of a run, by number.
OUTCOMES = ("converged", "at rest elsewhere", "moving", "diverged")
_SAVES = 8  # saved states of a run; the loss has to be low at the last quarter of them
_ANGLES = np.linspace(-np.pi, np.pi, 721)
_RUNGS = (0.0625, 0.125, 0.177, 0.21, 0.25, 0.297, 0.354, 0.42, 0.5, 0.595, 0.707, 0.841, 1.0, 1.414)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of steps and the minima they select."""

    width: int = setting(20, "a number of neurons", at_least(1))
    excess: float = setting(
        1.5,
        "the initial norm of a layer over the square root of the least Σ|a||w| that interpolates",
        positive,
    )
    rungs: tuple[float, ...] = setting(
        _RUNGS,
        "steps, over the largest at which any minimum of a set can be stable",
        several(low=1e-6, least=2),
    )
    time: float = setting(1200.0, "step times number of steps, at least, a positive number", positive)
    steps: int = setting(20_000, "a number of steps, at least", at_least(8))
    level: float = setting(
        1e-16, "the loss at and below which a run has converged, a positive number", positive
    )
    kick: float = setting(1e-10, "the length of a kick over that of all weights, a positive number", positive)
    kicked: int = setting(400, "a number of steps after a kick", at_least(50))
    seeds: int = seeds(16)


SECONDS = 36
SMALL: dict[str, Any] = {
    "width": 8, "rungs": (0.125, 0.25, 0.35, 0.5, 1.414), "time": 100.0, "steps": 4000, "kicked": 200,
    "seeds": 4,
}  # fmt: skip


def circle() -> Dataset:
    """Five evenly spaced points of the circle, labels alternating."""
    return tasks.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))


def generic(seed: int) -> Dataset:
    """One random point in every fifth of the circle, and Gaussian targets scaled so that η_c is 1.

    η_c falls as targets grow, and the runs of a batch share their step.
    """
    rng = np.random.default_rng(seed)
    x, y = _unit(2 * np.pi * (np.arange(5) + rng.uniform(size=5)) / 5), rng.normal(size=5)
    return Dataset(x, y * largest_settling_step(Dataset(x, y)))


SETS: dict[str, Callable[..., Dataset]] = {
    "circle": circle,
    "generic": generic,
    "six points": tasks.six_points,
    "orthogonal pair": tasks.orthogonal_pair,
}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every set at every step, in units of the largest step that any minimum of the set can be stable at."""
    found = tabulate(lambda set: _on_set(settings, set, report), over={"set": list(SETS)})
    coords = {"rung": list(settings.rungs), "seed": settings.all_seeds, "angle": _ANGLES}
    return judged(found.assign_coords(coords).assign(kicked=settings.kicked))


def _on_set(settings: Settings, name: str, report: Report) -> dict[str, Any]:
    """All steps and seeds of a set; of the first seed the functions at the least and largest stable step."""
    numbers, make = settings.all_seeds.tolist(), SETS[name]
    data = [make(seed) for seed in numbers] if make is generic else [make()] * len(numbers)
    known = {one: _facts(settings, one) for one in dict.fromkeys(data)}  # programs are solved once per set
    facts = [known[one] for one in data]
    sizes = (2, settings.width, 1)
    starts = [
        networks.gaussian(sizes, scale=float(fact["scale"]), seed=seed)
        for fact, seed in zip(facts, numbers, strict=True)
    ]
    rows, ends = [], []
    for rung in settings.rungs:
        report(f"{name}: step {rung:.3g} of the largest")
        step = float(rung * facts[0]["ceiling"])
        runs = _descended(settings, starts, data, step)
        ends.append(runs[0][-1])
        rows.append(_at_step(settings, runs, data, step))
    stable = [i for i, row in enumerate(rows) if row["outcome"][0] == 0]
    shown = [stable[0], stable[-1]] if stable else []
    functions = [ends[i](_unit(_ANGLES)) for i in shown] or np.full((2, len(_ANGLES)), np.nan)
    return {
        **{key: ("seed", [fact[key] for fact in facts]) for key in facts[0]},
        **{key: (("rung", "seed"), [row[key] for row in rows]) for key in rows[0]},
        "function": (("end", "angle"), functions),
        "shown": ("end", [settings.rungs[i] for i in shown] or [np.nan, np.nan]),
    }


def _unit(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _facts(settings: Settings, data: Dataset) -> dict[str, Any]:
    """What is known of a set before any run, with the initial scale: √(least norm) times `excess`."""
    least_norm = path_norm_multipliers(data) @ data.y
    return {
        "ceiling": largest_settling_step(data),
        "least_norm": least_norm,
        "least_gain": 1 / largest_path_norm(data, step=1.0),
        "scale": settings.excess * np.sqrt(least_norm),
        "longest": np.linalg.norm(data.x, axis=1).max(),
    }


def _descended(
    settings: Settings, starts: list[Network], data: list[Dataset], step: float
) -> list[Trajectory]:
    """All seeds in one batch; those that diverge end there."""
    from biasfree.dynamics import gradient_descent

    every = -(-max(int(settings.time / step), settings.steps) // _SAVES)
    return gradient_descent(
        starts, data, step=step, steps=_SAVES * every, save_every=every, keep_diverged=True
    )


def _at_step(
    settings: Settings, runs: list[Trajectory], data: list[Dataset], step: float
) -> dict[str, np.ndarray]:
    """One step size: one value per seed; measurements of a minimum are NaN where none was reached."""
    outcome = np.array([_outcome(run, settings.level) for run in runs])
    there, ends = outcome == 0, [run[-1] for run in runs]
    found = {name: np.full(len(runs), np.nan) for name in _MEASURES}
    if there.any():
        at = np.where(there, np.arange(len(runs)), there.argmax())  # as many as compiled for
        minima, sets = [ends[i] for i in at], [data[i] for i in at]
        kicked = kicks(minima, sets, step=step, kick=settings.kick, steps=settings.kicked)
        for i in np.flatnonzero(there):
            values = _measured(minima[i], sets[i], settings.kicked * step, kicked[i])
            for name, value in zip(_MEASURES, values, strict=True):
                found[name][i] = value
    return {"outcome": outcome, **found}


_MEASURES = (
    "sharpness", "norm", "kink", "tangent", "reach", "distance", "kick_loss", "kick_largest", "top",
)  # fmt: skip


def _measured(network: Network, data: Dataset, time: float, kicked: tuple[float, ...]) -> tuple[float, ...]:
    """Sharpness, Σ|a||w| over neurons active on some sample, the distance from the nearest kink, and the
    sharpness along kinks within reach of a kick.

    A kick Δ₀ that does not grow gets as far as Δ ≤ Δ₀ + ηn·max|∇L| in a time ηn, and |∇L| ≤ (√λ + XΔ)√(2L),
    λ the sharpness at the minimum, X the longest input: what is nearer to a kink than that counts as on it.
    """
    from biasfree.dynamics import sharpness

    sharp = sharpness(beside_kinks(network, data), data)
    distance, loss, *_ = kicked
    rate = time * np.sqrt(2 * loss)
    left = 1 - np.linalg.norm(data.x, axis=1).max() * rate
    reach = (distance + np.sqrt(sharp) * rate) / left if left > 0 else np.inf
    kink, norm = kink_distances(network, data).min(), path_norm(network, data)
    tangent = tangent_sharpness(network, data, within=reach, fit_tolerance=np.inf)
    return sharp, norm, kink, tangent, reach, *kicked


def _outcome(run: Trajectory, level: float) -> int:
    """The number of the outcome."""
    if run.stats.stopped.startswith("diverged"):
        return OUTCOMES.index("diverged")
    late = run.loss[-1 - _SAVES // 4 :]
    if late.max() <= level:
        return OUTCOMES.index("converged")
    return OUTCOMES.index("at rest elsewhere" if np.ptp(late) <= 1e-9 * late[-1] else "moving")


def judged(n: xarray.Dataset) -> xarray.Dataset:
    """Which minima descent settled at, off all kinks or on them, and what the steps did to the norm.

    `settled`: the kick never grows, with all neurons off all kinks within its reach. `growing`: it grows,
    with no neuron nearer to a kink than the kick. `on_kink`: the other minima.
    """
    there, grown = n.outcome == 0, n.kick_largest > n.kick_loss
    settled = there & ~grown & (n.kink > n.reach)
    growing = there & grown & (n.kink > n.distance)
    step = (n.ceiling * n.rung).transpose(*n.outcome.dims)
    first = there.argmax("rung")
    last = n.sizes["rung"] - 1 - there.isel(rung=slice(None, None, -1)).argmax("rung")
    share = n.norm.isel(rung=last) / n.norm.isel(rung=first)
    binding = there & (step * n.sharpness.isel(rung=first) > 2)
    return n.assign(
        step=step,
        settled=settled,
        growing=growing,
        on_kink=there & ~settled & ~growing,
        sharpness_ratio=n.sharpness * step / 2,
        tangent_ratio=n.tangent * step / 2,
        stability_bound=_stability_bound(n, step),
        largest_stable=n.rung.isel(rung=last).drop_vars("rung").where(there.any("rung")),
        norm_share=share.drop_vars("rung", errors="ignore").where(last > first),
        correlation=_of_seeds(_correlation, n.norm.where(there)),
        power=_of_seeds(_power, n.norm.where(binding)),
    )


def _stability_bound(n: xarray.Dataset, step: xarray.DataArray) -> xarray.DataArray:
    """What sharpness·η/2 can be at a minimum that was kicked to a residual r and then never above |r|.

    Of |r| a share `top` is along the sharpest direction, where every step multiplies by ηλ − 1, but for what
    the kernel changes within reach Δ, at most δ = 3√λXΔ + X²Δ². Were ηλ − 1 > 1 + ηδ/top + s with
    (1 + s)ⁿ = 1/top, that part alone would be above |r| after n steps.
    """
    far, root = (n.longest * n.reach).transpose(*n.reach.dims), np.sqrt(n.sharpness)
    grown = np.expm1(-np.log(n.top) / n.kicked)
    return 1 + (step * (3 * root * far + far**2) / n.top + grown) / 2


def _of_seeds(function: Callable[..., float], norms: xarray.DataArray) -> xarray.DataArray:
    """A function of steps and norms, for every set and seed."""
    both = [["rung"], ["rung"]]
    return xarray.apply_ufunc(function, norms.rung, norms, input_core_dims=both, vectorize=True)


def _correlation(_: np.ndarray, norms: np.ndarray) -> float:
    """The rank correlation of norm and step over the steps that have a norm; NaN if fewer than three."""
    kept = norms[np.isfinite(norms)]
    return np.corrcoef(np.arange(len(kept)), kept.argsort().argsort())[0, 1] if len(kept) > 2 else np.nan


def _power(rungs: np.ndarray, norms: np.ndarray) -> float:
    """d ln(norm)/d ln(η) over the steps that have a norm; NaN if fewer than two."""
    kept = np.isfinite(norms)
    return np.polyfit(np.log(rungs[kept]), np.log(norms[kept]), 1)[0] if kept.sum() > 1 else np.nan


def followed(there: xarray.DataArray) -> tuple[xarray.DataArray, xarray.DataArray]:
    """All steps of a set up to one, and the seeds that converge at all of them.

    The steps go on as long as these are half of those of the least step, so that the same are compared.
    """
    so_far = there.astype(int).cumprod("rung").astype(bool)
    count = so_far.sum("seed")
    rungs = (2 * count >= count.isel(rung=0, drop=True)) & (count > 0)
    return rungs, (so_far | ~rungs).all("rung") & rungs.any("rung")
