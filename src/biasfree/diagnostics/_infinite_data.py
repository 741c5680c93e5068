"""Measurements of two-layer networks on infinite data: exact means, without sampling."""

from __future__ import annotations

import numpy as np

from biasfree.data import Population
from biasfree.networks import Network
from biasfree.theory.hypotheses import check_sizes
from biasfree.theory.parts import _expectations as means


def covered(model: object, population: Population) -> Network:
    """The model as a network of two layers, of one output and without biases, else refused.

    One layer is a linear network of one hidden neuron.
    """
    remedy = "use samples of the population, population.sample(n, seed)"
    if not isinstance(model, Network):
        raise ValueError(f"infinite data needs a bf.Network, got a {type(model).__name__}; {remedy}.")
    if model.depth == 1 and model.sizes[-1] == 1 and model.biases is None:
        model = Network((*model.weights, np.ones((1, 1))), leak=1.0)
    requests = {
        "of two layers": model.depth == 2,
        "of one output": model.sizes[-1] == 1,
        "without biases": model.biases is None,
    }
    for wanted, holds in requests.items():
        if not holds:
            raise ValueError(f"infinite data needs a network {wanted}, got {model!r}; {remedy}.")
    check_sizes(model, population)
    return model


def even_share(model: object, population: Population) -> float:
    """E[f_e²]/E[f²]; 0 if f = 0. It is N too, since the odd part of two layers is linear."""
    given = covered(model, population)
    unit = (w / (np.abs(w).max() or 1.0) for w in given.weights)  # no square under- or overflows
    network = Network(tuple(unit), leak=given.leak)
    energy = means.mean_square(network, population)
    return means.even_mean_square(network, population) / energy if energy > 0 else 0.0


def exact_loss(model: object, population: Population) -> float:
    """E[(y − f)²]/2."""
    return means.square_loss(covered(model, population), population)
