"""The hypotheses: their defects, measured once per network and data, tolerances and refusals."""

import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

import biasfree as bf
from biasfree.theory import symmetry_defect
from biasfree.theory.hypotheses import LINEAR, RANK_ONE, SYMMETRY, WHITE, Hypothesis
from forgetting import forgotten
from refusals import invalid, refused

DATA = bf.data.odd_sine(n=30, d=3, seed=0)
ONE = bf.networks.rank_one(DATA.beta + 0.1, width=6, scale=0.1)


def test_condition_3_is_measured_and_refused():
    assert symmetry_defect(DATA) == 0
    lopsided = bf.Dataset(DATA.x[:30], DATA.y[:30])
    defect = symmetry_defect(lopsided)
    assert 0.01 < defect <= 1
    with pytest.raises(bf.AssumptionError, match=r"Condition 3 \(TMLR 3\).*bf.data.symmetrize") as refusal:
        bf.theory.reduced_flow(ONE, lopsided, [1.0])
    assert refusal.value.defect == defect
    bf.theory.reduced_flow(ONE, lopsided, [1.0], symmetry_tolerance=1.0)


def test_evenness_of_the_inputs_and_oddness_of_the_targets_both_count():
    even_target = bf.Dataset(DATA.x, np.abs(DATA.y))
    assert symmetry_defect(even_target) > 0.1
    one_sided = bf.Dataset(np.abs(DATA.x), 0 * DATA.y)
    assert symmetry_defect(one_sided) > 0.5


def test_assumption_4_names_what_fails():
    with pytest.raises(
        bf.AssumptionError, match=r"Assumption 4 \(TMLR 7\).*W₁ from W₂ᵀrᵀ.*bf.theory.aligned"
    ):
        bf.theory.white_flow(bf.networks.gaussian((3, 6, 1), scale=0.1), bf.data.whiten(DATA), [1.0])
    first, second = ONE.weights
    tilted = np.where(second > 0, 1.1, 1.0)
    lopsided = bf.Network((first * tilted.T, second * tilted))
    refused(r"\|W₂⁺\|² − \|W₂⁻\|²", bf.theory.reduced_flow, lopsided, DATA, [1.0])
    solved = bf.theory.reduced_flow(lopsided, DATA, [1.0], signs_tolerance=0.2)
    assert 0 < solved.stats.defects["signs"] <= 0.2
    bf.theory.reduced_flow(bf.theory.linear_twin(lopsided), DATA, [1.0])  # no kink, no need of balance
    refused("W₁ from W₂ᵀrᵀ is 1 ", bf.theory.reduced_flow, bf.Network((2 * first, second)), DATA, [1.0])


def test_defects_are_kept():
    solved = bf.theory.white_flow(ONE, DATA, [1.0], white_tolerance=10.0)
    nu = np.trace(DATA.sigma) / 3
    assert solved.stats.defects["white"] == pytest.approx(np.linalg.norm(DATA.sigma / nu - np.eye(3), ord=2))
    assert solved.stats.defects["symmetry"] == 0


def test_a_tolerance_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match=r"'tolerance'.*symmetry_tolerance=1e-08.*white_tolerance=1e-08"):
        bf.theory.white_flow(ONE, DATA, [1.0], tolerance=1.0)
    with pytest.raises(TypeError, match="depth_tolerance"):  # the setting cannot be relaxed
        bf.theory.white_flow(ONE, DATA, [1.0], depth_tolerance=1.0)


def test_what_has_no_meaning_does_not_hold():
    assert np.isnan(RANK_ONE.defect(bf.networks.gaussian((3, 4, 4, 1), scale=1.0), DATA))
    refused("is nan", RANK_ONE.check, bf.networks.gaussian((3, 4, 4, 1), scale=1.0), DATA, tolerance=np.inf)


def test_whiteness():
    refused(r"white input, Σ = νI .*bf.data.whiten.*reduced_flow", bf.theory.white_flow, ONE, DATA, [1.0])
    bf.theory.white_flow(ONE, DATA, [1.0], white_tolerance=10.0)


def test_hyperplane_tolerance():
    data = bf.data.symmetrize(bf.Dataset(np.eye(2), [1.0, 1.0]))
    network = bf.networks.rank_one([1.0, 0.0], width=2, scale=0.1)
    with pytest.raises(bf.AssumptionError, match=r"the share of samples with r·x = 0 to rounding is 0\.5"):
        bf.theory.reduced_flow(network, data, [1.0])
    assert (
        bf.theory.reduced_flow(network, data, [1.0], hyperplane_tolerance=0.5).stats.defects["hyperplane"]
        == 0.5
    )


def test_wrong_calls_say_what_to_do():
    with pytest.raises(ValueError, match=r"assumes two layers .*layers from two is 1 .*bf\.gradient_flow"):
        bf.theory.reduced_flow(bf.networks.gaussian((3, 4, 4, 1), scale=0.1), DATA, [1.0])
    with pytest.raises(ValueError, match="3 dimensions"):
        bf.theory.white_flow(bf.networks.rank_one([1.0, 0], width=3, scale=1), DATA, [1.0])
    with pytest.raises(ValueError, match="W₁ from W₂ᵀrᵀ is nan"):
        bf.theory.reduced_flow(bf.Network((np.zeros((2, 3)), np.ones((1, 2)))), DATA, [1.0])
    with pytest.raises(ValueError, match=r"β = ⟨yx⟩ ≠ 0 .*reduced_flow \(any β\)"):
        bf.theory.white_flow(ONE, bf.Dataset(bf.data.whiten(DATA).x, np.zeros(60)), [1.0])
    invalid("strictly increasing", bf.theory.reduced_flow, ONE, DATA, [1.0, 0.5])


def test_a_defect_that_equals_its_tolerance_to_rounding_is_a_tie_and_holds():
    """Defects are relative to 1, so that 1e-15 beside a tolerance of 1e-8 is rounding, and 1e-13 is not."""
    network = bf.networks.rank_one([1.0, 0.0], width=4, scale=0.1)
    data = bf.Dataset(
        np.diag(np.sqrt([1 + 1e-3, 1.0]))[[0, 0, 1, 1]] * [[1.0], [-1.0], [1.0], [-1.0]], np.ones(4)
    )
    defect = WHITE.measured(network, data)
    for tolerance in (defect, defect - 1e-15, defect + 1e-15):
        assert WHITE.check(network, data, tolerance) == defect
    invalid("white input", WHITE.check, network, data, defect - 1e-13)
    findings = {one.hypothesis: one for row in bf.theory.coverage(network, data) for one in row.findings}
    white, linear = findings[WHITE], findings[LINEAR]
    assert str(replace(white, defect=1e-8 + 1e-15)) == "white 1e-08 (a tie)"
    assert str(replace(white, defect=1e-8 + 1e-13)) == "white 1e-08 ✗"
    assert not replace(linear, defect=1e-16).holds  # α is exact: nothing is rounded
    assert not replace(white, defect=np.nan).holds


def pair(seed=0) -> tuple[bf.Network, bf.Dataset]:
    data = bf.data.odd_sine(n=8, d=2, seed=seed)
    return bf.networks.rank_one(data.beta + 0.1, width=4, scale=0.1), data


def counting(values=lambda network, data: len(data)):  # noqa: ARG005
    """A hypothesis, and the list of the arguments it has been measured with."""
    calls = []

    def defect(network, data):
        calls.append((network, data))
        return values(network, data)

    return Hypothesis("size", "little data", "the number of samples", defect, "drop some", 100.0), calls


def test_the_same_objects_are_measured_once_and_others_anew():
    network, data = pair()
    hypothesis, calls = counting()
    assert [hypothesis.check(network, data) for _ in range(3)] == [16.0] * 3
    assert len(calls) == 1
    twin, copy = bf.Network(network.weights), bf.Dataset(data.x, data.y)
    hypothesis.check(twin, data)
    hypothesis.check(network, copy)
    hypothesis.check(None, data)
    expected = [(network, data), (twin, data), (network, copy), (None, data)]
    assert calls == expected  # both compare by identity
    for known in expected:
        hypothesis.check(*known)
    assert len(calls) == 4


def test_a_closed_form_measures_its_hypotheses_once():
    """`coverage` and the flow share the measurements; the defects of both calls are the same numbers."""
    network, data = pair()
    calls = []

    def follow(frame, event, _):
        if event == "call" and frame.f_code.co_name == "symmetry_defect":
            calls.append(frame)

    sys.setprofile(follow)
    try:
        first, second = (bf.theory.reduced_flow(network, data, [0.0, 1.0]) for _ in range(2))
        bf.theory.coverage(network, data)
        assert len(calls) == 1
        bf.theory.reduced_flow(*pair(seed=1), [0.0, 1.0])
    finally:
        sys.setprofile(None)
    assert len(calls) == 2
    assert first.stats.defects == second.stats.defects


def test_a_hypothesis_with_another_remedy_shares_the_measurement():
    hypothesis, calls = counting()
    network, data = pair()
    hypothesis.check(network, data)
    refused(r"is 16 .* take fewer", replace(hypothesis, remedy="take fewer").check, network, data, 10.0)
    assert len(calls) == 1


def test_tolerances_are_compared_at_every_call():
    lopsided = bf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    network = bf.networks.rank_one(lopsided.beta, width=4, scale=0.1)
    assert SYMMETRY.check(network, lopsided, 1.0) > 0.1
    messages = []
    for _ in range(2):
        with pytest.raises(bf.AssumptionError) as refusal:
            SYMMETRY.check(network, lopsided)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


def test_undefined_defects_are_remembered_and_errors_are_not():
    network, data = pair()
    hypothesis, calls = counting(lambda *_: np.nan)
    for _ in range(2):
        refused("is nan", hypothesis.check, network, data)
    assert len(calls) == 1
    hypothesis, calls = counting(lambda *_: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            hypothesis.check(network, data)
    assert len(calls) == 2


def test_nothing_is_kept_alive():
    (network, data), (other, more) = pair(), pair(seed=1)
    hypothesis = replace(SYMMETRY, defect=lambda *_: 0.0 * len((other, more)))  # holds its own network
    for one, samples in ((network, data), (network, more), (other, data), (None, data), (other, more)):
        hypothesis.check(one, samples)
    alive = [weakref.ref(thing) for thing in (network, data, other, more, hypothesis.defect)]
    del network, data, one, samples
    assert forgotten(*alive[:2])
    assert [ref() is None for ref in alive[2:]] == [False, False, False]
    del other, more, hypothesis
    assert forgotten(*alive)


def test_threads_that_measure_at_the_same_time_get_one_number():
    """Both are measuring before either has a number to remember."""
    network, data = pair()
    both, numbers = Barrier(2), iter((1.0, 2.0))

    def values(*_):
        both.wait(timeout=60)
        return next(numbers)

    hypothesis, calls = counting(values)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: hypothesis.check(network, data), range(2)))
    assert len(calls) == 2
    assert found[0] == found[1] == hypothesis.check(network, data)
