"""Runs of Figs. 4 and 8: orthogonal and XOR points, simulated and solved, from several seeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray

from biasfree import data as tasks
from biasfree import networks, theory
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, SeededSettings, at_least, only, seeds, setting, several_whole
from biasfree_papers.shared.xor import measures

#: The sets, by their number of points.
SETS = {2: tasks.orthogonal_pair, 4: tasks.xor}
#: The rate at which weights grow while outputs are negligible, over s_i.
RATE = {"square": 1.0, "logistic": 0.5}
_SETS = only(
    several_whole(low=2, high=4), lambda sets: 3 not in sets, "be 2 (orthogonal points), 4 (XOR) or both"
)
_COARSER = 100.0  # the tolerance of the run that tells how accurate the other one is


@dataclass(frozen=True)
class XorSettings(SeededSettings):
    """Settings of both figures; each has its own default step."""

    sets: tuple[int, ...] = setting(
        (2, 4), "sets by their number of points: 2 orthogonal ones, 4 for XOR", _SETS
    )
    width: int = setting(60, "a number of neurons", at_least(1))
    scale: float = setting(1e-6, "the initial norm of a layer, a small positive number", positive)
    step: float = setting(1e-3, "the step of gradient descent, a positive number", positive)
    span: float = setting(1.4, "the last time, in times at which the last point is learned", positive)
    rtol: float = setting(1e-8, "the simulator's tolerance for a step, a positive number", positive)
    times: int = setting(601, "a number of saved times, 101 or more", at_least(101))
    seeds: int = seeds(5)


def run(settings: XorSettings, report: Report, *, loss: str) -> xarray.Dataset:
    """Flow from every seed and descent from the first, on every set, beside the independent solution.

    Arrays have the axis `kind`: flow, theory, theory from the unsorted initialization, and descent, which is
    NaN but for the first seed. Points that a set does not have are NaN.
    """
    starts = [
        networks.gaussian((2, settings.width, 1), scale=settings.scale, seed=seed)
        for seed in settings.all_seeds
    ]
    parts, extra = [], xarray.Dataset({"step": settings.step, "objective": loss})
    for size in settings.sets:
        case = _Case(SETS[size](), starts, loss, settings.step, settings.rtol, settings.all_seeds)
        flows, found = case.numbers(*case.grid(settings.span, settings.times), report)
        parts.append(found)
        if size == 4 and loss == "square":  # the loss that gated networks are solved for
            extra = extra.merge(measures.gated(flows, case.data))
    sets = xarray.Variable("set", np.array(settings.sets))
    return xarray.concat(parts, sets, join="outer").transpose("kind", ...).merge(extra)


@dataclass(frozen=True)
class _Case:
    """One set of points and the initial networks that learn it."""

    data: Dataset
    starts: list[Network]
    loss: str
    step: float
    rtol: float
    seeds: list[int]

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

    def numbers(self, ts: np.ndarray, every: int, report: Report) -> tuple[list[Trajectory], xarray.Dataset]:
        """The simulated flows of all seeds, and every number of this set of points that the figure stores."""
        solved = [self.solve(start, ts) for start in self.starts]
        unsorted = [self.solve(start, ts, sort=False) for start in self.starts]
        flows, accuracy = self._flows(ts, report)
        report(f"{len(self.data)} points: descent")
        kinds = {"flow": flows, "theory": solved, "unsorted": unsorted}
        kinds["descent"] = [self.descend(every, len(ts))]
        curves = [self._curves(runs) for runs in kinds.values()]
        shown = measures.snapshot_times(ts, curves[1].learned[0].values)
        seedwise = {
            "accuracy": accuracy,
            "neglected": [self._neglected(start) for start in self.starts],
            "weight_gap": [measures.relative_gap(a[-1], b[-1]) for a, b in zip(flows, solved, strict=True)],
            "left_behind": [self._left_behind(flow) for flow in flows],
            "steps_of_loss": [measures.count_falls(flow.ts, flow.loss) for flow in flows],
            "plateaus": [measures.finished_plateaus(flow) for flow in flows],
        }
        found = {
            **{name: ("seed", values) for name, values in seedwise.items()},
            "t": ("time", ts),
            "x": (("point", "axis"), self.data.x),
            "y": ("point", self.data.y),
            "rate": ("point", RATE[self.loss] * np.abs(self.data.y) * self._lengths / len(self.data)),
            "snapshot": ("shown", ts[shown]),
            "inner": (("shown", "neuron", "axis"), [flows[0][i].weights[0] for i in shown]),
            "outer": (("shown", "neuron"), [flows[0][i].weights[1][0] for i in shown]),
        }
        return flows, xarray.concat(curves, xarray.Variable("kind", [*kinds]), join="outer").assign(found)

    def _curves(self, runs: list[Trajectory]) -> xarray.Dataset:
        """Loss, y·f at every point and the times at which it is learned, of the first seeds."""
        outputs = xarray.DataArray(
            [measures.margins(run, self.data) for run in runs],
            {"seed": self.seeds[: len(runs)], "point": np.arange(len(self.data))},
            ("seed", "time", "point"),
        )
        ts = xarray.DataArray(runs[0].ts, dims="time")
        loss = (("seed", "time"), [run.loss for run in runs])
        return xarray.Dataset({"outputs": outputs, "loss": loss, "learned": measures.learned(ts, outputs)})

    def solve(self, start: Network, ts: np.ndarray, *, sort: bool = True) -> Trajectory:
        """The independent solution."""
        return theory.independent_flow(start, self.data, ts, loss=self.loss, sort=sort)

    def _flows(self, ts: np.ndarray, report: Report) -> tuple[list[Trajectory], np.ndarray]:
        """The flow from every seed, and the distance of its outputs from those at a coarser tolerance."""
        flows, accuracy = [], []
        for i, start in enumerate(self.starts):
            report(f"{len(self.data)} points: flow of seed {i + 1} of {len(self.starts)}")
            fine, coarse = (self.flow(start, ts, self.rtol * factor) for factor in (1, _COARSER))
            flows.append(fine)
            accuracy.append(
                np.abs(measures.margins(fine, self.data) - measures.margins(coarse, self.data)).max()
            )
        return flows, np.array(accuracy)

    def flow(self, start: Network, ts: np.ndarray, rtol: float) -> Trajectory:
        """The exact flow."""
        from biasfree.dynamics import gradient_flow

        return gradient_flow(start, self.data, ts, loss=self.loss, rtol=rtol, method="events")

    def descend(self, every: int, times: int) -> Trajectory:
        """Descent from the first seed."""
        from biasfree.dynamics import gradient_descent

        steps = every * (times - 1)
        return gradient_descent(
            self.starts[0], self.data, step=self.step, steps=steps, save_every=every, loss=self.loss
        )

    @property
    def _lengths(self) -> np.ndarray:
        return np.linalg.norm(self.data.x, axis=1)

    def _spread(self) -> float:
        """1 + the largest s_i/s_j: while it is sorted, no part of a neuron grows beyond this many times."""
        sizes = np.abs(self.data.y) * self._lengths
        return float(1 + sizes.max() / sizes.min())

    def _neglected(self, start: Network) -> float:
        """A bound on the effect of outputs in the sorting phase, which theory neglects, on later ones.

        Then weights are at most `_spread` times the initial ones, so outputs are δ = spread²·(|W₁|² + |W₂|²)·
        max|x| at most, true and solved ones together. They slow the growth of ln ρ_i by 2δ|x_i|/P for a
        time that ends before the first point is learned; and y·f moves by 0.56 of what ln ρ_i does, at most
        (a quarter for the square loss, max 2z/(1 + e^z) for the logistic one).
        """
        longest = self._lengths.max()
        outputs = self._spread() ** 2 * np.sum(start.norms**2) * longest
        lasting = theory.learning_times(start, self.data).min() / RATE[self.loss]
        return float(outputs * (1 + 0.56 * 2 * longest / len(self.data) * lasting))

    def _left_behind(self, flow: Trajectory) -> float:
        """A bound on the part of the final weights that is left of initial weights that do not grow."""
        return float(self._spread() * np.sum(flow[0].norms) / np.linalg.norm(flow[-1].norms))
