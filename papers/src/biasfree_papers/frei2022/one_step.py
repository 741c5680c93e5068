"""One step of descent from the closed form of the gradient, and what norms alone say of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree import diagnostics, theory
from biasfree.networks import Network, Span
from biasfree_papers.shared.sign_blocks import stable_ranks
from biasfree_papers.shared.trajectories import named
from biasfree_papers.types import Numbers


def one_step(start: Span, after: Network | None, step: float) -> Numbers:
    """Stable ranks before and after W₁ = W₀ + ηG, of G alone, bounds, and how far `after` is from it."""
    inside, outer = start.network.weights[0], start.network.weights[1][0]
    gradient = theory.neighbors.logistic_slope(start.network, start.data)
    moved = Network((inside + step * gradient, outer[None, :]), leak=start.network.leak)
    low, high = bounds(inside, start.rest, step * gradient)
    found: dict[str, Any] = {
        "before": stable_ranks(start.gram(start.network), outer),
        "after": stable_ranks(start.gram(moved), outer),
        "gradient": stable_ranks(gradient @ gradient.T, outer),
        "ceiling": ceiling(start),
        "low": low,
        "high": high,
        "weight": step * _largest(gradient) / np.hypot(np.linalg.norm(inside), np.linalg.norm(start.rest)),
    }
    if after is not None:
        error = np.linalg.norm(after.weights[0] - moved.weights[0]) / np.linalg.norm(moved.weights[0])
        found["error"] = error
    return named("first", {name: np.asarray(value) for name, value in found.items()})


def bounds(inside: np.ndarray, rest: np.ndarray, move: np.ndarray) -> tuple[float, float]:
    """Between what the stable rank after a step lies, by norms of W₀ in the span and off it, and of ηG.

    The rest R is orthogonal to what moves, V: W₁W₁ᵀ = VVᵀ + RRᵀ, so |W₁|_F² = |V|_F² + |R|_F² and
    max(|V|₂², |R|₂²) ≤ |W₁|₂² ≤ |V|₂² + |R|₂², while every norm of V = V₀ + ηG is between |η|G| − |V₀||
    and η|G| + |V₀|.
    """
    (v, v2), (r, r2), (g, g2) = ((np.linalg.norm(w), _largest(w)) for w in (inside, rest, move))
    low = ((g - v) ** 2 + r**2) / ((g2 + v2) ** 2 + r2**2)
    high = ((g + v) ** 2 + r**2) / max((g2 - v2) ** 2, r2**2)
    return float(low), float(min(high, min(move.shape[0], move.shape[1] + rest.shape[1])))


def ceiling(start: Span) -> float:
    """What the stable rank of the gradient cannot pass on inputs with ε = n·max|x_i·x_j|/min|x_i|² < 1.

    G has rows a_h Σ_i c_i φ′_hi x_i and |Σ c_i x_i|² is within a share ε of Σ c_i²|x_i|². So |G|_F² is at
    most (1 + ε)Σ_i A_i c_i²|x_i|², A_i = Σ_h(a_hφ′_hi)², and |aᵀG|²/|a|² at least (1 − ε)Σ_i κ_i² c_i²|x_i|²,
    κ_i = Σ_h a_h²φ′_hi/|a|. For any gates the ratio is (1 + ε)/(1 − ε) times `any_gates` or less; infinity
    for ε ≥ 1.
    """
    network, data = start.network, start.data
    off, squares = diagnostics.near_orthogonality(data), network.weights[1][0] ** 2
    gate = np.where(theory.activation_patterns(network, data.x)[0], 1.0, network.leak)
    z = diagnostics.margins(network, data).values
    weights = np.sum(data.x**2, axis=1) / (1 + np.exp(z)) ** 2
    strength, along = gate**2 @ squares, gate @ squares / np.sqrt(squares.sum())
    bound = (weights @ strength) / (weights @ along**2)
    return float(bound * (1 + off) / (1 - off)) if off < 1 else np.inf


def any_gates(leak: np.ndarray) -> np.ndarray:
    """(1 + α)²/4α, what A_i/κ_i² cannot pass for any gates.

    It is ⟨φ′²⟩/⟨φ′⟩², averaged over neurons with weights a_h². (φ′ − α)(φ′ − 1) = 0 gives ⟨φ′²⟩ =
    (1 + α)m − α with m = ⟨φ′⟩, and ((1 + α)m − α)/m² is largest at m = 2α/(1 + α).
    """
    return (1 + leak) ** 2 / (4 * leak)


def _largest(w: np.ndarray) -> float:
    """|W|₂ by its smaller Gram matrix."""
    gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    return float(np.sqrt(np.linalg.eigvalsh(gram)[-1]))
