"""States of the page: what is written can be read, what is wrong becomes its default with a note."""

import json
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import biasfree as bf
from biasfree.lab._presets import PRESETS
from biasfree.lab._state import (
    LARGEST,
    MOST_SAMPLES,
    WIDEST_OF_THREE,
    Experiment,
    checked,
    from_csv,
    from_fragment,
    of_preset,
    received,
)

SIZES = st.floats(-LARGEST, LARGEST)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_read_back_from_its_link(name):
    experiment = of_preset(name)
    assert from_fragment(f"http://127.0.0.1:1/#{experiment.fragment}") == (experiment, [])
    assert eval(PRESETS[name].code.format(delta=experiment.delta), {"bf": bf}).x.tolist() == (
        experiment.own_data.x.tolist()
    )


@given(
    st.lists(st.tuples(SIZES.filter(bool), SIZES, st.sampled_from([-1.0, 1.0])), min_size=1, max_size=5),
    st.floats(0, 1),
    st.integers(1, 100),
    st.floats(1e-8, 10),
    st.sampled_from(["2", "3"]),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_a_link_keeps_every_digit(samples, leak, width, scale, depth, mirror):
    experiment = Experiment(
        preset="own", samples=tuple(samples), leak=leak, width=width, scale=scale, depth=depth, mirror=mirror
    )
    assert from_fragment(experiment.fragment) == (experiment, [])
    assert checked(json.loads(json.dumps(experiment.to_json()))) == (experiment, [])


def unchanged(experiment):
    """Whether every setting of an experiment passes the checks."""
    samples = experiment.samples and list(experiment.samples)
    return checked(experiment.to_json() | {"samples": samples}) == (experiment, [])


@given(
    st.dictionaries(st.sampled_from([*(field.name for field in fields(Experiment)), "x"]), JSON, max_size=6)
)
@settings(max_examples=40, deadline=None)
def test_whatever_arrives_becomes_an_experiment_within_bounds(found):
    experiment, _ = checked(found)
    assert unchanged(experiment)
    assert 1 <= len(experiment.own_data) <= MOST_SAMPLES
    assert np.abs(experiment.own_data.x).max() <= LARGEST


@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_no_address_is_an_error(text):
    from_fragment("v1&" + text)
    experiment, notes = from_fragment(f"#{text}")
    assert notes or experiment == Experiment()


@pytest.mark.parametrize(
    ("found", "note"),
    [
        ({"leak": 2}, "Leak α must lie in [0, 1], got 2; 0 is used."),
        ({"leak": True}, "Leak α must lie in [0, 1], got True; 0 is used."),
        ({"width": 2.5}, "Width must be a whole number, got 2.5; 100 is used."),
        ({"loss": "hinge"}, "Loss must be one of square, logistic, got 'hinge'; square is used."),
        ({"mirror": "yes"}, "Mirror must be 0 or 1, got 'yes'; False is used."),
        ({"preset": "seven"}, "The preset of the link is not known; the six points are shown."),
        ({"samples": []}, "There must be 1 to 100 samples, got 0; the samples of the preset are used."),
        ({"samples": [[1, 2]]}, "Sample 1 must be three numbers x₁, x₂, y of size at most 50; the samples"),
        ({"samples": [[0, 0, 1]]}, "One sample at least must differ from the origin; the samples"),
        ({"samples": [[1, 0, float("nan")]]}, "Sample 1 must be three numbers"),
        ({"depth": "3", "width": 200}, f"Three layers have at most {WIDEST_OF_THREE} neurons each"),
        ({"depth": "3", "initial": "aligned"}, "These initial weights are of two layers"),
        ({"initial": "opposite", "width": 5}, "Opposite pairs need an even width; one neuron is added."),
        ({"method": "descent", "step": 1e-4, "horizon": 1e5}, "A descent has at most 2000000 steps"),
        ({"loss": "logistic", "samples": [[1, 0, 0.3]]}, "The logistic loss needs targets −1 and +1"),
    ],
)
def test_a_bad_value_is_replaced_with_a_note(found, note):
    experiment, notes = checked(found)
    assert len(notes) == 1
    assert notes[0].startswith(note)
    assert unchanged(experiment)


def test_another_version_and_a_long_link_are_refused():
    assert "not of version v1, it begins with 'v9'" in from_fragment("#v9&leak=1")[1][0]
    assert "more than 20000 characters" in from_fragment("v1&x=" + "1" * 20_000)[1][0]


@pytest.mark.parametrize("text", ["x1,x2,y\n1,2,1\n-1, 0,-1\n", "1;2;1\n-1;0;-1", "1\t2\t1\n\n-1\t0\t-1\n"])
def test_pasted_rows_become_samples(text):
    experiment, notes = from_csv(text, Experiment(leak=0.5))
    assert notes == []
    assert experiment.samples == ((1.0, 2.0, 1.0), (-1.0, 0.0, -1.0))
    assert (experiment.leak, experiment.preset) == (0.5, "own")


def test_pasted_nonsense_leaves_the_data():
    present = Experiment(leak=0.5)
    assert from_csv("a,b\n1,2", present) == (
        present,
        ["Sample 1 must be three numbers x₁, x₂, y of size at most 50; the data are unchanged."],
    )
    assert received({"csv": "1,1,1"}, present)[0].samples == ((1.0, 1.0, 1.0),)
    assert received({"state": "nonsense"}, present)[0] == Experiment()
