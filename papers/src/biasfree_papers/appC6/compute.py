"""Runs of App. C.6: steps up to the largest stable one, either η/c, matched to the twin's η, or η itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import xarray

from biasfree import diagnostics, networks
from biasfree.arrays import positive
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.sweeps import tabulate
from biasfree.trajectory import Trajectory
from biasfree_papers.settings import Report, only, setting, several
from biasfree_papers.shared import linear_twins as twins
from biasfree_papers.shared.trajectories import least_squares_loss

_LEAKS = only(
    several(low=0, high=0.99),
    lambda leaks: all(meetings(leak)[0] / meetings(leak)[1] == (1 + leak) / 2 for leak in leaks),
    "make (1+α)/2 a fraction of at most 16 parts, as 0, 0.25, 0.5 do: others have no common rescaled times",
)


@dataclass(frozen=True)
class Settings(twins.TwinSettings):
    """Settings of App. C.6."""

    leaks: tuple[float, ...] = setting(
        (0.0, 0.5), "leaks below 1 that make (1+α)/2 a simple fraction", _LEAKS
    )
    steps: tuple[float, ...] = setting(
        (0.05, 0.1, 0.2, 0.4, 0.8, 0.95),
        "the linear network's steps, in units of the largest stable one, numbers between 0 and 1",
        several(low=1e-3, high=0.99),
    )
    scale: float = setting(1e-3, "the initial norm of a linear layer, a positive number", positive)
    end: float = setting(
        20.0, "the last time of the linear network in units of τ/s, a positive number", positive
    )

    def count(self, step: float) -> int:
        """The linear network's number of steps."""
        return max(1, round(self.end / step))


SECONDS = 13
SMALL: dict[str, Any] = {
    "width": 12, "dimensions": 3, "samples": 10, "steps": (0.2, 0.8), "end": 12, "seeds": 2,
}  # fmt: skip


def run(settings: Settings, report: Report) -> xarray.Dataset:
    """Largest weight errors by kind, step, leak and seed, losses of one seed, and the end of the plateau."""
    data = settings.white_task()
    s, least = float(np.linalg.norm(data.beta)), least_squares_loss(data)
    plateaus = tabulate(
        lambda step, leak: _plateau(settings.scale, s, step, leak),
        over={"step": settings.steps, "leak": settings.leaks},
    )
    _check_end(settings, float(plateaus.plateau_time.max()))
    starts = {"rank one": _along_target(settings, data)}
    starts["random"] = settings.linear_starts("random", settings.scale)
    times = np.arange(1 + settings.count(settings.steps[0]))

    def compared(kind: str, step: float) -> dict[str, Any]:
        report(f"{kind} initial weights, step {step:g} of the largest stable one")
        path = {"step": step / s, "steps": settings.count(step)}
        linear = twins.descent(starts[kind], data, leak=1.0, **path)
        matched = [twins.descent(starts[kind], data, leak=leak, **path) for leak in settings.leaks]
        equal = [_equal(starts[kind], linear, data, leak, step / s) for leak in settings.leaks]
        ends = plateaus.meeting.sel(step=step).values
        shape = ("leak", "seed")
        return {
            "matched": (shape, np.array([twins.errors(runs, linear).max(axis=1) for runs in matched])),
            "equal": (shape, np.array([errors.max(axis=1) for errors in equal])),
            "plateau_error": (shape, np.array([e[:, end] for e, end in zip(equal, ends, strict=True)])),
            "relu_loss": ("count", _padded(matched[0][0].loss - least, len(times))),
            "linear_loss": ("count", _padded(linear[0].loss - least, len(times))),
            "leak": ("leak", settings.leaks),
            "seed": ("seed", settings.all_seeds),
        }

    bounds = [twins.rounding(data, settings.width, settings.count(step)) for step in settings.steps]
    found = tabulate(compared, over={"kind": twins.KINDS, "step": settings.steps})
    return found.merge(plateaus).assign(
        count=times, rounding=("step", bounds), law=("end", np.array(twins.usual_errors(settings.width)))
    )


def _check_end(settings: Settings, least: float) -> None:
    """Refuses a last time before the meetings at which the plateaus are judged."""
    if settings.end < least:
        raise ValueError(
            f"end must be at least {np.ceil(100 * least) / 100:g}, where the plateau ends, got "
            f"{settings.end:g}."
        )


def _along_target(settings: Settings, data: Dataset) -> list[Network]:
    """Rank-one weights along β̄, where white data keep them, so that the plateau has one growth rate."""
    common: Any = {"width": settings.width, "scale": settings.scale, "leak": 1.0}
    return [networks.rank_one(data.beta, seed=seed, **common) for seed in settings.all_seeds]


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
    return np.array(
        [
            [diagnostics.weight_error(network, twin[i * theirs]) for i, network in enumerate(run)]
            for run, twin in zip(runs, linear, strict=True)
        ]
    )


def _plateau(scale: float, s: float, step: float, leak: float) -> dict[str, float]:
    """At equal steps from rank-one weights: the last meeting at u < √s/20, the weight error there, its error.

    Where u² ≪ s a step multiplies the twins' weights by 1 + cηs (leaky) and 1 + ηs (linear): a ratio of
    (1 + cηs)^{n/c}/(1 + ηs)ⁿ after n steps. What u² changes in ln u is less than u²/(2s) for each.
    """
    theirs, own = meetings(leak)
    faster = own * np.log1p(step * theirs / own)
    meeting = max(0, int(np.log(0.05 * np.sqrt(s) / scale) / faster))
    growth = meeting * (faster - theirs * np.log1p(step))
    u = scale * np.exp(meeting * faster)
    return {
        "meeting": meeting,
        "plateau_time": float(meeting * theirs * step),
        "plateau_law": float(np.expm1(growth)),
        "plateau_bound": float(np.exp(growth) * np.expm1(u**2 / s)),
    }
