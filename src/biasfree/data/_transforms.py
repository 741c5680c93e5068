"""Ways to make data symmetric or less so, white, or centred; mirror images stay exact wherever they can."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import blocks, compressed, filled, generator, non_negative
from biasfree.data._dataset import Dataset
from biasfree.data._mirror import mirror_pairs


def symmetrize(data: Dataset) -> Dataset:
    """The data and the mirror image (−x, −y) of every sample, which together satisfy Condition 3 exactly.

    Sample P + i is the mirror image of sample i. Σ and β do not change.

    Reference: [ZSL25] Condition 3; Lyu et al. (2021).
    """
    return Dataset(np.concatenate([data.x, -data.x]), np.concatenate([data.y, -data.y]))


def desymmetrize(data: Dataset, amount: float, *, seed: int = 0) -> Dataset:
    """Symmetric data, with the members of a fraction `amount` of the mirror pairs made independent in sign.

    Each member of a chosen pair becomes (x, y) or (−x, −y) by a fair coin of its own. At 0 the data are
    unchanged; at 1 all signs are independent, and the defect ⟨sgn(r·x)xxᵀ⟩ has the variance it has for P
    samples drawn independently; in between that variance is proportional to `amount`. Σ and β are unchanged
    to the last bit, and the target stays odd: only p(x) = p(−x) breaks. For one seed, a larger amount keeps
    every flip of a smaller one.

    Assumes: every sample has an exact mirror image (Condition 3).
    """
    amount = non_negative("amount", amount)
    if amount > 1:
        raise ValueError(f"amount must lie in [0, 1], got {amount}; 1 makes all signs independent.")
    pairs = mirror_pairs(data)
    if pairs is None:
        raise ValueError(
            "desymmetrize needs data in which every sample has an exact mirror image (-x, -y), "
            "and some have none; add them with bf.data.symmetrize(data) first."
        )
    rng, members = generator(seed), np.stack(pairs)
    order, coins = rng.permutation(members.shape[1]), rng.choice([-1.0, 1.0], size=members.shape)
    chosen = order[: round(amount * members.shape[1])]
    signs = np.ones(len(data))
    signs[members[:, chosen]] = coins[:, chosen]
    return Dataset(signs[:, None] * data.x, (signs * data.y.T).T)


def whiten(data: Dataset) -> Dataset:
    """White inputs x → Σ^{−1/2}x with the symmetric root, so that Σ = I; y is kept.

    Computed as √P·UVᵀ from the singular vectors of the inputs, X = USVᵀ, which is white to rounding however
    ill-conditioned Σ is. Of data with exact mirror images one half is whitened and mirrored: they stay exact.

    Assumes: Σ has full rank.
    """
    pairs = mirror_pairs(data)
    x = data.x if pairs is None else data.x[pairs[0]]
    length = np.sqrt(len(data) if pairs is None else len(data) / 2)
    few, _ = compressed(x, x[:, :0])
    u, s, vt = np.linalg.svd(few, full_matrices=False)
    rank = int((s > s.max(initial=0.0) * max(data.x.shape) * np.finfo(float).eps).sum())
    if rank < data.dimensions:
        raise ValueError(
            f"whiten needs a covariance of full rank, got rank {rank} in {data.dimensions} dimensions; "
            "add samples, or project x onto its leading singular vectors first."
        )

    def write(out: np.ndarray) -> None:
        white = out if pairs is None else np.empty_like(x)
        if few is x:
            white[...] = length * u @ vt
        else:
            _whitened(x, (vt.T / s) @ vt, length, white)
        if pairs is not None:
            out[...] = 0.0  # samples (0, 0), which have no partner
            out[pairs[0]], out[pairs[1]] = white, -white

    return Dataset(filled(data.x.shape, write), data.y)


def center(data: Dataset, *, targets: bool = False) -> Dataset:
    """Inputs of mean zero, x − ⟨x⟩; with `targets=True` also y − ⟨y⟩.

    Data with exact mirror images have mean zero already and are returned as they are.
    """
    if mirror_pairs(data) is not None:
        return data
    y = data.y - data.y.mean(axis=0) if targets else data.y
    mean = data.x.mean(axis=0)
    return Dataset(filled(data.x.shape, lambda x: np.subtract(data.x, mean, out=x)), y)


def _whitened(x: np.ndarray, root: np.ndarray, length: float, out: np.ndarray) -> None:
    """`length`·x·root into `out`, block by block, with root = (xᵀx)^{−1/2}.

    The columns of x·root are orthonormal to ε = 2.2e-16 times the condition number of x, which is at most
    1/(εP) at full rank; so their own inverse root is well-conditioned and makes them orthonormal to rounding.
    """
    for part in blocks(x):
        out[part] = x[part] @ root
    _, s, vt = np.linalg.svd(compressed(out, out[:, :0])[0], full_matrices=False)
    again = length * (vt.T / s) @ vt
    for part in blocks(x):
        out[part] = out[part] @ again
