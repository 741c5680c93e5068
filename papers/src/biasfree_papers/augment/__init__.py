"""Augmentation by mirror images and its cost on non-separable tasks (Lyu et al. 2021; [ZSL25] Sec. 1.1)."""

from __future__ import annotations

from biasfree.arrays import positive
from biasfree_papers.augment.numbers import run
from biasfree_papers.augment.picture import draw
from biasfree_papers.augment.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, at_least, draws, several

SETTINGS = {
    "width": Setting(50, "a number of neurons, 2 or more", at_least(2)),
    "scale": Setting(1e-2, "the initial norm of a layer, a positive number", positive),
    "step": Setting(0.1, "the step of gradient descent, a positive number", positive),
    "epochs": Setting(10_000, "a number of steps", at_least(2)),
    "leaks": Setting((0.0, 0.5), "leaks in [0, 1)", several(low=0, high=0.999)),
    "samples": Setting(12, "a number of samples of the separable task, 2 or more", at_least(2)),
    "times": Setting(500, "a number of saved times", at_least(1)),
    "data_seed": Setting(0, "a seed for the separable task", at_least(0)),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="augment",
    title="Mirror images can make a network fail (Lyu et al. 2021; [ZSL25] Sec. 1.1)",
    caption="Rows: XOR with tilted axes; three points; a separable task. Left: logistic loss without "
    "(solid) and with (dashed) the mirror image (−x, −y) of every sample, all draws, ReLU dark and leaky "
    "ReLU light; the dotted level is the best linear map, below which no two-layer bias-free network gets "
    "on mirrored data. Middle and right: the ReLU network of the first draw at the last time, without and "
    "with mirror images; circles y = +1, squares y = −1, black line f = 0, where f is not zero over an "
    "area (the wedge in h); in the last row the dotted line is the max-margin classifier.",
    settings=SETTINGS,
    small={"width": 16, "scale": 0.1, "epochs": 600, "samples": 4, "times": 30, "seeds": 2},
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=15,
    rebuilt="Tasks, width, scale, step and epochs: the paper states the effect in words only.",
    deviations=(
        "Beside the leaky networks and the logistic loss of Lyu et al., ReLU networks and the square loss.",
    ),
)
