"""The theory of neighboring papers at the edge of its hypotheses: right to the accuracy stated,
or refused; as tests/theory/test_edges.py."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import sampled_from

from edges import fixed_patterns, fixed_readout, orthogonal, problems, stable_minima
from edges.cases import tally
from edges.reference import Reference, judged

ON_CASES = {**orthogonal.TABLE, **fixed_patterns.TABLE, **stable_minima.TABLE}
#: solve a program or a flow in every case
COSTLY = (
    "escape_times", "escape_sequence", "least_sharpness", "largest_settling_step", "path_norm_multipliers",
    "loss_floor",
)  # fmt: skip


@pytest.mark.parametrize("name", ON_CASES)
def test_cases_are_right_or_refused(name):
    tally(ON_CASES[name], 5 if name in COSTLY else 25)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_CASES)
def test_many_cases_are_right_or_refused(name):
    assert tally(ON_CASES[name], 120 if name in COSTLY else 400)[1] > 0


@settings(
    deadline=None,
    max_examples=25,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)
@given(problem=problems.problems(), loss=sampled_from(["square", "logistic"]))
def test_a_fixed_second_layer_is_right_or_refused(problem, loss):
    ref = Reference(problem, loss)
    for name, row in fixed_readout.TABLE.items():
        judged(name, row, ref)


def test_a_fixed_second_layer_is_compared():
    data = problems.make_data("linear labels on mirror pairs", 0)
    network = problems.make_network("rank one", data, 0.3, 0.3, 0)
    ref = Reference(problems.Problem("rank one", network, data))
    assert {judged(name, row, ref) for name, row in fixed_readout.TABLE.items()} == {"compared"}
