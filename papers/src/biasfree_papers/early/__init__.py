"""[ZSL25] Theorem 13 and Lemma 12: the early phase, in which small random weights become of rank one."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.early.numbers import run
from biasfree_papers.early.picture import draw
from biasfree_papers.early.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, at_least, draws, several


def _plateaus(name: str, value: Any) -> float:
    span = positive(name, value)
    if span < 1:
        raise ValueError(f"{name} must be at least 1, the length of the plateau, got {value!r}.")
    return span


SETTINGS = {
    "width": Setting(500, "a number of neurons, 2 or more", at_least(2)),
    "dimensions": Setting(20, "a number of inputs", at_least(1)),
    "samples": Setting(1000, "a number of draws, before their negatives are added", at_least(1)),
    "scale": Setting(1e-8, "the initial norm of a layer, a small positive number", positive),
    "leaks": Setting((0.0, 1.0), "leaks in [0, 1]", several(low=0, high=1)),
    "span": Setting(1.1, "the last time, in lengths of the plateau, 1 or more", _plateaus),
    "rtol": Setting(1e-5, "the simulator's tolerance for a step, a positive number", positive),
    "times": Setting(61, "a number of saved times, 2 or more", at_least(2)),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(3),
}

EXPERIMENT = Experiment(
    name="early",
    title="The early phase: growth, bounds and rank one ([ZSL25] Theorem 13, Lemma 12)",
    caption="The networks of Fig. 3 on rescaled time ct; vertical lines, the ends of Lemma 12's window and "
    "of the plateau. (a) Larger norm of a layer: simulated (markers), the linear solution of Eq. 23 (lines), "
    "the bounds u(0)e^{cst} (dashed) and of Lemma 12, as far as it holds (red). (b) Distance of the weights "
    "from Eq. 23, relative: simulated (markers), its bound (dashed), what the simulator's errors can be "
    "(grey). (c) Distance from W₁ = W₂ᵀrᵀ: all draws simulated (markers), Eq. 23 (lines); angle between r "
    "and β̄, first draw simulated (dots). (d) The loss: simulated (markers), by the reduced flow of the "
    "aligned network (lines).",
    settings=SETTINGS,
    small={
        "width": 20,
        "dimensions": 3,
        "samples": 20,
        "scale": 1e-5,
        "times": 41,
        "seeds": 2,
        "leaks": (0,),
        "rtol": 1e-7,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=32,
    rebuilt="the figure: the paper has none of its Theorem 13; data and networks are those of Fig. 3",
    deviations=(
        "Rank one is tested at the end of the plateau: Lemma 12's window, in which the theorem has its "
        "errors of O(w_init), ends after a fifteenth (linear) or a thirtieth (ReLU) of it, where weights are "
        "of that size themselves.",
    ),
)
