"""Orthogonal inputs, square loss: the samples that a ReLU network can fit, and the width it takes."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np

from biasfree.arrays import Bool, whole
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, check
from biasfree.theory.parts import on_hyperplanes
from biasfree_papers.shared.escape_sequence import INACTIVE_STAYS, activation_drift
from biasfree_papers.shared.orthogonal_inputs import DOMINATED, ORTHOGONAL_INPUTS, two_layers


def uncovered_samples(network: Network, data: Dataset) -> Bool[np.ndarray, "P"]:
    """A mask of the samples with y_i ≠ 0 and no neuron with sgn a_h = sgn y_i that is active on them.

    On orthogonal inputs d(w_h·x_i)/dt = a_h·1[w_h·x_i > 0]·(y_i − f_i)|x_i|²/P: a neuron that is inactive on
    a sample stays so. If |a_h| ≥ |w_h|, a_h keeps its sign too, so y_i f_i ≤ 0 at all times for such a
    sample. Covered samples stay covered: as the last such w_h·x_i approaches 0, y_i f_i ≤ 0 < y_i², and it
    grows again. A neuron exactly on the hyperplane of a sample, w_h·x_i = 0 to rounding (1e-12|w_h||x_i|), is
    not active on it: σ′(0) = 0, as in `bf.gradient_descent`.

    Assumes: two layers, one output, no biases.
    Reference: derived here; Town et al. (2026) have the width it takes.
    """
    check(SETTING, network, data, {})
    return _uncovered(network, data)


def loss_floor(network: Network, data: Dataset, **tolerances: float) -> float:
    """A lower bound on the loss of all training from `network`: Σ y_i²/(2P) over uncovered samples.

    If |a_h| > |w_h| for every neuron, flow from weights of any size ends at this loss, 0 if all samples are
    covered: a_h² ≥ c = min_h (a_h² − |w_h|²) > 0 at all times, so dL/dt ≤ −Σ_i (y_i − f_i)²|x_i|²c/P² over
    the covered samples, while f_i = 0 on the others after a finite time. Exact up to rounding. If
    1 − |a_h|/|w_h| is ε > 0 instead, the sign of a_h can change and the loss fall further, but not before a
    time ln(2/ε)/(2g), g² = 2L(0)max|x|²/P: |a_h| + |w_h| decays at a rate of at most g.

    Under gradient descent, σ′(0) = 0, a neuron exactly on the hyperplane of a sample stays there; the flow
    from such weights is not unique. Relax `kinks_tolerance` for the floor of descent.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-12); no neuron exactly on the hyperplane of a sample of its sign
    (kinks_tolerance=0, the number of such pairs); neurons farther from the hyperplanes of uncovered samples
    than inputs that are not exactly orthogonal can move them (inactive_tolerance=0.1, a ratio).
    Reference: derived here; Town et al. (2026) have the width it takes.
    """
    hypotheses = (RELU, ORTHOGONAL_INPUTS, DOMINATED, KINKS, UNCOVERED_STAYS)
    check((*SETTING, *hypotheses), network, data, tolerances)
    y = data.targets[:, 0]
    return float(np.sum(y[_uncovered(network, data)] ** 2) / (2 * len(y)))


def interpolation_probability(n_positive: int, n_negative: int, width: int) -> float:
    """The probability that a random network covers all samples, so that flow fits orthogonal inputs.

    P = Σ_k C(m,k)2^{−m}·(1 − 2^{−k})^{n₊}·(1 − 2^{k−m})^{n₋}, m the width, k the number of neurons with
    a_h > 0. On average n(3/4)^m samples are uncovered. But these events are correlated: most happen where one
    sign has few neurons. So P is ½ where the rarer sign has log₂ n neurons, at m = 2log₂n + O(√log n), and
    not at log n/log(4/3). Accurate to 1e-12 of P.

    Assumes: signs of a_h and of all w_h·x_i independent and fair, as Gaussian weights have them on orthogonal
    inputs; |a_h| > |w_h|.
    Reference: derived here; Town et al. (2026), whose threshold is m ~ log n.
    """
    n_positive, n_negative = (
        whole(name, n, at_least=0) for name, n in (("n_positive", n_positive), ("n_negative", n_negative))
    )
    m = whole("width", width)
    k = np.arange(m + 1)
    share = np.array([comb(m, i) / 2**m for i in range(m + 1)])  # whole numbers until the division
    covered = (1 - 0.5**k) ** n_positive * (1 - 0.5 ** (m - k)) ** n_negative  # with 0⁰ = 1
    return min(float(share @ covered), 1.0)


def _uncovered(network: Network, data: Dataset) -> Bool[np.ndarray, "P"]:
    """Samples on which no neuron of their sign is active."""
    y = data.targets[:, 0]
    active = (network.weights[0] @ data.x.T > 0) & ~on_hyperplanes(network, data)
    same_sign = np.sign(network.weights[1][0])[:, None] == np.sign(y)
    return (y != 0) & ~(active & same_sign).any(axis=0)


def _drift_of_uncovered(network: Network, data: Dataset) -> float:
    """`activation_drift` over the samples that are uncovered."""
    if not two_layers(network, data):
        return np.nan
    return activation_drift(network, data, _uncovered(network, data))


UNCOVERED_STAYS = replace(INACTIVE_STAYS, defect=_drift_of_uncovered)
