"""Deep linear networks aligned with their task: one equation per singular value, for any depth."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import Float, generator, increasing_times, real, whole
from biasfree.data import Dataset, Population
from biasfree.losses import Square
from biasfree.networks import Network
from biasfree.theory.hypotheses import LINEAR, NO_BIASES, WHITE, Hypothesis, check, result
from biasfree.theory.linear._mode_course import log_course
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.theory.parts._moments import whiteness
from biasfree.trajectory import Factored, Stats, Trajectory


def _aligned_parts(
    network: Network, data: Dataset | Population
) -> tuple[list[np.ndarray], Float[np.ndarray, "M"], Float[np.ndarray, "M"]]:
    """Frames V = R_0, R_1, …, R_L = U, the strengths per layer and s, for the modes present in the network.

    U and V come from the SVD of Σ_yx plus a multiple of the map: if both are aligned, they are ambiguous only
    among modes that are equal in both.
    """
    beta = data.beta.reshape(data.outputs, -1)
    product = reduce(lambda w, below: w @ below, [_unit(w) for w in network.weights[::-1]])
    u, _, vt = np.linalg.svd(_unit(beta) + _unit(product) / np.sqrt(2), full_matrices=False)
    first = network.weights[0]
    strengths = np.linalg.norm(_unit(first) @ vt.T, axis=0) * np.abs(first).max()
    present = (strengths > max(beta.shape) * np.finfo(float).eps * strengths.max()) | (network.depth == 1)
    frames = [vt[present].T]
    for w in network.weights[:-1]:
        image = _unit(w) @ frames[-1]
        size = np.linalg.norm(image, axis=0)
        frames.append(image / np.where(size > 0, size, 1.0))
    s = np.einsum("ki,kd,id->i", u, beta, vt)
    return [*frames, u[:, present]], strengths[present], s[present]


def _unit(w: Float[np.ndarray, "_ _"]) -> Float[np.ndarray, "_ _"]:
    """w over its largest entry, so that no product underflows."""
    return w / (np.abs(w).max() or 1.0)


def _alignment_defect(network: Network, data: Dataset | Population) -> float:
    """The largest of the defects of the layers, of Σ_yx on the modes present, and of the frames."""
    frames, strengths, s = _aligned_parts(network, data)
    beta = data.beta.reshape(data.outputs, -1)
    u = frames[-1]
    v = frames[0]
    layers = [f * strengths @ below.T for below, f in pairwise(frames)]
    away = [_relative(w - layer, w) for w, layer in zip(network.weights, layers, strict=True)]
    away.append(_relative(beta @ v - u * np.maximum(s, 0), beta))
    away.append(_relative(u.T @ beta - np.maximum(s, 0)[:, None] * v.T, beta))
    away += [float(np.linalg.norm(r.T @ r - np.eye(r.shape[1]))) for r in frames]
    return max(away)


def _relative(difference: np.ndarray, whole: np.ndarray) -> float:
    """|difference|/|whole|, without underflow; infinite where the whole is zero and the difference is not."""
    largest = np.abs(whole).max()
    if largest == 0:
        return np.inf if difference.any() else 0.0
    return float(np.linalg.norm(difference / largest) / np.linalg.norm(whole / largest))


ALIGNED = Hypothesis(
    "aligned",
    "layers aligned with Σ_yx = USVᵀ, W_l = R_l A^{1/L} R_{l−1}ᵀ, R_0 = V, R_L = U,",
    "the relative distance from that form",
    _alignment_defect,
    "initialize with bf.theory.aligned_modes, use bf.theory.linear_flow (two layers), "
    "or simulate with bf.gradient_flow",
    tolerance=1e-8,
)
ASSUMES = (NO_BIASES, LINEAR, WHITE, ALIGNED)


@public
@result("one equation per mode for aligned linear networks of any depth", lambda: ASSUMES)
def modes_flow(
    network: Network, data: Dataset | Population, ts: ArrayLike, **tolerances: float
) -> Trajectory:
    """Gradient flow of the square loss for a linear network of any depth whose layers are aligned.

    W_l(t) = R_l A(t)^{1/L} R_{l−1}ᵀ with R_0 = V, R_L = U of Σ_yx = USVᵀ and R_1, …, R_{L−1} fixed, so that
    W_L⋯W_1 = U A Vᵀ; each ν·a is `mode_course` of s at the time ν^{2/L−1}t. Modes of initial strength 0
    stay there (L ≥ 2). `ts` may end at infinity.

    Assumes: no biases, leak 1; Σ = νI (white_tolerance=1e-8); aligned layers of equal strengths
    (aligned_tolerance=1e-8).
    Reference: Saxe et al. (2014); ν derived here.
    """
    ts = increasing_times(ts, infinite=True)
    defects = check(ASSUMES, network, data, tolerances)
    frames, strengths, s = _aligned_parts(network, data)
    nu = whiteness(data)
    depth = network.depth
    with np.errstate(divide="ignore"):  # strength 0: such a mode is learned by a single layer only
        log_starts = depth * np.log(strengths) + np.log(nu)
    times = nu ** (2 / depth - 1) * ts
    courses = [log_course(a, max(b, 0.0), times, depth) for a, b in zip(log_starts, s, strict=True)]
    log_a = np.array(courses).reshape(-1, len(ts)).T[:, None, :] - np.log(nu)
    maps = frames[-1] * np.exp(log_a) @ frames[0].T
    layer = np.exp(log_a / depth)
    weights = Factored(*(((f * layer), below.T[None]) for below, f in pairwise(frames)))
    loss = linear_loss(maps, data, Square())
    stats = Stats(method="modes_flow", defects=defects)
    return Trajectory(ts, weights, loss, loss, leak=1.0, stats=stats, linear=maps)


@public
def aligned_modes(
    data: Dataset | Population, *, width: int, depth: int, strengths: ArrayLike, seed: int = 0
) -> Network:
    """A linear network of `depth` layers aligned with Σ_yx = USVᵀ, whose modes have the given `strengths`.

    W_l = R_l A^{1/L} R_{l−1}ᵀ, R_0 = V, R_L = U, the others random frames: W_L⋯W_1 = U A Vᵀ. `strengths` are
    those of the modes of largest s, in order, and 0 for the rest; one number is for all modes.

    Reference: Saxe et al. (2014).
    """
    depth = whole("depth", depth)
    rng = generator(seed)
    u, _, vt = np.linalg.svd(data.beta.reshape(data.outputs, -1), full_matrices=False)
    most = len(vt) if depth == 1 else min(len(vt), whole("width", width))
    a = real("strengths", strengths)
    a = np.full(most, a) if a.ndim == 0 else a
    if a.ndim != 1 or not 1 <= len(a) <= most or (a < 0).any():
        raise ValueError(
            f"strengths must be one number or 1 to {most} of them (the sizes allow no more modes), "
            f"none negative, got {strengths!r}."
        )
    middle = [np.linalg.qr(rng.normal(size=(width, len(a))))[0] for _ in range(depth - 1)]
    frames = [vt[: len(a)].T, *middle, u[:, : len(a)]]
    layers = (f * a ** (1 / depth) @ below.T for below, f in pairwise(frames))
    return Network(tuple(layers), leak=1.0)
