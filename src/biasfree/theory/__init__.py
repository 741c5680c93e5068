"""How it learns, solved: one file per result, and refusals where a result does not apply.

`coverage(network, data)` says which results apply, and what is missing for the others.
"""

from biasfree.arguments import public
from biasfree.theory.alignment import aligned
from biasfree.theory.assumptions import AssumptionError
from biasfree.theory.boursier import (
    alignment_directions,
    covers_all_samples,
    escape_times,
    interpolator_norm,
    minimum_norm_interpolator,
)
from biasfree.theory.circle import circle_rates, even_network, halving_times
from biasfree.theory.coverage_table import Coverage, coverage
from biasfree.theory.deep import deep_flow, deep_linear_twin, deep_map, deep_slope
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
from biasfree.theory.expressivity import (
    Certificate,
    even_part,
    homogeneity_defect,
    linear_part,
    odd_network,
    odd_part,
    separation_network,
    two_layer_gap,
)
from biasfree.theory.finite_width import (
    WeightErrorLaw,
    final_weight_error,
    final_weight_error_law,
    halves,
    split_loss,
)
from biasfree.theory.fixed_readout import fixed_readout_descent, fixed_readout_flow
from biasfree.theory.frei import moved_stable_rank, stable_rank, stable_rank_limit, stable_rank_of_gram
from biasfree.theory.frozen_gates import (
    GatedMaxMargin,
    final_patterns,
    gated_max_margin,
    logistic_slope,
    unmoved_part,
)
from biasfree.theory.gated import (
    PatternClasses,
    activation_patterns,
    gated_flow,
    pattern_changes,
    pattern_classes,
)
from biasfree.theory.hard_margin import MaxMargin, max_margin
from biasfree.theory.independent import independent_flow, independent_network, learning_times
from biasfree.theory.interpolators import SignInterpolator, sign_interpolator
from biasfree.theory.limits import final_norm, l2_solution, least_squares
from biasfree.theory.margin_bound import largest_margin
from biasfree.theory.margin_courses import (
    descent_margins,
    margin_course,
    margin_rates,
    orthogonal_margins,
)
from biasfree.theory.modes import aligned_modes, modes_flow
from biasfree.theory.reduced import reduced_flow
from biasfree.theory.riccati import linear_flow
from biasfree.theory.sigmoid import sigmoid_flow, time_to_loss, two_sigmoid_flow
from biasfree.theory.single_mode import mode_course, mode_time
from biasfree.theory.stable_minima import (
    largest_path_norm,
    largest_settling_step,
    least_path_norm,
    least_sharpness,
    path_norm_multipliers,
    sharpness_bound,
    tangent_sharpness,
)
from biasfree.theory.symmetric_data import LossSplit, loss_split, symmetric_slope
from biasfree.theory.town import (
    Escapes,
    interpolation_probability,
    loss_floor,
    uncovered_samples,
    vanishing_escapes,
)
from biasfree.theory.two_neurons import two_neuron_flow
from biasfree.theory.white import white_flow

__all__ = [  # noqa: RUF022 - the order of the theory
    "AssumptionError",
    "coverage",
    "Coverage",
    # expressivity
    "linear_part",
    "even_part",
    "odd_part",
    "homogeneity_defect",
    "separation_network",
    "odd_network",
    "two_layer_gap",
    "Certificate",
    # symmetric data
    "loss_split",
    "LossSplit",
    "symmetric_slope",
    # equivalence
    "linear_twin",
    "from_linear_twin",
    "equivalent_flow",
    "equivalent_descent",
    # time courses
    "reduced_flow",
    "white_flow",
    "sigmoid_flow",
    "two_neuron_flow",
    "two_sigmoid_flow",
    "time_to_loss",
    "linear_flow",
    "modes_flow",
    "aligned_modes",
    "mode_course",
    "mode_time",
    # the early phase
    "linearised_flow",
    "aligned",
    "growth_rate",
    "plateau_end",
    "lemma12_bound",
    "lemma12_window",
    "norm_bound",
    "early_error",
    # where training ends
    "least_squares",
    "l2_solution",
    "max_margin",
    "MaxMargin",
    "largest_margin",
    "final_norm",
    # finite width
    "final_weight_error",
    "final_weight_error_law",
    "WeightErrorLaw",
    "halves",
    "split_loss",
    # deep networks
    "deep_flow",
    "deep_slope",
    "deep_map",
    "deep_linear_twin",
    # without symmetry
    "independent_flow",
    "independent_network",
    "learning_times",
    "gated_flow",
    "activation_patterns",
    "pattern_classes",
    "pattern_changes",
    "PatternClasses",
    # neighbours
    "alignment_directions",
    "escape_times",
    "minimum_norm_interpolator",
    "interpolator_norm",
    "covers_all_samples",
    "sign_interpolator",
    "SignInterpolator",
    "uncovered_samples",
    "loss_floor",
    "interpolation_probability",
    "vanishing_escapes",
    "Escapes",
    "circle_rates",
    "halving_times",
    "even_network",
    "fixed_readout_flow",
    "fixed_readout_descent",
    "gated_max_margin",
    "GatedMaxMargin",
    "final_patterns",
    "unmoved_part",
    "logistic_slope",
    "orthogonal_margins",
    "descent_margins",
    "margin_rates",
    "margin_course",
    "stable_rank",
    "stable_rank_limit",
    "stable_rank_of_gram",
    "moved_stable_rank",
    "sharpness_bound",
    "tangent_sharpness",
    "least_sharpness",
    "largest_settling_step",
    "least_path_norm",
    "path_norm_multipliers",
    "largest_path_norm",
]

public(__all__, globals())
