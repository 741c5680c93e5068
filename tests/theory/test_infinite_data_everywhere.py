"""Every public function of theory, diagnostics and plots with infinite data: it works or asks for samples."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest

import biasfree as bf
from refusals import invalid

POPULATION = bf.data.Population(3, linear=[1.0, 0.5, 0], odd=([0, 1, 0], np.tanh), noise=0.1)
SMALL = bf.networks.gaussian((3, 30, 1), scale=1e-4, seed=1)
RANK_ONE = bf.networks.rank_one([1.0, 0.2, 0.3], width=4, scale=0.1)
BALANCED = bf.networks.lambda_balanced((3, 4, 1), balance=0.0, scale=0.5, seed=0)
HOMES = (bf.theory, bf.diagnostics, bf.plots)
FUNCTIONS = {
    f"{home.__name__}.{name}": getattr(home, name)
    for home in HOMES
    for name in home.__all__
    if inspect.isfunction(getattr(home, name))
    and {"x", "data"} & {*inspect.signature(getattr(home, name)).parameters}
    and name not in ("brackets", "phase_diagram")  # their x is an axis
}
GIVEN = {"ts": [0.0, 1.0], "level": 0.4, "step": 0.1, "steps": 3, "width": 4, "depth": 2, "strengths": 0.05}
GIVEN |= {"l2": 0.1, "optimizer": "adam", "sigma_w": 1.0, "sigma_a": 1.0, "function": np.sum}
GIVEN |= {"patterns": [np.ones((3, 4), bool)], "x2": np.ones((1, 3)), "leak": 0.0}
NETWORKS = (RANK_ONE, SMALL, BALANCED, bf.theory.aligned_modes(POPULATION, width=4, depth=2, strengths=0.05))


def called(function, network):
    """The function on infinite data, with some value for everything else that it needs."""
    given = {"network": network, "model": network, "initial": network, "x": POPULATION, "data": POPULATION}
    names = inspect.signature(function).parameters
    if "trajectory" in names:
        given["trajectory"] = bf.gradient_flow(network, POPULATION, [0.0, 1.0, 30.0])
    if "axes" in names:
        given["axes"] = plt.figure().gca()
    needed = [n for n, p in names.items() if p.default is p.empty and p.kind not in (p.VAR_KEYWORD,)]
    wanted = {*needed, *({"x", "data"} & {*names})}
    return function(**{name: (GIVEN | given)[name] for name in wanted})


@pytest.mark.parametrize("path", FUNCTIONS)
def test_it_works_or_says_that_samples_help(path):
    function, ends = FUNCTIONS[path], []
    parameters = inspect.signature(function).parameters.values()
    if not any("Population" in str(parameter.annotation) for parameter in parameters):
        sampled = r"got a Population; use samples of it, population\.sample\(n, seed\)"
        invalid(sampled, called, function, RANK_ONE)
        return
    for network in NETWORKS:
        try:
            called(function, network)
        except bf.AssumptionError as refusal:
            ends.append(refusal)
        else:
            return
    raise AssertionError(f"no network of two layers is taken: {ends}")


def test_the_loss_of_runs_on_infinite_data_is_drawn():
    """Simulated as markers, solved as a line; both have the name of their method."""
    axes, ts = plt.figure().gca(), np.linspace(0, 10, 11)
    for run in (bf.gradient_flow(SMALL, POPULATION, ts), bf.theory.two_neuron_flow(SMALL, POPULATION, ts)):
        bf.plots.loss(axes, run)
    assert [line.get_label() for line in axes.lines] == ["gradient flow", "two neuron flow"]
    assert [line.get_linestyle() for line in axes.lines] == ["None", "-"]


def test_what_needs_two_layers_says_so():
    deep, wide = bf.networks.gaussian((3, 4, 4, 1), scale=1.0), bf.networks.gaussian((3, 4, 2), scale=1.0)
    biased = bf.Network(RANK_ONE.weights, biases=(np.ones(4), np.ones(1)))
    sampled = r"use samples of the population, population\.sample\(n, seed\)"
    needed = "infinite data needs a network"
    for model, message in {deep: "of two layers", wide: "of one output", biased: "without biases"}.items():
        for function in (bf.diagnostics.nonlinear_share, bf.diagnostics.square_loss):
            invalid(f"{needed} {message}, got .*; {sampled}", function, model, POPULATION)
    invalid(f"needs a bf.Network, got a ufunc; {sampled}", bf.diagnostics.nonlinear_share, np.sin, POPULATION)
    with pytest.raises(ValueError, match="but the data have 3 dimensions"):
        bf.diagnostics.square_loss(bf.networks.gaussian((4, 2, 1), scale=1.0), POPULATION)
