"""Orthogonal inputs, square loss: neurons that escape one by one as the initial weights vanish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Bool, Float, Int, row_norms
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses import KINKS, RELU, SETTING, Hypothesis, check
from biasfree.theory.parts import on_hyperplanes
from biasfree_papers.shared.early_growth import Growth, grown
from biasfree_papers.shared.orthogonal_inputs import DOMINATED, ORTHOGONAL_INPUTS, SMALL, two_layers


@dataclass(frozen=True, eq=False)
class Escapes:
    """Successive escapes: times, neurons, and contributions n_S = √(Σ_S y_i²/|x_i|²) to ½|θ|² (`shares`).

    `left` is the loss after each escape.
    """

    times: Float[np.ndarray, "E"]
    neurons: Int[np.ndarray, "E"]
    shares: Float[np.ndarray, "E"]
    left: Float[np.ndarray, "E"]


def escape_sequence(network: Network, data: Dataset, **tolerances: float) -> Escapes:
    """The successive escapes of neurons that fit samples, to leading order as the initial weights γ → 0.

    A neuron grows as γ_h·exp(∫|D_S|dt), D_S = (1/P)·Σ_S yx over the samples S of its sign that it is active
    on and that are not fitted yet. Neurons with equal S grow together, as Σγ_h², and are listed as the
    largest of them. The first to reach √n_S, the size that fits all of S, does so as a linear network would,
    and the others lose these samples. This repeats until no neuron has samples left. γ_h is that of
    `escape_times`; as S shrinks to S′ the neuron turns, and loses (1 − |D_S′|/|D_S|)/2 of its size.

    This is the limit γ → 0, a greedy procedure. The first time is as accurate as `escape_times`.
    Turning and fitting take no time on the scale ln(1/γ), so later times are off by a few 1/|D_S|, which
    stays bounded as γ → 0. Neurons with common samples that escape at nearly the same time share them, which
    the limit neglects.

    Assumes: two layers, one output, no biases; α = 0; orthogonal inputs (orthogonal_tolerance=1e-8);
    |a_h| ≥ |w_h| (dominated_tolerance=1e-12); no neuron exactly on the hyperplane of a sample of its sign
    (kinks_tolerance=0, the number of such pairs; if relaxed, σ′(0) = 0 and they stay there, as under gradient
    descent); small initial weights (small_tolerance=1e-2); neurons farther from the hyperplanes of inactive
    samples than inputs that are not exactly orthogonal can move them (inactive_tolerance=0.1, a ratio).
    Reference: derived here; Town et al. (2026) have one neuron per saddle.
    """
    hypotheses = (*SETTING, RELU, ORTHOGONAL_INPUTS, DOMINATED, KINKS, SMALL, INACTIVE_STAYS)
    check(hypotheses, network, data, tolerances)
    return _escapes(network, data)


def _escapes(network: Network, data: Dataset) -> Escapes:
    y, phase = data.targets[:, 0], grown(network, data)
    ratio = np.abs(y) / phase.lengths
    escapes = list(_successive(phase, ratio))
    fits = np.array([fitted for _, _, fitted in escapes]).reshape(-1, len(y))
    losses = (np.sum(y**2) - np.cumsum(fits @ y**2)) / (2 * len(y))
    return Escapes(
        times=np.array([time for time, *_ in escapes]),
        neurons=np.array([h for _, h, _ in escapes], dtype=int),
        shares=row_norms(np.where(fits, ratio, 0.0)) if escapes else np.zeros(0),
        left=np.maximum(losses, 0.0),
    )


def _successive(
    phase: Growth, ratio: Float[np.ndarray, "P"]
) -> Iterator[tuple[float, int, Bool[np.ndarray, "P"]]]:
    """Per escape: time, neuron, mask of the samples it fits."""
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
        now = now + wait
        yield now, h, fitted
        phase = _turned(phase, wait, fitted)


def _turned(phase: Growth, wait: float, fitted: Bool[np.ndarray, "P"]) -> Growth:
    """The growth of every neuron after these samples are fitted: γ(1 + |D_S′|/|D_S|)/2, from now on."""
    forces = np.where(fitted, 0.0, phase.forces)
    rates = row_norms(forces)
    share = np.divide(rates, phase.rates, out=np.zeros_like(rates), where=phase.rates > 0)
    log_gamma = phase.log_gamma + phase.rates * wait + np.log((1 + share) / 2)
    return Growth(phase.active & ~fitted, forces, rates, log_gamma, phase.lengths)


def activation_drift(network: Network, data: Dataset, samples: Bool[np.ndarray, "P"]) -> float:
    """The largest change of an inactive w_h·x̂_j over its distance from 0, for neurons of the sign of y_j.

    Inputs that are not exactly orthogonal change it by Σ_i|cos(x_i, x_j)| times the changes of w_h·x̂_i,
    which are at most about |w_h| and √n±, the size of a neuron that fits all samples of its sign. NaN outside
    the setting.
    """
    # more samples than dimensions are not orthogonal, and have too many pairs to compare
    if not two_layers(network, data) or len(data) > data.dimensions or not row_norms(data.x).all():
        return np.nan
    y, unit = data.targets[:, 0], data.x / row_norms(data.x)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        norm = max(np.linalg.norm((y / row_norms(data.x))[sign * y > 0]) for sign in (1, -1))
        away = -(network.weights[0] @ unit.T)
        relevant = (np.outer(np.sign(network.weights[1][0]), np.sign(y)) > 0) & samples
        relevant &= ~on_hyperplanes(network, data) & (away > 0)
        moves = np.sum(np.abs(unit @ unit.T) * ~np.eye(len(y), dtype=bool), axis=0)
        ratio = (row_norms(network.weights[0]) + np.sqrt(norm))[:, None] * moves / away
    return float(np.max(ratio[relevant], initial=0.0))


INACTIVE_STAYS = Hypothesis(
    "inactive",
    "inputs so nearly orthogonal that neurons stay inactive on the samples on which they are",
    "the largest change of w_h·x_j by Σ_i|cos(x_i, x_j)|, over its distance from 0,",
    lambda network, data: activation_drift(network, data, np.ones(len(data), dtype=bool)),
    "give inputs along axes, whose products are exactly 0, or use larger initial weights (scale=)",
    tolerance=0.1,
)
