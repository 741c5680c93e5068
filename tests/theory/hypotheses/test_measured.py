"""Defects are measured once per network and dataset, and remembering them keeps nothing alive."""

import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest

import biasfree as bf
from biasfree.theory.hypotheses import SYMMETRY, Hypothesis
from forgetting import forgotten
from refusals import refused


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
