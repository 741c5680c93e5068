"""[ZSL25] Fig. 1 of TMLR, rebuilt: functions that two and three layers, with and without biases, learn."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive, whole
from biasfree_papers.experiment import Experiment
from biasfree_papers.fig1.numbers import run
from biasfree_papers.fig1.picture import draw
from biasfree_papers.fig1.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws


def _even(name: str, value: Any) -> int:
    """An even number, so that every point of the circle has its antipode."""
    if (value := whole(name, value, at_least=6)) % 2:
        raise ValueError(f"{name} must be even, so that points have mirror images, got {value}.")
    return value


SETTINGS = {
    "width": Setting(100, "a number of neurons of a hidden layer, 2 or more", at_least(2)),
    "points": Setting(40, "a number of points of the circle, even, 6 or more", _even),
    "scale": Setting(1e-2, "the initial norm of a layer, a positive number", positive),
    "step": Setting(0.2, "the step of gradient descent, a positive number", positive),
    "epochs": Setting(10_000, "a number of steps of two layers", at_least(2)),
    "deep_epochs": Setting(
        80_000,
        "a number of steps of three layers, for the first draw",
        at_least(2),
    ),
    "draw_epochs": Setting(12_000, "a number of steps of three layers, for other draws", at_least(2)),
    "flow_width": Setting(20, "the width of three bias-free layers in flows, 2 or more", at_least(2)),
    "flow_end": Setting(4000.0, "the last time of a flow, a positive number", positive),
    "rtol": Setting(5e-6, "the simulator's tolerance for a step of a flow, a positive number", positive),
    "times": Setting(400, "a number of saved times", at_least(1)),
    **draws(8),
}

EXPERIMENT = Experiment(
    name="fig1",
    title="What is expressed and what is learned, with two and three layers ([ZSL25] TMLR Fig. 1)",
    caption="(a, b) Loss of two and three layers, with and without biases, on the six points (δ = 0) and "
    "on g at points of the circle: descent of the first draw (thick) and of the others (thin). Thin lines of "
    "three bias-free layers are exact gradient flows of narrower networks. The dashed line is the "
    "least-squares loss, below which two bias-free layers cannot go. Losses below 1e-6 are off the axis. "
    "(c) Six points: the least-squares map, then the networks of the first draw at their last time. (d) "
    "The same for g, after g itself, which three bias-free layers express. Circles and squares are "
    "samples with y > 0 and y ≤ 0, filled with the colour of their target; the black line is f = 0, where "
    "f is not zero over an area.",
    settings=SETTINGS,
    small={  # six points of the circle: both tasks have the same shapes
        "width": 12,
        "points": 6,
        "scale": 0.3,
        "epochs": 300,
        "deep_epochs": 600,
        "draw_epochs": 300,
        "flow_width": 6,
        "flow_end": 120.0,
        "times": 30,
        "seeds": 1,  # so that the first draw, which goes on for longer, has the shape of all
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=45,
    rebuilt="The data, and what the figure shows: both are not known to us. We take the six points of TMLR "
    "Fig. 6 at δ = 0, with labels rebuilt too, and g of Sec. 3.2 at 40 points of the circle. Width, scale, "
    "step and epochs are the paper's.",
    deviations=(
        "Three layers: descent trains the first draw for the 80 000 epochs, unless it has learned to "
        "rounding by 12 000, and the other draws with biases for 12 000.",
        "Three layers without biases: all draws follow the exact gradient flow, kink by kink, to the time of "
        "20 000 epochs or until they have learned. They have width 20, not 100, where kinks are too many. A "
        "flow whose estimated error exceeds 0.001, or that cannot be followed to the end, counts as a "
        "failure.",
        "Networks with biases have one in every layer, zero at the start.",
    ),
)
