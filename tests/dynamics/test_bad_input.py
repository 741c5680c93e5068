"""Wrong calls raise an error of one sentence before anything is computed."""

from typing import Any

import numpy as np
import pytest

import biasfree as bf
import oracles

DATA = oracles.random_data(5, 3)
NETWORK = bf.networks.gaussian((3, 4, 1), scale=1.0)
DEEP = bf.networks.gaussian((3, 4, 4, 1), scale=1.0)

#: (what replaces an argument of the simulators, the sentence)
COMMON: list[tuple[dict[str, Any], str]] = [
    ({"network": None}, "network must be a Network or a list of them, got NoneType"),
    ({"network": "relu"}, "network must be a Network or a list of them, got str"),
    ({"network": np.ones((4, 3))}, "network must be a Network or a list of them, got ndarray"),
    ({"network": []}, "network must be a Network or a list of them, got an empty list"),
    ({"network": [NETWORK, DATA]}, "network must be .* got a list with a Dataset"),
    ({"network": [NETWORK, DEEP]}, "networks in a list must have equal shapes"),
    ({"network": [NETWORK, oracles.with_biases(NETWORK)]}, "networks in a list must have equal shapes"),
    ({"data": NETWORK}, "data must be a Dataset or a list of them, got Network"),
    ({"data": (DATA.x, DATA.y, DATA.y)}, "data must be .* got a list with a ndarray"),
    ({"data": []}, "data must be a Dataset or a list of them, got an empty list"),
    ({"data": [DATA]}, "one network takes one Dataset, got a list"),
    ({"network": [NETWORK] * 3, "data": [DATA] * 2}, "got 3 networks but 2 datasets"),
    (
        {"network": [NETWORK] * 2, "data": [DATA, oracles.random_data(6, 3)]},
        r"datasets in a list must have equal shapes, got \(\(5, 3\), \(5, 1\)\) and \(\(6, 3\), \(6, 1\)\)",
    ),
    (
        {"data": oracles.random_data(5, 2)},
        r"takes 3 inputs but x has 2 columns; the first layer should have shape \(4, 2\)",
    ),
    (
        {"data": oracles.random_data(5, 3, outputs=2)},
        r"has 1 outputs but y has 2; the last layer should have shape \(2, 4\)",
    ),
    ({"loss": "logistic"}, r'loss="logistic" needs labels -1 and \+1, got'),
    ({"loss": "hinge"}, "unknown loss 'hinge'; choose one of square, logistic, huber"),
    ({"loss": None}, "unknown loss None"),
    ({"l2": -0.1}, "l2 must not be negative, got -0.1"),
    ({"l2": np.nan}, "l2 must be finite, got nan"),
    ({"l2": "0.1"}, "l2 must be a number, got '0.1'"),
    ({"l2": True}, "l2 must be a number, got True"),
    (
        {"train": (True,)},
        r"train must hold one True or False per layer, at least one True, got \(True,\) for 2 layers",
    ),
    ({"train": (True, True, True)}, "for 2 layers"),
    ({"train": 1}, "train must be a list of True and False, got 1"),
    ({"train": "all"}, "train must be a list of True and False, got 'all'"),
    ({"train": (False, False)}, "at least one True"),
    ({"train": (1, 0)}, "one True or False per layer"),
    ({"save": 3}, "save must be a function, got 3"),
    ({"until": 0.0}, "until must be positive, got 0.0"),
    ({"until": -1}, "until must be positive, got -1"),
    ({"until": np.nan}, "until must be finite"),
]
DESCENT: list[tuple[dict[str, Any], str]] = [
    ({"step": 0}, "step must be positive, got 0"),
    ({"step": -0.1}, "step must be positive, got -0.1"),
    ({"step": np.nan}, "step must be finite, got nan"),
    ({"step": "0.1"}, "step must be a number, got '0.1'"),
    ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
    ({"steps": -3}, "steps must be a whole number of at least 1, got -3"),
    ({"steps": 10.0}, "steps must be a whole number of at least 1, got 10.0"),
    ({"steps": True}, "steps must be a whole number of at least 1, got True"),
    ({"save_every": 0}, "save_every must be a whole number of at least 1, got 0"),
    ({"save_every": 2.5}, "save_every must be a whole number of at least 1, got 2.5"),
    ({"save_every": [3, 3]}, "the steps of save_every must increase and lie within steps="),
    ({"save_every": [1, 10**9]}, "the steps of save_every must increase and lie within steps="),
    ({"save_every": [1.5]}, "a step of save_every must be a whole number of at least 0, got 1.5"),
]
LONG: list[tuple[dict[str, Any], str]] = [
    ({"horizon": 0}, "horizon must be positive, got 0"),
    ({"horizon": -1e3}, "horizon must be positive, got -1000.0"),
    ({"horizon": np.inf}, "horizon must be finite, got inf"),
    ({"horizon": "1e3"}, "horizon must be a number, got '1e3'"),
    ({"save_every": 0}, "save_every must be a whole number of at least 1, got 0"),
    ({"max_steps": 1e5}, "max_steps must be a whole number of at least 1, got 100000.0"),
    ({"data": DATA}, r'loss="logistic" needs labels -1 and \+1, got'),
    (
        {"network": DEEP},
        r"two layers, one output and no biases to bound the curvature, got .*3→4→4→1",
    ),
    (
        {"network": oracles.with_biases(NETWORK)},
        "no biases to bound the curvature, .* with biases.*; use gradient_descent for others",
    ),
    (
        {
            "network": bf.networks.gaussian((3, 4, 2), scale=1.0),
            "data": oracles.random_data(5, 3, outputs=2, labels=True),
        },
        "one output and no biases to bound the curvature, .*3→4→2",
    ),
]
FLOW: list[tuple[dict[str, Any], str]] = [
    ({"ts": [0.0, 2.0, 1.0]}, "ts must be strictly increasing, got 2.0 followed by 1.0 at index 2"),
    ({"ts": [0.0, 1.0, 1.0]}, "ts must be strictly increasing"),
    ({"ts": [1e-310], "method": "steps"}, "ts must be 0 or at least 2.23e-308, got 1e-310"),
    ({"rtol": 1e-20}, "rtol must be at least 2.2e-15, got 1e-20"),
    ({"rtol": 1e300}, "rtol must be below 1, an error as large as the weights, got 1e\\+300; try 1e-4"),
    (
        {"data": bf.Dataset(1e200 * DATA.x, DATA.y)},
        r"velocity at t = 0 is not a finite number: inputs reach \S+e\+200",
    ),
    (
        {"data": bf.Dataset(DATA.x, 1e200 * DATA.y)},
        r"velocity at t = 0 is not a finite number: .*targets \S+e\+200",
    ),
    ({"ts": [-1.0, 1.0]}, "ts must not be negative, got -1.0"),
    ({"ts": [0.0, np.nan]}, r"ts must be finite, got nan at index \(1,\)"),
    ({"ts": [0.0, np.inf]}, "ts must be finite, got inf"),
    ({"ts": []}, "ts must be a one-dimensional array of at least one time"),
    ({"ts": [[0.0, 1.0]]}, r"ts must be a one-dimensional array of at least one time, got shape \(1, 2\)"),
    ({"ts": 60}, r"ts must be a one-dimensional array .* got the number 60; .* such as \[0, 60\] or"),
    ({"ts": "now"}, "ts must hold real numbers"),
    ({"method": "euler"}, "unknown method 'euler'; choose one of auto, smooth, events, steps"),
    ({"network": bf.Network((np.ones((1, 3)),)), "method": "events"}, 'method="events" needs a hidden layer'),
    (
        {"data": bf.Dataset(np.zeros((5, 3)), np.ones(5)), "method": "events"},
        'method="events" needs inputs that have kinks, got x all zero; use method="smooth" or "auto"',
    ),
    ({"rtol": 0}, "rtol must be positive, got 0"),
    ({"rtol": -1e-3}, "rtol must be positive, got -0.001"),
    ({"rtol": np.inf}, "rtol must be finite, got inf"),
    ({"rtol": "1e-3"}, "rtol must be a number"),
    ({"atol": 0}, "atol must be positive, got 0"),
    ({"max_steps": 0}, "max_steps must be a whole number of at least 1, got 0"),
    ({"max_steps": 1e5}, "max_steps must be a whole number of at least 1, got 100000.0"),
]


def no_state(_):
    """In place of a measurement, which the first state of a run would come to."""
    raise AssertionError("computed before the arguments were checked")


def refused(simulator, message, **arguments):
    """A simulator refuses these arguments in one sentence, before it has a state."""
    network, data = arguments.pop("network"), arguments.pop("data")
    with pytest.raises(ValueError, match=message) as refusal:
        simulator(network, data, **arguments)
    said = str(refusal.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert ". " not in said


@pytest.mark.parametrize(("change", "message"), COMMON + DESCENT)
def test_gradient_descent_refuses(change, message):
    given = {"network": NETWORK, "data": DATA, "step": 0.1, "steps": 10, "save": no_state, **change}
    refused(bf.gradient_descent, message, **given)


OWN = {"loss", "l2", "until", "save"}  # arguments that long_descent does not have


@pytest.mark.parametrize(("change", "message"), [one for one in COMMON if not OWN & {*one[0]}] + LONG)
def test_long_descent_refuses(change, message):
    labels = oracles.random_data(5, 3, labels=True)
    refused(bf.long_descent, message, **{"network": NETWORK, "data": labels, "horizon": 10.0, **change})


@pytest.mark.parametrize(("change", "message"), COMMON + FLOW)
def test_gradient_flow_refuses(change, message):
    given = {"network": NETWORK, "data": DATA, "ts": [0.0, 1.0], "save": no_state, **change}
    refused(bf.gradient_flow, message, **given)
