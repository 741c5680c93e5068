"""What the stable rank of a sign block cannot pass: the mean number of neurons over those that are on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree.data import Dataset
from biasfree.diagnostics import stable_rank
from biasfree_papers.types import Numbers


def ceilings(outer: np.ndarray, gate: np.ndarray, data: Dataset, z: np.ndarray) -> Numbers:
    """Both sides of the bound for the blocks a > 0 and a < 0 of the shortest layer with margins z.

    On orthogonal inputs neuron h of the block has w_h·x_i/|x_i| = a_h y_i φ′_hi z_i/(A_i|x_i|), with
    A_i = Σ_h(a_hφ′_hi)². With all |a_h| equal, and gates that are 0 off the block's own samples or equal for
    all its neurons, the vector of ones gives |W|₂² ≥ Σ_i (Σ_h …)²/H: the stable rank is at most
    H Σ v_i/N_i / Σ v_i, N_i the neurons that are on and v_i = (z_i/|x_i|)² of the block's own samples.
    """
    size = np.linalg.norm(data.x, axis=1)
    strength = outer**2 @ gate**2
    found = {"ideal": [], "length": [], "ceiling": []}
    for sign in (1, -1):
        block, own = sign * outer > 0, sign * data.y > 0
        w = (outer[:, None] * gate * (data.y * z / (strength * size)))[block]
        found["ideal"].append(stable_rank(w))
        found["length"].append(np.linalg.norm(w))
        on, v = (gate[np.ix_(block, own)] == 1).sum(axis=0), (z[own] / size[own]) ** 2
        found["ceiling"].append(block.sum() * np.sum(v / np.maximum(on, 1)) / v.sum())
    return {name: np.array(values) for name, values in found.items()}


def drawn_ceilings(samples: int, widths: Sequence[int], seeds: np.ndarray) -> Numbers:
    """The stable rank of a ReLU block at the end, and its bound, for gates drawn with equal odds."""
    rows = []
    for width in widths:
        for seed in seeds:
            on = np.random.default_rng([int(seed), width]).integers(0, 2, size=(width, samples)) == 1
            on[0] |= ~on.any(axis=0)  # a sample that no neuron sees is not learnt
            count = on.sum(axis=0)
            rows.append([stable_rank(on / count), np.mean(width / count)])
    values = np.array(rows).reshape(len(widths), len(seeds), 2)
    return {"rank": values[..., 0], "ceiling": values[..., 1]}
