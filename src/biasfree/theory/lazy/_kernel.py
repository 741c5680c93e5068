"""The tangent kernel of a network, and of a two-layer network of infinite width."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, checked_leak, non_negative, real, row_norms, unit_rows
from biasfree.data import Dataset
from biasfree.networks import Network
from biasfree.theory.hypotheses._hypothesis import check_sizes
from biasfree.theory.lazy._tangents import Tangents


@public
def kernel(network: Network, data: Dataset) -> Float[np.ndarray, "P P"] | Float[np.ndarray, "P K P K"]:
    """The tangent kernel Θ = JJᵀ on the samples, J = ∂f(x_i)/∂θ over all weights (and biases) of a network.

    It is (P, P) for one output and (P, K, P, K) for several. Under gradient flow of the square loss
    ḟ = −Θ(f − y)/P; training is lazy while Θ stays what it was. For two bias-free layers
    Θ(x, x′) = Σ_h σ(w_h·x)σ(w_h·x′) + a_h²σ′(w_h·x)σ′(w_h·x′) x·x′, whose odd part in x′ is linear:
    c²(xᵀW₁ᵀW₁x′ + …), c = (1+α)/2.

    Assumes: nothing; σ′(0) = α for a sample on a hyperplane.
    Reference: Jacot et al. (2018); the odd part is derived here from [ZSL25] Thm. 1.
    """
    check_sizes(network, data)
    tangents = Tangents.of(network, data.x)
    theta = tangents.kernel()
    return theta[:, 0, :, 0] if data.y.ndim == 1 else theta


@public
def infinite_width_kernel(
    x: ArrayLike, x2: ArrayLike, *, leak: float, sigma_w: float, sigma_a: float
) -> Float[np.ndarray, "P Q"]:
    """The tangent kernel per neuron of two wide bias-free layers, w ~ N(0, σ_w²I), a ~ N(0, σ_a²).

    Θ/H = σ_w²[c²x·x′ + k²(2/π)|x||x′|(sin θ + (π/2 − θ)cos θ)] + σ_a² x·x′[c² + k²(1 − 2θ/π)],
    θ the angle between x and x′, c = (1+α)/2, k = (1−α)/2. Its odd part in x′ is c²(σ_w² + σ_a²)x·x′: lazy
    networks, too, learn no odd function but linear ones. For bf.networks.gaussian((D, H, 1), scale=γ)
    σ_w = γ/√(HD) and σ_a = γ/√H.

    Assumes: two layers, no biases, one output; H → ∞.
    Reference: Cho & Saul (2009), Jacot et al. (2018); its odd part is derived here.
    """
    one = real("x", x)
    two = real("x2", x2)
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1]:
        raise ValueError(
            f"x and x2 must have shapes (samples, dimensions) with equal dimensions, got {one.shape} and "
            f"{two.shape}."
        )
    leak = checked_leak(leak)
    w2 = non_negative("sigma_w", sigma_w) ** 2
    a2 = non_negative("sigma_a", sigma_a) ** 2
    c2 = ((1 + leak) / 2) ** 2
    k2 = ((1 - leak) / 2) ** 2
    sizes = np.outer(row_norms(one), row_norms(two))
    theta = _angles(one, two)
    dot = one @ two.T
    arc = sizes * np.sin(theta) + (np.pi / 2 - theta) * dot
    return w2 * (c2 * dot + k2 * (2 / np.pi) * arc) + a2 * dot * (c2 + k2 * (1 - 2 * theta / np.pi))


def _angles(x: Float[np.ndarray, "P D"], x2: Float[np.ndarray, "Q D"]) -> Float[np.ndarray, "P Q"]:
    """The angles between rows, accurate also near 0 and π, where cos θ loses half of the digits."""
    one, two = unit_rows(x)[:, None], unit_rows(x2)
    apart = np.linalg.norm(one - two, axis=2)
    together = np.linalg.norm(one + two, axis=2)
    return 2 * np.arctan2(apart, together)
