"""Runs of the test bench: every kind of input, both targets, three depths, two scales, several seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from biasfree import diagnostics, networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree_papers.conjecture.inputs import KINDS, TARGETS, even_task
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
from biasfree_papers.shared.trajectories import LEVELS, Fall, accuracy, fall

#: Initial norm of a layer in the structure, the last time, which is after the fall, and the tolerance.
_START, _END, _TIGHT = 0.6, 20.0, 1e-6
_NUMBERS = (
    "reached", "distance", "kept", "escape", "waited", "drift", "error",
)  # fmt: skip
#: Where the first half has learned: half of the loss of a linear target is gone, but for a hundredth.
LEARNED = (0.99, 0.505)
#: Networks of so many layers and more are followed to their first half only.
LEAST_DEPTH = 4


_TWO = only(
    several(least=2), lambda s: len(s) == 2 and s[0] > 0, "be two positive numbers, which are compared"
)


@dataclass(frozen=True)
class Settings(SeededSettings):
    """Settings of the test bench."""

    width: int = setting(12, "a number of neurons in each hidden layer, 3 or more", at_least(3))
    dimensions: int = setting(3, "a number of inputs", at_least(1))
    samples: int = setting(12, "a number of samples, before their negatives are added", at_least(1))
    depths: tuple[int, ...] = setting(
        (3, 4, 5), "numbers of layers from 3 to 5", several_whole(low=3, high=5)
    )
    scales3: tuple[float, ...] = setting((0.005, 0.1), "two initial norms of a layer of three", _TWO)
    scales4: tuple[float, ...] = setting((0.1, 0.2), "two initial norms of a layer of four", _TWO)
    scales5: tuple[float, ...] = setting((0.3, 0.4), "two initial norms of a layer of five", _TWO)
    half_scale: float = setting(
        0.004, "the initial norm of a layer where the first half is measured", positive
    )
    end: float = setting(1e12, "the last time of a run, a positive number", positive)
    rtol: float = setting(1e-5, "the simulator's tolerance for a step", positive)
    seeds: int = seeds(2)

    @property
    def scales(self) -> dict[int, dict[str, float]]:
        """The two scales of every depth."""
        given = {3: self.scales3, 4: self.scales4, 5: self.scales5}
        return {depth: {"large": max(given[depth]), "small": min(given[depth])} for depth in self.depths}

    def sizes(self, depth: int) -> tuple[int, ...]:
        """The widths of all layers."""
        return (self.dimensions, *(self.width,) * (depth - 1), 1)

    def task(self, kind: str, target: str, seed: int) -> Dataset:
        """The data of one seed."""
        return even_task(kind, target, self.samples, self.dimensions, seed=seed)


SECONDS = 60
SMALL: dict[str, Any] = {
    "width": 6, "dimensions": 2, "samples": 4, "depths": (3, 4), "scales3": (0.1, 0.2), "scales4": (0.3, 0.6),
    "end": 1e6, "seeds": 1,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Every case, one run from the exact structure per depth, target and kind of inputs, and first halves."""
    cases = {"depth": settings.depths, "target": TARGETS, "kind": tuple(KINDS)}
    scales = [list(both.values()) for both in settings.scales.values()]
    parts = [
        xarray.Dataset({"scale": (("depth", "size"), scales), "half_scale": settings.half_scale}),
        _trained(settings, cases, report),
        tabulate(lambda depth, target, kind: _stay(settings, depth, target, kind), over=cases),
    ]
    if deep := [depth for depth in settings.depths if depth >= LEAST_DEPTH]:
        parts.append(_halves(settings, deep, report))
    return xarray.merge(parts, join="exact")


def _trained(settings: Settings, cases: dict[str, Any], report: Report) -> xarray.Dataset:
    """All runs. With an odd target, of which the conjecture does not speak, the larger scale only."""

    def trained(depth: int, target: str, kind: str, size: str, seed: int) -> dict[str, Any]:
        if target == "odd" and size == "small":
            return {**dict.fromkeys(_NUMBERS, np.nan), "stopped": ""}
        report(f"{depth} layers, {kind} inputs, {target} target, {size} scale, seed {seed}")
        data, scale = settings.task(kind, target, seed), settings.scales[depth][size]
        start = networks.gaussian(settings.sizes(depth), scale=scale, seed=seed)
        return _measured(fall(start, data, end=settings.end, rtol=settings.rtol), scale)

    return tabulate(trained, over={**cases, "size": ("large", "small")}, seeds=settings.all_seeds)


def _measured(found: Fall, scale: float) -> dict[str, Any]:
    """The end of a run: its distance from Eq. 40, the levels it reached, and its errors."""
    last = found.networks[-1]
    passed = dict(zip(LEVELS[: found.reached], found.ts[1:], strict=False))
    return {
        "reached": float(found.reached),
        "distance": _distance(last),
        "kept": scale / np.sqrt(np.mean(last.norms**2)),
        "escape": passed.get(LEVELS[0], np.inf),
        "waited": passed.get(0.49, np.inf) - passed.get(0.51, np.inf) if 0.51 in passed else np.nan,
        "drift": found.drift,
        "error": found.error,
        "stopped": found.stopped,
    }


def _stay(settings: Settings, depth: int, target: str, kind: str) -> dict[str, Any]:
    """The final distance of a flow from the exact structure in which it began, and the allowed error.

    On the structure units that do not see a sample have z = 0 exactly and stay inactive, σ′(0) = 0. Where
    r·x changes its sign, all units of the first layer cross at once, and x and −x change halves.
    """
    from biasfree.dynamics import gradient_flow

    sizes, seed = settings.sizes(depth), settings.seed
    data = settings.task(kind, target, seed)
    off = np.linalg.norm(data.beta) * np.random.default_rng(seed).normal(size=sizes[0])
    start = networks.low_rank(data.beta + 0.3 * off, widths=sizes[1:-1], scale=_START, seed=seed)
    run = gradient_flow(start, data, [0.0, _END], method="events", rtol=_TIGHT)
    last = run[-1]
    grown = max(1.0, float(last.norms.max()) / _START) ** (len(sizes) - 3)
    gap = sum(np.sum((v - w) ** 2) for v, w in zip(last.weights, start.weights, strict=True))
    return {
        "stay_distance": _distance(last),
        "stay_moved": float(np.sqrt(gap / sum(last.norms**2))),
        "stay_allowed": grown * accuracy(run),
    }


def _halves(settings: Settings, deep: list[int], report: Report) -> xarray.Dataset:
    """The half that learns first, with a linear target, from the smallest scale."""

    def half(deep: int, kind: str, seed: int) -> dict[str, Any]:
        report(f"{deep} layers, {kind} inputs, γ = {settings.half_scale:g}: the first half, seed {seed}")
        data = settings.task(kind, "linear", seed)
        start = networks.gaussian(settings.sizes(deep), scale=settings.half_scale, seed=seed)
        found = fall(start, data, end=settings.end, rtol=settings.rtol, levels=LEARNED)
        last = found.networks[-1]
        return {
            "half_reached": found.reached,
            "half_error": found.error,
            "half_drift": found.drift,
            "half_end": found.ts[-1],
            "half_distance": half_distance(last),
            "half_kept": settings.half_scale / np.sqrt(np.mean(last.norms**2)),
            "half_stopped": found.stopped,
        }

    return tabulate(half, over={"deep": deep, "kind": tuple(KINDS)}, seeds=settings.all_seeds)


def _distance(network: Network) -> float:
    found = diagnostics.structure_distance(network)
    return np.nan if found is None else found.relu


def half_distance(network: Network) -> float:
    """√(Σ|W_l − Ŵ_l|²/Σ|W_l|²) from one half of Eq. 40, the block of one sign: an upper bound of the least.

    Ŵ₁ = u p₁rᵀ, Ŵ_l = u p_l p_{l−1}ᵀ, Ŵ_L = ±u p_{L−1}ᵀ with unit vectors p_l ≥ 0. They are taken from the
    leading singular vectors of the layers, whose entries of the other sign are left out.
    """
    *hidden, last = network.weights
    r = np.linalg.svd(hidden[0], full_matrices=False)[2][0]
    p = [_of_one_sign(np.linalg.svd(w, full_matrices=False)[0][:, 0]) for w in hidden]
    r = r * np.sign(p[0] @ hidden[0] @ r)
    fitted = [np.outer(a, b) for a, b in zip(p, [r, *p], strict=False)]
    fitted.append(np.sign(last @ p[-1]) * p[-1][None])
    u = np.sqrt(np.mean(network.norms**2))
    gap = sum(np.sum((w - u * v) ** 2) for w, v in zip(network.weights, fitted, strict=True))
    return float(np.sqrt(gap / np.sum(network.norms**2)))


def _of_one_sign(v: np.ndarray) -> np.ndarray:
    """The larger of the two parts of one sign, as a unit vector with entries ≥ 0."""
    parts = np.maximum(v, 0), np.maximum(-v, 0)
    larger = max(parts, key=np.linalg.norm)
    return larger / np.linalg.norm(larger)
