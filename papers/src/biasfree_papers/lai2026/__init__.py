"""Lai et al. (2026): in high dimensions training ends √(n/d) away from the least-norm interpolator."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.lai2026.numbers import run
from biasfree_papers.lai2026.picture import draw
from biasfree_papers.lai2026.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole


def _small(name: str, value: Any) -> float:
    """Initial outputs, its square, must be below what one step changes."""
    if (value := positive(name, value)) > 0.05:
        raise ValueError(f"{name} must be at most 0.05, so that initial outputs are small, got {value}.")
    return value


SETTINGS = {
    "samples": Setting((20, 40, 80), "numbers of samples n, 4 or more each", several_whole(low=4)),
    "ratios": Setting((2, 5, 10, 20, 50, 100), "values of d/n, 1.5 or more", several(low=1.5, least=2)),
    "asymptotic": Setting(10.0, "the least d/n that exponents are fitted from", positive),
    "width": Setting(40, "a number of neurons of the wide networks", at_least(2)),
    "scale": Setting(
        1e-3, "the initial norm of a layer, and the root of the initial outputs, at most 0.05", _small
    ),
    "kick": Setting(0.01, "the share of a unit sample that one step of the two neurons fits", positive),
    "end": Setting(60.0, "the time at which the two neurons end, in 1/rate of a unit sample", positive),
    "step": Setting(0.1, "the step of the wide networks over √n, a positive number", positive),
    "steps": Setting(2000, "a number of steps of the wide networks", at_least(2)),
    **draws(6),
}

EXPERIMENT = Experiment(
    name="lai2026",
    title="High-dimensional samples: √(n/d) from the interpolator of least norm (Lai et al. 2026)",
    caption="(a) Distance of v = Σ a_h w_h from the linear interpolator of least norm, relative, of two "
    "neurons (one for each sign) on Gaussian samples: medians over draws (markers; dark to light: n as in "
    "the legend; circles: labels ±1, squares: noise), and ½√(n/d), derived here to leading order (line). (b) "
    "The same for random networks, both layers trained. (c) Distance of the two neurons from the shortest "
    "ones that fit the samples of their sign and are silent on the others; √(n/d)/2 and n/d (lines). (d) The "
    "distance is made by what is silent: every run of (a) (circles) and (b) (crosses) between the bounds of "
    "its Gram matrix, as shares of the way from the lower (0) to the upper bound (1), on a logarithmic "
    "scale. (e) Share of runs that interpolate (mean square error below 1e-8 of the targets'). (f) "
    "Orthonormal samples: distance after descent in steps that fit a share η/n of a sample, from neurons "
    "active on all samples (circles; line: η/n, derived) and from neurons active on those of their sign "
    "(squares; dashed: bound derived from initial outputs and end time).",
    settings=SETTINGS,
    small={
        "samples": (8,),
        "ratios": (2, 20),
        "asymptotic": 2,
        "width": 12,
        "kick": 0.05,
        "end": 30,
        "steps": 600,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=34,
    rebuilt="All settings but the ranges of n and d/n. We have the abstract, not the text: it has a shallow "
    "ReLU model, the square loss, high-dimensional random features, gradient descent and a gap of order "
    "√(n/d) from the solution of least norm. Ours are: inputs N(0, I/d); labels ±1, equally many, or N(0, "
    "1); two neurons with outer weights ±1 that stay, started where they are active on the samples of their "
    "sign alone; networks of 40 neurons, both layers trained, from a small balanced start; and the "
    "predictor's weights Σ a_h w_h, compared with X⁺y.",
    deviations=(
        "Two interpolators of least norm are compared, since we do not know which one the paper means: the "
        "linear one, X⁺y, and the ReLU one of one neuron a sign, silent on the other sign's samples. They "
        "are equal on orthogonal inputs, and ½√(n/d) apart to leading order.",
        "d/n = 100 is beyond the range given; exponents are fitted from d/n = 10 on, chosen with the runs at "
        "hand: at d/n = 2 distances are of order one and the law cannot hold. Over the range given, 2 … 50, "
        "and over all d/n they are larger.",
        "Starts and steps of the two neurons were chosen with runs at hand. In steps of the size of the "
        "inverse curvature, from neurons along D± = (1/n)Σ_{±y>0} yx of their sign, the distance is still "
        "0.5 at d/n = 50, and the law is not seen; in the steps used it is about that from the start used "
        "(all measured, in the note of the law). Descent keeps what a step does to samples that are then "
        "silent; from starts active on all samples that is a share η/n of the distance (panel f), which does "
        "not shrink with n/d.",
        "Training happens in the span of the samples, which is exact.",
    ),
    section=NEIGHBORS,
)
