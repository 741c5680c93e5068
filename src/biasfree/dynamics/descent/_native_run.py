"""Runs of gradient descent in the native loop: no compilation for a new shape."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from biasfree.arrays import Float
from biasfree.dynamics._problem import Params, Problem
from biasfree.dynamics._recorder import Progress, run_in_threads
from biasfree.dynamics.descent._native_loop import (
    Ended,
    Layers,
    Room,
    say_if_compiling,
    take_steps,
)
from biasfree.dynamics.descent._rows import SampleRows
from biasfree.dynamics.descent._run import LowestLoss, Run, next_stops
from biasfree.networks import Network
from biasfree.threads import allowed

#: Seconds that a compiled call should take, so that progress can be shown and Ctrl-C has an effect.
CALL_SECONDS = 0.5
#: Steps between two attempts to merge samples: at least, and at most.
PATIENCE = 16, 512
#: After so many times the steps that they should last, merged samples are sorted again: neurons turn slower.
LIVES = 4


def descend_natively(runs: Sequence[Run], schedule: np.ndarray, progress: Progress) -> None:
    """Take all steps of the schedule; in threads, unless `save` would be called from several."""
    say_if_compiling()
    done = [0.0] * len(runs)

    def descend(i: int) -> None:
        for fraction in NativeRun(runs[i]).descend(schedule):
            done[i] = fraction
            progress.update(sum(done) / len(runs))

    workers = 1 if runs[0].recorder.measures else min(len(runs), allowed())
    run_in_threads([partial(descend, i) for i in range(len(runs))], workers)


class NativeRun:
    """A run that advances in the native loop."""

    def __init__(self, run: Run):
        self.run = run
        self._layers = layers_of(run.network, run.problem)
        self._samples = SampleRows(run.network, run.data, run.problem.loss)
        self._inputs, self._room = self._samples.every(), room_for(run.network, self._samples.rows)
        self._theta = vector_of(run.network)
        self._merging = self._samples.merging()
        self._patience = 1
        self._marked, self._since = (
            self._theta.copy(),
            0,
        )  # the state when samples were sorted, or last tried to be

    def descend(self, schedule: np.ndarray) -> Iterator[float]:
        """Take all steps of the schedule; yields the fraction done after every compiled call."""
        done, budget = self._call(np.array([0]), 0, np.array([True])), 64
        while done < schedule[-1] and not self.run.over:
            stops = next_stops(schedule, done, min(budget, self._due), self.run.recorder.slots)
            began = time.perf_counter()
            reached = self._call(stops, done, np.isin(stops, schedule))
            if reached == stops[-1]:
                pace = CALL_SECONDS / max(time.perf_counter() - began, 1e-4)
                # bounded by the whole schedule: doubling without end would overflow
                budget = int(np.clip(budget * min(pace, 4.0), 16, max(16, schedule[-1])))
            done = reached
            yield done / schedule[-1]

    def _call(self, stops: np.ndarray, done: int, keep: np.ndarray) -> int:
        why = Ended.CHANGED
        while why == Ended.CHANGED:
            why, taken, passed = self._advance(stops, done, keep)
            stops, keep, done = stops[passed:], keep[passed:], done + taken
            self._sort(taken, changed=why == Ended.CHANGED)
        return done

    def _advance(self, stops: np.ndarray, done: int, keep: np.ndarray) -> tuple[Ended, int, int]:
        """Take steps up to `stops`, with these inputs; returns why that ended, the steps taken, and the
        number of stops passed."""
        run, before = self.run, self._theta.copy()
        level = run.recorder.levels.next
        saved, losses = np.empty((len(stops), len(before))), np.empty(len(stops))
        why, taken, passed, loss, lowest, at = self._steps(self._theta, stops - done, level, saved, losses)
        if lowest < run.lowest.loss:
            run.lowest = LowestLoss(lowest, done + at, before, at)
        kept = np.flatnonzero(keep[:passed])
        self._keep(stops[kept], saved[kept], losses[kept])
        if why == Ended.DIVERGED:
            run.diverge(done + taken, loss, self._best)
        if why == Ended.LEVEL:
            levels = run.recorder.levels
            levels.reach(float(run.step * (done + taken)), loss)
            if levels.done and done + taken > run.steps:  # where the lowest level was reached
                self._keep(np.array([done + taken]), self._theta[None], np.array([loss]))
        return why, taken, passed

    @property
    def _due(self) -> int:
        """The most steps that the next call may take."""
        return sys.maxsize if self._merging is None else max(self._patience - self._since, 1)

    def _sort(self, steps: int, *, changed: bool) -> None:
        """Sort the samples by activation pattern where that is due: after so many steps, counts and not
        times, so that a repeated run has the same bits; or where patterns have changed."""
        merged = self._inputs.single < len(self._inputs.x)
        self.run.by_class += steps * merged
        self._since += steps
        if self._merging is None or not (changed or self._since >= self._patience):
            return
        level, life = None, 0.0
        if self._since:  # else those merged now did not hold for a single step
            level, life = self._merging.sort(
                self._params(self._theta), self._params(self._marked), self._since
            )
        self._inputs = self._samples.every() if level is None else self._samples.merged(level)
        later = min(2 * self._patience, PATIENCE[1]) if level is None else LIVES * int(life)
        self._patience = max(later, PATIENCE[0])
        self._marked, self._since = self._theta.copy(), 0

    def _params(self, theta: np.ndarray) -> Params:
        return Params(*(tuple(a[0] for a in part) for part in parts_of(theta[None], self._layers)))

    def _steps(self, theta: np.ndarray, stops: np.ndarray, level: float, saved, losses):
        given = (self._layers, self._inputs, self._room, self.run.step, float(level))
        return take_steps(theta, *given, stops.astype(np.int64), saved, losses)

    def _keep(self, steps: np.ndarray, states: np.ndarray, losses: np.ndarray) -> None:
        self.run.keep(steps, parts_of(states, self._layers), losses)

    def _best(self) -> Params:
        """The weights of the lowest loss, to which the run returns."""
        lowest = self.run.lowest
        self._inputs, theta = self._samples.every(), lowest.states.copy()
        self._steps(theta, np.array([lowest.steps_after]), -np.inf, theta[None].copy(), np.empty(1))
        return self._params(theta)


def layers_of(network: Network, problem: Problem) -> Layers:
    """The places of a network's layers in θ, and of their activations on one sample."""
    sizes, biased = np.array(network.sizes), network.biases is not None
    weights = sizes[:-1] * sizes[1:]
    ends = np.cumsum(weights + biased * sizes[1:])
    at = np.append(0, ends[:-1])
    return Layers(
        sizes=sizes,
        weights_at=at,
        biases_at=at + weights,
        units_at=np.append(0, np.cumsum(sizes[1:-1]))[: len(weights)],
        train=np.array(problem.train),
        biased=biased,
        leak=float(network.leak),
        l2=float(problem.l2),
    )


def vector_of(network: Network) -> Float[np.ndarray, "N"]:
    """θ of a network."""
    hidden = [w.T for w in network.weights[:-1]]
    parts = [[w.ravel()] for w in (*hidden, network.weights[-1])]
    for part, b in zip(parts, network.biases or (), strict=False):
        part.append(b)
    return np.concatenate([one for part in parts for one in part])


def parts_of(states: Float[np.ndarray, "T N"], layers: Layers) -> Params:
    """Weights and biases of states θ, layer by layer, with their time axis."""
    weights, biases = [], []
    for layer, (fan_in, width) in enumerate(pairwise(layers.sizes.tolist())):
        at, end = layers.weights_at[layer], layers.biases_at[layer]
        last = layer == len(layers.train) - 1
        w = states[:, at:end].reshape(-1, *((width, fan_in) if last else (fan_in, width)))
        weights.append(np.ascontiguousarray(w if last else w.transpose(0, 2, 1)))
        if layers.biased:
            biases.append(states[:, end : end + width])
    return Params(tuple(weights), tuple(biases))


def room_for(network: Network, rows: int) -> Room:
    """Arrays for the evaluation of a chunk of so many samples."""
    parameters = sum(w.size for w in network.weights) + sum(b.size for b in network.biases or ())
    widest, outputs = max(network.sizes[:-1]), network.sizes[-1]
    return Room(
        slope=np.zeros(parameters),
        more=np.zeros(parameters),
        active=np.zeros(rows * sum(network.sizes[1:-1])),
        back=np.zeros((2, rows * widest)),
        turned=np.zeros(widest * max(rows, widest)),
        e=np.zeros((rows, outputs)),
        columns=np.zeros(outputs * rows),
    )
