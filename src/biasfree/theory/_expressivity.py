"""Theorem 1: the functions that bias-free networks express, and a certificate for those two layers cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, generator, real, representable, whole
from biasfree.networks import Network
from biasfree.theory.hypotheses import NO_BIASES, TWO_LAYERS, check, result

ASSUMES = (NO_BIASES, TWO_LAYERS)

_decomposition = result("two layers are a linear map plus an even function", lambda: ASSUMES)


@public
@_decomposition
def linear_part(network: Network) -> Float[np.ndarray, "K D"]:
    """The linear map of f(x) = c·W₂W₁x + k·W₂|W₁x|: c·W₂W₁, c = (1+α)/2, k = (1−α)/2.

    Assumes: no biases; two layers.
    Reference: [ZSL25] Thm. 1, Eq. 2.
    """
    check(ASSUMES, network, None, {})  # true for any data
    return (1 + network.leak) / 2 * (network.weights[1] @ network.weights[0])


@public
@_decomposition
def even_part(network: Network, x: ArrayLike) -> Any:
    """(f(x) + f(−x))/2 of any network, in the shape of network(x).

    For two bias-free layers it is computed as k·W₂|W₁x|, k = (1−α)/2, since the sum loses digits where the
    odd part is much larger.

    Reference: [ZSL25] Thm. 1, Eq. 2, for two layers.
    """
    x = _points(network, x)
    if network.depth != 2 or network.biases is not None:
        return (network(x) + network(-x)) / 2
    first, second = network.weights
    return Network(((1 - network.leak) / 2 * second,))(np.abs(x @ first.T))


@public
@_decomposition
def odd_part(network: Network, x: ArrayLike) -> Any:
    """(f(x) − f(−x))/2 of any network, in the shape of network(x).

    For two bias-free layers it is computed as c·W₂W₁x (Corollary 2: odd functions of two layers are linear).

    Reference: [ZSL25] Thm. 1, Eq. 2, and Corollary 2, for two layers.
    """
    x = _points(network, x)
    if network.depth != 2 or network.biases is not None:
        return (network(x) - network(-x)) / 2
    first, second = network.weights  # not W₂W₁, which may underflow where the outputs do not
    return Network(((1 + network.leak) / 2 * second,))(x @ first.T)


@result(
    "positively homogeneous, f(ax) = a·f(x)", lambda: (NO_BIASES,), path="bf.diagnostics.homogeneity_defect"
)
def homogeneity_defect(
    function: Callable[[Any], Any], x: Float[np.ndarray, "*P D"], factors: Sequence[float]
) -> float:
    """The largest |f(ax) − a·f(x)| over the factors a > 0, each over the largest |f(ax)| or a|f(x)| at x.

    Reference: [ZSL25] Sec. 3, g(ax) = a·g(x) for a > 0.
    """
    factors_ = real("factors", factors)
    if factors_.ndim != 1 or factors_.size == 0 or (factors_ <= 0).any():
        raise ValueError(
            f"factors must be one or more positive numbers, got {factors!r}; f(ax) = a·f(x) is for a > 0."
        )
    f = np.asarray(function(x))
    return max(_mismatch(np.asarray(function(a * x)), a * f) for a in factors_)


@public
def separation_network() -> Network:
    """The three-layer ReLU network 2→4→2→1 that computes bf.data.separation_target, to the last bit.

    g(x) = σ(σ(x₁) − σ(x₂)) − σ(σ(−x₁) − σ(−x₂)) is odd and nonlinear, so two layers cannot express it.

    Reference: [ZSL25] Sec. 3.2, Eq. 3.
    """
    return _differences(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.ones(1), 0.0)


@public
def odd_network(d: int, *, width: int, seed: int = 0, leak: float = 0.0) -> Network:
    """A random odd nonlinear function that three bias-free layers express and two cannot.

    f(x) = Σ_j v_j[p_j(x) − p_j(−x)], p_j(x) = σ(σ(a_j·x) − σ(b_j·x)), j = 1…width, in one network
    d→4·width→2·width→1: the function of `separation_network` in `width` random planes. It equals
    Σ_j v_j[2c²(a_j−b_j)·x + 2k² sgn((a_j−b_j)·x)(|a_j·x| − |b_j·x|)], c = (1+α)/2, k = (1−α)/2,
    so it is nonlinear for every leak below 1. a_j, b_j are random orthonormal pairs, v_j ~ N(0, 1/width). Odd
    to rounding: the terms of f(−x) are those of −f(x) in another order.

    Assumes: d ≥ 2 (in one dimension odd and homogeneous is linear); α < 1.
    Reference: [ZSL25] Sec. 3.2, Eq. 3 for one plane; the family and its second form are derived here.
    """
    d = whole("d", d, at_least=2)
    width = whole("width", width)
    rng = generator(seed)
    pairs = np.linalg.qr(rng.normal(size=(width, d, 2)))[0]
    v = rng.normal(size=width) / np.sqrt(width)
    network = _differences(pairs[:, :, 0], pairs[:, :, 1], v, leak)
    if network.leak == 1:
        raise ValueError("leak 1 makes the network linear, which two layers can express; use a leak below 1.")
    return network


@dataclass(frozen=True, eq=False)
class Certificate:
    """A lower bound on the distance of a function from all two-layer bias-free networks, in mean square.

    `bound` ≤ ⟨|f − N|²⟩ over x and −x for every such network N, of any width and leak; `linear` is the map
    that attains it on the odd part; `odd_energy` is ⟨|f_o|²⟩.
    """

    bound: float
    linear: Float[np.ndarray, "K D"]
    odd_energy: float


@public
def two_layer_gap(function: Network | Callable[[Any], Any], x: ArrayLike) -> Certificate:
    """A lower bound on the mean square error of every two-layer bias-free network, any width, any leak.

    ⟨|f − N|²⟩ ≥ min_w ⟨|f_o − wx|²⟩, f_o(x) = (f(x) − f(−x))/2, with means over x and −x, where even and odd
    functions are orthogonal; the odd part of N is linear. The bound is sharp if α < 1, the width is free and
    only mirror images are parallel: then the even part of N can be any even function on the points. The
    square loss of N is at least half the bound. `function` maps (P, D) to (P,) or (P, K), whose squared
    errors are summed over outputs. Points in a subspace determine w only there; it is 0 on inputs that are
    always 0.

    Assumes: nothing of f; of N, no biases and two layers.
    Reference: derived here from [ZSL25] Thm. 1.
    """
    x = real("x", x)
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"x must have shape (samples, dimensions), got {x.shape}.")
    odd = (_values(function, x) - _values(function, -x)) / 2
    # columns of equal size: a column in small units would fall below the cutoff of lstsq
    size = np.where(x.any(axis=0), np.abs(x).max(axis=0), 1.0)
    scaled = x / size
    linear = np.linalg.lstsq(scaled, odd, rcond=None)[0]
    with np.errstate(over="ignore"):
        squares = [np.sum(part**2) / len(x) for part in (odd - scaled @ linear, odd)]
    bound, energy = map(float, representable("the mean square of f", np.array(squares)))
    return Certificate(bound, linear.T / size, energy)


def _differences(
    a: Float[np.ndarray, "J D"], b: Float[np.ndarray, "J D"], v: Float[np.ndarray, "J"], leak: float
) -> Network:
    """Σ_j v_j[p_j(x) − p_j(−x)], p_j(x) = σ(σ(a_j·x) − σ(b_j·x)), as a network of three layers."""
    half = np.hstack([np.eye(len(v)), -np.eye(len(v))])
    first = np.vstack([a, b, -a, -b])
    second = np.kron(np.eye(2), half)
    return Network((first, second, np.concatenate([v, -v])[None]), leak=leak)


def _mismatch(one: np.ndarray, other: np.ndarray) -> float:
    size = max(np.abs(one).max(), np.abs(other).max())
    return float(np.abs(one - other).max() / size) if size > 0 else 0.0


def _points(network: Network, x: ArrayLike) -> Float[np.ndarray, "*P D"]:
    x = real("x", x)
    if x.ndim not in (1, 2) or x.shape[-1] != network.sizes[0] or x.size == 0:
        raise ValueError(f"x must have shape (samples, {network.sizes[0]}), got {x.shape}.")
    return x


def _values(function: Network | Callable[[Any], Any], x: Float[np.ndarray, "P D"]) -> np.ndarray:
    """function(x) with its output axis."""
    if not callable(function):
        raise ValueError(f"the function must be a network or a function of (samples, D), got {function!r}.")
    values = real("f(x)", function(x))
    if values.ndim not in (1, 2) or len(values) != len(x) or values.size == 0:
        raise ValueError(
            f"the function must return one value or row per sample, ({len(x)},) or ({len(x)}, K), "
            f"got shape {values.shape}."
        )
    return values.reshape(len(x), -1)
