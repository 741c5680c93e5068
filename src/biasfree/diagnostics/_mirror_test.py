"""Are these data symmetric? Exact mirror images, the worst half-space, and what chance would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import generator, row_norms, whole
from biasfree.data import Dataset, mirror_pairs
from biasfree.theory.hypotheses._symmetry_defect import half_space_defect, random_subset, worst_half_spaces

if TYPE_CHECKING:
    from jaxtyping import Float, Int

_ROUNDING = 1e-12
_STEPS = 12


@dataclass(frozen=True)
class Mirrors:
    """Which samples have a mirror input −x among the samples, to rounding: |x + x′| ≤ 1e-12|x|.

    Samples are matched one to one, those at x = 0 with themselves; so evenness is a statement about the
    multiset of inputs, and `share` is 1 exactly where p(x) = p(−x).
    """

    first: Int[np.ndarray, "M"]
    """Samples whose mirror input is the sample `second`."""
    second: Int[np.ndarray, "M"]
    share: float
    """Evenness: the share of samples that have a mirror input."""
    mismatch: float
    """Oddness: the largest |y(x) + y(−x)|/max|y| over those samples, and NaN where there are none."""

    @property
    def exact(self) -> bool:
        """Condition 3 holds to rounding: p(x) = p(−x), y(x) = −y(−x)."""
        return self.share == 1 and self.mismatch <= _ROUNDING


@dataclass(frozen=True)
class Symmetry:
    """How far data are from Condition 3, where it shows, and how often symmetric chance does the same."""

    exact: bool
    """Condition 3 holds to rounding, every sample having its mirror image (−x, −y)."""
    evenness: float
    """The share of samples whose mirror input −x is among the samples: 1 where p(x) = p(−x)."""
    oddness: float
    """The largest |y(x) + y(−x)|/max|y| on those: 0 where y(x) = −y(−x), NaN where there are none."""
    inputs: float
    """T_x = ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂ of all samples at `witness_inputs`, from 0 to 1."""
    targets: float
    """T_y = |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ) of all samples at `witness_targets`, from 0 to 1."""
    witness_inputs: Float[np.ndarray, "D"] | None
    """The unit vector r of the worst half-space found; None for exact mirror images, where all r give 0."""
    witness_targets: Float[np.ndarray, "D"] | None
    p_inputs: float
    """The p-value of T_x against a symmetric distribution, (1 + #{T_b ≥ T})/(1 + B)."""
    p_targets: float
    p_value: float
    """The p-value of both together: of the larger of T_x and T_y, each standardised over data and flips."""
    samples: int
    """Samples that search and null distribution used."""
    flips: int
    searched: tuple[float, float]
    """T_x and T_y as the search found them on those samples: what the p-values compare with the null."""
    null_inputs: Float[np.ndarray, "B"]
    """T_x of every random flip; empty for exact mirror images, whose T = 0 no flip falls below."""
    null_targets: Float[np.ndarray, "B"]

    @property
    def defect(self) -> float:
        """The larger of T_x and T_y."""
        return max(self.inputs, self.targets)


def symmetry(
    data: Dataset, *, flips: int = 199, starts: int | None = None, subsample: int = 5000, seed: int = 0
) -> Symmetry:
    """How far data are from Condition 3, and whether samples of a symmetric distribution are as far.

    T_x = max_r ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂ and T_y = max_r |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ): exact for one and two
    dimensions, otherwise by local search from `starts` starts (8 to 32, fewer for larger data), a lower bound
    with its witness. The null distribution flips whole samples, (x, y) → (−x, −y), by fair coins and searches
    again in the same way, so p is uniform for independent samples of a symmetric distribution. A small p
    rejects such a distribution; data more symmetric than chance, such as mirrored ones, have p near 1. Above
    `subsample` samples (and two dimensions) search and null run on a random subset of that many, and the
    defects at the witnesses are those of all samples.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10; the test is derived here.
    """
    flips, subsample = whole("flips", flips), whole("subsample", subsample)
    rng, mirrors = generator(seed), mirror_inputs(data)
    if mirror_pairs(data) is not None:
        return _mirrored(data, flips)
    few = random_subset(data, subsample, seed=seed)
    starts = _starts(few) if starts is None else whole("starts", starts)
    signs = np.vstack([np.ones(len(few)), rng.choice([-1.0, 1.0], size=(flips, len(few)))])
    t_x, r_x = worst_half_spaces(few, "inputs", signs, starts=starts, steps=_STEPS, seed=seed)
    t_y, r_y = worst_half_spaces(few, "targets", signs, starts=starts, steps=_STEPS, seed=seed)
    return Symmetry(
        exact=mirrors.exact,
        evenness=mirrors.share,
        oddness=mirrors.mismatch,
        inputs=half_space_defect(data, r_x[0], "inputs"),
        targets=half_space_defect(data, r_y[0], "targets"),
        witness_inputs=r_x[0],
        witness_targets=r_y[0],
        p_inputs=_p_value(t_x),
        p_targets=_p_value(t_y),
        p_value=_p_value(np.maximum(_standard(t_x), _standard(t_y))),
        samples=len(few),
        flips=flips,
        searched=(float(t_x[0]), float(t_y[0])),
        null_inputs=t_x[1:],
        null_targets=t_y[1:],
    )


def _mirrored(data: Dataset, flips: int) -> Symmetry:
    none = np.empty(0)
    return Symmetry(
        True, 1.0, 0.0, 0.0, 0.0, None, None, 1.0, 1.0, 1.0, len(data), flips, (0.0, 0.0), none, none
    )  # fmt: skip


def _starts(data: Dataset) -> int:
    """As many as cost some seconds with 199 flips: small data have more local maxima, and cheap ones."""
    return int(np.clip(1_000_000 // data.x.size, 8, 32))


def _p_value(t: np.ndarray) -> float:
    """(1 + #{T_b ≥ T})/(1 + B), where T = t[0] and the rest are T_b; equal up to rounding counts as equal."""
    return float(np.mean(t >= t[0] - 1e-9 * np.abs(t).max()))


def _standard(t: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 over data and flips alike, so that they stay exchangeable."""
    spread = t.std()
    return (t - t.mean()) / spread if spread > 1e-9 * t.max() else np.full_like(t, -np.inf)


def mirror_inputs(data: Dataset) -> Mirrors:
    """Samples matched with their mirror inputs to rounding, and how far the targets there are from odd.

    Samples at the same x are matched in the order of their targets, so that the mismatch is 0 whenever the
    multisets {(x, y)} and {(−x, −y)} agree.

    Reference: [ZSL25] Condition 3 (TMLR 3), parts (1) and (2).
    """
    lines, side = sample_lines(data.x)
    zero = np.flatnonzero(side == 0)
    key = side * (data.targets @ _generic(data.outputs))
    order = np.lexsort((key, lines))
    plus, minus = order[side[order] > 0], order[side[order] < 0]
    both = np.minimum(_counts(lines[plus], lines), _counts(lines[minus], lines))
    first, second = (one[_rank(lines[one]) < both[lines[one]]] for one in (plus, minus))
    off = np.concatenate([data.targets[first] + data.targets[second], data.targets[zero]])
    size = np.abs(data.targets).max() or 1.0
    return Mirrors(
        first=first,
        second=second,
        share=(2 * len(first) + len(zero)) / len(data),
        mismatch=float(np.abs(off).max() / size) if len(off) else np.nan,
    )


def sample_lines(x: Float[np.ndarray, "P D"]) -> tuple[Int[np.ndarray, "P"], Float[np.ndarray, "P"]]:
    """A number for each pair {x, −x}, shared by the samples there to rounding, and on which end they are.

    The end is 0 for x = 0. Pairs are told apart by projections on fixed generic directions, each splitting
    what the last one left together where neighbours lie more than rounding apart; samples that end up
    together are then compared in full.
    """
    size = row_norms(x)
    side = np.sign(x @ _generic(x.shape[1])) * (size > 0)
    lines = np.zeros(len(x), dtype=np.int64)
    for seed in range(3):
        along = side * (x @ _generic(x.shape[1], seed))
        order = np.lexsort((along, lines))
        apart = np.diff(along[order]) > _ROUNDING * np.maximum(size[order][1:], size[order][:-1])
        new = np.concatenate([[0], np.cumsum(apart | (np.diff(lines[order]) > 0))])
        lines[order] = new
    first = np.full(lines.max() + 1, len(x))
    np.minimum.at(first, lines, np.arange(len(x)))
    return _verified(x, lines, side, first[lines], size), side


def _verified(x, lines, side, first, size):
    """Lines on which every sample agrees with the first of it; one that does not gets a line of its own."""
    other = np.flatnonzero(first != np.arange(len(x)))
    off = np.linalg.norm(side[other, None] * x[other] - side[first[other], None] * x[first[other]], axis=1)
    wrong = other[off > _ROUNDING * size[other]]
    lines[wrong] = lines.max() + 1 + np.arange(len(wrong))
    return lines


def _generic(d: int, seed: int = 0) -> np.ndarray:
    """A fixed direction that no data are likely to be orthogonal to."""
    g = np.random.default_rng([d, seed]).standard_normal(d)
    return g / np.linalg.norm(g)


def _counts(some: np.ndarray, lines: np.ndarray) -> np.ndarray:
    return np.bincount(some, minlength=lines.max() + 1)


def _rank(sorted_lines: np.ndarray) -> np.ndarray:
    """0, 1, 2, … within every run of equal numbers."""
    starts = np.flatnonzero(np.diff(sorted_lines, prepend=-1))
    return np.arange(len(sorted_lines)) - np.repeat(starts, np.diff(starts, append=len(sorted_lines)))
