"""A linear teacher and a fixed second layer: boundaries close to linear (Sarussi et al. 2021)."""

from __future__ import annotations

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.sarussi2021.numbers import run
from biasfree_papers.sarussi2021.picture import draw
from biasfree_papers.sarussi2021.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole


def _even(name: str, value: object) -> tuple[int, ...]:
    found = several_whole(low=2)(name, value)
    if any(width % 2 for width in found):
        raise ValueError(f"{name} must be even, got {value!r}: half of the neurons have either sign.")
    return found


def _late(name: str, value: object) -> float:
    found = positive(name, value)
    if found <= 100:
        raise ValueError(
            f"{name} must be more than 100, got {value!r}: boundaries are measured then, and later."
        )
    return found


SETTINGS = {
    "dimensions": Setting(10, "a number of inputs, 2 or more", at_least(2)),
    "samples": Setting(
        (16, 32, 64, 128), "numbers of samples that divide the largest, itself even", several_whole(low=2)
    ),
    "scales": Setting(
        (1e-3, 0.1, 1.0, 10.0), "initial norms of the first layer, positive", several(low=1e-12, high=1e3)
    ),
    "leaks": Setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1)),
    "leak": Setting(0.25, "the leak where others are varied, positive", positive),
    "widths": Setting((4, 8, 32), "even numbers of neurons; the largest where others are varied", _even),
    "horizon": Setting(3e3, "a time to train until, more than 100", _late),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(4),
}

EXPERIMENT = Experiment(
    name="sarussi2021",
    title="A linear teacher and a fixed second layer: boundaries close to linear (Sarussi et al. 2021)",
    caption="Gaussian inputs labelled by a linear teacher, logistic loss, second layer fixed at ±1/√H, leak "
    "0.25 unless said; ℓ is the linear part of the network f. (a) Share of directions in which f and "
    "ℓ differ in sign at t = 100, against samples, for four initial scales: medians and ranges of "
    "draws. (b) The same over time from the least scale, medians of draws. (c) Against the leak, for "
    "the most samples and the least scale: all draws (faint markers) and their medians (lines). (d) "
    "Angles of neurons to ℓ, those with a < 0 to −ℓ, at the last time for the least and the largest "
    "scale: the first draw with the most samples. (e) Mirrored data: distance of the first layer from "
    "that of the linear model, and the even part, against the initial scale. (f) Mirrored data, W₁ = "
    "W₂ᵀvᵀ: |w| of networks (markers) and of the linear model (lines) at its own time.",
    settings=SETTINGS,
    small={
        "dimensions": 3,
        "samples": (2, 4, 8),  # as many runs as leaks and widths make: one shape
        "scales": (1e-3, 1.0),
        "leaks": (0.0, 0.5),
        "leak": 0.5,
        "widths": (4,),
        "horizon": 200.0,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=19,
    rebuilt="All settings: of the paper we have the statement only. Inputs, sizes, scales and measures "
    "are ours.",
    deviations=(
        "Descent with steps that grow with time, until a fixed time, in place of a limit.",
        "Beside leaky networks on random inputs: ReLU networks, mirrored data, where the second layer "
        "fixed makes the network a linear model exactly, and the square loss.",
    ),
    section=NEIGHBORS,
)
