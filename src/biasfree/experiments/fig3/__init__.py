"""[ZSL25] Fig. 3 of TMLR (Fig. 1 of the first version): ReLU networks that learn like a linear network."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree.experiments.experiment import Experiment
from biasfree.experiments.fig3.numbers import run
from biasfree.experiments.fig3.picture import draw
from biasfree.experiments.fig3.sentences import claims
from biasfree.experiments.settings import Setting, at_least, draws, several


def _leaks(name: str, value: Any) -> tuple[float, ...]:
    leaks = several(low=0, high=1)(name, value)
    if not {0.0, 1.0} <= {*leaks}:
        raise ValueError(f"{name} must include 0 and 1, which are compared, got {value!r}.")
    return leaks


SETTINGS = {
    "width": Setting(500, "a number of neurons, 2 or more", at_least(2)),
    "dimensions": Setting(20, "a number of inputs", at_least(1)),
    "samples": Setting(1000, "a number of draws, before their negatives are added", at_least(1)),
    "scale": Setting(1e-8, "the initial norm of a linear layer, a positive number", positive),
    "leaks": Setting((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), "leaks in [0, 1], 0 and 1 among them", _leaks),
    "end": Setting(50.0, "the last time of the ReLU network, a positive number", positive),
    "rtol": Setting(1e-5, "the simulator's tolerance for a step, a positive number", positive),
    "times": Setting(201, "a number of saved times, 2 or more", at_least(2)),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="fig3",
    title="ReLU networks that learn like a linear network ([ZSL25] TMLR Fig. 3, v1 Fig. 1)",
    caption="(a) Loss of leaky ReLU networks from one draw: simulated flow (markers), the reduced flow (lines), "
    "the closed form for white input (dashed). (b) The same on rescaled time. (c) Weight error against "
    "the linear network. (d) Its last value over draws of the initial weights, against what the draw predicts.",
    settings=SETTINGS,
    run=run,
    claims=claims,
    draw=draw,
    seconds=90,
    deviations=(
        "Exact gradient flow instead of descent with step 0.004: at one step size for all leaks forward "
        "Euler alone puts the curves about 2 % apart.",
    ),
)
