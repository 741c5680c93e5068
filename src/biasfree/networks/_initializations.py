"""Random initializations of networks, as in the papers.

`sizes` are (D, width, …, K) from inputs to outputs. The same `seed` always gives the same network.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import affordable, finite, generator, positive, whole
from biasfree.networks._network import Network


@public
def gaussian(sizes: Sequence[int], *, scale: float, leak: float = 0.0, seed: int = 0) -> Network:
    """Independent Gaussian weights, every layer of norm about `scale`.

    Layer l is i.i.d. N(0, scale²/N_l), N_l the number of its weights, so |W_l|_F ≈ scale.

    Reference: [ZSL25] App. G of the first version.
    """
    scale = positive("scale", scale)
    rng = generator(seed)
    return Network(
        tuple(rng.normal(size=s) * (scale / np.sqrt(s[0] * s[1])) for s in _shapes(sizes)), leak=leak
    )


@public
def balanced(sizes: Sequence[int], *, scale: float, leak: float = 0.0, seed: int = 0) -> Network:
    """Gaussian weights with incoming and outgoing weights of equal norm for every hidden neuron.

    |row h of W_l| = |column h of W_{l+1}|, for two layers |w_h| = |a_h|: gradient flow of a (leaky) ReLU
    network of any depth conserves the difference of the squares. W_1 is that of `gaussian`; later layers have
    Gaussian columns, rescaled, so all layers have the norm of W_1, about `scale`.

    Assumes: at least one hidden layer.
    Reference: Du et al. (2018); Boursier et al. (2022).
    """
    weights = list(gaussian(sizes, scale=scale, seed=seed).weights)
    if len(weights) < 2:
        raise ValueError(f"balanced needs at least one hidden layer, got sizes {tuple(sizes)}.")
    for i in range(1, len(weights)):
        incoming = np.linalg.norm(weights[i - 1], axis=1)
        outgoing = np.linalg.norm(weights[i], axis=0)
        weights[i] = weights[i] / outgoing * incoming
    return Network(tuple(weights), leak=leak)


@public
def opposite(sizes: Sequence[int], *, scale: float, leak: float = 0.0, seed: int = 0) -> Network:
    """Two layers of Gaussian neurons (w, a), each paired with its opposite (−w, −a); layers of norm `scale`.

    A pair is linear, a·σ(w·x) − a·σ(−w·x) = (1+α)·a·w·x, so the network has no even part. On symmetric data
    pairs stay pairs: the equivalence of Thm. 5 holds at any width and scale, for flow and for descent. The
    first half of the neurons is drawn as by `gaussian` at scale/√2, the second half are their opposites.

    Assumes: two layers; an even width.
    Reference: derived here; compare [ZSL25] Thm. 5 (TMLR 8).
    """
    scale, (d, h, k) = positive("scale", scale), _two_layers(sizes, "opposite")
    if h % 2:
        raise ValueError(f"the width must be even, since neurons come in opposite pairs, got {h}.")
    first, second = gaussian((d, h // 2, k), scale=scale / np.sqrt(2), seed=seed).weights
    return Network((np.vstack([first, -first]), np.hstack([second, -second])), leak=leak)


@public
def lambda_balanced(sizes: Sequence[int], *, scale: float, balance: float, seed: int = 0) -> Network:
    """Two linear layers with W_2ᵀW_2 − W_1W_1ᵀ = λI, λ = `balance`, and random singular vectors.

    W_1 = R S_1 Vᵀ and W_2 = U S_2 Rᵀ with S_2² − S_1² = λI. The smaller layer (W_1 for λ > 0) has norm
    `scale` and singular values |N(0,1)|, rescaled; the squared norm of the other is scale² + |λ|·width.

    Assumes: two layers; width ≤ K for λ > 0 and width ≤ D for λ < 0, any width for λ = 0.
    Reference: Dominé et al. (2024); Braun et al. (2022) for λ = 0.
    """
    d, h, k = _two_layers(sizes, "lambda_balanced")
    lam = finite("balance", balance)
    scale = positive("scale", scale)
    rng = generator(seed)
    _check_width(d, h, k, lam)
    affordable(f"the singular vectors of width {h}", h * h)
    small = np.zeros(h)
    drawn = np.abs(rng.normal(size=min(d, h, k)))
    small[: len(drawn)] = scale * drawn / np.linalg.norm(drawn)
    large = np.sqrt(small**2 + abs(lam))
    s1, s2 = (small, large) if lam > 0 else (large, small)
    r = _frame(rng, h, h)
    v = _frame(rng, d, min(d, h))
    u = _frame(rng, k, min(k, h))
    w1 = (r * s1)[:, : v.shape[1]] @ v.T
    w2 = u @ (r * s2)[:, : u.shape[1]].T
    return Network((w1, w2), leak=1.0)


@public
def xavier(
    sizes: Sequence[int], *, factor: float = 1.0, leak: float = 0.0, seed: int = 0, signs: bool = False
) -> Network:
    """Independent Gaussian weights of standard deviation factor·√(2/(inputs + outputs)) in every layer.

    With `signs=True` the last layer is ±1/√width, alternating, for any factor: the second layer that Frei et
    al. keep fixed while the first is trained, `train=(True, False)`.

    Reference: Glorot & Bengio (2010); Frei et al. (2022), experiments.
    """
    factor = positive("factor", factor)
    rng = generator(seed)
    weights = [rng.normal(size=s) * (factor * np.sqrt(2 / sum(s))) for s in _shapes(sizes)]
    if signs:
        if len(weights) < 2 or len(weights[-1]) != 1:
            raise ValueError(f"signs=True needs a hidden layer and one output, got sizes {tuple(sizes)}.")
        width = weights[-1].shape[1]
        weights[-1] = np.where(np.arange(width) % 2, -1.0, 1.0)[None, :] / np.sqrt(width)
    return Network(tuple(weights), leak=leak)


def _shapes(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """(outputs, inputs) of every layer."""
    if not isinstance(sizes, Sequence | np.ndarray) or getattr(sizes, "ndim", 1) == 0 or len(sizes) < 2:
        raise ValueError(f"sizes must be (inputs, width, …, outputs), at least two numbers, got {sizes!r}.")
    counts = [whole(f"sizes[{i}]", size) for i, size in enumerate(sizes)]
    shapes = list(zip(counts[1:], counts, strict=False))
    affordable(f"the weights of sizes {tuple(counts)}", sum(h * d for h, d in shapes))
    return shapes


def _two_layers(sizes: Sequence[int], name: str) -> tuple[int, int, int]:
    shapes = _shapes(sizes)
    if len(shapes) != 2:
        raise ValueError(f"{name} needs two layers, sizes (inputs, width, outputs), got {tuple(sizes)}.")
    return shapes[0][1], shapes[0][0], shapes[1][0]


def _check_width(d: int, h: int, k: int, lam: float) -> None:
    side, limit, named = ("above", k, "outputs") if lam > 0 else ("below", d, "inputs")
    if lam and h > limit:
        raise ValueError(
            f"balance {side} 0 needs a width of at most {limit}, the number of {named}, got {h}; "
            "decrease the width or use balance=0."
        )


def _frame(rng: np.random.Generator, n: int, m: int) -> np.ndarray:
    """m ≤ n random orthonormal columns in n dimensions."""
    return np.linalg.qr(rng.normal(size=(n, m)))[0]
