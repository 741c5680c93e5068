"""Runs of App. C.6: steps up to the largest stable one, either η/c, matched to the twin's η, or η itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from biasfree import diagnostics, networks
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import least_squares_loss, rounding, stacked
from biasfree_papers.types import Numbers, Report


def run(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Largest weight errors, (kinds, steps, leaks, seeds), losses of one seed, and the end of the plateau."""
    data = twins.white_task(settings)
    s = float(np.linalg.norm(data.beta))
    _check_end(settings, s)
    starts = {"rank one": _along_target(settings, data)}
    starts["random"] = twins.linear_starts(settings, "random", settings["scale"])
    cells: dict[str, list[Numbers]] = {kind: [] for kind in twins.KINDS}
    for fraction in settings["steps"]:
        for kind in twins.KINDS:
            report(f"{kind} initial weights, step {fraction:g} of the largest stable one")
            cells[kind].append(_compared(settings, data, starts[kind], fraction, s))
    plateaus = [
        [_plateau(settings["scale"], s, f, leak) for leak in settings["leaks"]] for f in settings["steps"]
    ]
    return {
        **stacked([stacked(cells[kind]) for kind in twins.KINDS]),
        "plateau_time": np.array(
            [
                [end * meetings(leak)[0] * f for (end, *_), leak in zip(row, settings["leaks"], strict=True)]
                for f, row in zip(settings["steps"], plateaus, strict=True)
            ]
        ),
        "plateau_law": np.array([[np.expm1(growth) for _, growth, _ in row] for row in plateaus]),
        "plateau_bound": np.array([[bound for *_, bound in row] for row in plateaus]),
        "kinds": np.array(twins.KINDS),
        "fractions": np.array(settings["steps"]),
        "leaks": np.array(settings["leaks"]),
        "seeds": seeds_of(settings),
        "rounding": np.array(
            [rounding(data, settings["width"], _count(settings, f)) for f in settings["steps"]]
        ),
        "usual": np.array(twins.usual_errors(settings["width"])),
    }


def _check_end(settings: Mapping[str, Any], s: float) -> None:
    """Refuses a last time before the meetings at which the plateaus are judged."""
    cells = [(fraction, leak) for fraction in settings["steps"] for leak in settings["leaks"]]
    least = max(f * meetings(leak)[0] * _plateau(settings["scale"], s, f, leak)[0] for f, leak in cells)
    if settings["end"] < least:
        raise ValueError(
            f"end must be at least {np.ceil(100 * least) / 100:g}, where the plateau ends, got "
            f"{settings['end']:g}."
        )


def _along_target(settings: Mapping[str, Any], data: Dataset) -> list[Network]:
    """Rank-one weights along β̄, where white data keep them, so that the plateau has one growth rate."""
    common = {"width": settings["width"], "scale": settings["scale"], "leak": 1.0}
    return [networks.rank_one(data.beta, seed=int(seed), **common) for seed in seeds_of(settings)]


def _count(settings: Mapping[str, Any], fraction: float) -> int:
    """The linear network's number of steps."""
    return max(1, round(settings["end"] / fraction))


def _compared(
    settings: Mapping[str, Any], data: Dataset, starts: Sequence[Network], fraction: float, s: float
) -> Numbers:
    """One step size, one kind of weights: errors at matched and equal steps, losses of the first seed."""
    path = {"step": fraction / s, "steps": _count(settings, fraction)}
    linear = twins.descent(starts, data, leak=1.0, **path)
    matched = [twins.descent(starts, data, leak=leak, **path) for leak in settings["leaks"]]
    equal = [_equal(starts, linear, data, leak, fraction / s) for leak in settings["leaks"]]
    ends = [_plateau(settings["scale"], s, fraction, leak)[0] for leak in settings["leaks"]]
    longest, least = 1 + _count(settings, settings["steps"][0]), least_squares_loss(data)
    return {
        "matched": np.array([twins.errors(runs, linear).max(axis=1) for runs in matched]),
        "equal": np.array([errors.max(axis=1) for errors in equal]),
        "plateau_error": np.array([errors[:, end] for errors, end in zip(equal, ends, strict=True)]),
        "relu_loss": _padded(matched[0][0].loss - least, longest),
        "linear_loss": _padded(linear[0].loss - least, longest),
    }


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    """Followed by NaN, which is not drawn."""
    return np.append(values, np.full(length - len(values), np.nan))


def meetings(leak: float) -> tuple[int, int]:
    """The numbers of equal steps, linear and leaky, that lead to a common rescaled time."""
    c = Fraction((1 + leak) / 2).limit_denominator(16)
    return c.numerator, c.denominator


def _equal(
    starts: Sequence[Network], linear: Sequence[Trajectory], data: Dataset, leak: float, step: float
) -> np.ndarray:
    """The weight errors at the same step for both, at the rescaled times that both have."""
    theirs, own = meetings(leak)
    count = (len(linear[0]) - 1) // theirs
    path = {"step": step * theirs / own, "steps": own * count, "save_every": own}
    runs = twins.descent(starts, data, leak=leak, **path)
    return np.array([_errors(run, twin, theirs) for run, twin in zip(runs, linear, strict=True)])


def _errors(run: Trajectory, twin: Trajectory, every: int) -> np.ndarray:
    return np.array([diagnostics.weight_error(network, twin[i * every]) for i, network in enumerate(run)])


def _plateau(scale: float, s: float, fraction: float, leak: float) -> tuple[int, float, float]:
    """At equal steps from a rank-one start: the last meeting at u < √s/20, ln of the ratio there, its error.

    Where u² ≪ s a step multiplies the twins' weights by 1 + cηs (leaky) and 1 + ηs (linear): a ratio of
    (1 + cηs)^{n/c}/(1 + ηs)ⁿ after n steps. What u² changes in ln u is less than u²/(2s) for each.
    """
    theirs, own = meetings(leak)
    faster = own * np.log1p(fraction * theirs / own)
    meeting = max(0, int(np.log(0.05 * np.sqrt(s) / scale) / faster))
    growth = meeting * (faster - theirs * np.log1p(fraction))
    u = scale * np.exp(meeting * faster)
    return meeting, float(growth), float(np.exp(growth) * np.expm1(u**2 / s))
