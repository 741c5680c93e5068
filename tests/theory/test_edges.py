"""Every public function of the theory at the edge of its hypotheses: right to the accuracy that its docstring
states, or refused.

The tables of `tests/edges/` have, for every function that takes a network or data, how it is called and how
the answer is compared with NumPy, SciPy or mpmath. A call may raise ValueError (of which AssumptionError is
one) or, where an integration stalls, RuntimeError; nothing else. No answer holds NaN; warnings are errors.
"""

import inspect
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import sampled_from

import biasfree as bf
from edges import (
    asymmetric,
    deep,
    early_phase,
    expressivity,
    lazy,
    limits,
    linear,
    problems,
    symmetric,
)
from edges.cases import tally
from edges.reference import Reference, T, arguments, fits, judged


def judge_coverage(ref, table):
    """A function refuses exactly where hypotheses of its row are missing, and names one of them."""
    if not fits(ref):
        assert table.applies == ()
        return
    for name, end in ref.ends.items():
        rows = [r for r in table if name in r.result.calls and r.result.loss == ref.loss]
        if (
            name in ANY_NETWORK | DATA_ONLY
            or not rows
            or (ref.loss != "square" and "loss" not in arguments(name))
        ):
            continue
        row = rows[0]
        missing = [finding.hypothesis.name for finding in row.missing]
        if isinstance(end, bf.AssumptionError):
            assert end.hypothesis in missing or (row.perhaps and "end ts earlier" in str(end)), name
        elif not isinstance(end, ValueError):
            assert not missing, name
            defects = end.stats.defects if hasattr(end, "stats") else {}
            assert not defects or {f.hypothesis.key for f in row.findings} - {"labels"} <= {*defects}, name


#: public function → (how it is called on a problem, how its answer is judged); `coverage` is the last
ON_PROBLEMS = {
    **expressivity.TABLE,
    **symmetric.TABLE,
    **early_phase.TABLE,
    **linear.TABLE,
    **limits.TABLE,
    **deep.TABLE,
    **lazy.TABLE,
    **asymmetric.ON_PROBLEMS,
    "coverage": (lambda ref: T.coverage(ref.network, ref.data), judge_coverage),
}
#: public function → (how a case is made from a seed, how it is called, how its answer is checked)
ON_CASES = asymmetric.TABLE
NEITHER = {  # take neither a network nor data
    "separation_network", "odd_network", "mode_course", "mode_time", "final_norm", "final_weight_error_law",
    "infinite_width_kernel", "twin_hyperparameters", "six_point_share",
}  # fmt: skip
DATA_ONLY = {"aligned_modes", "least_squares", "l2_solution", "max_margin", "largest_margin", "coverage"}
#: measured for any network, a theorem of two layers
ANY_NETWORK = {"even_part", "odd_part"}
#: solve a program or a flow in every case
COSTLY = ("independent_flow", "learning_times", "gated_flow")


def run(problem, loss):
    """How the call of every function on a problem ended."""
    ref, found = Reference(problem, loss), {}
    for name in ON_PROBLEMS:
        if loss != "square" and "loss" not in arguments(name.split(",")[0]) and name != "coverage":
            continue
        try:
            found[name] = judged(name, ON_PROBLEMS[name], ref)
        except Exception as error:
            error.add_note(f"{name} of {problem.label}, {loss} loss")
            raise
    return found


LOSSES = sampled_from(["square", "logistic"])
#: labels say more than a shrunk example would
ONCE: dict[str, Any] = {"suppress_health_check": list(HealthCheck), "phases": (Phase.generate,)}


@settings(max_examples=15, derandomize=True, **ONCE)
@given(problem=problems.problems(), loss=LOSSES)
def test_problems_are_right_or_refused(problem, loss):
    """Some 600 calls; the slow test below makes thirty times as many."""
    run(problem, loss)


SMALL_NETWORKS = (
    "gaussian", "one neuron", "two neurons", "zero second layer", "zero first layer", "one sign",
    "one sign, gaussian first layer", "one sign of a_h, both of w_h", "lopsided", "somewhat lopsided",
    "hardly lopsided", "aligned", "opposite pairs", "a zero neuron", "hardly anything grows",
)  # fmt: skip


@settings(max_examples=10, derandomize=True, **ONCE)
@given(
    problem=problems.problems(
        ("mirror pairs", "white mirror pairs", "labels on mirror pairs", "axes and their mirror images"),
        SMALL_NETWORKS,
        leaks=(0.0, 0.3, 1.0),
        scales=(1e-6, 1e-3, 1e-2),
    ),
    loss=LOSSES,
)
def test_small_initial_weights(problem, loss):
    """Where most of it applies, and the numbers are compared."""
    run(problem, loss)


@pytest.mark.slow
@settings(max_examples=400, **ONCE)
@given(problem=problems.problems(), loss=LOSSES)
def test_problems_are_right_or_refused_at_length(problem, loss):
    run(problem, loss)


@pytest.mark.slow
@settings(max_examples=150, **ONCE)
@given(
    problem=problems.problems(
        ("mirror pairs", "white mirror pairs", "labels on mirror pairs", "mirror pairs in three dimensions"),
        SMALL_NETWORKS,
        leaks=(0.0, 0.3, 1.0),
        scales=(1e-160, 1e-6, 1e-3, 1e-2, 3e-2),
    ),
    loss=LOSSES,
)
def test_small_initial_weights_at_length(problem, loss):
    run(problem, loss)


def test_every_function_is_compared_somewhere():
    """Not all by refusals: problems inside the hypotheses, so that every judge is at work."""
    chosen = [
        ("aligned", "white mirror pairs", 0.0, 1e-3),
        ("aligned", "white mirror pairs", 1.0, 1e-3),
        ("rank one", "linear labels on mirror pairs", 0.3, 0.3),
        ("depth 3, low rank", "mirror pairs", 0.0, 0.3),
        ("zero second layer", "mirror pairs", 0.3, 1e3),  # lazy: large, and without outputs
        ("gaussian", "the orthogonal pair", 0.0, 1e-3),
        ("depth 3", "axes and their mirror images", 0.0, 0.3),
        ("depth 3", "axes and their mirror images", 0.3, 1e-3),
    ]
    compared = set()
    for network, data, leak, scale in chosen:
        set_ = problems.make_data(data, 0)
        problem = problems.Problem(network, problems.make_network(network, set_, leak, scale, 0), set_)
        compared |= {name for name, end in run(problem, "square").items() if end == "compared"}
    assert set(ON_PROBLEMS) == compared


def test_results_for_any_loss_are_compared_under_huber_and_others_refuse():
    compared, refused = set(), set()
    for network, leak, scale in (
        ("rank one", 0.3, 0.3),
        ("depth 3, low rank", 0.0, 0.3),
        ("aligned", 0.0, 1e-3),
    ):
        data = problems.make_data("mirror pairs", 0)
        problem = problems.Problem(network, problems.make_network(network, data, leak, scale, 0), data)
        ends = run(problem, "huber")
        compared |= {name for name, end in ends.items() if end == "compared"}
        refused |= {name for name, end in ends.items() if end == "refused"}
    assert compared >= {"equivalent_flow", "equivalent_descent", "reduced_flow", "deep_flow", "coverage"}
    assert refused - compared >= {
        "early_flow",
        "growth_rate",
        "escape_time",
        "two_neuron_flow",
        "independent_flow",
    }


@pytest.mark.parametrize("name", ON_CASES)
def test_cases_are_right_or_refused(name, record_property):
    others, compared = tally(ON_CASES[name], 5 if name in COSTLY else 25)
    record_property("refused, or without a reference", others)
    record_property("compared", compared)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_CASES)
def test_many_cases_are_right_or_refused(name, record_property):
    others, compared = tally(ON_CASES[name], 120 if name in COSTLY else 400)
    record_property("refused, or without a reference", others)
    record_property("compared", compared)
    assert compared > 0


def test_no_public_function_is_missing():
    public = {name for name in T.__all__ if inspect.isfunction(getattr(T, name))}
    tabled = {name.split(",")[0] for name in [*ON_PROBLEMS, *ON_CASES]}
    assert public - NEITHER == tabled
    for name in NEITHER:
        assert not {"network", "data"} & set(arguments(name))
