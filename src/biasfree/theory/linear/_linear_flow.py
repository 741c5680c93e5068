"""Two-layer linear networks of any width and number of outputs: QQᵀ, Q = [W₁ᵀ; W₂], in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, increasing_times
from biasfree.data import Dataset, Population
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import LINEAR, NO_BIASES, TWO_LAYERS, WHITE, Hypothesis, check, result
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.theory.parts._moments import whiteness
from biasfree.trajectory import MapTrajectory, Stats

_EPS = float(np.finfo(float).eps)


def _imbalance(network: Network) -> tuple[float, float]:
    """λ and |W₂ᵀW₂ − W₁W₁ᵀ − λI|, both in units of |W₁|² + |W₂|²."""
    largest = max(np.abs(w).max() for w in network.weights) or 1.0  # squares of tiny weights underflow
    first, second = (w / largest for w in network.weights)
    size = np.sum(first**2) + np.sum(second**2) or 1.0
    difference = (second.T @ second - first @ first.T) / size
    lam = float(np.trace(difference)) / len(difference)
    lam = lam if abs(lam) > 8 * _EPS else 0.0  # rounding of balanced weights
    return lam, float(np.linalg.norm(difference - lam * np.eye(len(difference))))


LAMBDA_BALANCED = Hypothesis(
    "balance",
    "λ-balanced initial weights, W₂ᵀW₂ − W₁W₁ᵀ = λI",
    "|W₂ᵀW₂ − W₁W₁ᵀ − λI|/(|W₁|² + |W₂|²)",
    lambda network, _: _imbalance(network)[1] if network.depth == 2 else np.nan,
    "initialize with bf.networks.lambda_balanced (any λ, also 0), or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
ASSUMES = (NO_BIASES, TWO_LAYERS, LINEAR, WHITE, LAMBDA_BALANCED)


@public
@result("closed form of the map for linear networks of any number of outputs", lambda: ASSUMES)
def linear_flow(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> MapTrajectory:
    """Gradient flow of the square loss for a two-layer linear network of any width and number of outputs.

    In units √ν·W_l, with Q = [W₁ᵀ; W₂], λ of the initial weights and F = [[−λ/2·I, Σ_yxᵀ], [Σ_yx, λ/2·I]]:
    P = QQᵀ solves Ṗ = FP + PF − P²,  P(t) = e^{Ft}Q₀[I + Q₀ᵀ(∫₀ᵗe^{2Fs}ds)Q₀]⁻¹Q₀ᵀe^{Ft}.
    This is Z M⁻¹ Zᵀ of Braun et al. without the inverses of B and S that they need, for any width. The
    eigenvectors of F follow from Σ_yx = USVᵀ: eigenvalues f = ±√(s² + λ²/4), and −λ/2 (inputs) or λ/2
    (outputs) where there is no target. Q₀ is brought to triangular form by the rows of greatest weight, and
    every sum has scaled positive terms, so that nothing overflows. `ts` may end at infinity, where P = 2f and
    the map is Σ_yx/ν on the modes that the initial weights contain. From singular initial weights (det B = 0,
    to rounding) a mode of zero weight is never learned: the flow stops at a saddle. QQᵀ determines the map,
    W₁ᵀW₁ and W₂W₂ᵀ (`gram`), not the weights.

    Assumes: no biases, two layers, leak 1; Σ = νI (white_tolerance=1e-8); W₂ᵀW₂ − W₁W₁ᵀ = λI
    (balance_tolerance=1e-8, relative; λ is the mean of the diagonal), which needs a width of at most K for
    λ > 0 and at most D for λ < 0.
    Reference: Braun et al. (2022) Thm. 3.1 (λ = 0); Dominé et al. (2024) (λ ≠ 0); the stable form is derived
    here.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    nu = whiteness(data)
    d = data.dimensions
    lam = nu * _imbalance(network)[0] * float(np.sum(network.norms**2))
    axes, f = _eigenvectors(data.beta.reshape(data.outputs, d), lam)
    half = _root(axes, f, *_start(network, nu), ts)
    half[ts == np.inf] = half[ts == np.inf] @ (axes * (f > 0)) @ axes.T  # all other modes are exactly 0 there
    gram = half.mT @ half / nu
    maps = gram[:, d:, :d]
    stats = Stats(method="linear_flow", defects=defects)
    return MapTrajectory(ts, maps, linear_loss(maps, data, Square()), stats, gram)


def _start(network: Network, nu: float) -> tuple[Float[np.ndarray, "Q R"], float]:
    """Q₀ with the same Q₀Q₀ᵀ and independent columns, divided by its largest entry; and that entry."""
    q = np.concatenate([network.weights[0].T, network.weights[1]])
    largest = np.abs(q).max()
    if largest == 0:
        return q[:, :0], 1.0
    _, sizes, axes = np.linalg.svd(q / largest, full_matrices=False)
    rank = int(np.sum(sizes > max(q.shape) * _EPS * sizes[0]))
    return q / largest @ axes[:rank].T, float(largest * np.sqrt(nu))


def _eigenvectors(
    target: Float[np.ndarray, "K D"], lam: float
) -> tuple[Float[np.ndarray, "Q Q"], Float[np.ndarray, "Q"]]:
    """Eigenvectors, as columns, and eigenvalues f of F = [[−λ/2, Σ_yxᵀ], [Σ_yx, λ/2]], from the SVD of Σ_yx.

    (v cos θ, u sin θ) has f = √(s² + λ²/4), (−v sin θ, u cos θ) has −f; cos θ ≪ 1 for λ ≫ s.
    """
    u, s, vt = np.linalg.svd(target)
    k, d = target.shape
    m = len(s)
    v = vt.T
    s = np.where(s > max(k, d) * _EPS * s[0], s, 0.0)
    f = np.hypot(s, lam / 2)
    safe = np.where(f > 0, f, 1.0)  # at s = λ = 0 the angle is arbitrary
    large = np.sqrt((1 + abs(lam) / 2 / safe) / 2)
    small = np.where(f > 0, s / (2 * safe * large), large)
    cos, sin = (small, large) if lam > 0 else (large, small)
    inputs = np.concatenate([v[:, :m] * cos, -v[:, :m] * sin, v[:, m:], np.zeros((d, k - m))], axis=1)
    outputs = np.concatenate([u[:, :m] * sin, u[:, :m] * cos, np.zeros((k, d - m)), u[:, m:]], axis=1)
    alone = np.concatenate([np.full(d - m, -lam / 2), np.full(k - m, lam / 2)])
    return np.concatenate([inputs, outputs]), _merged(np.concatenate([f, -f, alone]))


def _merged(f: Float[np.ndarray, "Q"]) -> Float[np.ndarray, "Q"]:
    """f with values that differ by rounding made equal: over long times their difference would matter."""
    order = np.argsort(-f)
    near = -np.diff(f[order]) <= len(f) * _EPS * np.abs(f).max()
    first = np.maximum.accumulate(np.where(np.concatenate([[False], near]), 0, np.arange(len(f))))
    merged = np.empty_like(f)
    merged[order] = f[order][first]
    return merged


def _root(
    axes: Float[np.ndarray, "Q Q"],
    f: Float[np.ndarray, "Q"],
    q: Float[np.ndarray, "Q R"],
    size: float,
    ts: Float[np.ndarray, "T"],
) -> Float[np.ndarray, "T R Q"]:
    """N(t) with P = NᵀN, where Q₀ = size·q."""
    fastest = f.max()
    # by then the smallest difference that `_merged` left has had all its effect
    settled = min(1e6 / (len(f) * _EPS * fastest), 1e300) if fastest > 0 else 1e300
    t = np.minimum(ts, settled)
    found = np.empty((len(t), *q.T.shape))
    late = fastest * t > 1
    found[~late] = _early(axes, f, size * q, t[~late])
    found[late] = _late(f, axes.T @ q, np.log(size), t[late]) @ axes.T
    return found


def _early(
    axes: Float[np.ndarray, "Q Q"],
    f: Float[np.ndarray, "Q"],
    q: Float[np.ndarray, "Q R"],
    t: Float[np.ndarray, "T"],
) -> Float[np.ndarray, "T R Q"]:
    """While e^{Ft} is of order 1, as it stands. A block of Q₀ far smaller than the other keeps its digits."""
    y = axes.T @ q
    ft = (f * t[:, None])[:, :, None]
    weighted = np.sqrt(t)[:, None, None] * np.exp(_log_mean(ft) / 2) * y
    return _divided(q + axes @ (np.expm1(ft) * y), weighted, np.ones((len(t), q.shape[1])))


def _late(
    f: Float[np.ndarray, "Q"], y: Float[np.ndarray, "Q R"], log_size: float, t: Float[np.ndarray, "T"]
) -> Float[np.ndarray, "T R Q"]:
    """In coordinates along the eigenvectors, columns divided by their largest entry, growth as logarithms."""
    ft = (f * t[:, None])[:, :, None]
    log_weight = _log_mean(ft) / 2
    y = _triangular(y, log_weight[:, :, 0])
    with np.errstate(divide="ignore"):  # ln 0 = −∞ for the zeros of a triangle
        log_y = np.maximum(np.log(np.abs(y)), -1e300)
    # exponents of 1e6 and more are subtracted from one another before anything else is added
    top = np.argmax(log_y + log_weight, axis=1)[:, None]
    log_top = np.take_along_axis(log_weight, top, 1)
    log_peak = np.take_along_axis(log_y, top, 1)
    log_column = log_top + (log_peak + log_size + np.log(t)[:, None, None] / 2)
    weighted = np.sign(y) * np.exp((log_weight - log_top) + (log_y - log_peak) + np.minimum(log_column, 0.0))
    ratio = np.exp(ft - np.maximum(ft, 0.0) - _log_mean(-np.abs(ft)) / 2) / np.sqrt(t)[:, None, None]
    return _divided(ratio * weighted, weighted, np.exp(-np.maximum(log_column[:, 0], 0.0)))


def _divided(
    grown: Float[np.ndarray, "T Q R"], weighted: Float[np.ndarray, "T Q R"], ones: Float[np.ndarray, "T R"]
) -> Float[np.ndarray, "T R Q"]:
    """R⁻ᵀ·grownᵀ with RᵀR = ones² + weightedᵀ·weighted, the sum taken by QR, without squaring."""
    stack = np.concatenate([ones[:, :, None] * np.eye(ones.shape[1]), weighted], axis=1)
    r = np.asarray(np.linalg.qr(stack, mode="r"))
    return np.linalg.solve(r.mT, grown.mT)


def _log_mean(ft: np.ndarray) -> np.ndarray:
    """ln of (1/t)∫₀ᵗe^{2fs}ds = (e^{2ft} − 1)/(2ft), whose limit at ft = 0 is 0."""
    z = 2 * np.abs(ft)
    safe = np.where(z > 0, z, 1.0)
    return np.maximum(2 * ft, 0.0) + np.where(z > 0, np.log(-np.expm1(-safe) / safe), 0.0)


def _triangular(
    y: Float[np.ndarray, "Q R"], log_weight: Float[np.ndarray, "T Q"]
) -> Float[np.ndarray, "T Q R"]:
    """y times a rotation from the right at every time, so that column j is 0 on the rows chosen before it.

    Each chosen row has the greatest weight times remaining length, so that no entry of its column in the
    weighted matrix is larger, and the columns stay independent for any spread of weights. Lengths within
    rounding of 0 are set to 0: the exponentials would amplify them.
    """
    rest = np.repeat(y[None], len(log_weight), axis=0)
    times = np.arange(len(log_weight))
    noise = 4 * len(y) * _EPS * np.linalg.norm(y, axis=1).max(initial=0.0)
    found = np.zeros_like(rest)
    for j in range(y.shape[1]):
        length = np.linalg.norm(rest, axis=2)
        rest[length <= noise] = 0.0
        score = np.log(np.maximum(length, 1e-300)) + np.where(length > noise, log_weight, -1e30)
        chosen = np.argmax(score, axis=1)
        mirror = rest[times, chosen]
        mirror[:, 0] += np.where(mirror[:, 0] < 0, -1.0, 1.0) * np.linalg.norm(mirror, axis=1)
        size = np.sum(mirror**2, axis=1)
        mirror *= np.sqrt(2 / np.where(size > 0, size, 1.0))[:, None]
        rest -= (rest @ mirror[:, :, None]) * mirror[:, None, :]
        found[:, :, j] = rest[:, :, 0]
        rest = rest[:, :, 1:]
        rest[times, chosen] = 0.0
    return found
