"""The first step of descent: stable ranks from the closed form of the gradient, and their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.networks import Network, Span
from biasfree.theory import neighbors
from biasfree_papers.shared.sign_blocks import stable_ranks
from biasfree_papers.shared.trajectories import named
from biasfree_papers.types import Numbers


def one_step(start: Span, after: Network | None, step: float) -> Numbers:
    """Stable ranks of W₀, W₀ + ηG and G, their bounds, and the distance of `after` from W₀ + ηG."""
    inside, outer = start.network.weights[0], start.network.weights[1][0]
    gradient = neighbors.logistic_slope(start.network, start.data)
    moved = Network((inside + step * gradient, outer[None, :]), leak=start.network.leak)
    low, high = neighbors.step_rank_bounds(inside, step * gradient, rest=start.rest)
    found: dict[str, Any] = {
        "before": stable_ranks(start.gram(start.network), outer),
        "after": stable_ranks(start.gram(moved), outer),
        "gradient": stable_ranks(gradient @ gradient.T, outer),
        "ceiling": neighbors.gradient_rank_bound(start.network, start.data),
        "low": low,
        "high": high,
        "weight": step * _spectral(gradient) / np.hypot(np.linalg.norm(inside), np.linalg.norm(start.rest)),
    }
    if after is not None:
        error = np.linalg.norm(after.weights[0] - moved.weights[0]) / np.linalg.norm(moved.weights[0])
        found["error"] = error
    return named("first", {name: np.asarray(value) for name, value in found.items()})


def _spectral(w: np.ndarray) -> float:
    """|W|₂ by its smaller Gram matrix."""
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    return float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))
