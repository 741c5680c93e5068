"""Results for neighboring papers: orthogonal inputs, fixed second layers, stable minima, the circle."""

from biasfree.arguments import public
from biasfree.theory.neighbors._circle import circle_rates, even_network, halving_times
from biasfree.theory.neighbors._first_step import (
    gradient_rank_bound,
    gradient_rank_ceiling,
    step_rank_bounds,
)
from biasfree.theory.neighbors._fixed_patterns import (
    GatedMaxMargin,
    conserved_part,
    final_patterns,
    gated_max_margin,
    logistic_slope,
)
from biasfree.theory.neighbors._fixed_readout import fixed_readout_descent, fixed_readout_flow
from biasfree.theory.neighbors._margin_courses import (
    descent_margins,
    margin_course,
    margin_rates,
    orthogonal_margins,
)
from biasfree.theory.neighbors._orthogonal_inputs import (
    alignment_directions,
    covering_neurons,
    covers_all_samples,
    escape_times,
    interpolator_norm,
    minimum_norm_interpolator,
)
from biasfree.theory.neighbors._planar_max_margin import PlanarMaxMargin, planar_max_margin
from biasfree.theory.neighbors._sign_block_ranks import SignBlockRanks, sign_block_ranks
from biasfree.theory.neighbors._sign_interpolator import SignInterpolator, sign_interpolator
from biasfree.theory.neighbors._stable_minima import (
    kink_distances,
    largest_path_norm,
    largest_settling_step,
    least_path_norm,
    least_sharpness,
    output_gradients,
    path_norm_multipliers,
    sharpness_bound,
    tangent_sharpness,
)
from biasfree.theory.neighbors._stable_rank import perturbed_stable_rank, stable_rank_limit
from biasfree.theory.neighbors._uncovered_samples import (
    Escapes,
    escape_sequence,
    interpolation_probability,
    loss_floor,
    uncovered_samples,
)

__all__ = [  # noqa: RUF022 - by setting
    "alignment_directions",
    "escape_times",
    "minimum_norm_interpolator",
    "interpolator_norm",
    "covers_all_samples",
    "covering_neurons",
    "sign_interpolator",
    "SignInterpolator",
    "uncovered_samples",
    "loss_floor",
    "interpolation_probability",
    "escape_sequence",
    "Escapes",
    "circle_rates",
    "halving_times",
    "even_network",
    "fixed_readout_flow",
    "fixed_readout_descent",
    "gated_max_margin",
    "GatedMaxMargin",
    "final_patterns",
    "conserved_part",
    "logistic_slope",
    "orthogonal_margins",
    "descent_margins",
    "margin_rates",
    "margin_course",
    "stable_rank_limit",
    "perturbed_stable_rank",
    "sign_block_ranks",
    "SignBlockRanks",
    "gradient_rank_bound",
    "gradient_rank_ceiling",
    "step_rank_bounds",
    "planar_max_margin",
    "PlanarMaxMargin",
    "sharpness_bound",
    "tangent_sharpness",
    "least_sharpness",
    "largest_settling_step",
    "least_path_norm",
    "path_norm_multipliers",
    "largest_path_norm",
    "output_gradients",
    "kink_distances",
]

public(__all__, globals())
