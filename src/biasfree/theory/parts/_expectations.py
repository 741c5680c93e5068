"""Means of two-layer networks over infinite data: the even part, the square loss, and their slopes."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float
from biasfree.data import AbsoluteProducts, Dataset, Polar, Population
from biasfree.losses import Loss, Square
from biasfree.networks import Network
from biasfree.theory.parts._linear_loss import linear_loss


def mean_square(network: Network, population: Population) -> float:
    """E[f²] = wᵀΣw + E[f_e²]."""
    w = linear_map(network)[0]
    return float(population.times_sigma(w) @ w) + even_mean_square(network, population)


def even_mean_square(network: Network, population: Population) -> float:
    """E[f_e²], f_e = kΣ a_h|w_h·x|: k²Σ a_h a_j E|w_h·x||w_j·x|."""
    rays, factors = even_rays(network, population)
    return max(float(factors @ AbsoluteProducts.of(rays, rays).values @ factors), 0.0)


def mean_loss(network: Network, data: Dataset | Population, loss: Loss) -> float:
    """The mean loss of a network of two layers and one output, over samples or infinite data."""
    if isinstance(data, Population):
        return square_loss(network, data)
    return float(loss.value(network(data.x), data.targets[:, 0]).mean())


def square_loss(network: Network, population: Population) -> float:
    """E[(y − f)²]/2 = (w − w*)ᵀΣ(w − w*)/2 + E[(f_e − y_e)²]/2 + the rest that no network of two layers fits.

    w = c·W₂W₁, and y_e is the even part of y. Two layers, one output, no biases.
    """
    linear = float(linear_loss(linear_map(network)[None], population, Square())[0])
    if network.leak == 1:
        return linear
    rays, factors = even_rays(network, population)
    rows, targets = population.even_part
    both = rays.with_rows(Polar.of(population.whitened(rows)))
    weights = np.append(factors, -targets)
    missed = float(weights @ AbsoluteProducts.of(both, both).values @ weights)
    return linear + (max(missed, 0.0) - population.even_mean_square) / 2


def linear_map(network: Network) -> Float[np.ndarray, "1 D"]:
    """c·W₂W₁."""
    return (1 + network.leak) / 2 * network.weights[1] @ network.weights[0]


def even_rays(network: Network, population: Population) -> tuple[Polar, Float[np.ndarray, "H"]]:
    """The neurons for white inputs, and the factors k·a_h of their absolute values."""
    factors = (1 - network.leak) / 2 * network.weights[1][0]
    return Polar.of(population.whitened(network.weights[0])), factors


def even_slopes(
    directions: Float[np.ndarray, "N D"],
    rows: Float[np.ndarray, "H D"],
    factors: Float[np.ndarray, "H"],
    population: Population,
) -> Float[np.ndarray, "N D"]:
    """E[sgn(p·x)g(x)x] for every p of `directions`, g = Σ factors_h|w_h·x|, w_h in `rows`; 0 at p = 0."""
    p, q = (Polar.of(population.whitened(part)) for part in (directions, rows))
    slopes = AbsoluteProducts.of(p, q).gradients(factors)
    return slopes @ population.root.T if population.variance is None else population.whitened(slopes)
