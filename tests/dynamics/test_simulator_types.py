"""Return types of the simulators: one network gives a Trajectory, a list of networks gives a list.

The type checker verifies `assert_type` and the calls it must refuse; pytest verifies the values.
"""

import inspect
from typing import Any, Required, assert_type, get_args, get_origin, get_overloads, get_type_hints

import numpy as np
import pytest

import biasfree as bf

DATA = bf.data.six_points()
LABELS = bf.Dataset(DATA.x, np.sign(DATA.y))
NETWORK = bf.networks.gaussian((2, 4, 1), scale=0.5, seed=0)


def test_flow():
    one = bf.gradient_flow(NETWORK, DATA, [0.0, 0.1])
    several = bf.gradient_flow([NETWORK], DATA, [0.0, 0.1], rtol=1e-6)
    assert_type(one, bf.Trajectory)
    assert_type(several, list[bf.Trajectory])
    assert isinstance(one, bf.Trajectory)
    assert [type(run) for run in several] == [bf.Trajectory]


def test_descent():
    one = bf.gradient_descent(NETWORK, DATA, step=0.1, steps=2)
    several = bf.gradient_descent((NETWORK, NETWORK), [DATA, DATA], step=0.1, steps=2)
    assert_type(one, bf.Trajectory)
    assert_type(several, list[bf.Trajectory])
    assert isinstance(one, bf.Trajectory)
    assert [type(run) for run in several] == [bf.Trajectory] * 2


def test_long_descent():
    one = bf.long_descent(NETWORK, LABELS, horizon=1.0)
    several = bf.long_descent([NETWORK], LABELS, horizon=1.0)
    assert_type(one, bf.Trajectory)
    assert_type(several, list[bf.Trajectory])
    assert isinstance(one, bf.Trajectory)
    assert [type(run) for run in several] == [bf.Trajectory]


def test_sharpness():
    assert_type(bf.sharpness(NETWORK, DATA), float)


def test_a_pair_of_arrays_is_a_dataset():
    pair: Any = (DATA.x, DATA.y)
    flow, same = (bf.gradient_flow(NETWORK, data, [0.0, 1.0]) for data in (pair, DATA))
    assert all((a == b).all() for a, b in zip(flow.weights, same.weights, strict=True))
    descent, same = (bf.gradient_descent(NETWORK, data, step=0.1, steps=2) for data in (pair, DATA))
    assert all((a == b).all() for a, b in zip(descent.weights, same.weights, strict=True))
    two: Any = [DATA, DATA]
    assert len(bf.gradient_flow([NETWORK, NETWORK], two, [1.0])) == 2
    with pytest.raises(ValueError, match="x and y must have the same length"):
        bf.gradient_flow(NETWORK, (DATA.x, DATA.y[:1]), [1.0])  # type: ignore[call-overload]


def test_wrong_calls_are_refused_by_the_type_checker_too():
    with pytest.raises(TypeError, match="'steps'"):
        bf.gradient_descent(NETWORK, DATA, step=0.1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="'tolerance'"):
        bf.gradient_flow(NETWORK, DATA, [1.0], tolerance=1)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="one network takes one Dataset"):
        bf.gradient_flow(NETWORK, [DATA], [1.0])  # type: ignore[call-overload]


@pytest.mark.parametrize("simulator", [bf.gradient_flow, bf.gradient_descent, bf.long_descent, bf.optimize])
def test_the_overloads_have_the_keywords_of_the_signature(simulator):
    """`help` and the checks of arguments read the signature, the type checker reads the overloads."""
    parameters = inspect.signature(simulator, eval_str=True).parameters.values()
    keywords = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    required = [name for name, p in keywords.items() if p.default is p.empty]
    for overload in get_overloads(simulator):
        (options,) = get_args(get_type_hints(overload)["options"])
        assert {name: p.annotation for name, p in keywords.items()} == get_type_hints(options)
        kinds = get_type_hints(options, include_extras=True)
        assert required == [name for name, kind in kinds.items() if get_origin(kind) is Required]
