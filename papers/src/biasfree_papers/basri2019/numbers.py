"""Runs on cos kφ on the circle: two layers without and with biases, and three layers without."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.trajectories import named, rounding, stacked, weight_gap
from biasfree_papers.types import Numbers, Report

#: Kinds of networks: layers, and whether they have biases.
KINDS = {"two": (2, False), "biased": (2, True), "three": (3, False)}
SHOWN = 4  # frequencies 1 … 4 whose functions are kept
HALVED = 0.25  # the loss, over its start, at which the error is halved
_FINE = 2 * np.pi * np.arange(241) / 240
_NARROW = 8  # neurons of the narrow networks of the floor
_EARLY = 300  # steps of which every one is saved
_SAVES = 100  # of the rest


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Losses over time of every kind, frequency and seed; the floor from other weights; and exact weights."""
    ks, seeds, n = np.array(settings["frequencies"]), seeds_of(settings), settings["points"]
    if 2 * ks.max() >= n:
        raise ValueError(
            f"points must be more than twice the largest frequency, {ks.max()}, got {n}; add points."
        )
    data = [tasks.circle(n, wave(int(k))) for k in ks]
    numbers: Numbers = {
        "frequencies": ks,
        "seeds": seeds,
        "points": np.array(n),
        "start": np.array([np.mean(each.y**2) / 2 for each in data]),
        "floor": np.array([theory.two_layer_gap(wave(int(k)), data[0].x).bound / 2 for k in ks]),
        "angles": _FINE,
        "rounding": np.array(rounding(data[0], settings["width"], settings["steps"])),
        **named("exact", stacked([_exact(int(k), each) for k, each in zip(ks, data, strict=True)])),
    }
    for kind in KINDS:
        report(f"{kind}: {len(ks) * len(seeds)} runs")
        numbers |= named(kind, _trained(settings, kind, data))
    for kind, (_, biased) in list(KINDS.items())[:2]:
        numbers[f"{kind}_rates"] = theory.neighbors.circle_rates(
            ks, points=n, scale=settings["scale"], biases=biased
        )
        numbers[f"{kind}_kernel"] = theory.neighbors.halving_times(
            numbers[f"{kind}_rates"], step=settings["step"]
        )
    report("other initial weights on odd frequencies")
    return numbers | named(
        "moving", _moving(settings, [each for k, each in zip(ks, data, strict=True) if odd(k)])
    )


def wave(k: int) -> Callable[[Any], Any]:
    """cos kφ as a function of points."""
    return lambda x: np.cos(k * np.arctan2(x[:, 1], x[:, 0]))


def odd(k: Any) -> Any:
    """The frequencies that two bias-free layers cannot express."""
    return (k % 2 == 1) & (k > 1)


def start_of(sizes: tuple[int, ...], *, scale: float, seed: int, biased: bool = False) -> Network:
    """Gaussian layers of norm `scale`, the last hidden neurons in pairs of opposite outer weights: f = 0."""
    *below, width, out = sizes
    drawn = networks.gaussian((*below, width // 2, out), scale=scale, seed=seed)
    *first, last, outer = drawn.weights
    root = np.sqrt(0.5)
    weights = (*first, root * np.vstack([last, last]), root * np.hstack([outer, -outer]))
    return Network(weights, biases=tuple(np.zeros(len(w)) for w in weights) if biased else None)


def _exact(k: int, data: Dataset) -> Numbers:
    """The loss of explicit weights and its rounding error; there are no such weights for odd k ≥ 3."""
    if odd(k):
        return {"loss": np.array(np.nan), "bound": np.array(np.nan)}
    network = _linear() if k == 1 else theory.neighbors.even_network(data)
    off = 8 * len(data) * np.finfo(float).eps * np.abs(network.weights[1]).sum()
    return {"loss": np.mean((data.y - network(data.x)) ** 2) / 2, "bound": np.array(off**2 / 2)}


def _linear() -> Network:
    """x₁ = cos φ as two neurons."""
    return Network((np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([[1.0, -1.0]])))


def _trained(settings: Mapping[str, Any], kind: str, data: list[Dataset]) -> Numbers:
    """All frequencies and seeds of one kind of network: one row per frequency, one column per seed."""
    depth, biased = KINDS[kind]
    prefix = "deep_" if depth > 2 else ""
    width, scale = settings[f"{prefix}width"], settings[f"{prefix}scale"]
    seeds, sizes = seeds_of(settings), (2, *[width] * (depth - 1), 1)
    starts = [start_of(sizes, scale=scale, seed=int(seed), biased=biased) for seed in seeds]
    firsts = [start for _ in data for start in starts]
    found = _descended(
        firsts,
        [each for each in data for _ in seeds],
        step=settings[f"{prefix}step"],
        steps=settings[f"{prefix}steps"],
    )
    shape, shown = (len(data), len(seeds)), found.lasts[: SHOWN * len(seeds) : len(seeds)]
    fine = np.column_stack([np.cos(_FINE), np.sin(_FINE)])
    moved = [weight_gap(last, first) for last, first in zip(found.lasts, firsts, strict=True)]
    return {
        "ts": found.ts,
        "loss": found.loss.reshape(*shape, -1),
        "times": np.array([_halving_time(found.ts, loss) for loss in found.loss]).reshape(shape),
        "moved": np.array(moved).reshape(shape),
        "functions": np.array([last(fine) for last in shown]),
        "outputs": np.array([last(each.x) for last, each in zip(shown, data, strict=False)]),
    }


class _Runs(NamedTuple):
    """Losses of all runs at the saved times, and their last networks."""

    ts: np.ndarray
    loss: np.ndarray
    lasts: list[Network]


def _descended(starts: list[Network], data: list[Dataset], *, step: float, steps: int) -> _Runs:
    """Gradient descent, saved at every one of the first steps, on which halving times depend, then rarely."""
    from biasfree.dynamics import gradient_descent

    early, every = min(steps, _EARLY), max(1, (steps - _EARLY) // _SAVES)
    saves = [*range(1, early + 1), *range(early + every, steps + 1, every)]
    runs = gradient_descent(
        starts, data, step=step, steps=steps, save_every=saves, save=lambda network: network.depth
    )
    return _Runs(runs[0].ts, np.array([run.loss for run in runs]), [run[-1] for run in runs])


def _halving_time(ts: np.ndarray, loss: np.ndarray) -> float:
    """The time at which the loss is a quarter of its initial value; linear in ln L between saved times."""
    level = HALVED * loss[0]
    below = np.flatnonzero(loss <= level)
    if not len(below):
        return np.inf
    i = below[0]
    left, right = np.log(loss[i - 1 : i + 1])
    return float(ts[i - 1] + (left - np.log(level)) / (left - right) * (ts[i] - ts[i - 1]))


def _moving(settings: Mapping[str, Any], data: list[Dataset]) -> Numbers:
    """Two bias-free layers with nonzero initial outputs: odd frequencies, two widths, all seeds."""
    seeds = seeds_of(settings)
    given = [each for each in data for _ in seeds]
    rows = []
    for width in (_NARROW, settings["width"]):
        starts = [networks.gaussian((2, width, 1), scale=3.0, seed=int(s)) for _ in data for s in seeds]
        found = _descended(starts, given, step=0.1, steps=_EARLY)
        parts = [theory.loss_split(last, each).total for last, each in zip(found.lasts, given, strict=True)]
        rows.append({"loss": found.loss, "split": np.abs(found.loss[:, -1] - parts)})
    return stacked(rows)
