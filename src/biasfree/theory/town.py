"""Orthogonal inputs, square loss: which samples a ReLU network can fit, when, and how wide it must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import whole
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.assumptions import RELU, SETTING, SMALL, check
from biasfree.theory.boursier import DOMINATED, ORTHOGONAL_INPUTS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def uncovered_samples(network: Network, data: Dataset) -> Bool[np.ndarray, "P"]:
    """Which samples have y_i ≠ 0 and no neuron with sgn a_h = sgn y_i that is active on them.

    On orthogonal inputs d(w_h·x_i)/dt = a_h·1[w_h·x_i > 0]·(y_i − f_i)|x_i|²/P: a neuron that is inactive
    on a sample stays so. If |a_h| ≥ |w_h| the sign of a_h is kept as well, so y_i f_i ≤ 0 for ever. And
    covered samples stay covered: as the last such w_h·x_i nears 0, y_i f_i ≤ 0 < y_i², which makes it grow.

    Assumes: two layers, one output, no biases.
    Reference: derived here; Town et al. (2026) have the width it takes.
    """
    check(SETTING, network, data, {})
    y = data.targets[:, 0]
    active = network.weights[0] @ data.x.T > 0
    helps = np.sign(network.weights[1][0])[:, None] == np.sign(y)
    return (y != 0) & ~(active & helps).any(axis=0)


def loss_floor(network: Network, data: Dataset, **tolerances: float) -> float:
    """The loss below which gradient flow from `network` never falls, Σ y_i²/(2P) over uncovered samples.

    If |a_h| > |w_h| for every neuron flow ends at this loss, and with all samples covered at 0, from small
    weights or large: a_h² ≥ c = min_h (a_h² − |w_h|²) > 0 at all times, so that dL/dt ≤ −Σ_i
    (y_i − f_i)²|x_i|²c/P² over the covered ones, while f_i = 0 on the others after a finite time.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-8).
    Reference: derived here; Town et al. (2026) have the width it takes.
    """
    check(ASSUMES, network, data, tolerances)
    y = data.targets[:, 0]
    return float(np.sum(y[uncovered_samples(network, data)] ** 2) / (2 * len(y)))


def interpolation_probability(n_positive: int, n_negative: int, width: int) -> float:
    """How likely a random network covers all samples, and so comes to fit orthogonal inputs by flow.

    P = Σ_k C(m,k)2^{−m}·(1 − 2^{−k})^{n₊}·(1 − 2^{k−m})^{n₋}, m the width, k the neurons with a_h > 0. On
    average n(3/4)^m samples are uncovered. But they come together, where one sign has few neurons: P is ½
    where the rarer sign has log₂ n neurons, at m = 2log₂n + O(√log n), and not at log n/log(4/3).

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
    covered = _all_covered(n_positive, k) * _all_covered(n_negative, m - k)
    return min(float(share @ covered), 1.0)


@dataclass(frozen=True, eq=False)
class Escapes:
    """The escapes in their order: when, which neuron, and its share n_S = √(Σ_S y_i²/|x_i|²) of ½|θ|².

    `left` is the loss after each of them.
    """

    times: Float[np.ndarray, "E"]
    neurons: Int[np.ndarray, "E"]
    shares: Float[np.ndarray, "E"]
    left: Float[np.ndarray, "E"]


def vanishing_escapes(network: Network, data: Dataset, **tolerances: float) -> Escapes:
    """Which neurons escape, one by one, and when, to leading order as the initial weights γ → 0.

    A neuron grows as γ_h·exp(∫|D_S|dt), D_S = (1/P)·Σ_S yx over the samples S of its sign that it is active
    on and that nobody has fitted yet. The first to be of size 1 fits all of its S, as a linear network would,
    and takes them from the others; so on until no neuron has any left, at the loss of `loss_floor`. γ_h =
    (w_h·D̂_S + |a_h|)/2 at the start, as in `escape_times`.

    It is the limit γ → 0, a greedy and heuristic one: that turning, fitting, and the part n_S of the final
    size take no time is true of times over ln(1/γ), so at any γ times are off by some 1/|D_S|. Neurons with
    the same S are one, named by the first; others that are due within such a time escape together and share
    their samples, which this does not know.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-8); small initial weights (small_tolerance=1e-2).
    Reference: derived here; Town et al. (2026) have one neuron a saddle.
    """
    check(ASSUMES_ESCAPES, network, data, tolerances)
    y, lengths = data.targets[:, 0], np.linalg.norm(data.x, axis=1)
    may = (network.weights[0] @ data.x.T > 0) & (np.outer(np.sign(network.weights[1][0]), y) > 0)
    pulls = np.where(may, np.abs(y) * lengths, 0.0) / len(y)
    found = list(_one_by_one(may, pulls, -np.log(_growing(network, data.x / lengths[:, None], pulls))))
    fits = np.array([fitted for _, _, fitted in found]).reshape(-1, len(y))
    return Escapes(
        times=np.array([time for time, _, _ in found]),
        neurons=np.array([h for _, h, _ in found], dtype=int),
        shares=np.array([np.linalg.norm((y / lengths)[fitted]) for fitted in fits]),
        left=(np.sum(y**2) - np.cumsum(fits @ y**2)) / (2 * len(y)),
    )


def _one_by_one(
    may: Bool[np.ndarray, "H P"], pulls: Float[np.ndarray, "H P"], to_go: Float[np.ndarray, "H"]
) -> Iterator[tuple[float, int, Bool[np.ndarray, "P"]]]:
    """(when, who, which samples it fits), the next neuron being the one whose ln(1/γ_h) is used up first."""
    now = 0.0
    while (rates := np.linalg.norm(pulls, axis=1)).any():
        waits = np.divide(to_go, rates, out=np.full(len(rates), np.inf), where=rates > 0)
        h = int(np.argmin(waits))
        wait, fitted = max(waits[h], 0.0), may[h]
        now, to_go = now + wait, to_go - rates * wait
        yield now, h, fitted
        may, pulls = may & ~fitted, np.where(fitted, 0.0, pulls)


def _growing(network: Network, unit: np.ndarray, pulls: np.ndarray) -> Float[np.ndarray, "H"]:
    """γ_h of every neuron; 1 for those without samples, which never escape."""
    rates, along = np.linalg.norm(pulls, axis=1), network.weights[0] @ unit.T
    turned = np.divide((along * pulls).sum(axis=1), rates, out=np.zeros(len(rates)), where=rates > 0)
    return np.where(rates > 0, (turned + np.abs(network.weights[1][0])) / 2, 1.0)


def _all_covered(samples: int, neurons: np.ndarray) -> Float[np.ndarray, "_"]:
    """(1 − 2^{−k})^n, with 0⁰ = 1."""
    return (1 - 0.5**neurons) ** samples


ASSUMES = (*SETTING, RELU, ORTHOGONAL_INPUTS, DOMINATED)
ASSUMES_ESCAPES = (*ASSUMES, SMALL)
