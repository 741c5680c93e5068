"""Every result of the theory with what it assumes: the list that `coverage` reads."""

from __future__ import annotations

from dataclasses import dataclass

from biasfree.losses import Logistic
from biasfree.theory import _expressivity as expressivity
from biasfree.theory.asymmetric import _gated_flow as gated
from biasfree.theory.asymmetric import _independent_flow as independent
from biasfree.theory.asymmetric import _six_point_escape as six_points
from biasfree.theory.deep import _deep_flow as deep
from biasfree.theory.hypotheses._hypothesis import Hypothesis, under
from biasfree.theory.limits import _largest_margin as margin_bound
from biasfree.theory.limits import _least_squares as limits
from biasfree.theory.limits import _max_margin as hard_margin
from biasfree.theory.limits._max_margin import LABELS
from biasfree.theory.linear import _linear_flow as riccati
from biasfree.theory.linear import _modes_flow as modes
from biasfree.theory.neighbors import _circle as circle
from biasfree.theory.neighbors import _fixed_patterns as frozen_gates
from biasfree.theory.neighbors import _fixed_readout as fixed_readout
from biasfree.theory.neighbors import _margin_courses as margin_courses
from biasfree.theory.neighbors import _orthogonal_inputs as boursier
from biasfree.theory.neighbors import _sign_interpolator as interpolators
from biasfree.theory.neighbors import _stable_minima as stable_minima
from biasfree.theory.neighbors import _stable_rank as frei
from biasfree.theory.neighbors import _uncovered_samples as town
from biasfree.theory.symmetric import _aligned as alignment
from biasfree.theory.symmetric import _early_phase as early
from biasfree.theory.symmetric import _equivalence as equivalence
from biasfree.theory.symmetric import _finite_width as finite_width
from biasfree.theory.symmetric import _loss_split as symmetric_data
from biasfree.theory.symmetric import _reduced_flow as reduced
from biasfree.theory.symmetric import _sigmoid_flow as sigmoid
from biasfree.theory.symmetric import _two_neuron_flow as two_neurons
from biasfree.theory.symmetric import _white_flow as white


@dataclass(frozen=True)
class Result:
    """A result in words, the functions that compute it, where it is from, and its hypotheses."""

    title: str
    calls: tuple[str, ...]
    reference: str
    assumes: tuple[Hypothesis, ...]
    loss: str = "square"


def _logistic(title: str, calls: tuple[str, ...], reference: str, assumes: tuple[Hypothesis, ...]) -> Result:
    """The result under the logistic loss, which needs labels and mirror images."""
    return Result(
        f"{title}, logistic loss", calls, reference, (*under(Logistic(), assumes), LABELS), "logistic"
    )


RESULTS = (
    Result(
        "two layers are a linear map plus an even function",
        ("linear_part", "even_part", "odd_part"),
        "[ZSL25] Thm. 1, Corollary 2",
        expressivity.ASSUMES,
    ),
    Result(
        "positively homogeneous, f(ax) = a·f(x)",
        ("homogeneity_defect",),
        "[ZSL25] Sec. 3",
        expressivity.ASSUMES_HOMOGENEITY,
    ),
    Result(
        "the loss is a linear network's plus that of the even part",
        ("loss_split", "symmetric_slope"),
        "[ZSL25] App. E.4; for any weights derived here",
        symmetric_data.ASSUMES,
    ),
    Result(
        "learns as its linear twin, by flow and by descent",
        ("equivalent_flow", "equivalent_descent"),
        "[ZSL25] Thm. 5 (TMLR 8)",
        equivalence.ASSUMES,
    ),
    Result(
        "D + 1 equations for any Σ, with L2",
        ("reduced_flow",),
        "[ZSL25] Eq. 34",
        reduced.ASSUMES,
    ),
    _logistic(
        "learns as its linear twin, by flow and by descent",
        ("equivalent_flow", "equivalent_descent"),
        "[ZSL25] Thm. 5 (TMLR 8)",
        equivalence.ASSUMES,
    ),
    _logistic("D + 1 equations", ("reduced_flow",), "[ZSL25] Eq. 34", reduced.ASSUMES),
    Result(
        "closed form on white input",
        ("white_flow",),
        "[ZSL25] Corollary 14, Eq. 38",
        white.ASSUMES,
    ),
    Result(
        "closed form from small random initial weights: one sigmoid",
        ("sigmoid_flow", "time_to_loss"),
        "[ZSL25] Corollary 14 and Thm. 13",
        sigmoid.ASSUMES,
    ),
    Result(
        "closed form from small random initial weights at any width: two sigmoids",
        ("two_sigmoid_flow",),
        "derived here",
        sigmoid.ASSUMES_TWO,
    ),
    Result(
        "two neurons for small random initial weights at any width and any Σ",
        ("two_neuron_flow",),
        "derived here",
        two_neurons.ASSUMES,
    ),
    _logistic(
        "two neurons for small random initial weights",
        ("two_neuron_flow",),
        "derived here",
        two_neurons.ASSUMES,
    ),
    Result(
        "closed form of the map for linear networks of any number of outputs",
        ("linear_flow",),
        "Braun et al. (2022), Dominé et al. (2024)",
        riccati.ASSUMES,
    ),
    Result(
        "one equation a mode for aligned linear networks of any depth",
        ("modes_flow",),
        "Saxe et al. (2014)",
        modes.ASSUMES,
    ),
    Result(
        "the early phase is linear",
        ("early_flow",),
        "[ZSL25] Thm. 13",
        alignment.EARLY,
    ),
    Result(
        "the early phase leaves one direction, and ends",
        ("plateau_end",),
        "[ZSL25] Thm. 13",
        alignment.SMALL_START,
    ),
    Result(
        "a rank-one network stands in for small random initial weights",
        ("aligned",),
        "[ZSL25] Thm. 13; balanced, derived here",
        alignment.ASSUMES,
    ),
    Result(
        "weights grow no faster than e^{(s + TrΣ)t}, for a while",
        ("lemma12_bound", "lemma12_window"),
        "[ZSL25] Lemma 12",
        early.ASSUMES_BOUND,
    ),
    Result(
        "weights grow no faster than e^{cst}, always, and at first at this rate",
        ("norm_bound", "early_error", "growth_rate"),
        "derived here",
        early.ASSUMES_BOUND,
    ),
    Result(
        "square loss: the global minimum, where training ends by Thm. 5, is least squares",
        ("least_squares",),
        "[ZSL25] Corollary 6, App. E.4",
        limits.ASSUMES_LEAST_SQUARES,
    ),
    Result(
        "square loss with L2: where training ends",
        ("l2_solution",),
        "[ZSL25] TMLR App. C.4; the form is derived here",
        limits.ASSUMES_L2,
    ),
    Result(
        "logistic loss: training ends at the hard-margin direction",
        ("max_margin",),
        "[ZSL25] Corollary 6",
        hard_margin.ASSUMES,
    ),
    Result(
        "no two-layer network has a larger margin than the hard-margin classifier",
        ("largest_margin",),
        "derived here; Lyu et al. (2021) for the limit",
        margin_bound.ASSUMES,
    ),
    Result(
        "the final weight error, from the initial weights",
        ("final_weight_error",),
        "derived here; [ZSL25] Fig. 1b (TMLR 3b)",
        alignment.SMALL_START,
    ),
    Result(
        "two halves of unequal size, each a linear network",
        ("halves",),
        "derived here",
        finite_width.ASSUMES_HALVES,
    ),
    Result(
        "the loss with the ± imbalance of the initial weights",
        ("split_loss",),
        "derived here",
        finite_width.ASSUMES_SPLIT,
    ),
    Result(
        "deep networks of low rank are linear, ReLU at half speed",
        ("deep_flow", "deep_slope"),
        "[ZSL25] App. F.2 (TMLR Proposition 12)",
        deep.ASSUMES_FLOW,
    ),
    _logistic(
        "deep networks of low rank are linear",
        ("deep_flow",),
        "[ZSL25] App. F.2 (TMLR Proposition 12)",
        deep.ASSUMES_FLOW,
    ),
    Result(
        "the map and the twin of a deep network of low rank",
        ("deep_map", "deep_linear_twin"),
        "[ZSL25] Eqs. 39 to 41 (TMLR Conjecture 11)",
        deep.ASSUMES_MAP,
    ),
    Result(
        "each point is learned by neurons of its own",
        ("independent_flow", "learning_times"),
        "[ZSL25] TMLR Figs. 4 and 8",
        independent.ASSUMES,
    ),
    Result(
        "one linear network a pattern class, while patterns last",
        ("gated_flow",),
        "derived here",
        gated.ASSUMES,
    ),
    Result(
        "six points, nearly symmetric: the plateau ends by wedge neurons, at a rate of 2δ/9",
        ("six_point_escape",),
        "derived here; [ZSL25] TMLR Fig. 6",
        six_points.ASSUMES,
    ),
    Result(
        "orthogonal inputs: two escapes, interpolator of least norm",
        ("escape_times", "minimum_norm_interpolator", "interpolator_norm"),
        "Boursier et al. (2022)",
        boursier.ASSUMES,
    ),
    Result(
        "independent inputs: the shortest neurons, one for each sign of the targets",
        ("sign_interpolator",),
        "derived here; Boursier et al. (2022), Lai et al. (2026)",
        interpolators.ASSUMES,
    ),
    Result(
        "orthogonal inputs: the samples that can never be fitted",
        ("loss_floor",),
        "derived here; Town et al. (2026)",
        town.ASSUMES,
    ),
    Result(
        "orthogonal inputs: the neurons that escape one by one as γ → 0",
        ("vanishing_escapes",),
        "derived here; Town et al. (2026)",
        town.ASSUMES_ESCAPES,
    ),
    Result(
        "in the plane, two layers through every sample of an even target",
        ("even_network",),
        "derived here; Basri et al. (2019)",
        circle.ASSUMES,
    ),
    Result(
        "orthogonal inputs, second layer fixed: the stable rank at the end",
        ("stable_rank_limit",),
        "Frei et al. (2022); the value is derived here",
        frei.ASSUMES,
    ),
    Result(
        "second layer fixed, logistic loss: the max-margin network of gates that last",
        ("gated_max_margin",),
        "derived here; the setting of Frei et al. (2022), Kou et al. (2023)",
        frozen_gates.ASSUMES_MAX_MARGIN,
    ),
    Result(
        "orthogonal inputs, second layer fixed: the gates at the end",
        ("final_patterns",),
        "derived here; the setting of Frei et al. (2022), Kou et al. (2023)",
        frozen_gates.ASSUMES_PATTERNS,
    ),
    Result(
        "orthogonal inputs, second layer fixed: every margin by itself, z + e^z = ct",
        ("orthogonal_margins", "descent_margins"),
        "derived here; the setting of Frei et al. (2022), Kou et al. (2023)",
        margin_courses.ASSUMES,
    ),
    Result(
        "second layer fixed: a linear model",
        ("fixed_readout_flow", "fixed_readout_descent"),
        "derived here; the setting of Sarussi et al. (2021)",
        fixed_readout.ASSUMES,
    ),
    _logistic(
        "second layer fixed: a linear model",
        ("fixed_readout_flow", "fixed_readout_descent"),
        "derived here; the setting of Sarussi et al. (2021)",
        fixed_readout.ASSUMES,
    ),
    Result(
        "the sharpness at a network that interpolates, from below and along its kinks",
        ("sharpness_bound", "tangent_sharpness"),
        "derived here; the setting of Nacson et al. (2023)",
        stable_minima.ASSUMES_NETWORK,
    ),
    Result(
        "samples of the plane: the steps and norms at which descent can settle, for any width",
        ("least_sharpness", "largest_settling_step", "least_path_norm", "path_norm_multipliers"),
        "derived here; the setting of Nacson et al. (2023)",
        stable_minima.ASSUMES,
    ),
)
