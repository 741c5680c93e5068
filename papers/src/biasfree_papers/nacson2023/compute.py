"""Descent on small sets in the plane at several steps, from the same weights, then a perturbation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

import biasfree as bf
from biasfree.arrays import positive
from biasfree_papers.nacson2023 import stable_minima
from biasfree_papers.nacson2023.planar_cones import unit
from biasfree_papers.settings import Report, SeededSettings, at_least, seeds, setting, several
from biasfree_papers.shared.trajectories import weight_gap

_SAVES = 8  # saved states of a run; the loss has to be low at the last quarter of them
_ANGLES = np.linspace(-np.pi, np.pi, 721)
_RUNGS = (0.0625, 0.125, 0.177, 0.21, 0.25, 0.297, 0.354, 0.42, 0.5, 0.595, 0.707, 0.841, 1.0, 1.414)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of steps and the minima they select."""

    width: int = setting(20, "a number of neurons", at_least(1))
    excess: float = setting(1.5, "the initial norm of a layer over √(least Σ|a||w| that fits)", positive)
    rungs: tuple[float, ...] = setting(
        _RUNGS, "steps, over the largest at which a minimum can be stable", several(low=1e-6, least=2)
    )
    time: float = setting(1200.0, "step times number of steps, at least, a positive number", positive)
    steps: int = setting(20_000, "a number of steps, at least", at_least(8))
    level: float = setting(1e-16, "the loss up to which a run has converged, a positive number", positive)
    kick: float = setting(1e-10, "the length of a kick over that of all weights, a positive number", positive)
    kicked: int = setting(400, "a number of steps after a kick", at_least(50))
    seeds: int = seeds(16)


SECONDS = 36
SMALL: dict[str, Any] = {
    "width": 8, "rungs": (0.125, 0.25, 0.35, 0.5, 1.414), "time": 100.0, "steps": 4000, "kicked": 200,
    "seeds": 2,
}  # fmt: skip


def circle() -> bf.Dataset:
    """Five evenly spaced points of the circle, labels alternating."""
    return bf.data.circle(5, lambda x: np.where(np.arange(len(x)) % 2, -1.0, 1.0))


def generic(seed: int) -> bf.Dataset:
    """One random point in every fifth of the circle, and Gaussian targets scaled so that η_c is 1.

    η_c falls as targets grow, and the runs of a batch share their step.
    """
    rng = np.random.default_rng(seed)
    x, y = unit(2 * np.pi * (np.arange(5) + rng.uniform(size=5)) / 5), rng.normal(size=5)
    return bf.Dataset(x, y * stable_minima.largest_settling_step(bf.Dataset(x, y)))


SETS: dict[str, Callable[..., bf.Dataset]] = {
    "circle": circle,
    "generic": generic,
    "six points": bf.data.six_points,
    "orthogonal pair": bf.data.orthogonal_pair,
}


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every set at every step, in units of the largest step that any minimum of the set can be stable at."""
    found = bf.sweeps.tabulate(lambda set: _on_set(settings, set, report), over={"set": list(SETS)})
    coords = {"rung": list(settings.rungs), "seed": settings.all_seeds, "angle": _ANGLES}
    return judged(found.assign_coords(coords).assign(kicked=settings.kicked))


def _on_set(settings: Settings, name: str, report: Report) -> dict[str, Any]:
    """All steps and seeds of a set, and the functions that the first seed ends at."""
    numbers, make = settings.all_seeds, SETS[name]
    data = [make(seed) for seed in numbers] if make is generic else [make()] * len(numbers)
    known = {one: _facts(one) for one in dict.fromkeys(data)}  # programs are solved once per set
    facts = [known[one] for one in data]
    scales = [float(settings.excess * np.sqrt(fact["least_norm"])) for fact in facts]
    sizes = (2, settings.width, 1)
    starts = [bf.networks.gaussian(sizes, scale=scales[i], seed=seed) for i, seed in enumerate(numbers)]
    rows, functions = [], []
    for rung in settings.rungs:
        report(f"{name}: step {rung:.3g} of the largest")
        step = float(rung * facts[0]["ceiling"])
        every = -(-max(int(settings.time / step), settings.steps) // _SAVES)
        often: Any = {"steps": _SAVES * every, "save_every": every}
        runs = bf.gradient_descent(starts, data, step=step, keep_diverged=True, **often)
        functions.append(runs[0][-1](unit(_ANGLES)))
        rows.append(_minima(settings, runs, data, step))
    return {
        **{key: ("seed", [fact[key] for fact in facts]) for key in facts[0]},
        **{key: (("rung", "seed"), [row[:, i] for row in rows]) for i, key in enumerate(_MEASURES)},
        "function": (("rung", "angle"), functions),
    }


def _facts(data: bf.Dataset) -> dict[str, float]:
    """What is known of a set before any run."""
    return {
        "ceiling": stable_minima.largest_settling_step(data),
        "least_norm": float(stable_minima.path_norm_multipliers(data) @ data.y),
        "least_gain": 1 / stable_minima.largest_path_norm(data, step=1.0),
        "longest": np.linalg.norm(data.x, axis=1).max(),
    }


_MEASURES = ("sharpness", "norm", "kink", "reach", "distance", "kick_loss", "kick_largest", "top")


def _minima(settings: Settings, runs: list[bf.Trajectory], data: list[bf.Dataset], step: float) -> np.ndarray:
    """The measures of every seed that converged, by a kick of its minimum; NaN of the others."""
    found = np.full((len(runs), len(_MEASURES)), np.nan)
    for i, run in enumerate(runs):
        if run.loss[-1 - _SAVES // 4 :].max() <= settings.level:
            moved = _moved(run[-1], settings.kick, i)
            kicked = bf.gradient_descent(moved, data[i], step=step, steps=settings.kicked, keep_diverged=True)
            found[i] = _measured(run[-1], moved, data[i], kicked, settings.kicked * step)
    return found


def _moved(network: bf.Network, kick: float, seed: int) -> bf.Network:
    """The network with a random vector of length kick·|weights| added."""
    rng = np.random.default_rng(seed)
    added = [rng.normal(size=w.shape) for w in network.weights]
    factor = kick * np.linalg.norm(network.norms) / np.sqrt(sum(np.sum(d**2) for d in added))
    return bf.Network(tuple(w + factor * d for w, d in zip(network.weights, added, strict=True)))


def _measured(
    end: bf.Network, moved: bf.Network, data: bf.Dataset, kicked: bf.Trajectory, time: float
) -> Any:
    """Of a minimum and of the descent after a kick: see `_MEASURES`.

    `top` is the share of the residual that the kick puts along the sharpest direction. A kick Δ₀ that does
    not grow gets as far as `reach`, Δ ≤ Δ₀ + ηn·max|∇L| in a time ηn, and |∇L| ≤ (√λ + XΔ)√(2L), λ the
    sharpness at the minimum, X the longest input: what is nearer to a kink than that counts as on it.
    """
    sharp, distance, loss = bf.sharpness(end, data), weight_gap(end, moved), kicked.loss[0]
    rate = time * np.sqrt(2 * loss)
    left = 1 - np.linalg.norm(data.x, axis=1).max() * rate
    reach = (distance + np.sqrt(sharp) * rate) / left if left > 0 else np.inf
    largest = np.inf if kicked.stats.stopped.startswith("diverged") else kicked.loss.max()
    gradients, residual = stable_minima.output_gradients(end, data), moved(data.x) - data.y
    along = np.linalg.eigh(gradients @ gradients.T)[1][:, -1] @ residual
    kink, norm = stable_minima.kink_distances(end, data).min(), bf.diagnostics.path_norm(end, data)
    return sharp, norm, kink, reach, distance, loss, largest, abs(along) / np.linalg.norm(residual)


def judged(n: xarray.Dataset) -> xarray.Dataset:
    """Which minima descent settled at, and what the steps did to the norm.

    `settled`: the kick never grows, with all neurons off all kinks within its reach. `growing`: it grows,
    with no neuron nearer to a kink than the kick. The other minima are on a kink.
    """
    there, grown = n.norm.notnull(), n.kick_largest > n.kick_loss
    step = (n.ceiling * n.rung).transpose(*n.norm.dims)
    first = there.argmax("rung")
    last = n.sizes["rung"] - 1 - there.isel(rung=slice(None, None, -1)).argmax("rung")
    share = n.norm.isel(rung=last) / n.norm.isel(rung=first)
    return n.assign(
        step=step,
        converged=there,
        settled=there & ~grown & (n.kink > n.reach),
        growing=there & grown & (n.kink > n.distance),
        sharpness_ratio=n.sharpness * step / 2,
        stability_bound=_stability_bound(n, step),
        largest_stable=n.rung.isel(rung=last).drop_vars("rung").where(there.any("rung")),
        norm_share=share.drop_vars("rung", errors="ignore").where(last > first),
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
