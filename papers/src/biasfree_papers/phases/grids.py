"""The grids of the phase diagrams: coarse ones for the figure, fine ones for a sweep with a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import biasfree as bf
from biasfree_papers.phases import points


class Diagram(NamedTuple):
    """A function of named parameters, its grids, and their numbers of seeds; `group` is passed whole.

    The values of a coarse grid begin with those that take the least time.
    """

    point: Callable[..., dict[str, Any]]
    coarse: dict[str, Any]
    fine: dict[str, Any]
    seeds: tuple[int, int]
    group: tuple[str, ...] = ()


_TARGETS = ("linear", "odd", "even")
DIAGRAMS = {
    "plateau": Diagram(
        points.plateau,
        {"delta": (0.3, 0.15, 0.08, 0.04, 0.02), "scale": (1e-1, 1e-2, 1e-4, 1e-6)},
        {"delta": np.geomspace(0.01, 0.3, 16), "scale": np.geomspace(1e-6, 1e-1, 11)},
        (6, 20),
    ),
    "weight_error": Diagram(
        points.weight_error,
        {"width": (10, 20, 40, 80, 160), "leak": (0.0, 0.2, 0.4, 0.6)},
        {"width": (6, 10, 16, 25, 40, 63, 100, 160, 250), "leak": np.linspace(0, 0.8, 9)},
        (100, 400),
        ("seed",),
    ),
    "structure": Diagram(
        points.structure,
        {"depth": (3, 4, 5), "gamma": (0.4, 0.2, 0.1), "target": _TARGETS},
        {"depth": (3, 4, 5, 6), "gamma": np.geomspace(0.02, 0.8, 9), "target": _TARGETS},
        (3, 10),
    ),
    "chance": Diagram(
        points.chance,
        {"scale": (1.0, 0.1, 0.01), "width": (6, 8, 4, 12)},
        {"scale": np.geomspace(0.003, 3, 10), "width": (3, 4, 5, 6, 8, 10, 14, 20)},
        (16, 200),
    ),
}


def fine_sweep(name: str) -> bf.sweeps.Sweep:
    """The sweep of a fine grid, with its store in out/phases."""
    one = DIAGRAMS[name]
    store = f"out/phases/{name}"
    return bf.sweep(one.point, over=one.fine, seeds=one.seeds[1], group=one.group, store=store)
