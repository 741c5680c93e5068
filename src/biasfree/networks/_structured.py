"""Networks of the low-rank structure that training from small initial weights leads to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, affordable, checked_leak, generator, positive, real, whole
from biasfree.networks._network import Network


@public
def rank_one(direction: ArrayLike, *, width: int, scale: float, leak: float = 0.0, seed: int = 0) -> Network:
    """Two layers of rank one, with one output: on symmetric data such a ReLU network follows its linear twin.

    W_1 = W_2ᵀrᵀ, r = direction/|direction|, |W_2⁺| = |W_2⁻| = scale/√2, so |W_1| = |W_2| = scale. W_2 is
    Gaussian except for this rescaling of its two sign parts, and has at least one weight of each sign.

    Reference: [ZSL25] Assumption 4 (TMLR 7).
    """
    r, (width,) = _unit(direction), _checked([width])
    a = positive("scale", scale) * _neurons(generator(seed), width)
    return Network((np.outer(a, r), a[None, :]), leak=leak)


@public
def low_rank(
    direction: ArrayLike, *, widths: Sequence[int], scale: float, leak: float = 0.0, seed: int = 0
) -> Network:
    """A network with one output whose layers all have norm `scale` and transmit one direction of the input.

    W_1 = u r_1 rᵀ, W_L = u r_{L−1}ᵀ, r = direction/|direction|, u = scale, and between them
    W_l = u r_l r_{l−1}ᵀ for linear networks (leak 1),
    W_l = √2·u (r_l⁺r_{l−1}⁺ᵀ + r_l⁻r_{l−1}⁻ᵀ) for ReLU networks (leak 0), non-negative, of rank two, and
    W_2 = u (c²r_2r_1ᵀ + k²|r_2||r_1|ᵀ)/√(c⁴+k⁴) for three layers of any leak, c, k = (1 ± leak)/2.
    `widths` are the L − 1 hidden widths. The r_l are Gaussian, rescaled to |r_l⁺| = |r_l⁻| = 1/√2;
    all leaks get the same r_l for the same seed, and two layers are those of `rank_one`.

    Reference: [ZSL25] Eqs. 39 and 40 (TMLR Conjecture 11); the leaky structure is derived here.
    """
    counts = _checked(widths)
    leak = checked_leak(leak)
    if len(counts) > 2 and leak not in (0, 1):
        raise ValueError(
            f"leak must be 0 or 1 for four or more layers, got {leak!r}: between, the two parts of a "
            "middle layer grow at different rates; use widths= of two hidden layers."
        )
    r = _unit(direction)
    u = positive("scale", scale)
    rng = generator(seed)
    neurons = [_neurons(rng, width) for width in counts]
    return Network(tuple(u * layer for layer in low_rank_layers(r, neurons, leak=leak)), leak=leak)


def low_rank_layers(
    r: Float[np.ndarray, "D"], neurons: Sequence[Float[np.ndarray, "_"]], *, leak: float
) -> list[Float[np.ndarray, "_ _"]]:
    """The layers for u = 1: r_1rᵀ, F_l F_{l−1}ᵀ with the frames F_l of `neuron_frame`, and r_{L−1}ᵀ."""
    frames = [neuron_frame(v, leak=leak) for v in neurons]
    middle = [above @ below.T for below, above in pairwise(frames)]
    return [np.outer(neurons[0], r), *middle, neurons[-1][None]]


def neuron_frame(v: Float[np.ndarray, "H"], *, leak: float) -> Float[np.ndarray, "H _"]:
    """F with W_l = u F_l F_{l−1}ᵀ: the column v, or, for leaks α below 1, v⁺ + αv⁻ and αv⁺ + v⁻ over √2·n.

    n⁴ = c⁴ + k⁴, c, k = (1 ± α)/2, so that for ReLU the columns are 2^{1/4}v⁺ and 2^{1/4}v⁻.
    """
    if leak == 1:
        return v[:, None]
    above, below = np.maximum(v, 0), np.minimum(v, 0)
    norm = (((1 + leak) / 2) ** 4 + ((1 - leak) / 2) ** 4) ** 0.25
    return np.column_stack([above + leak * below, leak * above + below]) / (np.sqrt(2) * norm)


def _neurons(rng: np.random.Generator, width: int) -> Float[np.ndarray, "H"]:
    """A Gaussian vector whose positive and negative entries are rescaled to norm 1/√2 each."""
    v = rng.normal(size=width)
    if (v > 0).all() or (v < 0).all():
        v[0] *= -1
    for sign in (v > 0, v < 0):
        v[sign] /= np.sqrt(2) * np.linalg.norm(v[sign])
    return v


def _checked(widths: Sequence[int]) -> list[int]:
    if not isinstance(widths, Sequence | np.ndarray) or getattr(widths, "ndim", 1) == 0 or not len(widths):
        raise ValueError(f"widths must be the width of each hidden layer, as in (20, 20), got {widths!r}.")
    counts = [whole("a width", width, at_least=2) for width in widths]
    affordable(f"the weights of widths {tuple(counts)}", counts[0] + sum(h * d for d, h in pairwise(counts)))
    return counts


def _unit(direction: ArrayLike) -> Float[np.ndarray, "D"]:
    r = real("direction", direction)
    if r.ndim != 1 or not r.any():
        raise ValueError(f"direction must be a nonzero vector, got {direction!r}.")
    r = r / np.abs(r).max()  # so that squaring neither overflows nor underflows
    return r / np.linalg.norm(r)
