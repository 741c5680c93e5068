"""The theory: closed forms and reduced equations for learning, each refused where its hypotheses fail.

`coverage(network, data)` has the results that apply, and the failed hypotheses of the others.
"""

from biasfree.theory._coverage import Coverage, coverage
from biasfree.theory._expressivity import (
    Certificate,
    even_part,
    linear_part,
    odd_network,
    odd_part,
    separation_network,
    two_layer_gap,
)
from biasfree.theory.asymmetric._extremal_directions import ExtremalDirections, extremal_directions
from biasfree.theory.asymmetric._gated_flow import (
    PatternClasses,
    activation_patterns,
    gated_flow,
    pattern_changes,
    pattern_classes,
)
from biasfree.theory.asymmetric._independent_flow import independent_flow, independent_network, learning_times
from biasfree.theory.asymmetric._six_point_escape import SixPointEscape, six_point_escape
from biasfree.theory.asymmetric._six_point_share import six_point_share
from biasfree.theory.deep._deep_flow import deep_flow, deep_linear_twin, deep_map, deep_slope
from biasfree.theory.deep._early_flow import (
    DeepEarlyFlow,
    DeepEscapeTimes,
    deep_early_flow,
    deep_escape_times,
)
from biasfree.theory.deep._leaky_gap import deep_leaky_gap
from biasfree.theory.deep._structure import DeepParts
from biasfree.theory.hypotheses._hypothesis import AssumptionError
from biasfree.theory.hypotheses._symmetry_defect import half_space_defect as half_space_defect
from biasfree.theory.hypotheses._symmetry_defect import random_subset as random_subset
from biasfree.theory.hypotheses._symmetry_defect import symmetry_defect as symmetry_defect
from biasfree.theory.hypotheses._symmetry_defect import worst_half_spaces as worst_half_spaces
from biasfree.theory.lazy._kernel import infinite_width_kernel, kernel
from biasfree.theory.lazy._lazy_flow import lazy_flow
from biasfree.theory.limits._largest_margin import largest_margin
from biasfree.theory.limits._least_squares import final_norm, l2_solution, least_squares
from biasfree.theory.limits._max_margin import MaxMargin, max_margin
from biasfree.theory.linear._linear_flow import linear_flow
from biasfree.theory.linear._mode_course import mode_course, mode_time
from biasfree.theory.linear._modes_flow import aligned_modes, modes_flow
from biasfree.theory.parts._linear_loss import least_squares_fit as least_squares_fit
from biasfree.theory.parts._rank_one import RankOne as RankOne
from biasfree.theory.symmetric._aligned import aligned
from biasfree.theory.symmetric._early_phase import (
    early_error,
    early_flow,
    escape_time,
    growth_rate,
    lemma12_bound,
    lemma12_window,
    norm_bound,
)
from biasfree.theory.symmetric._equivalence import (
    equivalent_descent,
    equivalent_flow,
    from_linear_twin,
    linear_twin,
)
from biasfree.theory.symmetric._finite_width import (
    WeightErrorLaw,
    final_weight_error,
    final_weight_error_law,
    halves,
    split_loss,
)
from biasfree.theory.symmetric._loss_split import LossSplit, loss_split, symmetric_slope
from biasfree.theory.symmetric._optimizers import optimizer_twin, twin_hyperparameters
from biasfree.theory.symmetric._reduced_flow import reduced_flow
from biasfree.theory.symmetric._sigmoid_flow import sigmoid_flow, time_to_loss, two_sigmoid_flow
from biasfree.theory.symmetric._two_neuron_flow import two_neuron_flow
from biasfree.theory.symmetric._white_flow import white_flow

__all__ = [  # noqa: RUF022 - the order of the theory
    "AssumptionError",
    "coverage",
    "Coverage",
    # expressivity
    "linear_part",
    "even_part",
    "odd_part",
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
    "optimizer_twin",
    "twin_hyperparameters",
    # time courses
    "reduced_flow",
    "white_flow",
    "sigmoid_flow",
    "time_to_loss",
    "two_sigmoid_flow",
    "two_neuron_flow",
    "linear_flow",
    "modes_flow",
    "aligned_modes",
    "mode_course",
    "mode_time",
    # the early phase
    "early_flow",
    "escape_time",
    "aligned",
    "lemma12_bound",
    "lemma12_window",
    "norm_bound",
    "early_error",
    "growth_rate",
    # the lazy regime
    "kernel",
    "infinite_width_kernel",
    "lazy_flow",
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
    "DeepParts",
    "deep_early_flow",
    "DeepEarlyFlow",
    "deep_escape_times",
    "DeepEscapeTimes",
    "deep_leaky_gap",
    # without symmetry
    "extremal_directions",
    "ExtremalDirections",
    "independent_flow",
    "independent_network",
    "learning_times",
    "gated_flow",
    "activation_patterns",
    "pattern_classes",
    "pattern_changes",
    "PatternClasses",
    "six_point_escape",
    "SixPointEscape",
    "six_point_share",
]
