"""[ZSL25] Fig. 6 of TMLR (Fig. 2 of the first version): a plateau that lasts while data are symmetric."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.experiment import Experiment
from biasfree_papers.fig6.numbers import run
from biasfree_papers.fig6.picture import draw
from biasfree_papers.fig6.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several


def _share(name: str, value: Any) -> float:
    share = positive(name, value)
    if share >= 1:
        raise ValueError(
            f"{name} must lie between 0 and 1, got {value!r}; it is a share of the plateau's loss."
        )
    return share


_DELTAS = several(low=1e-3, high=0.5)

SETTINGS = {
    "width": Setting(100, "a number of neurons", at_least(1)),
    "scale": Setting(1e-3, "the initial norm of a layer, a positive number", positive),
    "step": Setting(0.025, "the step of descent, a positive number", positive),
    "shown": Setting(0.15, "the δ that is shown over time, a positive number", positive),
    "deltas": Setting((0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3), "δ from 0.001 to 0.5", _DELTAS),
    "flows": Setting((0.05, 0.1, 0.15, 0.2), "δ from 0.001 to 0.5 at which the flow is exact", _DELTAS),
    "horizon": Setting(150.0, "δ times the last time, a positive number", positive),
    "left": Setting(0.8, "the share of the plateau's loss below which it is left", _share),
    "rtol": Setting(1e-6, "the simulator's tolerance for a step of the flow, a positive number", positive),
    "draws": Setting(400, "a number of draws of the weights for predictions", at_least(1)),
    **draws(16),
}

EXPERIMENT = Experiment(
    name="fig6",
    title="Perturbed symmetry: how long the linear plateau lasts ([ZSL25] TMLR Fig. 6, v1 Fig. 2)",
    caption="(a) Loss at the shown δ from every draw (thin lines; orange those that do not escape) and "
    "at δ = 0 (dashed); for the first draw the predicted loss (black line) and the simulated one "
    "(markers). (b, c) Its output in the middle of the plateau and at the end, on one colour scale that "
    "ends at ±1.5, with the six points (circles +1, squares −1; black line: zero, where it is not zero "
    "over an area). (d) 1/duration of the plateau against δ: one marker a draw; predicted from initial "
    "weights (line: median of many draws that escape, band: their middle half); the line through 0 that "
    "fits the small δ, with its slope; the exact flow of the first draw; squares at 0: how many draws had "
    "not escaped at the end of the run, t = 150/δ. (e) The share of draws that escape, predicted and "
    "found, and that are at zero loss in the end (below 1 % of the plateau). (f) Final losses: near 4/9 "
    "draws that did not escape; at small δ descent does not settle, since its step is above the largest "
    "stable one there; the exact flow does.",
    settings=SETTINGS,
    small={
        "width": 40,
        "scale": 1e-2,
        "shown": 0.1,
        "deltas": (0.05, 0.1),
        "flows": (0.1,),
        "horizon": 100,
        "rtol": 1e-4,
        "draws": 20,
        "seeds": 3,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=70,
    rebuilt="The labels of the six points: the only odd ones, up to an overall sign, that no line separates "
    "at δ = 0. How the duration is measured, the values of δ and the number of draws.",
    deviations=(
        "The duration is counted from where the loss is half-way down to that of least squares until it is "
        "0.8 times that: the TMLR text is not known to us.",
        "Several draws for every δ, each run ended at t = 150/δ. Draws that have not escaped by then are "
        "censored: counted, and left out of the medians, since those that escape do so well before.",
    ),
)
