"""Linear maps and a kernel machine, fitted to some samples and tested on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import squared_distances
from biasfree.diagnostics._mirror_test import sample_lines
from biasfree.diagnostics.advice._task import Difference, Score, Task
from biasfree.threads import load
from biasfree.ties import EPS, first_least, settled

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FEWEST = 20  # pairs {x, −x} of samples below which no comparison is made
_FOLDS = 5
_CROSS_VALIDATED = 4000  # samples above which one fifth is held out once
_LARGE = 2**20  # numbers in the inputs above which this is done for fewer samples, but more than
_FEW = 1000
_KERNEL = 2000  # samples of the kernel machine
_TRIAL = 250  # training samples that choose its bandwidth, scaling and ridge
_ADDITIVE = 32  # inputs up to which a sum of functions of one input is tried
_RIDGES = np.logspace(-8, 3, 12)
_STEPS = 100  # of L-BFGS
_PENALTIES = (10.0, 1.0, 0.1, 0.01)
_TRIALS = 1000  # samples that choose the penalty


@dataclass(frozen=True, eq=False)
class Competitors:
    """Scores on held-out samples; `tested` are the samples that were held out, once each."""

    tested: Int[np.ndarray, "T"]
    folds: int
    linear: Score
    """The best linear map without intercept."""
    affine: Score
    """The best linear map with intercept."""
    flexible: Score
    """A kernel machine, on a subset of these samples."""
    flexible_gain: Difference
    """The kernel machine minus the better linear map, both fitted to that subset."""
    flexible_samples: int
    fitted: int
    """The samples to which each linear map is fitted."""
    growth: float
    """What twice as many samples to fit to have added to the better linear map."""

    @property
    def best(self) -> Score:
        """The better of the two linear maps."""
        return self.affine if self.affine.value > self.linear.value else self.linear

    @property
    def intercept_gain(self) -> Difference:
        """What the intercept adds."""
        return self.affine.minus(self.linear)


def competitors(x: Float[np.ndarray, "P D"], task: Task, *, seed: int) -> Competitors | None:
    """The scores of the competitors; None where there are too few samples or nothing to learn."""
    groups = sample_lines(x)[0]
    if task.constant or len(np.unique(groups)) < FEWEST:
        return None
    z, task = _coordinates(x), replace(task, groups=groups)
    parts = folds(groups, seed)
    if len(x) > _CROSS_VALIDATED or (len(x) > _FEW and x.size > _LARGE):
        parts = parts[:1]
    penalty = _penalty(z, task, parts[0]) if task.is_classes else 0.0
    linear, affine = (held_out_linear(z, task, parts, penalty, intercept=one) for one in (False, True))
    tested = np.concatenate(parts)
    few = np.sort(np.random.default_rng([seed, 5]).permutation(len(x))[:_KERNEL])
    part, small = task.rows(few), [np.flatnonzero(np.isin(few, one)) for one in folds(groups, seed)]
    small = [one for one in small if len(one)]
    order = np.concatenate(small)
    flexible = part.rows(order).score(held_out_kernel(z[few], part, small, seed))
    same = len(few) == len(x) and len(parts) > 1
    plain = (
        max((linear, affine), key=lambda one: task.rows(tested).score(one).value)
        if same
        else held_out_linear(z[few], part, small, penalty, intercept=True)
    )
    scored = task.rows(tested)
    intercept = scored.score(affine).value > scored.score(linear).value
    fewer = scored.score(held_out_linear(z, task, parts, penalty, intercept=intercept, share=2))
    best = max(scored.score(linear).value, scored.score(affine).value)
    return Competitors(
        tested=tested,
        folds=len(parts),
        linear=scored.score(linear),
        affine=scored.score(affine),
        flexible=flexible,
        flexible_gain=flexible.minus(part.rows(order).score(plain)),
        flexible_samples=len(few),
        fitted=len(x) - len(parts[0]),
        growth=best - fewer.value,
    )


def folds(groups: Int[np.ndarray, "P"], seed: int, count: int = _FOLDS) -> list[Int[np.ndarray, "_"]]:
    """Samples in `count` parts at random; x and −x stay in one part, since one predicts the other."""
    names, index = np.unique(groups, return_inverse=True)
    part = np.random.default_rng([seed, 6]).permutation(len(names)) % count
    return [np.flatnonzero(part[index] == i) for i in range(count)]


def _coordinates(x: np.ndarray) -> np.ndarray:
    """x with columns of unit size; the root of the samples' inner products, where these are fewer."""
    size = np.sqrt(np.mean(x**2, axis=0))
    if x.shape[1] <= len(x):
        return x / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(x @ x.T / x.shape[1])
    kept = values > 1e-12 * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])) @ vectors[:, kept].T  # eigenvectors may not be unique
    return root * np.sqrt(len(x) / max(1, kept.sum()))


def held_out_linear(
    z: np.ndarray, task: Task, parts: list[np.ndarray], penalty: float, *, intercept: bool, share: int = 1
) -> Float[np.ndarray, "T K"]:
    """Predictions for each part of the linear map fitted to the other samples, one part after the other.

    `share=2` fits to every second one of them.
    """
    every, found = np.arange(len(z)), []
    for part in parts:
        train = np.setdiff1d(every, part)[::share]
        given = task.rows(train)
        if task.is_classes:
            found.append(_logistic(z[train], given, z[part], intercept, penalty))
        else:
            found.append(_ridge(z[train], given, z[part], intercept))
    return settled(np.concatenate(found), _size(task))


def _size(task: Task) -> float:
    """The size of predictions: logits and columns of 0 and 1 have size 1."""
    return 1.0 if task.is_classes else float(np.sqrt(task.spread))


def _penalty(z: np.ndarray, task: Task, held_out: np.ndarray) -> float:
    """The penalty with the least cross entropy on a fifth of the samples that are not held out first."""
    others = np.setdiff1d(np.arange(len(z)), held_out)
    few = np.random.default_rng(0).permutation(others)[:_TRIALS]
    test, train = np.split(few, [len(few) // 5])
    wanted, given = task.rows(test), task.rows(train)
    scores = [wanted.score(_logistic(z[train], given, z[test], True, penalty)) for penalty in _PENALTIES]
    return _PENALTIES[first_least([score.cross_entropy or 0.0 for score in scores])]


def _ridge(z: np.ndarray, task: Task, at: np.ndarray, intercept: bool) -> np.ndarray:
    """Predictions of ridge regression; generalized cross-validation chooses the ridge."""
    y = task.numbers
    assert y is not None
    center, offset = (z.mean(axis=0), y.mean(axis=0)) if intercept else (0.0, 0.0)
    rounding = len(z) * EPS * np.linalg.norm(z)  # of all inputs, before their mean is subtracted
    samples, z, y = len(z), z - center, y - offset
    if samples > 2 * (z.shape[1] + y.shape[1]):  # R of [z y] = QR has the singular values and fits of z and y
        z, y = np.split(np.linalg.qr(np.column_stack([z, y]), mode="r"), [z.shape[1]], axis=1)
    along, sizes, vectors = np.linalg.svd(z, full_matrices=False)
    kept = sizes > rounding
    along, sizes, vectors = along[:, kept], sizes[kept], vectors[kept].T
    if not kept.any():
        return np.zeros((len(at), y.shape[1])) + offset
    values, c = sizes**2, along.T @ y
    outside = np.sum((y - along @ c) ** 2)
    errors = []
    for ridge in _RIDGES * values[-1]:
        shrunk = ridge / (values + ridge)
        free = max(0, samples - intercept - len(values)) + np.sum(shrunk)
        left = outside + np.sum((shrunk[:, None] * c) ** 2)
        errors.append(left / free**2)
    ridge = _RIDGES[first_least(errors)] * values[-1]
    w = vectors @ (sizes[:, None] * c / (values + ridge)[:, None])
    return (at - center) @ w + offset


def _logistic(z: np.ndarray, task: Task, at: np.ndarray, intercept: bool, penalty: float) -> np.ndarray:
    """Logits of multinomial logistic regression, with `penalty`·|w|²/2 on the sum of the cross entropies."""
    minimize = load("scipy.optimize").minimize

    if intercept:  # a large constant column is nearly free of the penalty
        z, at = (np.column_stack([part, np.full(len(part), 10.0)]) for part in (z, at))
    y = task.one_hot
    shape = (z.shape[1], y.shape[1])

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(shape)
        f = z @ w
        f -= f.max(axis=1, keepdims=True)
        p = np.exp(f)
        total = p.sum(axis=1, keepdims=True)
        lost = np.sum(np.log(total)) - np.sum(f * y)
        slope = z.T @ (p / total - y) + penalty * w
        return (lost + penalty * np.sum(w**2) / 2) / len(z), slope.ravel() / len(z)

    found = minimize(
        objective, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": _STEPS, "gtol": 1e-4},
    )  # fmt: skip
    return at @ found.x.reshape(shape)


def held_out_kernel(
    z: np.ndarray, task: Task, parts: list[np.ndarray], seed: int
) -> Float[np.ndarray, "T K"]:
    """Predictions for each part of kernel ridge regression, with a Gaussian and a linear kernel.

    Classes are fitted as columns of 0 and 1, of which the largest predicts.
    """
    every, found = np.arange(len(z)), []
    y = task.one_hot if task.is_classes else task.numbers
    assert y is not None
    for part in parts:
        train = np.setdiff1d(every, part)
        offset = y[train].mean(axis=0)
        found.append(_kernel_ridge(z[train], y[train] - offset, z[part], seed) + offset)
    return settled(np.concatenate(found), _size(task))


def _kernel_ridge(z: np.ndarray, e: np.ndarray, at: np.ndarray, seed: int) -> np.ndarray:
    """Leave-one-out errors on a few training samples choose the kernel and the ridge."""
    solve = load("scipy.linalg").solve

    few = np.random.default_rng([seed, 7]).permutation(len(z))[:_TRIAL]
    grid = [_Kernel(z[few], h, linear) for h in (0.25, 1.0, 4.0) for linear in (0.0, 1.0)]
    if z.shape[1] <= _ADDITIVE:
        grid += [_Kernel(z[few], h, 1.0, additive=True) for h in (0.05, 0.3)]
    trials = [_leave_one_out(kernel(z[few], z[few]), e[few]) for kernel in grid]
    i = first_least([error for error, _ in trials])
    ridge = trials[i][1]
    alpha = solve(grid[i](z, z) + ridge * np.eye(len(z)), e, assume_a="pos", check_finite=False)
    return grid[i](at, z) @ alpha


class _Kernel:
    """A linear kernel times `linear` plus a Gaussian one, of all inputs together or the mean over each alone.

    `width` is relative to the median squared distance of the samples z.
    """

    def __init__(self, z: np.ndarray, width: float, linear: float, *, additive: bool = False):
        self._linear, self._additive = linear, additive
        if additive:
            self._scales = 2 * width * np.maximum(np.var(z, axis=0), 1e-12)
        else:
            self._scale = 2 * width * (float(np.median(squared_distances(z, z))) or 1.0)

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """k(a, b) for every pair of rows."""
        found = self._linear * (a @ b.T) / a.shape[1]
        if not self._additive:
            return found + np.exp(-squared_distances(a, b) / self._scale)
        for column, other, scale in zip(a.T, b.T, self._scales, strict=True):
            found += np.exp(-(np.subtract.outer(column, other) ** 2) / scale) / np.sqrt(a.shape[1])
        return found


def _leave_one_out(kernel: np.ndarray, e: np.ndarray) -> tuple[float, float]:
    """The least leave-one-out error over the ridges λ and that ridge: α_i/((K + λ)⁻¹)_ii, α = (K + λ)⁻¹e."""
    values, vectors = np.linalg.eigh(kernel)
    rotated, squares = vectors.T @ e, vectors**2
    ridges, errors = np.logspace(-6, 2, 9), []
    for ridge in ridges:
        inverse = 1 / (np.maximum(values, 0) + ridge)
        off = vectors @ (inverse[:, None] * rotated) / (squares @ inverse)[:, None]
        errors.append(float(np.sum(off**2)))
    best = first_least(errors)
    return errors[best], float(ridges[best])
