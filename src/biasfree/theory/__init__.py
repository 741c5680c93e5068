"""How it learns, solved: one file per result, and refusals where a result does not apply."""

from biasfree.theory.alignment import aligned
from biasfree.theory.assumptions import AssumptionError
from biasfree.theory.early import (
    early_error,
    growth_rate,
    lemma12_bound,
    lemma12_window,
    linearised_flow,
    norm_bound,
    plateau_end,
)
from biasfree.theory.equivalence import equivalent_descent, equivalent_flow, from_linear_twin, linear_twin
from biasfree.theory.finite_width import final_weight_error, final_weight_error_law, halves, split_loss
from biasfree.theory.reduced import reduced_flow
from biasfree.theory.sigmoid import sigmoid_flow, time_to_loss, two_sigmoid_flow
from biasfree.theory.white import white_flow

__all__ = [
    "AssumptionError",
    "aligned",
    "early_error",
    "equivalent_descent",
    "equivalent_flow",
    "final_weight_error",
    "final_weight_error_law",
    "from_linear_twin",
    "growth_rate",
    "halves",
    "lemma12_bound",
    "lemma12_window",
    "linear_twin",
    "linearised_flow",
    "norm_bound",
    "plateau_end",
    "reduced_flow",
    "sigmoid_flow",
    "split_loss",
    "time_to_loss",
    "two_sigmoid_flow",
    "white_flow",
]
