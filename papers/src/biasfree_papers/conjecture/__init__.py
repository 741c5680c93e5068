"""[ZSL25] Conjecture 11 (Eq. 40 of the first version) on a test bench: inputs, targets, depths and scales."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.conjecture.numbers import run
from biasfree_papers.conjecture.picture import draw
from biasfree_papers.conjecture.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole


def _two_scales(name: str, value: Any) -> tuple[float, ...]:
    scales = several(least=2)(name, value)
    if len(scales) > 2:
        raise ValueError(f"{name} must be two numbers, which are compared, got {value!r}.")
    return tuple(positive(name, scale) for scale in scales)


SETTINGS = {
    "width": Setting(12, "a number of neurons in each hidden layer, 3 or more", at_least(3)),
    "dimensions": Setting(3, "a number of inputs", at_least(1)),
    "samples": Setting(12, "a number of draws, before their negatives are added", at_least(1)),
    "depths": Setting((3, 4, 5), "numbers of layers from 3 to 5", several_whole(low=3, high=5)),
    "scales3": Setting((0.005, 0.1), "two initial norms of a layer of three", _two_scales),
    "scales4": Setting((0.1, 0.2), "two initial norms of a layer of four", _two_scales),
    "scales5": Setting((0.3, 0.4), "two initial norms of a layer of five", _two_scales),
    "half_scale": Setting(0.004, "the initial norm of a layer where the first half is measured", positive),
    "end": Setting(1e12, "the last time of a run, a positive number", positive),
    "later": Setting(25.0, "a time after the end of the fall, a positive number", positive),
    "rtol": Setting(1e-5, "the simulator's tolerance for a step", positive),
    **draws(2),
}

EXPERIMENT = Experiment(
    name="conjecture",
    title="Does training find the low-rank structure? ([ZSL25] Conjecture 11)",
    caption="Distance √(Σ|W−Ŵ|²/Σ|W|²) of trained ReLU networks from Eq. 40, by kind of inputs; one marker a "
    "draw of inputs and weights. Top: linear target, all of it learned. Bottom: y = z + sin 4z, z = w·x, "
    "where the loss has come down to that of least squares; thin lines lead to the distance some time "
    "later. Green, four and five layers: the half that learns first, from the smallest weights, and its "
    "distance from one half of Eq. 40. Thick short lines: γ/u, about the share of initial weights that "
    "nothing unlearns. Crosses on the upper edge: runs that could not be followed to the end within an error "
    "of 0.001.",
    settings=SETTINGS,
    small={
        "width": 8,
        "dimensions": 2,
        "samples": 6,
        "depths": (3, 4),
        "scales3": (0.1, 0.2),
        "scales4": (0.3, 0.6),
        "end": 1e6,
        "later": 5.0,
        "seeds": 1,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=60,
    rebuilt="all of it: the paper shows one run of its kind (TMLR Fig. 5). Inputs, sizes, scales are ours.",
    deviations=(
        "Runs follow the exact gradient flow, kink by kink, not descent: the first plateau then costs few "
        "steps whatever its length. A run counts if the simulator's error is at most 0.001; runs that cannot "
        "be followed to the end count as failures.",
        "Scales differ by depth and are chosen so that runs finish: a plateau lasts about γ^(2−L), and one "
        "half of the network learns long after the other. The half that has learned limits the steps on the "
        "second plateau, so that whole networks of four and five layers do not begin with small weights. "
        "Their first half is measured from small ones, γ/u ≤ 0.005.",
        "Odd targets, which the conjecture does not speak of, are measured when the loss has come down to "
        "that of least squares and 25 time units later, not at the end of training: deep networks can go "
        "on below that loss. They begin with the larger of the two scales only.",
    ),
)
