"""The share of random initial weights from which a ReLU network leaves the plateau of the six points."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Float, positive, whole

_NODES = 400  # of Gauss and Legendre, for an integrand with one kink
_FAR = 20.0  # η up to which |w₁/a| = tanh η is integrated: the rest is e^{−2η}


@public
def six_point_share(width: int, *, scale: float, delta: float) -> float:
    """The share of seeds for which a Gaussian network of H neurons leaves the plateau of `six_points(δ)`.

    1 − (1−p₊)^H − (1−p₋)^H + (1−p₊−p₋)^H: it leaves if it has wedge neurons of both signs, as for
    `six_point_escape`, and p₊, p₋ are the chances of one neuron to be one. With |w₁/a| = tanh η it reaches
    the wedge at 6η and turns there by the hyperbolic angle θ = δ(b/6 − η), b the time of the first fall. A
    neuron with a > 0 stays if tanh θ < w₂/√(a² − w₁²) < coth θ, and joins those with a < 0 beyond:
    p₊ = ∫dη [F(coth θ) − F(tanh θ)]/16π, p₋ = ∫dη [2F(∞) − F(coth θ)]/16π over 0 < η < b/6,
    F(x) = x/(B√(B + x²/2)), B = ¼ + ¾sinh²η. For a long time, p₊ ≈ 0.1γ^{2δ}: no seed escapes as γ → 0.

    To leading order in δ, e^{2δη} has the mean of η over the weight 1/cosh³η, (4/π)(C − ½) with Catalan's
    constant C: neurons reach the wedge after 24(C − ½)/π = 3.178.

    Assumes: weights of `bf.networks.gaussian((2, H, 1), scale=γ)` and what `six_point_escape` assumes: α = 0,
    the square loss, small γ and δ. Accuracy: within the binomial error of 300 simulated seeds for H = 100,
    γ = 1e-3 and 1e-6, δ from 0.05 to 0.24.
    Reference: derived here, for [ZSL25] TMLR Fig. 6.

    Args:
        width: H, the number of hidden neurons.
        scale: γ, the initial norm of a layer, below 0.1.
        delta: δ of the six points, from above 0 to below 1.

    Raises:
        ValueError: A number is outside its range.
    """
    width = whole("width", width)
    delta = positive("delta", delta)
    scale = positive("scale", scale)
    if delta >= 1:
        raise ValueError(f"delta must be below 1, got {delta:g}: at 1 neurons with a > 0 stop growing.")
    if scale >= 0.1:
        raise ValueError(f"scale must be below 0.1, got {scale:g}: the law is for small initial weights.")
    plus, minus = _chances(_first_fall(scale), delta)
    share = 1 - (1 - plus) ** width - (1 - minus) ** width + (1 - plus - minus) ** width
    return max(float(share), 0.0)


def _first_fall(scale: float) -> float:
    """b, the time at which the loss is half-way to the plateau: 6 ln(1/γ) − 0.92 for γ → 0.

    The map grows from u₀² = 3γ²/16 by the rate 1/3 until it is the share q = 1 − 1/√2 of least squares.
    """
    share = 1 - np.sqrt(1 / 2)
    return float(3 * np.log((16 / (9 * scale**2) - 1) * share / (1 - share)))


def _chances(fall: float, delta: float) -> tuple[float, float]:
    """p₊ and p₋: of a neuron to be in the wedge with a > 0, and with a < 0, when the plateau begins."""
    longest = min(fall / 6, _FAR)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    eta = longest * (nodes + 1) / 2
    weights = weights * longest / 2 / (16 * np.pi)
    tangent = np.tanh(delta * (fall / 6 - eta))
    stays_below = _below(1 / tangent, eta)
    everywhere = np.sqrt(2) / _at_zero(eta)
    plus = weights @ (stays_below - _below(tangent, eta))
    minus = weights @ (2 * everywhere - stays_below)
    return float(plus), float(minus)


def _below(x: Float[np.ndarray, "N"], eta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """F(x), the density of η for w₂/√(a² − w₁²) from 0 to x, times 16π."""
    start = _at_zero(eta)
    return x / (start * np.sqrt(start + x**2 / 2))


def _at_zero(eta: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """B."""
    return 0.25 + 0.75 * np.sinh(eta) ** 2
