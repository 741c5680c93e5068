"""Orthogonal inputs, square loss: the samples that a ReLU network can fit, when, and the width it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import row_norms, whole
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, Hypothesis, check, result
from biasfree.theory.neighbors._orthogonal_inputs import DOMINATED, ORTHOGONAL_INPUTS, SMALL
from biasfree.theory.parts._linear_phase import Growth, grown, on_hyperplanes, representable

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


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
    return _uncovered(network, data, on_hyperplane=False)


@result("orthogonal inputs: the samples that can never be fitted", lambda: ASSUMES)
def loss_floor(network: Network, data: Dataset, **tolerances: float) -> float:
    """A lower bound on the loss of all training from `network`: Σ y_i²/(2P) over uncovered samples.

    If |a_h| > |w_h| for every neuron, flow from weights of any size ends at this loss, 0 if all samples are
    covered: a_h² ≥ c = min_h (a_h² − |w_h|²) > 0 at all times, so dL/dt ≤ −Σ_i (y_i − f_i)²|x_i|²c/P² over
    the covered samples, while f_i = 0 on the others after a finite time. Exact up to rounding. If
    1 − |a_h|/|w_h| is ε > 0 instead, the sign of a_h can change and the loss fall further, but not before a
    time ln(2/ε)/(2g), g² = 2L(0)max|x|²/P: |a_h| + |w_h| decays at a rate of at most g.

    Under gradient descent, σ′(0) = 0, a neuron exactly on the hyperplane of a sample stays there. The flow
    from such weights is not unique: in the solution of `bf.gradient_flow` the neuron may become active (its
    times are in `stats.branch_times`). So this is refused, with the loss in question, if a sample depends on
    such a neuron. Relax `kinks_tolerance` for the floor of descent, or perturb the weights to the side that
    you mean.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-12); no sample that only neurons exactly on its hyperplane could fit
    (kinks_tolerance=0, their Σ y_i²/(2P)); neurons farther from the hyperplanes of uncovered samples than
    inputs that are not exactly orthogonal can move them (inactive_tolerance=0.1, a ratio).
    Reference: derived here; Town et al. (2026) have the width it takes.
    """
    check(ASSUMES, network, data, tolerances)
    return float(representable("the loss", _floor(network, data, on_hyperplane=False)))


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
    covered = _all_covered(n_positive, k) * _all_covered(n_negative, m - k)
    return min(float(share @ covered), 1.0)


@dataclass(frozen=True, eq=False)
class Escapes:
    """Successive escapes: times, neurons, and contributions n_S = √(Σ_S y_i²/|x_i|²) to ½|θ|² (`shares`).

    `left` is the loss after each escape. `shared` is the largest fraction of one of its samples that other
    neurons have fitted by then, which the limit of vanishing initial weights neglects.
    """

    times: Float[np.ndarray, "E"]
    neurons: Int[np.ndarray, "E"]
    shares: Float[np.ndarray, "E"]
    left: Float[np.ndarray, "E"]
    shared: Float[np.ndarray, "E"]


@result("orthogonal inputs: the neurons that escape one by one as γ → 0", lambda: ASSUMES_ESCAPES)
def escape_sequence(network: Network, data: Dataset, **tolerances: float) -> Escapes:
    """The successive escapes of neurons that fit samples, to leading order as the initial weights γ → 0.

    A neuron grows as γ_h·exp(∫|D_S|dt), D_S = (1/P)·Σ_S yx over the samples S of its sign that it is active
    on and that are not fitted yet. Neurons with equal S grow together, as Σγ_h², and are listed as the
    largest of them. The first to reach √n_S, the size that fits all of S, does so as a linear network would,
    and the others lose these samples. This repeats until no neuron has samples left, at the loss of
    `loss_floor`. γ_h is that of `escape_times`; as S shrinks to S′ the neuron turns, and loses
    (1 − |D_S′|/|D_S|)/2 of its size.

    This is the limit γ → 0, a greedy procedure. The first time is as accurate as `escape_times`.
    Turning and fitting take no time on the scale ln(1/γ), so later times are off by a few 1/|D_S|, which
    stays bounded as γ → 0. Neurons with common samples that escape at nearly the same time share them. The
    limit neglects this, so the call is refused if other neurons have fitted much of a sample by its escape.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-12); no neuron exactly on the hyperplane of a sample of its sign
    (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 and they stay there, as under gradient
    descent); small initial weights (small_tolerance=1e-2); neurons farther from the hyperplanes of inactive
    samples than inputs that are not exactly orthogonal can move them (inactive_tolerance=0.1, a ratio); no
    two escapes that share samples at the same time (apart_tolerance=0.1, the largest of `shared`).
    Reference: derived here; Town et al. (2026) have one neuron per saddle.
    """
    check(ASSUMES_ESCAPES, network, data, tolerances)
    return _escapes(network, data)


def _escapes(network: Network, data: Dataset) -> Escapes:
    y, phase = data.targets[:, 0], grown(network, data)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ratio = np.where(y != 0, np.abs(y) / phase.lengths, 0.0)
    escapes = list(_successive(phase, representable("y/|x|", ratio)))
    fits = np.array([fitted for _, _, fitted, _ in escapes]).reshape(-1, len(y))
    with np.errstate(over="ignore", invalid="ignore"):
        losses = (np.sum(y**2) - np.cumsum(fits @ y**2)) / (2 * len(y))
    return Escapes(
        times=representable("an escape time", np.array([time for time, *_ in escapes])),
        neurons=np.array([h for _, h, _, _ in escapes], dtype=int),
        shares=row_norms(np.where(fits, ratio, 0.0)) if escapes else np.zeros(0),
        left=representable("the loss", np.maximum(losses, 0.0)),
        shared=np.array([shared for *_, shared in escapes]),
    )


def _successive(
    phase: Growth, ratio: Float[np.ndarray, "P"]
) -> Iterator[tuple[float, int, Bool[np.ndarray, "P"], float]]:
    """Per escape: time, neuron, mask of the samples it fits, largest fraction that others have fitted."""
    now = 0.0
    while (phase.rates > 0).any():
        grows = phase.rates > 0
        _, kind = np.unique(phase.active, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        sums = np.full(kind.max() + 1, -np.inf)  # ln Σγ_h² of the neurons with equal S
        np.logaddexp.at(sums, kind, np.where(grows, 2 * phase.log_gamma, -np.inf))
        norms = row_norms(np.where(phase.active, ratio, 0.0))
        to_go = np.log(norms, out=np.full_like(norms, np.inf), where=grows) / 2 - sums[kind] / 2
        waits = np.maximum(np.divide(to_go, phase.rates, out=np.full_like(norms, np.inf), where=grows), 0)
        if not np.isfinite(waits.min()):
            return
        wait, first = waits.min(), int(np.argmin(waits))
        same = kind == kind[first]
        h = int(np.argmax(np.where(same, phase.log_gamma, -np.inf)))
        fitted = phase.active[h]
        others = phase.shares(~same, np.full(len(same), wait))
        now = now + wait
        yield now, h, fitted, float(np.max(others[fitted]))
        phase = _turned(phase, wait, fitted)


def _turned(phase: Growth, wait: float, fitted: Bool[np.ndarray, "P"]) -> Growth:
    """The growth of every neuron after these samples are fitted: γ(1 + |D_S′|/|D_S|)/2, from now on."""
    forces = np.where(fitted, 0.0, phase.forces)
    rates = row_norms(forces)
    share = np.divide(rates, phase.rates, out=np.zeros_like(rates), where=phase.rates > 0)
    log_gamma = phase.log_gamma + phase.rates * wait + np.log((1 + share) / 2)
    return Growth(phase.active & ~fitted, forces, rates, log_gamma, phase.lengths)


def _uncovered(network: Network, data: Dataset, *, on_hyperplane: bool) -> Bool[np.ndarray, "P"]:
    """Samples on which no neuron of their sign is active; `on_hyperplane` counts neurons exactly on it."""
    y, on = data.targets[:, 0], on_hyperplanes(network, data)
    active = ((_along(network, data) > 0) & ~on) | (on & on_hyperplane)
    same_sign = np.sign(network.weights[1][0])[:, None] == np.sign(y)
    return (y != 0) & ~(active & same_sign).any(axis=0)


def _along(network: Network, data: Dataset) -> Float[np.ndarray, "H P"]:
    """w_h·x_i up to a positive factor, computed from vectors of size one."""
    rows, x = (
        v / np.where(size > 0, size, 1.0)[:, None]
        for v in (network.weights[0], data.x)
        for size in (np.abs(v).max(axis=1),)
    )
    return rows @ x.T


def _floor(network: Network, data: Dataset, *, on_hyperplane: bool) -> float:
    y = data.targets[:, 0]
    with np.errstate(over="ignore"):
        return float(np.sum(y[_uncovered(network, data, on_hyperplane=on_hyperplane)] ** 2) / (2 * len(y)))


def _in_question(network: Network, data: Dataset) -> float:
    """The decrease of the floor if neurons on a hyperplane become active."""
    if (network.depth, network.sizes[0], network.sizes[-1], data.outputs) != (2, data.dimensions, 1, 1):
        return np.nan
    y = data.targets[:, 0]
    only = _uncovered(network, data, on_hyperplane=False) & ~_uncovered(network, data, on_hyperplane=True)
    with np.errstate(over="ignore"):
        return float(np.sum(y[only] ** 2) / (2 * len(y)))


def _drift(network: Network, data: Dataset, samples: Bool[np.ndarray, "P"]) -> float:
    """The largest change of an inactive w_h·x̂_j over its distance from 0, for neurons of the sign of y_j.

    Inputs that are not exactly orthogonal change it by Σ_i|cos(x_i, x_j)| times the changes of w_h·x̂_i,
    which are at most about |w_h| and √n±, the size of a neuron that fits all samples of its sign.
    """
    y, unit = data.targets[:, 0], data.x / row_norms(data.x)[:, None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        norm = max(np.linalg.norm((y / row_norms(data.x))[sign * y > 0]) for sign in (1, -1))
        away = -(network.weights[0] @ unit.T)
        relevant = (np.outer(np.sign(network.weights[1][0]), np.sign(y)) > 0) & samples
        relevant &= ~on_hyperplanes(network, data) & (away > 0)
        moves = np.sum(np.abs(unit @ unit.T) * ~np.eye(len(y), dtype=bool), axis=0)
        ratio = (row_norms(network.weights[0]) + np.sqrt(norm))[:, None] * moves / away
    return float(np.max(ratio[relevant], initial=0.0))


def _activation_drift(network: Network, data: Dataset, *, every: bool) -> float:
    """`_drift` over all samples, or over uncovered ones; NaN outside the setting."""
    setting = (network.depth, network.sizes[0], network.sizes[-1], data.outputs)
    # more samples than dimensions are not orthogonal, and have too many pairs to compare
    if setting != (2, data.dimensions, 1, 1) or len(data) > data.dimensions or not row_norms(data.x).all():
        return np.nan
    none = _uncovered(network, data, on_hyperplane=False)
    return _drift(network, data, np.ones_like(none) if every else none)


def _largest_shared(network: Network, data: Dataset) -> float:
    setting = (network.depth, network.sizes[0], network.sizes[-1], data.outputs)
    if setting != (2, data.dimensions, 1, 1) or not row_norms(data.x).all():
        return np.nan
    return float(np.max(_escapes(network, data).shared, initial=0.0))


def _all_covered(samples: int, neurons: np.ndarray) -> Float[np.ndarray, "_"]:
    """(1 − 2^{−k})^n, with 0⁰ = 1."""
    return (1 - 0.5**neurons) ** samples


FIT_FROM_HYPERPLANES = Hypothesis(
    "kinks",
    "no sample that only neurons exactly on its hyperplane could fit, where the flow is not unique,",
    "the loss Σ y_i²/(2P) of such samples",
    _in_question,
    "bf.gradient_descent keeps that loss, σ′(0) = 0: relax kinks_tolerance= for its floor; bf.gradient_flow "
    "may reduce it: perturb the weights to the side that you mean",
    tolerance=0.0,
)
_STAYS = (
    "inactive",
    "inputs so nearly orthogonal that neurons stay inactive on the samples on which they are",
    "the largest change of w_h·x_j by Σ_i|cos(x_i, x_j)|, over its distance from 0,",
)
_AXES = "give inputs along axes, whose products are exactly 0, or use larger initial weights (scale=)"
UNCOVERED_STAYS = Hypothesis(
    *_STAYS, lambda network, data: _activation_drift(network, data, every=False), _AXES, tolerance=0.1
)
INACTIVE_STAYS = Hypothesis(
    *_STAYS, lambda network, data: _activation_drift(network, data, every=True), _AXES, tolerance=0.1
)
APART = Hypothesis(
    "apart",
    "escapes that share no samples at the same time",
    "the largest fraction of a sample that other neurons have fitted at its escape",
    _largest_shared,
    "use smaller initial weights (scale=), relax apart_tolerance= for the limit of vanishing weights, or "
    "simulate with bf.gradient_flow",
    tolerance=0.1,
)
ASSUMES: tuple[Hypothesis, ...] = (
    *SETTING,
    RELU,
    ORTHOGONAL_INPUTS,
    DOMINATED,
    FIT_FROM_HYPERPLANES,
    UNCOVERED_STAYS,
)
ASSUMES_ESCAPES: tuple[Hypothesis, ...] = (
    *SETTING,
    RELU,
    ORTHOGONAL_INPUTS,
    DOMINATED,
    KINKS,
    SMALL,
    INACTIVE_STAYS,
    APART,
)
