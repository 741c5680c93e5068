"""Runs of Figs. 4 and 8: orthogonal and XOR points, simulated and solved, from several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Setting, at_least, draws, seeds_of, several_whole
from biasfree_papers.shared.xor import courses as measures
from biasfree_papers.shared.xor.gated import gated
from biasfree_papers.types import Numbers, Report

#: The sets, by their number of points.
SETS = {2: tasks.orthogonal_pair, 4: tasks.xor}
#: The rate at which weights grow while outputs are negligible, over s_i.
RATE = {"square": 1.0, "logistic": 0.5}
_COARSER = 100.0  # the tolerance of the run that tells how accurate the other one is


def _sets(name: str, value: Any) -> tuple[int, ...]:
    sets = several_whole(low=2, high=4)(name, value)
    if 3 in sets:
        raise ValueError(f"{name} must be 2 (orthogonal points), 4 (XOR) or both, got {value!r}.")
    return sets


def settings(step: float) -> dict[str, Setting]:
    """The settings of both figures; `step` is the default step of descent."""
    return {
        "sets": Setting((2, 4), "sets by their number of points: 2 orthogonal ones, 4 for XOR", _sets),
        "width": Setting(60, "a number of neurons", at_least(1)),
        "scale": Setting(1e-6, "the initial norm of a layer, a small positive number", positive),
        "step": Setting(step, "the step of gradient descent, a positive number", positive),
        "span": Setting(1.4, "the last time, in times at which the last point is learned", positive),
        "rtol": Setting(1e-8, "the simulator's tolerance for a step, a positive number", positive),
        "times": Setting(601, "a number of saved times, 101 or more", at_least(101)),
        **draws(5),
    }


def run(settings: Mapping[str, Any], report: Report, *, loss: str) -> Numbers:
    """Flow from every seed and descent from the first, on every set, with the independent solution."""
    seeds = seeds_of(settings)
    found = {name: np.array(settings[name]) for name in ("sets", "step")}
    found |= {"seeds": seeds, "loss": np.array(loss)}
    for size in settings["sets"]:
        sizes = (2, settings["width"], 1)
        starts = [networks.gaussian(sizes, scale=settings["scale"], seed=int(seed)) for seed in seeds]
        case = _Case(SETS[size](), starts, loss, settings["step"], settings["rtol"])
        numbers = case.numbers(*case.grid(settings["span"], settings["times"]), report)
        found |= {f"{name}_{size}": value for name, value in numbers.items()}
    return found


@dataclass(frozen=True)
class _Case:
    """One set of points and the initial networks that learn it."""

    data: Dataset
    starts: list[Network]
    loss: str
    step: float
    rtol: float

    def grid(self, span: float, times: int) -> tuple[np.ndarray, int]:
        """Saved times, common to flow and descent, and the number of steps of descent between them."""
        learned = np.array([theory.learning_times(start, self.data) for start in self.starts])
        if idle := sum(not np.isfinite(times).any() for times in learned):
            raise ValueError(
                f"{idle} of {len(learned)} seeds give no neuron that learns any of the {len(self.data)} "
                "points; raise the width or change the seed."
            )
        last = span * learned[np.isfinite(learned)].max() / RATE[self.loss]
        every = int(np.ceil(last / self.step / (times - 1)))
        return self.step * (every * np.arange(times)), every

    def numbers(self, ts: np.ndarray, every: int, report: Report) -> Numbers:
        """All numbers of the set."""
        solved = [self._solve(start, ts) for start in self.starts]
        drawn = [self._solve(start, ts, sort=False) for start in self.starts]
        flows, accuracy = self._flows(ts, report)
        report(f"{len(self.data)} points: descent")
        descent = self._descend(every, len(ts) - 1)
        shown = measures.snapshot_times(ts, solved[0], self.data)
        return {
            "ts": ts,
            "x": self.data.x,
            "y": self.data.y,
            "rates": RATE[self.loss] * np.abs(self.data.y) * measures.lengths(self.data) / len(self.data),
            **measures.courses("simulated", flows, self.data),
            **measures.courses("solved", solved, self.data),
            **measures.courses("drawn", drawn, self.data),
            **measures.courses("descent", [descent], self.data),
            **measures.along(flows),
            **(gated(flows, self.data) if self._gated else {}),
            "accuracy": accuracy,
            "neglected": np.array([self._neglected(start) for start in self.starts]),
            "weight_gap": np.array(
                [measures.relative_gap(a[-1], b[-1]) for a, b in zip(flows, solved, strict=True)]
            ),
            "left_behind": np.array([self._left_behind(flow) for flow in flows]),
            "snapshots": ts[shown],
            "inner": np.array([flows[0][i].weights[0] for i in shown]),
            "outer": np.array([flows[0][i].weights[1] for i in shown]),
        }

    @property
    def _gated(self) -> bool:
        """XOR, with the loss that gated networks are solved for."""
        return len(self.data) == 4 and self.loss == "square"

    def _solve(self, start: Network, ts: np.ndarray, *, sort: bool = True) -> Trajectory:
        return theory.independent_flow(start, self.data, ts, loss=self.loss, sort=sort)

    def _flows(self, ts: np.ndarray, report: Report) -> tuple[list[Trajectory], np.ndarray]:
        """The flow from every seed, and the distance of its outputs from those at a coarser tolerance."""
        flows, accuracy = [], []
        for i, start in enumerate(self.starts):
            report(f"{len(self.data)} points: flow of seed {i + 1} of {len(self.starts)}")
            fine, coarse = (self._flow(start, ts, self.rtol * factor) for factor in (1, _COARSER))
            flows.append(fine)
            accuracy.append(
                np.abs(measures.margins(fine, self.data) - measures.margins(coarse, self.data)).max()
            )
        return flows, np.array(accuracy)

    def _flow(self, start: Network, ts: np.ndarray, rtol: float) -> Trajectory:
        from biasfree.dynamics import gradient_flow

        return gradient_flow(start, self.data, ts, loss=self.loss, rtol=rtol, method="events")

    def _descend(self, every: int, saves: int) -> Trajectory:
        from biasfree.dynamics import gradient_descent

        start, steps = self.starts[0], every * saves
        return gradient_descent(
            start, self.data, step=self.step, steps=steps, save_every=every, loss=self.loss
        )

    def _spread(self) -> float:
        """1 + the largest s_i/s_j: while it is sorted, no part of a neuron grows beyond this many times."""
        sizes = np.abs(self.data.y) * measures.lengths(self.data)
        return float(1 + sizes.max() / sizes.min())

    def _neglected(self, start: Network) -> float:
        """A bound on the effect of outputs in the sorting phase, which theory neglects, on later ones.

        Then weights are at most `_spread` times the initial ones, so outputs are δ = spread²·(|W₁|² + |W₂|²)·
        max|x| at most, true and solved ones together. They slow the growth of ln ρ_i by 2δ|x_i|/P for a
        time that ends before the first point is learned; and y·f moves by 0.56 of what ln ρ_i does, at most
        (a quarter for the square loss, max 2z/(1 + e^z) for the logistic one).
        """
        lengths = measures.lengths(self.data)
        outputs = self._spread() ** 2 * np.sum(start.norms**2) * lengths.max()
        lasting = theory.learning_times(start, self.data).min() / RATE[self.loss]
        return float(outputs * (1 + 0.56 * 2 * lengths.max() / len(lengths) * lasting))

    def _left_behind(self, flow: Trajectory) -> float:
        """A bound on the part of the final weights that is left of initial weights that do not grow."""
        return float(self._spread() * np.sum(flow[0].norms) / np.linalg.norm(flow[-1].norms))
