"""The hypotheses of the closed forms, each measured and refused by name where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset, mirror_pairs
from biasfree.networks import Network
from biasfree.theory.rank_one import RankOne

if TYPE_CHECKING:
    from jaxtyping import Float

_DIRECTIONS = 64


class AssumptionError(ValueError):
    """A closed form was asked about something its hypotheses do not cover."""

    def __init__(
        self,
        hypothesis: str,
        what: str,
        *,
        defect: float,
        tolerance: float,
        remedy: str,
        tolerated: str = "at most",
    ):
        self.hypothesis, self.defect, self.tolerance = hypothesis, float(defect), float(tolerance)
        super().__init__(
            f"{hypothesis} does not hold: {what} is {defect:.3g} "
            f"(tolerated: {tolerated} {tolerance:.3g}); {remedy}."
        )


def check_setting(network: Network, data: Dataset) -> None:
    """Two layers, one output, no biases, and data of the same dimension."""
    if network.depth != 2 or network.sizes[-1] != 1 or network.biases is not None:
        raise ValueError(
            f"this result is about two layers, one output and no biases, got {network!r}; "
            "use bf.gradient_flow for other networks."
        )
    if (data.dimensions, data.outputs) != (network.sizes[0], 1):
        raise ValueError(
            f"the network takes {network.sizes[0]} inputs and gives 1 output, but the data have "
            f"{data.dimensions} dimensions and {data.outputs} outputs; match their sizes."
        )


def check_symmetry(data: Dataset, *, tolerance: float = 1e-8) -> float:
    """Condition 3: p(x) = p(−x) and y(x) = −y(−x); returns the defect.

    Reference: [ZSL25] Condition 3 (TMLR 3).
    """
    if (defect := symmetry_defect(data)) > tolerance:
        raise AssumptionError(
            "Condition 3 (TMLR 3), symmetric data",
            "the symmetry defect of the data",
            defect=defect,
            tolerance=tolerance,
            remedy="add the mirror images with bf.data.symmetrize(data), or simulate with bf.gradient_flow",
        )
    return defect


def symmetry_defect(data: Dataset) -> float:
    """How far the data are from Condition 3, from 0 (exact mirror images) to 1.

    max over r of |⟨|r·x| x⟩| / ⟨|r·x| |x|⟩ and |⟨sgn(r·x) yx⟩| / ⟨|y| |x|⟩, the averages that a neuron of
    direction r sees. The maximum runs over β̄ and 64 fixed random directions, so this is a lower bound on
    the largest defect; it is exactly 0 when every sample has its mirror image.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10.
    """
    if mirror_pairs(data) is not None:
        return 0.0
    x, size = data.x, np.linalg.norm(data.x, axis=1)
    directions = np.vstack(
        [data.beta, np.random.default_rng(0).standard_normal((_DIRECTIONS, data.dimensions))]
    )
    along = x @ directions.T
    inputs = _ratio(np.linalg.norm(np.abs(along).T @ x, axis=1), np.abs(along).T @ size)
    targets = [
        _ratio(np.linalg.norm((np.sign(along) * y[:, None]).T @ x, axis=1), np.abs(y) @ size)
        for y in data.targets.T
    ]
    return float(np.max([inputs, *targets]))


def check_rank_one(network: Network, *, tolerance: float = 1e-8) -> RankOne:
    """Assumption 4: W₁ = W₂ᵀrᵀ with |r| = 1 and |W₂⁺| = |W₂⁻|; returns its parts.

    A linear network (leak 1) needs only the first half: its positive and negative neurons act alike.

    Reference: [ZSL25] Assumption 4 (TMLR 7).
    """
    name = "Assumption 4 (TMLR 7), W₁ = W₂ᵀrᵀ with |r| = 1 and |W₂⁺| = |W₂⁻|,"
    remedy = "use bf.theory.aligned(network, data) for a small random start, or bf.networks.rank_one"
    parts = RankOne.of(network)
    if (defect := parts.residual(network)) > tolerance:
        what = "the relative distance of W₁ from W₂ᵀrᵀ"
        raise AssumptionError(name, what, defect=defect, tolerance=tolerance, remedy=remedy)
    if network.leak < 1 and (defect := abs(parts.imbalance)) > tolerance:
        what = "(|W₂⁺|² − |W₂⁻|²)/|W₂|²"
        raise AssumptionError(name, what, defect=defect, tolerance=tolerance, remedy=remedy)
    return parts


def check_white(data: Dataset, *, tolerance: float = 1e-8) -> float:
    """Whiteness: Σ = νI, measured by |Σ − νI|₂/ν with ν = Tr Σ/D; returns ν.

    Reference: [ZSL25] Corollary 14, there with ν = 1.
    """
    nu = float(np.trace(data.sigma)) / data.dimensions
    if nu == 0:
        raise ValueError("every sample is x = 0, so there is nothing to learn; check the data.")
    defect = float(np.linalg.norm(data.sigma - nu * np.eye(data.dimensions), ord=2)) / nu
    if defect > tolerance:
        raise AssumptionError(
            "white input, Σ = νI (Corollary 14)",
            "|Σ − νI|/ν",
            defect=defect,
            tolerance=tolerance,
            remedy="whiten with bf.data.whiten(data), use bf.theory.reduced_flow (any Σ), or open tolerance=",
        )
    return nu


def check_off_hyperplane(data: Dataset, r: Float[np.ndarray, "D"], *, tolerance: float = 1e-12) -> float:
    """No sample on the neurons' hyperplane: min |r·x|/|x| over the samples x ≠ 0; returns that minimum.

    Checked at t = 0. A later crossing takes no time, because on symmetric data the flow is the same on both
    sides.

    Reference: [ZSL25] Lemma 10, where the half-space averages are Σ/2 and β/2 only off the hyperplane.
    """
    size = np.linalg.norm(data.x, axis=1)
    closest = float(np.min(np.abs(data.x @ r)[size > 0] / size[size > 0], initial=1.0))
    if closest <= tolerance:
        raise AssumptionError(
            "r·x ≠ 0 on the samples (Lemma 10)",
            "the smallest |r·x|/|x|",
            defect=closest,
            tolerance=tolerance,
            tolerated="above",
            remedy="turn r a little with bf.networks.rank_one, or simulate with bf.gradient_flow",
        )
    return closest


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top/bottom, 0 where there is nothing to compare."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
