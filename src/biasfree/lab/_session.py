"""One page's experiment, answered stage by stage: state, preview, theory, exact run, measurements.

`answers` yields JSON objects; between and within stages `Halted` ends them as soon as the caller says stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.dynamics import DivergenceError, Halted, UnfinishedError, watch_losses
from biasfree.lab._experiment import network_of, preview_of, run_of, times_of, twin_of
from biasfree.lab._lines import lines_of
from biasfree.lab._replay import exact_answer, measures, replay
from biasfree.lab._state import Experiment, received, state_answer
from biasfree.lab._words import after_the_run, before_the_run
from biasfree.networks import Network
from biasfree.trajectory import Trajectory

#: Directions in which a preview sends the function.
PREVIEW_ANGLES = 60
#: Seconds between two pieces of a growing curve.
BETWEEN = 0.1
Answer = dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """The exact run on the page, with what belongs to it."""

    experiment: Experiment
    data: Dataset
    run: Trajectory
    answers: dict[str, Answer]


class Session:
    """The conversation with one page; `stopped` tells whether something newer has arrived."""

    def __init__(self, send: Callable[[Answer], None], stopped: Callable[[], bool] = lambda: False):
        self._send = send
        self._stopped = stopped
        self.experiment = Experiment()
        self.shown: Shown | None = None

    def answer(self, message: Answer) -> None:
        """Answer a message that opens a link, changes the state, or pastes data."""
        self.experiment, notes = received(message, self.experiment)
        rest = message.get("rest") is not False
        for stage in self._stages(self.experiment, notes, rest=rest):
            self._send(stage)
            self._pause()

    def _pause(self) -> None:
        if self._stopped():
            raise Halted

    def _stages(self, experiment: Experiment, notes: list[str], *, rest: bool) -> Iterator[Answer]:
        yield state_answer(experiment, notes)
        data = experiment.data
        try:
            network = network_of(experiment)
        except theory.AssumptionError as error:
            yield {"stage": "failed", "text": f"These weights cannot be made: {error}"}
            return
        if (preview := preview_of(experiment, network, data)) is not None:
            shown = replay(preview.run, data, angles=PREVIEW_ANGLES)
            yield {"stage": "preview", "label": preview.label, "replay": shown}
        if rest:
            yield from self._exact(experiment, network, data)
        else:
            found = theory.coverage(network, data)
            words = [one.to_json() for one in before_the_run(experiment, network, data, found)]
            yield {"stage": "words", "words": words}
        yield {"stage": "done", "rest": rest}

    def _exact(self, experiment: Experiment, network: Network, data: Dataset) -> Iterator[Answer]:
        found = theory.coverage(network, data)
        early = before_the_run(experiment, network, data, found)
        yield {"stage": "words", "words": [one.to_json() for one in early]}
        try:
            run = self._watched(experiment, network, data)
        except (UnfinishedError, DivergenceError, FloatingPointError) as error:
            yield {"stage": "failed", "text": str(error)}
            return
        kept: dict[str, Answer] = {"exact": exact_answer(run, data, _label(experiment, run))}
        yield kept["exact"]
        ts = run.ts if experiment.method == "descent" else times_of(experiment)
        lines = [line.to_json() for line in lines_of(experiment, network, data, ts, found)]
        kept["theory"] = {"stage": "theory", "lines": lines}
        yield kept["theory"]
        if experiment.twin:
            self._pause()
            kept["twin"] = {"stage": "twin", "loss": twin_of(experiment, network, data).tolist()}
            yield kept["twin"]
        measured = measures(run, data, pause=self._pause)
        late = after_the_run(experiment, network, data, run, found)
        words = [one.to_json() for one in (*late, *early)]
        kept["measures"] = {"stage": "measures", "measures": measured, "words": words}
        self.shown = Shown(experiment, data, run, kept)
        yield kept["measures"]

    def _watched(self, experiment: Experiment, network: Network, data: Dataset) -> Trajectory:
        """The exact run; the losses saved so far are sent as they come."""
        sent = 0
        at = -np.inf

        def grow(ts: np.ndarray, losses: np.ndarray) -> None:
            nonlocal sent, at
            if len(ts) > sent and time.monotonic() - at > BETWEEN:
                sent = len(ts)
                at = time.monotonic()
                self._send({"stage": "growing", "ts": ts.tolist(), "loss": losses.tolist()})

        watch_losses(grow)
        try:
            return run_of(experiment, network, data)
        finally:
            watch_losses(None)


def _label(experiment: Experiment, run: Trajectory) -> str:
    if experiment.method == "descent":
        return f"exact descent, {experiment.steps} steps of {experiment.step:g}"
    error = f", error {run.stats.error:.0e}" if run.stats.error else ""
    return f"exact flow{error}"
