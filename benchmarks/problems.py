"""The two problems that all methods solve, and their reference paths."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

import biasfree as bf

#: Tolerances of the references, far below any error that is asked for; of Fig. 3, ReLU and leaks above 0.
SIX_REFERENCE, FIG3_REFERENCE, LEAKY_REFERENCE = 1e-12, 1e-6, 1e-5


@dataclass(frozen=True, eq=False)
class Problem:
    """A network, its data, the paper's step, the saved times, and the tolerance of its reference."""

    name: str
    network: bf.Network
    data: bf.Dataset
    step: float
    ts: np.ndarray
    reference_rtol: float

    @property
    def steps(self) -> int:
        """Steps of descent to the last time."""
        return round(self.ts[-1] / self.step)

    def descend(self, steps: int) -> bf.Trajectory:
        """Descent to the last time in this many steps, saved at the problem's times."""
        every = steps // (len(self.ts) - 1)
        return bf.gradient_descent(
            self.network, self.data, step=self.ts[-1] / steps, steps=steps, save_every=every
        )

    @functools.cached_property
    def reference(self) -> tuple[np.ndarray, ...]:
        """The path of the flow through every kink, at a tolerance far below what is asked of others."""
        run = bf.gradient_flow(self.network, self.data, self.ts, rtol=self.reference_rtol, method="auto")
        assert run.stats.method in ("events", "smooth"), f"{self.name}: {run.stats.method} is no reference"
        return tuple(run.weights)


@functools.cache
def six_points() -> Problem:
    """Six points in the plane, 100 neurons: plateaus, neurons that slide along kinks ([ZSL25] Fig. 2)."""
    network = bf.networks.gaussian((2, 100, 1), scale=1e-3, seed=1)
    ts = np.linspace(0, 900, 31)
    return Problem("six points", network, bf.data.six_points(), 0.025, ts, SIX_REFERENCE)


@functools.cache
def fig3(leak: float = 0.0) -> Problem:
    """2000 samples in 20 dimensions, 500 neurons, tiny weights ([ZSL25] TMLR Fig. 3)."""
    weights = bf.networks.gaussian((20, 500, 1), scale=1e-8, seed=1).weights
    network, ts = bf.Network(weights, leak=leak), np.linspace(0, 40, 41)
    rtol = LEAKY_REFERENCE if leak else FIG3_REFERENCE
    return Problem(f"Fig. 3, leak {leak:g}", network, _fig3_data(), 0.004, ts, rtol)


@functools.cache
def starts(runs: int) -> tuple[bf.Network, ...]:
    """Networks for six points, from the seeds 0, 1, 2, …"""
    sizes = six_points().network.sizes
    return tuple(bf.networks.gaussian(sizes, scale=1e-3, seed=seed) for seed in range(runs))


@functools.cache
def _fig3_data() -> bf.Dataset:
    return bf.data.odd_sine(1000, 20, seed=0)
