"""Tests of the symmetry of data: exact mirror images, the worst half-space, and a randomization test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float, Int, generator, row_norms, whole
from biasfree.data import Dataset, mirror_pairs
from biasfree.theory import half_space_defect, random_subset, worst_half_spaces

_ROUNDING = 1e-12
_STEPS = 12


@dataclass(frozen=True)
class Mirrors:
    """Samples matched with a mirror input x′ ≈ −x among the samples, |x + x′| ≤ 1e-12|x|.

    Samples are matched one to one, those at x = 0 with themselves. `share` is 1 if and only if p(x) = p(−x).
    """

    share: float
    """The fraction of samples that have a mirror input."""
    mismatch: float
    """The largest |y(x) + y(−x)|/max|y| over the pairs: 0 for odd targets, NaN if there are no pairs."""

    @property
    def exact(self) -> bool:
        """Whether Condition 3 holds to rounding: p(x) = p(−x), y(x) = −y(−x)."""
        return self.share == 1 and self.mismatch <= _ROUNDING


@dataclass(frozen=True)
class Symmetry:
    """The defect of data from the symmetry condition (Condition 3), its location, and its p-value."""

    exact: bool
    """Whether every sample has its mirror image (−x, −y), to rounding."""
    evenness: float
    """The fraction of samples whose mirror input −x is among the samples: 1 if p(x) = p(−x)."""
    oddness: float
    """The largest |y(x) + y(−x)|/max|y| over these: 0 if y(x) = −y(−x), NaN if there are none."""
    inputs: float
    """T_x = ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂ of all samples at `witness_inputs`, from 0 to 1."""
    targets: float
    """T_y = |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ) of all samples at `witness_targets`, from 0 to 1."""
    witness_inputs: Float[np.ndarray, "D"] | None
    """The unit vector r of the worst half-space found for T_x; None for exact mirror images."""
    witness_targets: Float[np.ndarray, "D"] | None
    """The same for T_y."""
    p_inputs: float
    """The p-value of T_x against a symmetric distribution, (1 + #{T_b ≥ T})/(1 + B)."""
    p_targets: float
    """The p-value of T_y."""
    p_value: float
    """The joint p-value: of the larger of T_x and T_y, each standardized over data and flips."""
    samples: int
    """The number of samples used for the search and the null distribution."""
    searched: tuple[float, float]
    """T_x and T_y that the search found on these samples; the p-values compare them with the null."""
    null_inputs: Float[np.ndarray, "B"]
    """T_x of every random flip; empty for exact mirror images."""
    null_targets: Float[np.ndarray, "B"]
    """T_y of every random flip."""
    copies: int = 1
    """How often the data repeat themselves: the test uses one copy."""
    repeated: int = 0
    """The number of samples of that copy that equal an earlier one; they count as independent."""

    @property
    def defect(self) -> float:
        """The larger of T_x and T_y."""
        return max(self.inputs, self.targets)


def symmetry(
    data: Dataset,
    *,
    flips: int = 199,
    starts: int | None = None,
    subsample: int = 5000,
    seed: int = 0,
) -> Symmetry:
    """Measure the symmetry defect of data (Condition 3), and test it against symmetric distributions.

    T_x = max_r ‖⟨sgn(r·x)xxᵀ⟩‖₂/‖Σ‖₂ and T_y = max_r |⟨sgn(r·x)yxᵀ⟩|/√(⟨|y|²⟩TrΣ). The maximum is exact in
    one and two dimensions; otherwise a local search from `starts` directions (8 to 32, fewer for larger
    data) gives a lower bound. The null distribution flips each sample, (x, y) → (−x, −y), with probability ½
    and repeats the search, so p is uniform for independent samples of a symmetric distribution. Of data that
    are n copies of one set, one is tested; other repeated samples count as independent, and where they are
    copies p is too small. A small p rejects such a distribution; data more symmetric than chance, such as
    mirrored data, have p near 1. In more than two dimensions, at most `subsample` randomly chosen samples
    enter the search and the null distribution; the defects at the directions found use all samples.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10; the test is derived here.
    """
    flips, subsample = whole("flips", flips), whole("subsample", subsample)
    rng, mirrors = generator(seed), mirror_inputs(data)
    if mirror_pairs(data) is not None:
        none = np.empty(0)
        p_values = (1.0, 1.0, 1.0)
        return Symmetry(True, 1.0, 0.0, 0.0, 0.0, None, None, *p_values, len(data), (0.0, 0.0), none, none)
    once, copies = _one_copy(data)
    few = random_subset(once, subsample, seed=seed)
    usual = int(np.clip(1_000_000 // few.x.size, 8, 32))  # some seconds with 199 flips
    starts = usual if starts is None else whole("starts", starts)
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
        searched=(float(t_x[0]), float(t_y[0])),
        null_inputs=t_x[1:],
        null_targets=t_y[1:],
        copies=copies,
        repeated=len(few) - len(np.unique(_equal_samples(few))),
    )


def _p_value(t: np.ndarray) -> float:
    """(1 + #{T_b ≥ T})/(1 + B), where T = t[0] and the rest are T_b; equal up to rounding counts as equal."""
    return float(np.mean(t >= t[0] - 1e-9 * np.abs(t).max()))


def _standard(t: np.ndarray) -> np.ndarray:
    """Values standardized over data and flips together, so that they stay exchangeable."""
    spread = t.std()
    return (t - t.mean()) / spread if spread > 1e-9 * t.max() else np.full_like(t, -np.inf)


def mirror_inputs(data: Dataset) -> Mirrors:
    """Match samples with their mirror inputs, to rounding, and measure how far their targets are from odd.

    Samples at the same x are matched in the order of their targets, so the mismatch is 0 whenever the
    multisets {(x, y)} and {(−x, −y)} agree.

    Reference: [ZSL25] Condition 3 (TMLR 3), parts (1) and (2).
    """
    lines, side = sample_lines(data.x)
    zero = np.flatnonzero(side == 0)
    key = side * (data.targets @ _generic(data.outputs))
    order = np.lexsort((key, lines))
    plus, minus = order[side[order] > 0], order[side[order] < 0]
    both = np.min([np.bincount(lines[one], minlength=lines.max() + 1) for one in (plus, minus)], axis=0)
    first, second = (one[_rank(lines[one]) < both[lines[one]]] for one in (plus, minus))
    off = np.concatenate([data.targets[first] + data.targets[second], data.targets[zero]])
    size = np.abs(data.targets).max() or 1.0
    return Mirrors(
        share=(2 * len(first) + len(zero)) / len(data),
        mismatch=float(np.abs(off).max() / size) if len(off) else np.nan,
    )


def _one_copy(data: Dataset) -> tuple[Dataset, int]:
    """The data without the copies of all of them, and how many copies there are."""
    index = _equal_samples(data)
    copies = int(np.gcd.reduce(np.bincount(index)))
    if copies == 1:
        return data, 1
    order = np.argsort(index, kind="stable")
    kept = np.sort(order[_rank(index[order]) < (np.bincount(index) // copies)[index[order]]])
    return Dataset(data.x[kept], data.y[kept]), copies


def _equal_samples(data: Dataset) -> Int[np.ndarray, "P"]:
    """An index per sample (x, y), equal for samples that agree to rounding."""
    x, y = (a / (np.abs(a).max() or 1.0) for a in (data.x, data.targets))
    lines, side = sample_lines(np.column_stack([x, y]))
    return np.unique(3 * lines + side.astype(np.int64), return_inverse=True)[1]


def sample_lines(x: Float[np.ndarray, "P D"]) -> tuple[Int[np.ndarray, "P"], Float[np.ndarray, "P"]]:
    """An index per pair {x, −x}, equal for samples that agree to rounding, and the side (±1) of each sample.

    The side is 0 for x = 0. Samples are sorted by projections on fixed generic directions; each projection
    splits groups at gaps larger than rounding. The samples of a group are then compared in full.
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
    """The indices, with a new one for each sample that differs from the first sample of its group."""
    other = np.flatnonzero(first != np.arange(len(x)))
    off = np.linalg.norm(side[other, None] * x[other] - side[first[other], None] * x[first[other]], axis=1)
    wrong = other[off > _ROUNDING * size[other]]
    lines[wrong] = lines.max() + 1 + np.arange(len(wrong))
    return lines


def _generic(d: int, seed: int = 0) -> np.ndarray:
    """A fixed random direction: no data are likely to be orthogonal to it."""
    g = np.random.default_rng([d, seed]).standard_normal(d)
    return g / np.linalg.norm(g)


def _rank(sorted_lines: np.ndarray) -> np.ndarray:
    """The position 0, 1, 2, … of each entry within its run of equal numbers."""
    starts = np.flatnonzero(np.diff(sorted_lines, prepend=-1))
    return np.arange(len(sorted_lines)) - np.repeat(starts, np.diff(starts, append=len(sorted_lines)))
