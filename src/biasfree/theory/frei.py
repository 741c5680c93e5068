"""Orthogonal inputs, logistic loss, second layer fixed: the stable rank that the first layer tends to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import SETTING, Hypothesis, check
from biasfree.theory.boursier import ORTHOGONAL_INPUTS
from biasfree.theory.hard_margin import LABELS

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike


def stable_rank(w: ArrayLike) -> float:
    """|W|_F²/|W|₂², between 1 and the rank of W.

    Reference: Frei et al. (2022).
    """
    w = real("w", w)
    if w.ndim != 2 or not w.any():
        raise ValueError(f"the stable rank is of a matrix that is not zero, got shape {w.shape}.")
    unit = np.divide(w, np.abs(w).max())  # no square under- or overflows
    return stable_rank_of_gram(unit @ unit.T if unit.shape[0] <= unit.shape[1] else unit.T @ unit)


def stable_rank_of_gram(gram: ArrayLike) -> float:
    """The stable rank of W from its Gram matrix G = WWᵀ, of which it is Tr G/λ_max(G).

    Of a block of neurons, pass their rows and columns. `bf.networks.in_span` has G where W is too wide.

    Reference: Frei et al. (2022).
    """
    gram = real("gram", gram)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.any():
        raise ValueError(f"a Gram matrix is square and not zero, got shape {gram.shape}.")
    return float(np.trace(gram) / np.linalg.eigvalsh(gram)[-1])


def moved_stable_rank(rank: ArrayLike, e: ArrayLike) -> Float[np.ndarray, "..."]:
    """How far the stable rank of U + E can be from the stable rank L of U, for e = |E|_F/|U|₂.

    It is between ((√L − e)/(1 + e))² and ((√L + e)/(1 − e))²: by e|U|₂ at most E changes either norm. Without
    bound, infinity, for e ≥ 1.

    Reference: derived here, by Weyl's inequality.
    """
    rank, e = real("rank", rank), real("e", e)
    above = ((np.sqrt(rank) + e) / np.where(e < 1, 1 - e, 1.0)) ** 2 - rank
    below = rank - (np.maximum(np.sqrt(rank) - e, 0) / (1 + e)) ** 2
    return np.where(e < 1, np.maximum(above, below), np.inf)


def stable_rank_limit(network: Network, data: Dataset, **tolerances: float) -> float:
    """The stable rank of W₁ at the end of logistic training with the second layer fixed.

    The end of a run with `train=(True, False)` is the max-margin network: y_i f(x_i) equal on all samples,
    w_h = a_h·Σ_i λ_i y_i φ′_hi x_i with φ′ = 1 where a_h y_i > 0 and γ elsewhere, γ the leak. Orthogonal
    inputs give λ_i = 1/(A_i|x_i|²), A_i = Σ_h (a_h φ′_hi)², and the two directions Σ_{±}λ_i x_i hold all of
    W₁, so that its stable rank is that of a 2 × 2 matrix. For inputs of equal norms, equal label counts and
    equal Σ a_h² of either sign: 2(1 + γ²)/(1 + γ)². With all these equal, small weights are near it as soon
    as every neuron is on its side of every sample; otherwise it is approached as 1/ln t. With α = 0 neurons
    may be inactive for ever, hence γ > 0.

    Assumes: two layers, one output, no biases; α > 0; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); some a_h ≠ 0.
    Reference: Frei et al. (2022) for the network at the end; the stable rank is derived here.
    """
    check(ASSUMES, network, data, tolerances)
    leak, y, outer = network.leak, data.targets[:, 0], network.weights[1][0]
    squares = np.array([np.sum(outer[sign * outer > 0] ** 2) for sign in (1, -1)])
    if not squares.any():
        raise ValueError("the second layer is zero, so the first does not move; give other weights.")
    gates = np.array([[1.0, leak], [leak, 1.0]])  # φ′ for the sign of the neuron and of the label
    strength = squares @ gates**2
    size = np.linalg.norm(data.x, axis=1)
    lengths = [np.linalg.norm(1 / size[sign * y > 0]) / a for sign, a in zip((1, -1), strength, strict=True)]
    # the signs of its rows and columns do not change a stable rank
    return stable_rank(np.sqrt(squares)[:, None] * gates * lengths)


LEAKY = Hypothesis(
    "leaky",
    "a leaky network, α > 0 (Frei et al. 2022)",
    "1 for α = 0 and 0 otherwise",
    lambda network, _: float(network.leak == 0),
    "give the network a leak above 0, or simulate with bf.gradient_descent",
)
ASSUMES = (*SETTING, LEAKY, LABELS, ORTHOGONAL_INPUTS)
