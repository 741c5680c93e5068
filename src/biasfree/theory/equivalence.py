"""Theorem 5 (TMLR 8): on symmetric data a (leaky) ReLU network is a linear one, slower and larger."""

from __future__ import annotations

import numpy as np

from biasfree.networks import Network


def linear_twin(network: Network) -> Network:
    """The linear network that shadows `network` on symmetric data: W_lin(0) = √c·W(0), c = (1+α)/2.

    From weights W₁ = W₂ᵀrᵀ with |W₂⁺| = |W₂⁻| it does so exactly, W_lin(ct) = √c·W(t); from a small random
    start up to the error that `final_weight_error` gives.

    Assumes: two layers, no biases.
    Reference: [ZSL25] Thm. 5 (TMLR 8).
    """
    _check(network)
    c = (1 + network.leak) / 2
    return Network(tuple(np.sqrt(c) * w for w in network.weights), leak=1.0)


def from_linear_twin(network: Network, *, leak: float) -> Network:
    """The (leaky) ReLU network whose linear twin is `network`: W(0) = √(1/c)·W_lin(0), c = (1+α)/2.

    Assumes: two layers, no biases, linear.
    Reference: [ZSL25] Thm. 5 (TMLR 8).
    """
    _check(network)
    if network.leak != 1:
        raise ValueError(f"a linear twin has leak 1, got {network!r}; pass linear_twin(network) instead.")
    other = Network(network.weights, leak=leak)
    return Network(tuple(w / np.sqrt((1 + other.leak) / 2) for w in network.weights), leak=other.leak)


def _check(network: Network) -> None:
    if network.depth != 2 or network.biases is not None:
        raise ValueError(
            f"the equivalence is about two layers without biases, got {network!r}; "
            "deeper networks have a twin of another form (Conjecture 11)."
        )
