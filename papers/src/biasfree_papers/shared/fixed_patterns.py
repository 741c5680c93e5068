"""Logistic training of the first layer, second layer fixed, while activation patterns stay fixed.

The slope φ′_hi of neuron h on sample i is 1 where it is active and the leak elsewhere. While these stay
fixed, the margins z_i = y_i f(x_i) are linear in W₁, with gradients of rows a_h y_i φ′_hi x_i: training W₁ is
training a linear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree import AssumptionError
from biasfree.arrays import Bool, Float, real, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory import activation_patterns, max_margin
from biasfree.theory.hypotheses import KINKS, LABELS, SETTING, Hypothesis, check
from biasfree_papers.shared.orthogonal_inputs import ORTHOGONAL_INPUTS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ASSUMES_PATTERNS = (*SETTING, LABELS, ORTHOGONAL_INPUTS, KINKS)

_ROUNDING = 1e-12  # of |w_h||x_i|
_INDEPENDENT = 1e-10  # the least part of a unit gradient off the span of the others


@dataclass(frozen=True, eq=False)
class GatedMaxMargin:
    """The network of least |W₁| whose margins at the activation patterns `patterns` are at least 1.

    `margins` are its margins. `multipliers` λ_i ≥ 0 are positive only where the margin is 1, and
    Σλ_i = |W₁|². `changed` is the fraction of activations that differ, by more than rounding, between the
    network itself and `patterns`: training can end at this network only if it is 0.
    """

    network: Network
    margins: Float[np.ndarray, "P"]
    multipliers: Float[np.ndarray, "P"]
    patterns: tuple[Bool[np.ndarray, "P H"]]
    changed: float

    def __post_init__(self):
        for name in ("margins", "multipliers"):
            object.__setattr__(self, name, real(name, getattr(self, name)))

    @property
    def on_margin(self) -> Bool[np.ndarray, "P"]:
        """The support: samples with λ_i > 0."""
        return self.multipliers > 0


def gated_max_margin(network: Network, data: Dataset, *, patterns: Sequence[ArrayLike]) -> GatedMaxMargin:
    """The max-margin network at fixed activation patterns, the limit of the direction of W₁ in training.

    min |W₁|² with y_i Σ_h a_h φ′_hi w_h·x_i ≥ 1: w_h = a_h Σ_i λ_i y_i φ′_hi x_i, z = Kλ, with K_ij = y_i y_j
    x_i·x_j Σ_h a_h²φ′_hiφ′_hj. All samples are on the margin if K⁻¹1 ≥ 0. Training of the first layer
    approaches the direction as 1/ln t, and loss·t/τ → Σλ_i. `patterns` have the form of
    `bf.theory.activation_patterns`. Margins are met to 1e-9, and W₁ is accurate to 1e-6 of its norm.

    Assumes: two layers, one output, no biases; labels −1 and +1; patterns with which some W₁ classifies every
    sample correctly.
    Reference: derived here, by Soudry et al. (2018) for the linear model that is left; Frei et al. (2022),
    Kou et al. (2023) for the setting.
    """
    check((*SETTING, LABELS), network, data, {})
    given, shape = [np.asarray(pattern) for pattern in patterns], (len(data), network.sizes[1])
    if [(one.shape, one.dtype) for one in given] != [(shape, bool)]:
        raise ValueError(
            f"patterns must be one array of booleans of shape {shape}, got "
            f"{[(one.shape, str(one.dtype)) for one in given]}; take them from bf.theory.activation_patterns."
        )
    (on,) = given
    x_size, a_size = (float(np.abs(part).max()) or 1.0 for part in (data.x, network.weights[1]))
    force = data.targets * np.where(on, 1.0, network.leak) * (network.weights[1] / a_size)
    gradients = force[:, :, None] * (data.x / x_size)[:, None, :]  # ∂z_i/∂W₁, of rows a_h y_i φ′_hi x_i
    multipliers = _multipliers(gradients.reshape(len(data), -1))
    w = np.tensordot(multipliers, gradients, axes=1)
    margins = np.tensordot(gradients, w, axes=2)
    end = Network((w / a_size / x_size, network.weights[1]), leak=network.leak)
    multipliers = multipliers / a_size / a_size / x_size / x_size
    return GatedMaxMargin(end, margins, multipliers, (on,), _changed(end, data, on))


def final_patterns(network: Network, data: Dataset, **tolerances: float) -> tuple[Bool[np.ndarray, "P H"]]:
    """The final activation patterns of logistic training of the first layer, on orthogonal inputs.

    w_h·x_i changes by a_h y_i φ′_hi|x_i|² times a positive number, and by nothing else. So every neuron of a
    leaky network becomes active on the samples with a_h y_i > 0 and inactive on the others, under flow and
    under descent with any step. A ReLU neuron that is inactive on a sample stays so; one exactly on the
    hyperplane of a sample stays there under descent, σ′(0) = 0, while the flow is not unique. If the patterns
    of `network` are final already they are returned, in the form of `bf.theory.activation_patterns`. Exact.

    Assumes: two layers, one output, no biases; labels −1 and +1; orthogonal inputs
    (orthogonal_tolerance=1e-8); no ReLU neuron exactly on the hyperplane of a sample with the sign of a_h
    (kinks_tolerance=0, the number of such pairs; if relaxed, the result is that of descent).
    Reference: derived here; Frei et al. (2022), Kou et al. (2023) for nearly orthogonal inputs.
    """
    check(ASSUMES_PATTERNS, network, data, tolerances)
    return (_final_pattern(network, data),)


def _multipliers(gradients: Float[np.ndarray, "P _"]) -> Float[np.ndarray, "P"]:
    """λ of the shortest w = Gᵀλ with Gw ≥ 1; where all rows are in the support, by one linear system."""
    r, ones = np.asarray(np.linalg.qr(gradients.T, mode="r")), np.ones(len(gradients))
    independent = np.abs(np.diag(r)) > _INDEPENDENT * np.linalg.norm(r, axis=0)[: len(r)]
    if len(r) == len(ones) and independent.all():
        multipliers = np.linalg.solve(r, np.linalg.solve(r.T, ones))
        if multipliers.min() >= 0:
            return multipliers
    try:
        return max_margin(Dataset(r.T, ones)).multipliers  # the same products as the gradients have
    except AssumptionError as error:
        raise AssumptionError(
            "patterns with which some first layer classifies every sample",
            "the least mean hinge loss ⟨max(0, 1 − z/|∂z/∂W₁|)⟩ over first layers",
            defect=error.defect,
            tolerance=0.0,
            remedy="take the patterns of a network that classifies its samples, with "
            "bf.theory.activation_patterns, or give more neurons",
        ) from None


def _changed(network: Network, data: Dataset, on: Bool[np.ndarray, "P H"]) -> float:
    """The fraction of activations unlike `on` by more than rounding: neurons may end on a hyperplane."""
    h = unit_rows(data.x) @ unit_rows(network.weights[0]).T
    other = np.where(on, h, -h) < -_ROUNDING
    return float(np.mean(other & (network.leak < 1)))


def _final_pattern(network: Network, data: Dataset) -> Bool[np.ndarray, "P H"]:
    force = np.sign(data.targets) * np.sign(network.weights[1])
    on = activation_patterns(network, data.x)[0]
    own = (force > 0) & (on | (network.leak > 0))
    return np.where(force == 0, on, own) | (network.leak == 1)


def _not_final(network: Network, data: Dataset) -> float:
    """The fraction of activations that differ from the final ones."""
    if network.depth != 2 or network.sizes[-1] != 1:
        return np.nan
    return float(np.mean(activation_patterns(network, data.x)[0] != _final_pattern(network, data)))


FIXED_PATTERNS = Hypothesis(
    "patterns",
    "activation patterns that stay fixed, those of final_patterns,",
    "the fraction of pairs of neuron and sample whose activation will change",
    _not_final,
    "train with bf.gradient_descent until they are reached, and pass the trained network",
    tolerance=0.0,
)
