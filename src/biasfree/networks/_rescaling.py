"""Rescaling of neurons: other weights with the same function."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import row_norms
from biasfree.networks._network import Network


@public
def rebalanced(network: Network) -> Network:
    """The same function with |a_h| = |w_h| for every hidden neuron: the least |θ| that rescaling reaches.

    (w_h, a_h) → (kw_h, a_h/k) with k² = |a_h|/|w_h|; the function is the same since aσ(w·x) = (a/k)σ(kw·x).
    A hidden bias counts as one more incoming weight, and a_h is a vector for several outputs. Neurons with
    a_h = 0 or w_h = 0 contribute nothing and become zero.

    Assumes: two layers.
    Reference: Du et al. (2018), whose flow conserves |a_h|² − |w_h|².
    """
    if network.depth != 2:
        raise ValueError(f"rebalanced needs two layers, got {network.depth}; see bf.networks.balanced.")
    w, v = network.weights
    biases = network.biases
    inside = w if biases is None else np.column_stack([w, biases[0]])
    into = row_norms(inside)
    out = row_norms(v.T)
    alive = (into > 0) & (out > 0)
    k = np.divide(np.sqrt(out), np.sqrt(into), out=np.ones_like(out), where=alive)
    scaled = None if biases is None else (alive * k * biases[0], *biases[1:])
    return Network(((alive * k)[:, None] * w, alive * v / k), leak=network.leak, biases=scaled)
