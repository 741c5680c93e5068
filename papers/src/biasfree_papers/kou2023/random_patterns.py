"""ReLU blocks with random activation patterns: their stable rank and its bound, by width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biasfree.diagnostics import stable_rank
from biasfree_papers.types import Numbers


def random_blocks(samples: int, widths: Sequence[int], seeds: np.ndarray) -> Numbers:
    """Stable rank and bound, (widths, seeds), of blocks whose neurons are active with probability ½.

    Of `bf.theory.neighbors.sign_block_ranks` for equal margins and lengths: w_hi ∝ φ′_hi/N_i, N_i neurons
    active on sample i, and the bound is the mean of H/N_i.
    """
    rows = []
    for width in widths:
        for seed in seeds:
            on = np.random.default_rng([int(seed), width]).integers(0, 2, size=(width, samples)) == 1
            on[0] |= ~on.any(axis=0)  # a sample on which no neuron is active is never learned
            count = on.sum(axis=0)
            rows.append([stable_rank(on / count), np.mean(width / count)])
    values = np.array(rows).reshape(len(widths), len(seeds), 2)
    return {"rank": values[..., 0], "ceiling": values[..., 1]}
