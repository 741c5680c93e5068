"""Claims and the table of Fig. 1: the limits of two layers, and results over seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.fig1.compute import KINDS
from biasfree_papers.shared.trajectories import ACCURATE, accurate
from biasfree_papers.statements import observed, ours, paper

KIND_NAMES = {
    "two": "two bias-free layers",
    "two_biased": "two layers with biases",
    "three": "three bias-free layers",
    "three_biased": "three layers with biases",
}
LEARNED = 0.5  # of the least-squares loss
_ROUNDING = (
    "rounding, (H + P)ε: two evaluations of f, a sum of H products of total size at most 1, and of a mean "
    "over P samples, with half an ε per term"
)
_HALF = "a level of ours: a half; below 1 is out of reach of two bias-free layers"
_UNKNOWN = "measured here; what [ZSL25] TMLR Fig. 1 shows is not known to us"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """What is proved of bias-free networks, then what is learned."""
    return [*_proved(n), *_learned(n), _learning_g(n)]


def _proved(n: xarray.Dataset) -> list[Claim]:
    two, rounding = n.sel(kind="two"), (n.width + n.samples) * np.finfo(float).eps
    six, g = map(float, n.floor)
    return [
        ours(
            "two bias-free layers never fall below the least-squares loss, on both tasks",
            lowest_loss_less_bound=two.loss.min("save") - n.floor,
            at_least=-rounding,
            source="[ZSL25] Thm. 1 and App. E.4",
            bound=f"{six:.6g} on the six points, by L = L_lin + ⟨f_e²⟩/2, and {g:.6g} on the circle, half "
            f"the certificate of two_layer_gap; less {_ROUNDING}",
            nature="identity",
            headline=True,
        ),
        ours(
            "at the end the loss of two bias-free layers is that of a linear network plus that of the even "
            "part of f, on both tasks",
            gap_between_the_two_sides=two.split,
            at_most=rounding,
            source="derived here from [ZSL25] Thm. 1: L = L_lin + ⟨f_e²⟩/2 on symmetric data",
            bound=_ROUNDING,
            nature="identity",
        ),
        ours(
            "a three-layer bias-free network is g",
            loss_on_the_circle=n.exact_loss,
            at_most=np.finfo(float).eps ** 2,
            source="[ZSL25] Sec. 3.2, Eq. 3",
            bound="targets are rounded once, to at most ε = 2.2e-16",
            nature="identity",
            each="networks",
        ),
        ours(
            "trained bias-free networks of two and three layers are homogeneous, f(ax) = a f(x) for a > 0",
            largest_relative_gap=n.inhomogeneity.sel(kind=["two", "three"]),
            at_most=0.0,
            source="[ZSL25] Sec. 3",
            bound="exact for a = 1/8, 1/2, 2, 8, which floating point multiplies without rounding",
            nature="identity",
            each="runs",
        ),
    ]


def _learned(n: xarray.Dataset) -> list[Claim]:
    ratio = n["last"] / n.floor
    deep, biased = ratio.sel(kind="three"), ratio.sel(kind=[k for k, (_, has) in KINDS.items() if has])
    common: dict[str, Any] = {"at_most": LEARNED, "source": _UNKNOWN, "bound": _HALF}
    epochs = f"{int(n.epochs.sel(kind='three')[0])} epochs"
    return [
        paper(
            "two bias-free layers end at the least-squares map, on both tasks",
            excess_loss_over_least_squares=ratio.sel(kind="two") - 1,
            at_most=1e-3,
            source="[ZSL25] Corollary 6",
            bound="a level of ours: a thousandth",
        ),
        observed(
            f"three bias-free layers learn the six points better than two can, in {epochs}",
            loss_over_least_squares=deep.sel(task="six"),
            **common,
        ),
        observed(
            f"three bias-free layers learn g better than two can, in {epochs}",
            loss_over_least_squares=deep.sel(task="g"),
            headline=True,
            note=_why(n) if (deep.sel(task="g") > LEARNED).any() else "",
            **common,
        ),
        observed(
            f"three bias-free layers of width {int(n.flow_width)} learn both tasks better than two can, by "
            "exact gradient flow",
            last_loss_over_least_squares=flow_ratio(n),
            note=_unfollowed(n),
            **common,
        ),
        observed(
            "two and three layers with biases learn both tasks better than two bias-free layers can",
            loss_over_least_squares=biased,
            headline=True,
            **common,
        ),
    ]


def flow_ratio(n: xarray.Dataset) -> xarray.DataArray:
    """The last loss of every flow over least squares; NaN for one not followed, or not accurately."""
    return (n.flow_last / n.floor).where(accurate(n.flow_error, n.flow_drift))


def learning(ratio: xarray.DataArray) -> str:
    """How many runs learn their task, of all."""
    return f"{int((ratio < LEARNED).sum())} of {ratio.size}"


def _why(n: xarray.Dataset) -> str:
    """What other networks than the paper's do on g."""
    others = [f"{row[4]} with width {row[1]} and initial norm {row[2]:g}" for row in _learning_g(n).rows[1:]]
    return (
        "What three bias-free layers can express they need not learn; 1 is the least-squares loss. Seeds "
        f"that learn g: {', '.join(others)}, the last by exact flow."
    )


def _unfollowed(n: xarray.Dataset) -> str:
    ratio = flow_ratio(n)
    unknown = int(ratio.isnull().sum())
    sentence = (
        f"{unknown} of {ratio.size} flows could not be followed to the end within the error {ACCURATE:g}."
    )
    return sentence if unknown else ""


def _learning_g(n: xarray.Dataset) -> Table:
    """Three bias-free layers on g: the paper's, other widths and scales, and exact flows, a row each."""
    g = n.sel(task="g")
    paper_s, width, scale = g["last"].sel(kind="three") / g.floor, int(n.width), float(n.scale)
    descents = [(width, scale, paper_s)] + [
        (int(one.other_width), float(one.other_scale), one.other_last / g.floor)
        for one in (n.isel(other=i) for i in range(n.sizes["other"]))
    ]
    rows = [("descent", *row) for row in descents]
    rows.append(("exact flow", int(n.flow_width), scale, flow_ratio(g)))
    return Table(
        "Three bias-free layers on g: the paper's width and initial norm, then others",
        ("training", "width", "initial norm", "seeds", "learn g", "best loss / least squares", "worst"),
        tuple(
            (how, w, s, ratio.size, int((ratio < LEARNED).sum()), float(ratio.min()), float(ratio.max()))
            for how, w, s, ratio in rows
        ),
    )
