"""Claims on the rate at which the linear part turns to the max-margin classifier."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim
from biasfree_papers.lyu2021.linear import while_log_doubles
from biasfree_papers.types import Numbers

_NEAR = 0.1  # of the ratio of angles while ln t doubles


def _ratios(numbers: Numbers, names: list[str]) -> np.ndarray:
    """What angles fall to while ln t doubles, of all runs."""
    found = [while_log_doubles(numbers[f"{name}_ts"], numbers[f"{name}_angle"]).ravel() for name in names]
    return np.concatenate(found)


def said(numbers: Numbers, names: list[str]) -> Claim:
    """That it turns there, of which the papers give no rate."""
    return Claim(
        sentence="the linear part turns to the max-margin classifier for every leak and width (angle at the "
        "last time over that at its square root)",
        source="Lyu et al. (2021); [ZSL25] Corollary 6",
        kind="paper",
        measured=tuple(_ratios(numbers, names)),
        bound=(1.0,),
        origin="the papers are about t → ∞ and give no rate: the angle falls",
        basis="stated",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def _one_layer(numbers: Numbers, names: list[str]) -> Claim:
    """The rate of a linear model, which two layers have where the support spans the inputs."""
    ratios, spans = _ratios(numbers, names), numbers["late_spans"]
    return Claim(
        sentence="two layers turn as one linear layer does, as 1/ln t (angle at the last time over that at "
        "its square root, distance from ½)",
        source="measured here; Soudry et al. (2018) have the rate for one linear layer, none of the papers "
        "for two",
        kind="observed",
        measured=tuple(np.abs(ratios - 0.5)),
        bound=(_NEAR,),
        origin=f"½ for 1/ln t exactly; we take {_NEAR:g}",
        note=f"angles fall to {ratios.min():.2f} … {ratios.max():.2f} of what they were, as the draw of the "
        f"data has it: where the support of w* does not span the inputs, in {np.sum(~spans)} of {spans.size} "
        "draws, two layers turn as 1/√ln t only, ratio 0.71 (see below); and samples δ beyond the margin "
        "count until t^δ is large",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )


def seen(numbers: Numbers, names: list[str]) -> list[Claim]:
    """The rate of one linear layer and of two, and networks beside the reduced flow of their twins."""
    return [_one_layer(numbers, names), _law(numbers), _linear_course(numbers)]


def law(spans: np.ndarray) -> np.ndarray:
    """The power of 1/ln t that the angle goes with."""
    return np.where(spans, 1.0, 0.5)


def _law(numbers: Numbers) -> Claim:
    expected = 0.5 ** law(numbers["late_spans"])
    return Claim(
        sentence="two linear layers turn to it as 1/ln t where its support spans the inputs, and as "
        f"1/√ln t where not (angle at t = {numbers['late_last'].min():.0e} over that at its square "
        "root, distance from ½ or 1/√2)",
        source="derived here to leading order",
        kind="observed",
        measured=tuple(np.abs(numbers["late_ratio"] - expected).ravel()),
        bound=(_NEAR,),
        origin="late, residuals are those of the support: off its span W₁ stands still while |W₁| ∝ √ln t, "
        f"and within it w − w* ln t stays bounded; corrections are slow, and we take {_NEAR:g}",
        seeds=tuple(numbers["seeds"]),
        each="draws and dimensions",
    )


def _linear_course(numbers: Numbers) -> Claim:
    """In the linear network's time, ct."""
    angle = numbers[f"width{int(numbers['widths'].max())}_angle"][-1]
    t = np.log(float(numbers["reduced_ts"][-1]) * (1 + numbers["leaks"]) / 2)
    logs, flows = np.log(numbers["reduced_ts"]), numbers["reduced_angle"]
    flow = np.stack([np.interp(t, logs, column) for column in flows.T], axis=1)
    return Claim(
        sentence="small random starts follow the reduced flow of their linear twin (angle of the widest "
        "networks over its, at the last rescaled time, distance from 1)",
        source="[ZSL25] Thms. 5 and 13 (TMLR 8)",
        kind="observed",
        measured=tuple(np.abs(angle / flow - 1).ravel()),
        bound=(0.05,),
        origin="no derived bound for random starts in descent; we take a twentieth",
        seeds=tuple(numbers["seeds"]),
        each="runs",
    )
