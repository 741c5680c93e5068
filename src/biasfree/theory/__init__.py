"""How it learns, solved: one file per result, and refusals where a result does not apply."""

from biasfree.theory.assumptions import AssumptionError
from biasfree.theory.early import aligned
from biasfree.theory.equivalence import from_linear_twin, linear_twin
from biasfree.theory.finite_width import final_weight_error, final_weight_error_law, halves, split_loss
from biasfree.theory.reduced import reduced_flow
from biasfree.theory.white import white_flow

__all__ = [
    "AssumptionError",
    "aligned",
    "final_weight_error",
    "final_weight_error_law",
    "from_linear_twin",
    "halves",
    "linear_twin",
    "reduced_flow",
    "split_loss",
    "white_flow",
]
