"""The half of a deep network that learns first, from weights so small that the other half waits longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biasfree import networks
from biasfree.networks import Network
from biasfree_papers.conjecture.inputs import KINDS, even_task
from biasfree_papers.settings import seeds_of
from biasfree_papers.shared.loss_levels import fall
from biasfree_papers.shared.trajectories import stacked
from biasfree_papers.types import Numbers, Report

#: Where the first half has learned: half of the loss of a linear target is gone, but for a hundredth.
LEARNED = (0.99, 0.505)
#: Networks of so many layers and more are followed to their first half only.
LEAST_DEPTH = 4


def first_halves(settings: Mapping[str, Any], report: Report) -> Numbers:
    """Every kind of inputs and every seed with a linear target, from the smallest scale."""
    scale, rows = settings["half_scale"], []
    for depth in settings["depths"]:
        for kind in KINDS if depth >= LEAST_DEPTH else ():
            report(f"{depth} layers, {kind} inputs, γ = {scale:g}: the first half")
            for seed in map(int, seeds_of(settings)):
                data = even_task(kind, "linear", settings["samples"], settings["dimensions"], seed=seed)
                sizes = (settings["dimensions"], *(settings["width"],) * (depth - 1), 1)
                start = networks.gaussian(sizes, scale=scale, seed=seed)
                found = fall(start, data, end=settings["end"], rtol=settings["rtol"], levels=LEARNED)
                rows.append({"kind": kind, "depth": depth, "seed": seed, "stopped": found.stopped})
                rows[-1] |= {"reached": found.reached, "error": found.error, "drift": found.drift}
                rows[-1] |= {
                    "end": found.ts[-1],
                    "events": found.events,
                    "distance": half_distance(found.networks[-1]),
                }
                rows[-1]["kept"] = scale / _size(found.networks[-1])
    return stacked(rows) if rows else {}


def half_distance(network: Network) -> float:
    """√(Σ|W_l − Ŵ_l|²/Σ|W_l|²) from one half of Eq. 40, the block of one sign: an upper bound of the least.

    Ŵ₁ = u p₁rᵀ, Ŵ_l = u p_l p_{l−1}ᵀ, Ŵ_L = ±u p_{L−1}ᵀ with unit vectors p_l ≥ 0. They are taken from the
    leading singular vectors of the layers, whose entries of the other sign are left out.
    """
    *hidden, last = network.weights
    r = np.linalg.svd(hidden[0], full_matrices=False)[2][0]
    p = [_of_one_sign(np.linalg.svd(w, full_matrices=False)[0][:, 0]) for w in hidden]
    r = r * np.sign(p[0] @ hidden[0] @ r)
    fitted = [np.outer(a, b) for a, b in zip(p, [r, *p], strict=False)]
    fitted.append(np.sign(last @ p[-1]) * p[-1][None])
    u = _size(network)
    gap = sum(np.sum((w - u * v) ** 2) for w, v in zip(network.weights, fitted, strict=True))
    return float(np.sqrt(gap / np.sum(network.norms**2)))


def _of_one_sign(v: np.ndarray) -> np.ndarray:
    """The larger of the two parts of one sign, as a unit vector with entries ≥ 0."""
    parts = np.maximum(v, 0), np.maximum(-v, 0)
    larger = max(parts, key=np.linalg.norm)
    return larger / np.linalg.norm(larger)


def _size(network: Network) -> float:
    """u, u² the mean of |W_l|²."""
    return float(np.sqrt(np.mean(network.norms**2)))
