"""Transformations that symmetrize, desymmetrize, whiten or center data; exact mirror pairs stay exact."""

from __future__ import annotations

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import blocks, compressed, filled, generator, non_negative
from biasfree.data._dataset import Dataset
from biasfree.data._mirror import mirror_pairs


@public
def symmetrize(data: Dataset) -> Dataset:
    """The data with the mirror image (−x, −y) of every sample added, which satisfy Condition 3 exactly.

    Sample P + i is the mirror image of sample i. Σ and β do not change.

    Reference: [ZSL25] Condition 3; Lyu et al. (2021).
    """
    return Dataset(np.concatenate([data.x, -data.x]), np.concatenate([data.y, -data.y]))


@public
def desymmetrize(data: Dataset, amount: float, *, seed: int = 0) -> Dataset:
    """Break the symmetry of a fraction `amount` of the mirror pairs, without changing Σ, β or the odd target.

    Each sample of a chosen pair becomes (x, y) or (−x, −y) with probability ½, independently. At 0 the data
    are unchanged; at 1 all signs are independent, and the defect ⟨sgn(r·x)xxᵀ⟩ has the variance of P
    independent samples; in between that variance is proportional to `amount`. Σ and β keep every bit; only
    p(x) = p(−x) breaks. For one seed, a larger amount keeps every flip of a smaller one.

    Assumes: every sample has an exact mirror image (Condition 3).
    """
    amount = non_negative("amount", amount)
    if amount > 1:
        raise ValueError(f"amount must lie in [0, 1], got {amount}; 1 makes all signs independent.")
    pairs = mirror_pairs(data)
    if pairs is None:
        raise ValueError(
            "desymmetrize needs data in which every sample has an exact mirror image (-x, -y), "
            "but some samples have none; add them with bf.data.symmetrize(data) first."
        )
    rng = generator(seed)
    samples = np.stack(pairs)
    order = rng.permutation(samples.shape[1])
    coins = rng.choice([-1.0, 1.0], size=samples.shape)
    chosen = order[: round(amount * samples.shape[1])]
    signs = np.ones(len(data))
    signs[samples[:, chosen]] = coins[:, chosen]
    return Dataset(signs[:, None] * data.x, (signs * data.y.T).T)


@public
def whiten(data: Dataset) -> Dataset:
    """White inputs x → Σ^{−1/2}x with the symmetric root, so that Σ = I; y is unchanged.

    Computed as √P·UVᵀ from the singular vectors of the inputs, X = USVᵀ, which is white to rounding for any
    condition number. Of exact mirror pairs one half is whitened and mirrored, so pairs stay exact.

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
            out[...] = 0.0  # samples (0, 0) are in no pair
            out[pairs[0]], out[pairs[1]] = white, -white

    return Dataset(filled(data.x.shape, write), data.y)


@public
def center(data: Dataset, *, targets: bool = False) -> Dataset:
    """Inputs of mean zero, x − ⟨x⟩; with `targets=True` also y − ⟨y⟩.

    Data that consist of exact mirror pairs have mean zero and are returned unchanged.
    """
    if mirror_pairs(data) is not None:
        return data
    y = data.y - data.y.mean(axis=0) if targets else data.y
    mean = data.x.mean(axis=0)
    return Dataset(filled(data.x.shape, lambda x: np.subtract(data.x, mean, out=x)), y)


def _whitened(x: np.ndarray, root: np.ndarray, length: float, out: np.ndarray) -> None:
    """Write `length`·x·root, root = (xᵀx)^{−1/2}, to `out` in blocks of rows.

    The columns of x·root are orthonormal to ε = 2.2e-16 times the condition number of x, which is at most
    1/(εP) at full rank. A second, well-conditioned pass makes them orthonormal to rounding.
    """
    for part in blocks(x):
        out[part] = x[part] @ root
    _, s, vt = np.linalg.svd(compressed(out, out[:, :0])[0], full_matrices=False)
    again = length * (vt.T / s) @ vt
    for part in blocks(x):
        out[part] = out[part] @ again
