"""Claims and tables of the bias experiment: classifiers, margins, distances, and biases that hardly move."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.bias.square import LEARNED
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import observed, ours, paper, table

_CLASSIFIERS = {"origin": "x, through the origin", "stacked": "[x, 1]", "free": "x, free offset"}
_KINDS = {"plain": "without biases", "biased": "with hidden biases"}
_WEIGHTS = {"usual": "w ~ N(0, 2), a ~ N(0, 2/H)", "small": "a hundredth of these"}
_SOLVER = (
    "rounding: machine epsilon times samples and inputs of [x, 1] times the condition number of the support"
)
_APP_B = "[ZSL25] App. B of v1"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """Ours first; then where training ends without and with biases; then tables."""
    return [
        *_classifiers(n),
        _first_step(n),
        _largest(n),
        _furthest(n),
        _turned(n),
        *_trained(n),
        *_six(n),
        *_line(n),
        *_tables(n),
    ]


def _classifiers(n: xarray.Dataset) -> list[Claim]:
    rounding = np.finfo(float).eps * n.sizes["sample"] * n.sizes["part"] * n.condition
    line = n.line.sel(data="symmetric")
    origin = line.sel(classifier="origin")
    others = ["stacked", "free"]
    return [
        ours(
            "on symmetric data the max-margin classifiers of x, of [x, 1] and with a free offset are one, "
            "with b = 0",
            relative_distance_to_the_first=_norm(line.sel(classifier=others) - origin) / _norm(origin),
            at_most=rounding.sel(classifier=others, shift=0.0),
            source="derived here: with (w, b) also (w, −b) fits mirrored data, so their mean (w, 0) does, "
            "and is shorter",
            bound=_SOLVER,
            identity=True,
        ),
        ours(
            "on shifted data the three classifiers differ as the closed form for two support points "
            "predicts: angles of w over shifts 0 to 1.5",
            largest_gap_in_degrees=abs(n.angle - n.closed_angle).max("shift"),
            at_most=np.degrees(rounding.max("shift")),
            source="derived here: w = [(|s|²+κ²)c − (c·s)s]/[|c|²(|s|²+κ²) − (c·s)²] for [x, κ]",
            bound=f"{_SOLVER}, in degrees",
            identity=True,
        ),
    ]


def _norm(parts: xarray.DataArray) -> xarray.DataArray:
    return (parts**2).sum("part") ** 0.5


def _first_step(n: xarray.Dataset) -> Claim:
    """The equivalence with a linear network ends with the first step: hidden biases grow."""
    return ours(
        "a network that is the max-margin classifier of symmetric data does not stay linear: every hidden "
        "bias grows by η|a_h|⟨1/(1+e^{yf})⟩/2 in a step",
        largest_relative_gap=abs(n.bias_step - n.predicted_bias_step).max() / n.predicted_bias_step.min(),
        at_most=n.rounding,
        source="derived here: a neuron sees one of the two classes, and [x, 1] has no mirror images",
        bound="rounding: machine epsilon times the terms of the sums in a step (samples, neurons, inputs)",
        identity=True,
        each="networks",
    )


def _largest(n: xarray.Dataset) -> Claim:
    return ours(
        "the normalized margin on the symmetric data is never above γ/4 without biases, √(γ²+1)/4 with them",
        largest_over_time_over_that=n.margins.max("time") / n.largest,
        at_most=1 + 1e-12,
        source="derived here for samples of a class at acute angles: Σp_i y_i f(x_i) ≤ |Σp_i "
        "x_i|·Σ|a_h||w_h|",
        bound="averaged over a class with the weights p of its point nearest to the origin, and |a||w| ≤ "
        "(a²+|w|²)/2; 1e-12 for rounding",
        identity=True,
    )


def _furthest(n: xarray.Dataset) -> Claim:
    return ours(
        "on the six points no network has all samples on their sides and further from its boundary than "
        "the least of |x × x'|/|x + x'| without biases, |x − x'|/2 with, over samples of different labels",
        least_signed_distance_over_that=n.distance.min("six") / n.furthest,
        at_most=1 + 1e-8,
        source="derived here: f is 0 on a ray between any two of them, or on the segment",
        bound="the accuracy of distances, 1e-9, times ten",
    )


def _turned(n: xarray.Dataset) -> Claim:
    lines = n.line.sel(data="shifted")
    a, b = lines.sel(classifier="stacked", drop=True), lines.sel(classifier=["origin", "free"])
    across = a[0] * b[:, 1] - a[1] * b[:, 0]
    angle = np.arctan2(abs(across), a[0] * b[:, 0] + a[1] * b[:, 1])
    return paper(
        "the max-margin classifier of [x, 1] is not that of x, through the origin or with a free offset",
        angle_on_the_shifted_data_in_degrees=np.degrees(angle),
        at_least=1e-6,
        basis="stated",
        source=_APP_B,
        bound="the paper gives no number; anything above rounding",
        headline=True,
        note="It needs data without symmetry: on symmetric data the three are one.",
    )


def _trained(n: xarray.Dataset) -> list[Claim]:
    last = n.margins.isel(time=-1)
    return [
        paper(
            "without biases the network on symmetric data is linear at the end",
            share_of_its_even_part=n.even,
            at_most=1e-3,
            source="[ZSL25] Thm. 5 (TMLR 8)",
            bound="a level of ours for random weights: a thousandth of the energy",
        ),
        observed(
            "with hidden biases training on symmetric data ends elsewhere than without: at a normalized "
            "margin above the largest, γ/4, of any bias-free network",
            last_margin_over_that=last.sel(kind="biased") / n.largest.sel(kind="plain"),
            at_least=1.0,
            basis="derived",
            source=f"measured here, for {_APP_B}",
            bound="γ/4 is the largest without biases, derived here",
            headline=True,
        ),
    ]


def _six(n: xarray.Dataset) -> list[Claim]:
    close = "The paper speaks of what its picture shows, and of robustness as a possibility."
    return [
        paper(
            "on the six points without biases the decision boundary ends close to the data, hence possibly "
            "non-robust",
            **_ended(n, "plain", close),
            at_most=0.25,
            basis="chosen with runs at hand",
            source="[ZSL25] Fig. 2c and App. B of v1",
            bound="a level of ours: a quarter, the runs have a tenth",
            headline=True,
        ),
        observed(
            "with hidden biases, from the same weights, the six points end far from the decision boundary",
            **_ended(n, "biased"),
            at_least=0.5,
            basis="chosen with runs at hand",
            source=f"measured here, for {_APP_B}",
            bound="a level of ours: half, the runs have 0.98",
        ),
    ]


def _ended(n: xarray.Dataset, kind: str, note: str = "") -> dict[str, Any]:
    """Least over largest distance of the seeds that learned all six points, and a word on the others."""
    one = n.sel(kind=kind)
    learned = one.six_loss < LEARNED
    stuck = f"{int((~learned).sum())} of {learned.size} seeds have not learned the six points: not judged. "
    share = (one.distance.min("six") / one.furthest).where(learned, drop=True)
    return {
        "least_distance_over_the_largest_possible": share,
        "each": "runs",
        "note": ("" if learned.all() else stuck) + note,
    }


def _line(n: xarray.Dataset) -> list[Claim]:
    usual = n.sel(weights="usual")
    common: dict[str, Any] = {
        "source": "Holzmüller and Steinwart (2022), as [ZSL25] App. A of v1 reports it",
        "basis": "chosen with runs at hand",
        "note": "Data rebuilt: what least squares leaves is orthogonal to 1 and to x on either half-line, so "
        "no bias has a force at the end. Its size and the kind of initial weights were chosen in trials: "
        "three times this rest moves the biases of one seed in eight, and from small initial weights they "
        "move too (panel f).",
    }
    return [
        paper(
            "in regression of one input the hidden biases of a leaky network hardly move from 0",
            mean_kink_over_nearest_sample=usual.kinks.max("line_time"),
            at_most=0.1,
            bound="a level of ours: a tenth of the way to the nearest sample; the mean kink is "
            "Σ|a_h b_h|/Σ|a_h w_h|, the largest over time",
            **common,
        ),
        paper(
            "such a network performs linear regression, though it could fit every sample",
            last_loss_over_that_of_least_squares_less_one=abs(usual.line_loss[:, -1] / n.least_squares - 1),
            at_most=0.01,
            bound="a level of ours: 1 %",
            **common,
        ),
    ]


def _words(axis: xarray.DataArray, words: dict[str, str]) -> xarray.DataArray:
    return axis.copy(data=[words[name] for name in axis.values])


def _tables(n: xarray.Dataset) -> list[Table]:
    w = n.line.sel(part=["w₁", "w₂"])
    outputs = (w * n.x.rename(input="part")).sum("part") + n.line.sel(part="b", drop=True)
    least = n.distance.min("six")
    last = n.isel(line_time=-1).median("seed")
    return [
        table(
            "max-margin classifiers",
            over=("data", "classifier"),
            columns={
                "data": n.data,
                "max margin of": _words(n.classifier, _CLASSIFIERS),
                **{str(part.values): n.line.sel(part=part, drop=True) for part in n.part},
                "least distance to the line": (n.y * outputs).min("sample") / _norm(w),
            },
        ),
        table(
            "networks on symmetric data at the end, medians; without biases bias / weight is 0",
            over="kind",
            columns={
                "network": _words(n.kind, _KINDS),
                "normalized margin": n.margins.isel(time=-1).median("seed"),
                "largest that exists": n.largest,
                "bias / weight of positive neurons": n.bias_ratio.median() * (n.kind == "biased"),
                "its limit": 1 / n.margin * (n.kind == "biased"),
            },
        ),
        table(
            "six points: distance to the decision boundary; negative: on the wrong side",
            over=("kind", "seed"),
            columns={
                "seed": n.seed,
                "network": _words(n.kind, _KINDS),
                "last loss / first": n.six_loss,
                "least distance": least,
                "/ largest possible": least / n.furthest,
                "exact": n.exact,
                "samples flipped by twice that, one direction for all": (n.flip <= 2 * abs(least)).sum("six"),
            },
        ),
        table(
            "regression of one input with biases, medians at the end",
            over="weights",
            columns={
                "initial weights": _words(n.weights, _WEIGHTS),
                "mean kink / nearest sample": last.kinks,
                "loss": last.line_loss,
            },
        ),
    ]
