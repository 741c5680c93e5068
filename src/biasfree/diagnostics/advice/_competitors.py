"""Linear maps and a kernel machine, fitted to some samples and tested on others."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass, replace

import numpy as np

from biasfree.arrays import Float, Int, squared_distances
from biasfree.diagnostics._mirror_test import sample_lines
from biasfree.diagnostics.advice._task import Difference, Score, Task
from biasfree.threads import load
from biasfree.ties import first_least, settled

FEWEST = 20  # pairs {x, −x} of samples below which no comparison is made
_FOLDS = 5
_CROSS_VALIDATED = 4000  # samples above which one fifth is held out once
_LARGE = 2**20  # numbers in the inputs above which this is done for fewer samples, but more than
_FEW = 1000
_KERNEL = 2000  # samples of the kernel machine
_TRIAL = 250  # training samples that choose its bandwidth, scaling and ridge
_ADDITIVE = 32  # inputs up to which a sum of functions of one input is tried
_RIDGES = np.logspace(-8, 3, 12)  # per sample, for inputs of variance 1
_KERNEL_RIDGES = np.logspace(-6, 2, 9)
_STEPS = 100  # of L-BFGS
_PENALTIES = (10.0, 1.0, 0.1, 0.01)
_TRIALS = 1000  # samples that choose the penalty
MISSING = "needs scikit-learn, which is not installed; run pip install 'biasfree[diagnose]'."


def installed() -> bool:
    """Whether scikit-learn, the extra `diagnose`, is there."""
    return importlib.util.find_spec("sklearn") is not None


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
    every = folds(groups, seed)
    once = len(x) > _CROSS_VALIDATED or (len(x) > _FEW and x.size > _LARGE)
    parts = every[:1] if once else every
    penalty = _penalty(z, task, parts[0]) if task.is_classes else 0.0
    tested = np.concatenate(parts)
    scored = task.rows(tested)
    linear, affine = (
        scored.score(_held_out_linear(z, task, parts, penalty, intercept=one)) for one in (False, True)
    )
    intercept = affine.value > linear.value
    best = affine if intercept else linear
    fewer = scored.score(_held_out_linear(z, task, parts, penalty, intercept=intercept, share=2))
    few = np.sort(np.random.default_rng([seed, 5]).permutation(len(x))[:_KERNEL])
    some = task.rows(few)
    small = [part for part in (np.flatnonzero(np.isin(few, one)) for one in every) if len(part)]
    there = some.rows(np.concatenate(small))
    flexible = there.score(_held_out_kernel(z[few], some, small, seed))
    plain = best
    if once or len(few) < len(x):
        plain = there.score(_held_out_linear(z[few], some, small, penalty, intercept=True))
    return Competitors(
        tested=tested,
        folds=len(parts),
        linear=linear,
        affine=affine,
        flexible=flexible,
        flexible_gain=flexible.minus(plain),
        flexible_samples=len(few),
        fitted=len(x) - len(parts[0]),
        growth=best.value - fewer.value,
    )


def folds(groups: Int[np.ndarray, "P"], seed: int, count: int = _FOLDS) -> list[Int[np.ndarray, "_"]]:
    """Samples in `count` parts at random; x and −x stay in one part, since one predicts the other."""
    names, index = np.unique(groups, return_inverse=True)
    part = np.random.default_rng([seed, 6]).permutation(len(names)) % count
    return [np.flatnonzero(part[index] == i) for i in range(count)]


def _coordinates(x: np.ndarray) -> np.ndarray:
    """x with columns of unit variance; the root of the samples' inner products, where these are fewer."""
    z = load("sklearn.preprocessing").StandardScaler(with_mean=False).fit_transform(x)
    if z.shape[1] <= len(z):
        return z
    values, vectors = np.linalg.eigh(z @ z.T / z.shape[1])
    kept = values > 1e-12 * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept])) @ vectors[:, kept].T  # eigenvectors may not be unique
    return root * np.sqrt(len(z) / max(1, kept.sum()))


def _held_out_linear(
    z: np.ndarray, task: Task, parts: list[np.ndarray], penalty: float, *, intercept: bool, share: int = 1
) -> Float[np.ndarray, "T K"]:
    """Predictions for each part of the linear map fitted to the other samples, one part after the other.

    `share=2` fits to every second one of them.
    """
    every, found = np.arange(len(z)), []
    z = z - z.mean(axis=0) if intercept else z  # the same maps, better conditioned
    for part in parts:
        train = np.setdiff1d(every, part)[::share]
        fit = _logistic if task.is_classes else _ridge
        found.append(fit(z[train], task.rows(train), z[part], intercept, penalty))
    return settled(np.concatenate(found), _size(task))


def _size(task: Task) -> float:
    """The size of predictions: logits and columns of 0 and 1 have size 1."""
    return 1.0 if task.is_classes else float(np.sqrt(task.spread))


def _penalty(z: np.ndarray, task: Task, held_out: np.ndarray) -> float:
    """The penalty with the least cross entropy on a fifth of the samples that are not held out first."""
    others = np.setdiff1d(np.arange(len(z)), held_out)
    few = np.random.default_rng(0).permutation(others)[:_TRIALS]
    test, train = np.split(few, [len(few) // 5])
    z = z - z.mean(axis=0)
    wanted, given = task.rows(test), task.rows(train)
    scores = [wanted.score(_logistic(z[train], given, z[test], True, penalty)) for penalty in _PENALTIES]
    return _PENALTIES[first_least([score.cross_entropy or 0.0 for score in scores])]


def _ridge(z: np.ndarray, task: Task, at: np.ndarray, intercept: bool, _: float) -> np.ndarray:
    """Predictions of ridge regression; leave-one-out errors choose the ridge."""
    ridge = load("sklearn.linear_model").RidgeCV(len(z) * _RIDGES, fit_intercept=intercept)
    return ridge.fit(z, task.numbers).predict(at).reshape(len(at), -1)


def _logistic(z: np.ndarray, task: Task, at: np.ndarray, intercept: bool, penalty: float) -> np.ndarray:
    """Logits of multinomial logistic regression; a class without samples is the least likely."""
    assert task.classes is not None
    assert task.labels is not None
    present, labels = np.unique(task.labels, return_inverse=True)
    found = np.zeros((len(at), 1))
    if len(present) > 1:
        model = load("sklearn.linear_model").LogisticRegression(
            C=1 / penalty, fit_intercept=intercept, max_iter=_STEPS
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", load("sklearn.exceptions").ConvergenceWarning)
            found = model.fit(z, labels).decision_function(at).reshape(len(at), -1)
    if len(present) == 2:
        found = np.hstack([-found, found]) / 2
    logits = np.repeat(found.min(axis=1, keepdims=True) - 1, len(task.classes), axis=1)
    logits[:, present] = found
    return logits


def _held_out_kernel(
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
        center = z[train].mean(axis=0)
        found.append(_kernel_ridge(z[train] - center, y[train] - offset, z[part] - center, seed) + offset)
    return settled(np.concatenate(found), _size(task))


def _kernel_ridge(z: np.ndarray, e: np.ndarray, at: np.ndarray, seed: int) -> np.ndarray:
    """Leave-one-out errors on a few training samples choose the kernel and the ridge."""
    few = np.random.default_rng([seed, 7]).permutation(len(z))[:_TRIAL]
    median = float(np.median(squared_distances(z[few], z[few]))) or 1.0
    grid = [(width * median, linear) for width in (0.25, 1.0, 4.0) for linear in (0.0, 1.0)]
    if z.shape[1] <= _ADDITIVE:
        spread = np.maximum(np.var(z[few], axis=0), 1e-12)
        grid += [(width * spread, 1.0) for width in (0.05, 0.3)]
    trials = [_leave_one_out(_kernel(z[few], z[few], *one), e[few]) for one in grid]
    best = first_least([error for error, _ in trials])
    machine = load("sklearn.kernel_ridge").KernelRidge(alpha=trials[best][1], kernel="precomputed")
    return machine.fit(_kernel(z, z, *grid[best]), e).predict(_kernel(at, z, *grid[best]))


def _kernel(a: np.ndarray, b: np.ndarray, width: float | np.ndarray, linear: float) -> np.ndarray:
    """A linear kernel times `linear` plus a Gaussian one, of all inputs or, with one width each, of each."""
    found = linear * (a @ b.T) / a.shape[1]
    if np.ndim(width) == 0:
        return found + np.exp(-squared_distances(a, b) / (2 * width))
    for column, other, one in zip(a.T, b.T, np.asarray(width), strict=True):
        found += np.exp(-(np.subtract.outer(column, other) ** 2) / (2 * one)) / np.sqrt(a.shape[1])
    return found


def _leave_one_out(kernel: np.ndarray, e: np.ndarray) -> tuple[float, float]:
    """The least leave-one-out error of kernel ridge regression over the ridges, and that ridge.

    It is the ridge regression on a root of the kernel, which is positive but for rounding.
    """
    root = np.linalg.cholesky(kernel + 1e-8 * np.mean(np.diag(kernel)) * np.eye(len(kernel)))
    ridge = load("sklearn.linear_model").RidgeCV(_KERNEL_RIDGES, fit_intercept=False, gcv_mode="eigen")
    ridge.fit(root, e)
    return -ridge.best_score_, ridge.alpha_
