"""Lines of the theory over the simulated loss: one for every time course that `bf.theory.coverage` grants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.lab._state import Experiment
from biasfree.networks import Network


@dataclass(frozen=True)
class Line:
    """The loss that a result predicts, and the name of its function."""

    name: str
    title: str
    loss: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """For the page; values that are not finite become null."""
        shown = [float(v) if np.isfinite(v) else None for v in self.loss]
        return {"name": self.name, "title": self.title, "loss": shown}


#: Time courses from the initial weights, by the name of their function; gated_flow needs the run itself.
COURSES = {
    "white_flow": "closed form, white input",
    "reduced_flow": "reduced flow",
    "sigmoid_flow": "one sigmoid",
    "two_sigmoid_flow": "two sigmoids",
    "two_neuron_flow": "two neurons",
    "linear_flow": "closed form, linear network",
    "modes_flow": "modes of a linear network",
    "independent_flow": "independent points",
    "deep_flow": "deep reduced flow",
}


def lines_of(
    experiment: Experiment, network: Network, data: Dataset, ts: np.ndarray, found: theory.Coverage
) -> list[Line]:
    """The lines that apply under the experiment's loss, in the order of the theory."""
    rows = [row for row in found if row.applies and row.result.loss == experiment.loss]
    granted = {name for row in rows for name in row.result.calls}
    lines: list[Line] = []
    for name, title in COURSES.items():
        if name in granted:
            _add(lines, name, title, _loss(getattr(theory, name), network, data, ts, experiment.loss))
    if "six_point_escape" in granted:
        escape = theory.six_point_escape(network, float(data.x[5, 1]))
        _add(lines, "six_point_escape", "escape theory", lambda: escape.loss(ts))
    if "aligned" in granted and "reduced_flow" not in granted:
        near = theory.aligned(network, data)
        course = _loss(theory.reduced_flow, near, data, ts, experiment.loss)
        _add(lines, "aligned", "reduced flow, aligned weights", course)
    return lines


def _loss(
    call: Callable[..., Any], network: Network, data: Dataset, ts: np.ndarray, loss: str
) -> Callable[[], np.ndarray]:
    options = {} if loss == "square" else {"loss": loss}
    return lambda: call(network, data, ts, **options).loss


def _add(lines: list[Line], name: str, title: str, loss: Callable[[], np.ndarray]) -> None:
    """Append a line, unless its function refuses: some hypotheses are checked along the path only."""
    try:
        lines.append(Line(name, title, np.asarray(loss())))
    except theory.AssumptionError:
        return
