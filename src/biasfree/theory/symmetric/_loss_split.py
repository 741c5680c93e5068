"""The square loss on symmetric data: the loss of a linear network plus that of the even part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, row_norms
from biasfree.data import Dataset, Population
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory._expressivity import even_part, linear_part
from biasfree.theory.hypotheses import NO_BIASES, SYMMETRY, TWO_LAYERS, check, result
from biasfree.theory.parts._expectations import even_mean_square, even_slopes
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.theory.parts._moments import times_sigma

ASSUMES = (NO_BIASES, TWO_LAYERS, SYMMETRY)

_split = result("the loss is that of a linear network plus that of the even part", lambda: ASSUMES)


@dataclass(frozen=True)
class LossSplit:
    """The two parts of the square loss: that of the linear part of f, and that of its even part."""

    linear: float
    even: float

    @property
    def total(self) -> float:
        """The square loss of the network."""
        return self.linear + self.even


@public
@_split
def loss_split(network: Network, data: Dataset | Population, **tolerances: float) -> LossSplit:
    """The square loss of a (leaky) ReLU network: the loss of its linear twin plus that of its even part.

    L(W) = L_lin(√c·W) + ⟨|f_e|²⟩/2,  L_lin(√c·W) = ⟨|y − c·W₂W₁x|²⟩/2,  f_e = k·W₂|W₁x|,
    c = (1+α)/2, k = (1−α)/2, at any weights, outputs summed. So L ≥ L_ols, and L = L_ols where f is the
    least-squares map (two neurons per output suffice; one if α = 1).

    Assumes: no biases; two layers; Condition 3 (symmetry_tolerance=1e-8; a linear network needs none).
    Reference: [ZSL25] App. E.4 for the minimum; derived here for any weights, leak and number of outputs.
    """
    check(ASSUMES, network, data, tolerances)
    if isinstance(data, Population):
        linear = float(linear_loss(linear_part(network)[None], data, Square())[0])
        return LossSplit(linear, even_mean_square(network, data) / 2)
    linear = data.targets - data.x @ linear_part(network).T
    even = even_part(network, data.x)
    return LossSplit(*(float(np.sum(part**2)) / (2 * len(data)) for part in (linear, even)))


@public
@_split
def symmetric_slope(
    network: Network, data: Dataset | Population, **tolerances: float
) -> tuple[Float[np.ndarray, "H D"], Float[np.ndarray, "K H"]]:
    """Ẇ₁ and Ẇ₂ under gradient flow of the square loss (τ = 1): a linear term minus that of the even part.

    Ẇ₁ = c·W₂ᵀ(β − c·W₂W₁Σ) − k⟨sgn(W₁x) ⊙ W₂ᵀf_e xᵀ⟩ − k⟨1[W₁x = 0] ⊙ W₂ᵀ(y − ℓ) xᵀ⟩,
    Ẇ₂ = c(β − c·W₂W₁Σ)W₁ᵀ − k⟨f_e|W₁x|ᵀ⟩,  ℓ = c·W₂W₁x,  f_e = k·W₂|W₁x|,  β = ⟨yxᵀ⟩, (K, D).
    The last term of Ẇ₁ is nonzero only for samples exactly on a neuron's hyperplane, where σ′(0) = α and not
    the mean c of the two sides. The value of sgn(0) in the term before it does not matter.

    Assumes: no biases; two layers; Condition 3 (symmetry_tolerance=1e-8; a linear network needs none).
    Reference: derived here from [ZSL25] Eq. 6 with Lemmas 10 and 11; where f_e = 0 it is Eq. 34.
    """
    check(ASSUMES, network, data, tolerances)
    (first, second), linear = network.weights, linear_part(network)
    c = (1 + network.leak) / 2
    k = (1 - network.leak) / 2
    force = data.beta.reshape(linear.shape) - times_sigma(linear, data)
    inner, outer = _even_means(network, data, linear, force)
    return c * second.T @ force - k * inner, c * force @ first.T - k * outer


def _even_means(
    network: Network,
    data: Dataset | Population,
    linear: Float[np.ndarray, "K D"],
    force: Float[np.ndarray, "K D"],
) -> tuple[Float[np.ndarray, "H D"], Float[np.ndarray, "K H"]]:
    """The terms with a factor k: those of the even part, and of samples on a hyperplane."""
    (first, second), k = network.weights, (1 - network.leak) / 2
    if isinstance(data, Population):
        zero = (row_norms(first) == 0)[:, None]  # on their hyperplanes everywhere
        slopes = even_slopes(first, first, k * second[0], data)
        # E[f_e|w·x|] = w·E[sgn(w·x)f_e x]
        return second.T * np.where(zero, force, slopes), np.sum(slopes * first, axis=1)[None]
    hidden = data.x @ first.T
    even = k * np.abs(hidden) @ second.T
    missing = data.targets - data.x @ linear.T
    backward = np.where(hidden == 0, missing @ second, np.sign(hidden) * (even @ second))
    return backward.T @ data.x / len(data), even.T @ np.abs(hidden) / len(data)
