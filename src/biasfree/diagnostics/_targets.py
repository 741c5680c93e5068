"""The linear, odd nonlinear and even shares of the targets, and the effect of centering and whitening."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from biasfree.arrays import compressed, generator, squared_distances, whole
from biasfree.data import Dataset, Population, center, whiten
from biasfree.diagnostics._mirror_test import mirror_inputs, sample_lines
from biasfree.theory import symmetry_defect
from biasfree.threads import load
from biasfree.ties import EPS, first_least, side, zeroed

_FOLDS = 5
_BANDWIDTHS = (0.5, 1.0, 2.0)  # multiples of the median distance
_ODD = (0.5, 0.1, 0.9)  # weights of the odd kernel; the even one has the rest; equal ones where all fit alike
_RIDGES = np.logspace(-6, 3, 10)
_TRIAL = 250  # training samples that choose bandwidth, weight and ridge
OVERLAP = 0.5  # correlation of odd and even predictions above which they are not identifiable


@dataclass(frozen=True)
class Part:
    """A share of ⟨y²⟩, its standard error, and how it was obtained.

    "exact": from mirror inputs. "estimate": cross-validated, with the standard error over the folds; it
    misses the part that the samples are too few to learn, so it is often too low. "not identifiable": below
    t₀.₉₅·error, so no better than predicting zero, or too correlated with the part of the other parity; its
    error is 0 to rounding where the linear map leaves nothing to predict.
    """

    value: float
    error: float
    identified: Literal["exact", "estimate", "not identifiable"]

    @property
    def known(self) -> float:
        """The value, or 0 if it is not identifiable."""
        return 0.0 if self.identified == "not identifiable" else self.value


@dataclass(frozen=True)
class Shares:
    """The shares of ⟨y²⟩ of one output, or of all outputs; NaN if y = 0."""

    linear: float
    """Explained by the best linear map, without intercept, on all samples."""
    odd: Part
    """Odd but not linear, which two bias-free layers cannot express."""
    even: Part
    """Even in x."""
    noise: float
    """The rest: if exact, the scatter of y at equal x; else it includes all that was not identified."""


@dataclass(frozen=True)
class TargetShares:
    """The shares of the targets, per output and in total."""

    outputs: tuple[Shares, ...]
    total: Shares
    samples: int
    """The number of samples used for the odd and even parts."""
    overlap: float
    """The correlation of the odd and the even prediction on held-out samples; 0 if the shares are exact."""


def target_shares(data: Dataset | Population, *, subsample: int = 2000, seed: int = 0) -> TargetShares:
    """The linear, odd nonlinear and even shares of ⟨y²⟩, and the rest.

    Of a `bf.data.Population` all shares are known, the noise among them, and no sample is used.

    If every sample has a mirror input, p(x) = p(−x), the shares follow from y_o = (y(x) − y(−x))/2 and
    y_e = (y(x) + y(−x))/2, with means over equal x; they are exact and sum to 1. Otherwise kernel ridge
    regression of y − w·x, with the odd and even kernels (k(x, x′) ∓ k(x, −x′))/2 of a Gaussian k, predicts
    held-out samples; the share of f_o, or f_e, is the reduction of their mean squared error over ⟨y²⟩.
    Leave-one-out errors on at most 250 training samples select bandwidth, ridge and the weights of the
    kernels. At most `subsample` samples, chosen at random, are used.

    Reference: [ZSL25] Thm. 1 (two layers are a linear map and an even part); the estimate is derived here.
    """
    subsample = whole("subsample", subsample)
    if isinstance(data, Population):
        return _of_population(data)
    rng, energy = generator(seed), np.mean(data.targets**2, axis=0)
    fitted = data.x @ np.linalg.lstsq(*compressed(data.x, data.targets), rcond=None)[0]
    linear = np.mean(fitted**2, axis=0)
    if mirror_inputs(data).share == 1:
        return _exact(data, fitted, energy, linear)
    chosen = rng.permutation(len(data))[:subsample]
    x, y = data.x[chosen], data.targets[chosen]
    if len(x) < 2 * _FOLDS:
        explained, overlap = np.full((2, _FOLDS, data.outputs), np.nan), np.nan
    else:
        explained, overlap = _held_out(x, y, np.array_split(np.arange(len(x)), _FOLDS), rng)
    shares = [
        _estimated(linear[k], explained[:, :, k], energy[k], overlap, len(x)) for k in range(data.outputs)
    ]
    total = _estimated(linear.sum(), explained.sum(axis=2), energy.sum(), overlap, len(x))
    return TargetShares(tuple(shares), total, len(x), float(overlap))


def _exact(data: Dataset, fitted: np.ndarray, energy: np.ndarray, linear: np.ndarray) -> TargetShares:
    lines, side = sample_lines(data.x)
    plus, minus = (_means(data.targets, lines, side == s)[lines] for s in (1, -1))
    zero = (side == 0)[:, None]
    even = np.where(zero, _means(data.targets, lines, side == 0)[lines], (plus + minus) / 2)
    odd = side[:, None] * (plus - minus) / 2
    parts = [np.mean(e**2, axis=0) for e in (odd - fitted, even, data.targets - odd - even)]
    every = np.array([linear, *parts])

    def shares(part: np.ndarray, energy: float) -> Shares:
        low, odd, even, noise = (float(v) for v in part / (energy or np.nan))
        return Shares(low, Part(odd, 0.0, "exact"), Part(even, 0.0, "exact"), noise)

    outputs = tuple(shares(part, e) for part, e in zip(every.T, energy, strict=True))
    return TargetShares(outputs, shares(every.sum(axis=1), energy.sum()), len(data), 0.0)


def _of_population(population: Population) -> TargetShares:
    energy, noise = population.mean_square or np.nan, population.noise**2
    linear = float(population.best_map @ population.beta)
    odd, even = population.odd_rest - noise, population.even_mean_square
    shares = Shares(
        linear / energy, Part(odd / energy, 0.0, "exact"), Part(even / energy, 0.0, "exact"), noise / energy
    )
    return TargetShares((shares,), shares, 0, 0.0)


def _means(y: np.ndarray, lines: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The mean target, per pair {x, −x}, of the samples `where`."""
    sums = np.zeros((lines.max() + 1, y.shape[1]))
    np.add.at(sums, lines[where], y[where])
    return sums / np.maximum(np.bincount(lines[where], minlength=len(sums)), 1)[:, None]


def _estimated(linear: float, explained: np.ndarray, energy: float, overlap: float, samples: int) -> Shares:
    odd, even = (_part(fold / (energy or np.nan), overlap, samples) for fold in explained)
    low = float(linear / (energy or np.nan))
    return Shares(low, odd, even, max(0.0, 1 - low - odd.known - even.known) if energy else np.nan)


def _part(shares: np.ndarray, overlap: float, samples: int) -> Part:
    stdtrit = load("scipy.special").stdtrit

    value, error = shares.mean(), shares.std(ddof=1) / np.sqrt(len(shares))
    seen = side(stdtrit(len(shares) - 1, 0.95) * error, value, terms=samples, size=1.0) < 0
    beats = seen and side(overlap, OVERLAP, terms=samples) <= 0
    return Part(float(value), float(error), "estimate" if beats else "not identifiable")


def _held_out(x: np.ndarray, y: np.ndarray, tests: list[np.ndarray], rng: np.random.Generator):
    """The reduction of the error on each fold by the odd and the even f, (2, folds, K); their correlation."""
    explained, predicted = np.empty((2, len(tests), y.shape[1])), []
    for i, test in enumerate(tests):
        train = np.setdiff1d(np.arange(len(x)), test)
        w = np.linalg.lstsq(x[train], y[train], rcond=None)[0]
        order = np.concatenate([test, train])
        odd, even = _ridge(x[train], _rest(x[train], y[train], x[train], y[train], w), x[order], rng)
        # the linear component of the odd part corrects the overfitted w; it is not an odd nonlinear part
        correction = np.linalg.lstsq(x[train], odd[len(test) :], rcond=None)[0]
        predicted.append((odd[: len(test)], even[: len(test)]))
        odd = _rest(x[train], odd[len(test) :], x[test], odd[: len(test)], correction)
        even = even[: len(test)]
        rest = y[test] - x[test] @ (w + correction) - odd - even
        explained[:, i] = [np.mean((rest + f) ** 2 - rest**2, axis=0) for f in (odd, even)]
    odd, even = (np.concatenate(f) for f in zip(*predicted, strict=True))
    size = np.linalg.norm(odd) * np.linalg.norm(even)
    return explained, abs(np.sum(odd * even)) / size if size > 0 else 0.0


def _rest(x: np.ndarray, f: np.ndarray, at: np.ndarray, there: np.ndarray, w: np.ndarray) -> np.ndarray:
    """f − w·x at other inputs, for w fitted to x and f; 0 where it is the rounding of that fit."""
    size = np.linalg.norm(x) * np.linalg.norm(w, axis=0) + np.linalg.norm(f, axis=0)
    return zeroed(there - at @ w, (len(x) + x.shape[1]) * EPS * size)


def _ridge(x: np.ndarray, e: np.ndarray, at: np.ndarray, rng: np.random.Generator):
    """The odd and the even part of the kernel ridge regression of e on x, evaluated at the inputs `at`."""
    solve = load("scipy.linalg").solve

    few = rng.permutation(len(x))[:_TRIAL]
    median = np.sqrt(np.median(squared_distances(x[few], x[few]))) or 1.0
    grid = [(h * median, odd) for h in _BANDWIDTHS for odd in _ODD]
    trials = [_leave_one_out(np.add(*_kernels(x[few], x[few], *both)), e[few]) for both in grid]
    best = first_least([error for error, _ in trials])
    ridge, (width, odd) = trials[best][1], grid[best]
    alpha = solve(np.add(*_kernels(x, x, width, odd)) + ridge * np.eye(len(x)), e, assume_a="pos")
    largest = np.abs(e).max(axis=0)  # clip predictions far from the training samples
    rounding = 2 * len(x) * EPS * np.sum(np.abs(alpha), axis=0)
    found = (zeroed(part @ alpha, rounding) for part in _kernels(at, x, width, odd))
    return tuple(np.clip(part, -largest, largest) for part in found)


def _leave_one_out(kernel: np.ndarray, e: np.ndarray) -> tuple[float, float]:
    """The smallest leave-one-out error over the ridges λ, relative per output, and that ridge.

    The error at sample i of the fit without it is α_i/((K + λ)⁻¹)_ii, α = (K + λ)⁻¹e.
    """
    values, vectors = np.linalg.eigh(kernel)
    rotated = vectors.T @ (e / np.where(e.any(axis=0), np.linalg.norm(e, axis=0), 1.0))
    errors = []
    for ridge in _RIDGES:
        inverse = 1 / (np.maximum(values, 0) + ridge)
        left_out = vectors @ (inverse[:, None] * rotated) / (vectors**2 @ inverse)[:, None]
        errors.append(np.sum(left_out**2))
    best = first_least(errors)
    return float(errors[best]), float(_RIDGES[best])


def _kernels(a: np.ndarray, b: np.ndarray, width: float, odd: float) -> tuple[np.ndarray, np.ndarray]:
    """k(a, b) ∓ k(a, −b), k = exp(−|a − b|²/2h²): the odd kernel times `odd`, the even times 1 − `odd`."""
    near, far = (np.exp(-squared_distances(a, c) / (2 * width**2)) for c in (b, -b))
    return odd * (near - far), (1 - odd) * (near + far)


@dataclass(frozen=True)
class Prepared:
    """The symmetry defect and the linear share of data after a transformation."""

    symmetry: float
    """The symmetry defect: a lower bound on the larger of T_x and T_y."""
    linear: float
    """The share of ⟨y²⟩, over all outputs, that the best linear map without intercept explains."""


@dataclass(frozen=True)
class Preparation:
    """The data as given, centered and whitened."""

    given: Prepared
    centered: Prepared
    """With x − ⟨x⟩ and y − ⟨y⟩."""
    whitened: Prepared | None
    """With Σ^{−1/2}x; None if Σ is singular."""
    condition: float
    """The condition number of Σ, infinite if it is singular to rounding."""
    offset: float
    """|⟨x⟩|/√⟨|x|²⟩, from 0 (centered) to 1 (all samples equal)."""


def preparation(data: Dataset) -> Preparation:
    """The symmetry defect and the linear share of data as given, centered, and whitened."""
    spread = np.linalg.svd(data.sigma, compute_uv=False)
    singular = spread[-1] <= spread[0] * max(data.x.shape) * np.finfo(float).eps
    size = np.sqrt(np.trace(data.sigma))
    return Preparation(
        given=_prepared(data),
        centered=_prepared(center(data, targets=True)),
        whitened=_prepared(white) if (white := _whitened(data)) is not None else None,
        condition=np.inf if singular else float(spread[0] / spread[-1]),
        offset=float(np.linalg.norm(data.x.mean(axis=0)) / size) if size > 0 else 0.0,
    )


def _whitened(data: Dataset) -> Dataset | None:
    try:
        return whiten(data)
    except ValueError:
        return None


def _prepared(data: Dataset) -> Prepared:
    residual = data.targets - data.x @ np.linalg.lstsq(*compressed(data.x, data.targets), rcond=None)[0]
    energy = np.sum(data.targets**2)
    return Prepared(symmetry_defect(data), float(1 - np.sum(residual**2) / energy) if energy else np.nan)
