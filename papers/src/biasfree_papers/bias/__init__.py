"""[ZSL25] App. B of v1: a hidden bias is an input fixed to 1, and changes where training ends."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import non_negative, positive
from biasfree_papers.bias.numbers import MOST_SHIFT, run
from biasfree_papers.bias.picture import draw
from biasfree_papers.bias.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, at_least, draws
from biasfree_papers.shared.opposite_pairs import even_width


def _shift(name: str, value: Any) -> float:
    """As far as the closed form for the shifted data reaches."""
    if (value := non_negative(name, value)) > MOST_SHIFT:
        raise ValueError(f"{name} must be at most {MOST_SHIFT:g}, where the support changes, got {value}.")
    return value


SETTINGS = {
    "width": Setting(50, "an even number of neurons", even_width),
    "scale": Setting(1e-2, "the initial norm of a layer, a positive number", positive),
    "step": Setting(0.1, "the step of gradient descent, a positive number", positive),
    "epochs": Setting(100_000, "a number of steps", at_least(2)),
    "times": Setting(1000, "a number of saved times, of which some 60 are measured", at_least(2)),
    "shift": Setting(1.0, "how far the asymmetric data are shifted, 0 to 1.5", _shift),
    "delta": Setting(0.15, "how far the sixth of the six points is moved, a positive number", positive),
    "six_width": Setting(100, "the width on the six points and the line", at_least(1)),
    "six_scale": Setting(1e-3, "the initial norm of a layer on the six points, a positive number", positive),
    "six_step": Setting(0.025, "the step on the six points and the line, a positive number", positive),
    "six_epochs": Setting(40_000, "a number of steps on the six points and the line", at_least(2)),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="bias",
    title="A hidden bias is an extra input, and changes where training ends ([ZSL25] App. B of v1)",
    caption="(a) Symmetric data: tanh(f/2) of a network with hidden biases (colours) with f = 0 of it "
    "(solid) and of a bias-free network (dashed), on their slow way (1/ln t) to the max-margin line of x "
    "and of [x, 1] (dotted), which are one. (b) f along the normal of that line, over its value at the "
    "margin γ: simulated (markers), limits (lines). (c) Smallest normalised margin y f/|θ|² over time, "
    "all draws, and the largest values that exist. (d) The data shifted: max-margin lines of x through "
    "the origin, of [x, 1] and of x with a free offset; f = 0 of networks without (broad, pale, dashed) "
    "and with biases (broad, pale, solid). (e) Angle of those classifiers to the one with a free offset: "
    "solver (markers) and closed form (lines). (f) Bias over weight of the positive neurons over time, "
    "and its limit. (g) The six points of Fig. 6, square loss: tanh f of a trained network without biases "
    "(colours; black line: f = 0), and f = 0 of one with biases from the same weights (orange). (h) Distance "
    "of every sample to f = 0 at the end, all draws that learned them, and the largest least distance that "
    "exists (lines). (i) Regression of one input with biases: the mean kink over time, from usual and from "
    "small initial weights, all draws.",
    settings=SETTINGS,
    small={
        "width": 10,
        "scale": 0.1,
        "epochs": 500,
        "times": 50,
        "seeds": 2,
        "six_width": 12,
        "six_scale": 0.5,
        "six_step": 0.1,
        "six_epochs": 1200,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=18,
    rebuilt="Data and settings: the paper makes the point in words only. Those of (g, h) are printed (Fig. 2 "
    "of v1), but for the labels of the six points; those of (i) are ours.",
    deviations=(
        "The network with biases is a bias-free network on [x, 1], as the paper puts it: hidden biases, "
        "zero at the start, and none at the output.",
        "Whether a boundary is close to the data is judged against the largest distance that exists.",
    ),
)
