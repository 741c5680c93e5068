"""Every public function answers a wrong argument with its own one-sentence error."""

import inspect
import pickle
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import biasfree as bf
from biasfree.arguments import public
from refusals import invalid

PACKAGE = str(Path(bf.__file__).parent)
DATA = bf.data.odd_sine(20, 3)
NETWORK = bf.networks.rank_one(DATA.beta, width=4, scale=0.05)
TRAJECTORY = bf.theory.reduced_flow(NETWORK, DATA, [0.0, 1.0])


class Frame:
    """An object that NumPy converts to an array, as a pandas table."""

    columns = ("a", "b", "c")

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __iter__(self):
        return iter(self.columns)


BAD: tuple[Any, ...] = (
    None, "abc", 3.5, -1, True, np.nan, 1j, [], [1, 2], ["a"], [[1], [1, 2]], {}, object(), bf.Network,
    NETWORK, DATA, TRAJECTORY, DATA.x, np.ones(3), np.ones((2, 2, 2)), np.ma.masked_less(DATA.x, 0),
    Frame(DATA.x),
)  # fmt: skip
BY_NAME = {
    "ts": [0.0, 1.0], "x": DATA.x, "sizes": (3, 4, 1), "loss": "square", "path": "absent.npz", "leak": 0.0,
    "seed": 0, "widths": (4, 4), "method": "DOP853",
}  # fmt: skip
BY_KIND = {
    "Network": NETWORK,
    "Dataset": DATA,
    "Dataset | Population": DATA,
    "Trajectory": TRAJECTORY,
    "Model": NETWORK,
    "int": 2,
    "float": 1.0,
}
FUNCTIONS = [
    pytest.param(getattr(stage, name), id=f"{stage.__name__.split('.')[1]}.{name}")
    for stage in (bf.data, bf.networks, bf.theory, bf.diagnostics, bf.plots)
    for name in stage.__all__
    if inspect.isfunction(getattr(stage, name))
]


def tensors():
    try:
        import torch
    except ImportError:
        return ()
    return (
        torch.ones(20, 3, requires_grad=True),
        torch.tensor(1.0, requires_grad=True),
        torch.ones(3).bfloat16(),
    )


def fitting(parameter, axes):
    kind = str(parameter.annotation)
    return axes if kind == "Axes" else BY_NAME.get(parameter.name, BY_KIND.get(kind, np.ones(3)))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_argument_is_never_an_error_from_inside(function):
    """A call with one wrong argument succeeds or raises a ValueError of this package or of Matplotlib."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in named]
    fit = {p.name: fitting(p, axes) for p in parameters if p.default is p.empty}
    try:
        for parameter in parameters:
            for bad in (*BAD, *tensors()):
                try:
                    function(**fit | {parameter.name: bad})
                except ValueError as error:
                    raised = traceback.extract_tb(error.__traceback__)[-1].filename
                    assert raised.startswith(PACKAGE) or "matplotlib" in raised, (parameter.name, bad)
    finally:
        plt.close(figure)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.networks.in_span(NETWORK, DATA.x), r"got a ndarray of shape \(40, 3\); make one with"),  # type: ignore[arg-type]
        (lambda: bf.theory.coverage(DATA, NETWORK), r"got a Dataset; call it as coverage\(network, data"),  # type: ignore[arg-type]
        (lambda: bf.theory.aligned(NETWORK, None), r"a bf\.Dataset or bf\.data\.Population, got None"),  # type: ignore[arg-type]
        (lambda: bf.theory.reduced_flow(NETWORK, DATA, 60), r"got the number 60; .* such as \[0, 60\]"),
        (lambda: bf.theory.reduced_flow(NETWORK, DATA, [1.0], method="x"), "unknown method 'x'; choose"),
        (lambda: bf.networks.xavier((3, 4, 1), signs=3), "signs must be True or False, got 3"),  # type: ignore[arg-type]
        (lambda: bf.theory.pattern_classes([np.ones(3)], DATA), r"per hidden layer, got shape \(3,\)"),
        (lambda: bf.diagnostics.even_fraction("relu", DATA.x), "model must be a bf.Network or a function"),  # type: ignore[arg-type]
        (lambda: bf.data.load(3), "the name of a file is a string or a pathlib.Path, got a int"),  # type: ignore[arg-type]
        (lambda: NETWORK.save(None), "the name of a file is a string or a pathlib.Path, got a NoneType"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(call, message):
    invalid(message, call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.networks.gaussian((2, 30, 1)), r"'scale'; call it as gaussian\(sizes, \*, scale"),  # type: ignore[call-arg]
        (lambda: bf.networks.gaussian((2, 30, 1), 0.1), r"too many positional .* gaussian\(sizes, \*, scale"),  # type: ignore[call-arg]
        (lambda: bf.gradient_flow(NETWORK, DATA), r"'ts'; call it as gradient_flow\(network, data, ts"),  # type: ignore[call-overload]
    ],
)  # fmt: skip
def test_calls_that_do_not_fit_show_the_call(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_the_check_changes_nothing_of_a_function():
    function = bf.theory.aligned
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__doc__ == inspect.unwrap(function).__doc__
    assert inspect.signature(function) == inspect.signature(inspect.unwrap(function))


def test_arguments_without_annotation_are_not_checked():
    function = public(lambda a, *rest, b=1, **more: (a, rest, b, more))
    assert function(None, 2, b="x", c=3) == (None, (2,), "x", {"c": 3})


@pytest.mark.parametrize("many", [10**12, 10**30])
@pytest.mark.parametrize(
    "call",
    [
        lambda n: bf.networks.gaussian((2, n, 1), scale=1.0),
        lambda n: bf.networks.balanced((n, 2, 1), scale=1.0),
        lambda n: bf.networks.opposite((2, n, 1), scale=1.0),
        lambda n: bf.networks.lambda_balanced((1, n // 10**6, 1), scale=1.0, balance=0.0),
        lambda n: bf.networks.xavier((2, 1, n)),
        lambda n: bf.networks.rank_one([1, 2], width=n, scale=1.0),
        lambda n: bf.networks.low_rank([1, 2], widths=(10**6, n // 10**6), scale=1.0),
        lambda n: bf.data.odd_sine(n, 2),
        lambda n: bf.data.linear_teacher(2, n),
        lambda n: bf.data.circle(n),
        lambda n: bf.data.gaussian_mixture(n, 2, 1.0),
        lambda n: bf.data.orthogonal(2, n),
        lambda n: bf.data.Population(n),
        lambda n: bf.data.Population.odd_sine(n),
        lambda n: bf.data.Population(2).sample(n),
        lambda n: bf.gradient_descent(bf.networks.xavier((2, 1)), bf.data.xor(), step=0.1, steps=n),
    ],
)
def test_sizes_beyond_the_memory_are_refused(call, many):
    invalid(r"need [\d,]+ GB, but this machine has \d+ GB of memory; choose smaller", call, many)


def test_a_call_that_runs_out_of_memory_says_so_in_one_sentence():
    message = r"circle needs more memory than there is: Unable .*; choose smaller"
    invalid(message, bf.data.circle, 2, lambda x: np.zeros((len(x), 10**15)))
