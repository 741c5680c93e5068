"""Not in the paper: data that lose their symmetry step by step, and networks that diverge from their twin."""

from __future__ import annotations

from typing import Any

from biasfree.arrays import positive
from biasfree_papers.experiment import Experiment
from biasfree_papers.relax.numbers import run
from biasfree_papers.relax.picture import draw
from biasfree_papers.relax.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several
from biasfree_papers.shared.opposite_pairs import even_width


def _amounts(name: str, value: Any) -> tuple[float, ...]:
    amounts = several(low=0, high=1, least=2)(name, value)
    if amounts[0] != 0:
        raise ValueError(f"{name} must include 0, the symmetric data, got {value!r}.")
    return amounts


SETTINGS = {
    "width": Setting(50, "an even number of neurons", even_width),
    "dimensions": Setting(5, "a number of inputs", at_least(1)),
    "samples": Setting(250, "a number of draws, before their negatives are added", at_least(1)),
    "scale": Setting(1e-4, "the initial norm of a linear layer, a positive number", positive),
    "amounts": Setting(
        (0.0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0), "amounts in [0, 1], 0 among them", _amounts
    ),
    "step": Setting(0.025, "the linear network's step, a positive number", positive),
    "steps": Setting(6000, "a number of steps", at_least(1)),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(6),
}

EXPERIMENT = Experiment(
    name="relax",
    title="Relaxing the symmetry: when and how far networks part from their linear twin (not in the paper)",
    caption="The odd task of Fig. 3 in small; in an amount of its mirror pairs both members get "
    "independent signs, (x, y) → ±(x, y), which Σ, β and so the linear network do not see. (a) Loss of "
    "ReLU networks of the first draw at some amounts (markers, named in b; 0: symmetric, 1: all signs "
    "independent) and of the linear twin (line). (b) Distance of the network's outputs from the twin's at "
    "those amounts, median over draws; dotted: where the twin has settled at least squares. (c) When they "
    "part by 5 %, in weights and in loss, every draw. (d) The distance when settled against the one "
    "predicted from the least squares of either half of the data, all amounts. (e) Symmetry defect and "
    "distances against the amount, medians and middle halves of the draws. (f) Final loss.",
    settings=SETTINGS,
    small={
        "width": 10,
        "dimensions": 2,
        "samples": 30,
        "scale": 1e-3,
        "amounts": (0, 0.2, 1),
        "step": 0.05,
        "steps": 2000,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=36,
    deviations=(
        "Not in the paper. Neurons start in opposite pairs (w, a), (−w, −a), so that finite width, which "
        "Fig. 3 is about, parts nothing: what parts them here is the data.",
        "Descent: the ReLU network takes twice the step of the linear one, which is exact on symmetric data.",
    ),
)
