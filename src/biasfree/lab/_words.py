"""The run in words: verdict at each moment, symmetry, which theorem applies or would, plateaus."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biasfree import theory
from biasfree.data import Dataset
from biasfree.diagnostics import outputs, plateaus, symmetry_defect
from biasfree.lab._state import Experiment
from biasfree.networks import Network
from biasfree.ties import share_side
from biasfree.trajectory import Trajectory

#: A network is nonlinear if the best linear map leaves more of its outputs unexplained, as in `bf.diagnose`.
NONLINEAR_ABOVE = 0.01
#: Outputs are negligible if their energy is below this share of the targets'.
NEGLIGIBLE = 1e-4
#: The loss at which a plateau is left, as a share of its level: that of `SixPointEscape.duration`.
LEFT = 0.8
#: The share of the fall that is left where the linear map has half its final norm: the escape time.
HALF_WAY = 0.25
#: Names of hypotheses in words, by key; a remedy that is one change of the state comes as a button.
_MISSING = {
    "symmetry": "the data are not symmetric",
    "mirror": "some samples have no mirror image",
    "rank_one": "the initial weights do not have rank one",
    "signs": "the positive and negative parts of W₂ differ in norm",
    "depth": "it is about two layers",
    "both_signs": "the weights of both signs differ too much",
    "small": "the initial weights are not small",
    "hyperplane": "samples lie on the hyperplane of the weights",
    "outputs": "it is about one output",
    "labels": "the targets are not −1 and +1",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the panel, its topic, and the experiment that its button makes."""

    topic: str
    text: str
    button: str = ""
    makes: Experiment | None = None

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        state = None if self.makes is None else self.makes.to_json()
        return {"topic": self.topic, "text": self.text, "button": self.button, "state": state}


def before_the_run(
    experiment: Experiment, network: Network, data: Dataset, found: theory.Coverage
) -> list[Sentence]:
    """What the data and the initial weights say."""
    return [*_symmetry(experiment, data), *_theorem(experiment, network, found)]


def verdict(network: Network, data: Dataset, nonlinear: float) -> str:
    """Whether the network is effectively linear at a moment; `nonlinear` is its N on the samples."""
    energy = float(np.mean(outputs(network, data.x) ** 2))
    if energy < NEGLIGIBLE * float(np.mean(data.targets**2)):
        return "Near zero: the outputs are still negligible."
    if share_side(nonlinear, NONLINEAR_ABOVE, terms=sum(data.x.shape)) > 0:
        return f"Nonlinear: the best linear map leaves {nonlinear:.1%} of the outputs unexplained."
    return f"Effectively linear: a linear map explains all but {nonlinear:.1g} of the outputs."


def _symmetry(experiment: Experiment, data: Dataset) -> Iterator[Sentence]:
    defect = symmetry_defect(data)
    if defect <= 1e-8:
        yield Sentence("symmetry", "The data are symmetric: every half-plane has the same moments.")
        return
    text = f"Symmetry defect {defect:.2g}: the data are not symmetric."
    if experiment.mirror:
        yield Sentence("symmetry", text)
    elif experiment.preset == "six_points":
        yield Sentence("symmetry", text, "Move point 6 back", replace(experiment, delta=0.0))
    else:
        yield Sentence("symmetry", text, "Add mirror images", replace(experiment, mirror=True))


def _theorem(experiment: Experiment, network: Network, found: theory.Coverage) -> Iterator[Sentence]:
    rows = [row for row in found if row.result.loss == experiment.loss]
    row = next(row for row in rows if "equivalent_flow" in row.result.calls)
    courses = ("independent_flow", "six_point_escape", "two_neuron_flow", "deep_flow", "linear_flow")
    if row.applies:
        yield Sentence(
            "theorem", "Theorem 5 (TMLR 8) applies: the network learns exactly as its linear twin."
        )
        return
    others = [one for one in rows if one.applies and set(courses) & set(one.result.calls)]
    if others:
        result = others[0].result
        reference = textwrap.shorten(result.reference, 90, placeholder=" …")
        yield Sentence("theorem", f"Applies: {result.title} ({reference}).")
    missing = [finding.hypothesis.key for finding in row.missing]
    stated = ["depth"] if "depth" in missing else missing
    reasons = list(dict.fromkeys(_MISSING[key] for key in stated if key in _MISSING))
    text = f"Theorem 5 (TMLR 8), the linear twin, does not apply: {'; '.join(reasons)}."
    yield Sentence("theorem", text, *_remedy(experiment, network, missing))


def _remedy(experiment: Experiment, network: Network, missing: list[str]) -> tuple[str, Experiment | None]:
    """The next single change toward the theorem, as a button."""
    if "depth" in missing:
        return "Use two layers", replace(experiment, depth="2")
    if ("symmetry" in missing or "mirror" in missing) and not experiment.mirror:
        return "Add mirror images", replace(experiment, mirror=True)
    if "rank_one" in missing or "signs" in missing:
        wanted = replace(experiment, initial="aligned")
        try:
            theory.aligned(network, experiment.data)
        except theory.AssumptionError:
            return "", None
        return "Align the weights", wanted
    return "", None


def after_the_run(
    experiment: Experiment, network: Network, data: Dataset, run: Trajectory, found: theory.Coverage
) -> Iterator[Sentence]:
    """What the run says: plateaus, predicted and measured."""
    rows = [row for row in found if row.applies and row.result.loss == experiment.loss]
    granted = {name for row in rows for name in row.result.calls}
    if "six_point_escape" in granted:
        escape = theory.six_point_escape(network, float(data.x[5, 1]))
        predicted = escape.duration(LEFT)
        measured = run.time_of(LEFT * escape.plateau) - escape.begins
        yield Sentence("plateau", f"Plateau at loss 4/9: {_both(predicted, measured, run)}.")
    elif "escape_time" in granted:
        predicted = theory.escape_time(network, data, loss=experiment.loss)
        least = run.loss[-1] + HALF_WAY * (run.loss[0] - run.loss[-1])
        both = _both(predicted, run.time_of(least), run)
        known = both if experiment.loss == "square" else f"{predicted:.4g} predicted"
        yield Sentence("plateau", f"Escape from zero: {known}.")
    elif "learning_times" in granted:
        times = np.sort(theory.learning_times(network, data))
        shown = ", ".join(f"{t:.3g}" for t in times[:6])
        yield Sentence("plateau", f"Points are learned at t = {shown} (predicted).")
    yield from seen_plateaus(run, data)


def seen_plateaus(run: Trajectory, data: Dataset) -> Iterator[Sentence]:
    """The plateaus that last for more than a fiftieth of the run, three at most."""
    long = [p for p in plateaus(run, data) if p.end - p.start > 0.02 * run.ts[-1]]
    if long:
        spans = ", ".join(
            f"{p.start:.4g} to {p.end:.4g} at loss {p.level:.3g}"
            + (f" ({p.nearest})" if p.nearest not in (None, "other") else "")
            for p in long[:3]
        )
        yield Sentence("plateau", f"Measured plateaus: {spans}.")


def _both(predicted: float, measured: float, run: Trajectory) -> str:
    def shown(t: float) -> str:
        return f"{t:.4g}" if np.isfinite(t) else "never"

    late = "" if np.isfinite(measured) else f" before t = {run.ts[-1]:g}"
    seen = shown(measured) if np.isfinite(measured) else "not left"
    return f"{shown(predicted)} predicted, {seen} measured{late}"
