"""The data of the gallery, each with what is known: whether nonlinear models do better than linear maps."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import datasets, ensemble, kernel_ridge, linear_model, svm
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True, eq=False)
class Task:
    """Samples to train on, other samples to diagnose on, and what is known.

    `fresh` are many more samples where the law is known; for real data they are the samples to diagnose on.
    `pays` says whether a nonlinear model does better; None if that is measured.
    """

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    fresh: tuple[np.ndarray, np.ndarray]
    why: str
    pays: bool | None = None
    classes: int = 0
    mirrored: bool = False

    @cached_property
    def known(self) -> bool:
        """Whether a nonlinear model does better."""
        return measured(self) if self.pays is None else self.pays

    @cached_property
    def linear(self):
        """The hits of a linear map with an intercept, fitted by scikit-learn to the training samples."""
        x, y = self.fresh
        fitted = _linear(self.classes).fit(flat(self.x), flat(self.y))
        return hits(fitted.predict(flat(x)), y, self.classes)

    @property
    def outputs(self) -> int:
        """The number of outputs of a model."""
        return self.classes or int(np.prod(self.y.shape[1:]))


def flat(values):
    """One row per sample, and one number where there is one."""
    return values if values.ndim == 1 else values.reshape(len(values), -1)


def hits(found, y, classes):
    """Per sample: right or not for classes, 1 − |y − f|²/variance for numbers."""
    if classes:
        return (found == y).astype(float)
    y, found = y.reshape(len(y), -1), found.reshape(len(y), -1)
    return 1 - np.sum((y - found) ** 2, axis=1) / np.sum(np.var(y, axis=0))


def measured(task):
    """Whether a kernel machine or a forest of scikit-learn beats a linear model by three standard errors.

    Every sample is tested once, by models fitted to the other four fifths.
    """
    x, y = (flat(np.concatenate(pair)) for pair in ((task.x, task.test_x), (task.y, task.test_y)))
    folds = PredefinedSplit(np.random.default_rng(1).permutation(len(x)) % 5)
    line, *others = (
        hits(cross_val_predict(model, x, y, cv=folds), y, task.classes)
        for model in (_linear(task.classes), *_nonlinear(task.classes, task.outputs))
    )
    gains = np.array(others) - line
    gain, error = gains.mean(axis=1), gains.std(axis=1) / np.sqrt(len(x))
    return bool(np.any((gain > 3 * error) & (gain > 0.005)))


def _linear(classes):
    ridge = linear_model.RidgeCV(np.logspace(-3, 3, 13))
    return make_pipeline(
        StandardScaler(), linear_model.LogisticRegression(max_iter=500) if classes else ridge
    )


def _nonlinear(classes, outputs):
    kernel = svm.SVC(C=5.0) if classes else kernel_ridge.KernelRidge(kernel="rbf")
    scaled = make_pipeline(StandardScaler(), kernel)
    forest = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
    return (scaled,) if outputs > 20 else (scaled, forest(50, random_state=0))  # minutes for many outputs


def real(x, y, *, classes=0, why="real data: measured with scikit-learn's models"):
    """Real data with standardized inputs, and targets if they are numbers; half to train on."""
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], y[order]
    half = len(x) // 2
    x = (x - x[:half].mean(axis=0)) / np.maximum(x[:half].std(axis=0), 1e-6)
    y = y if classes else (y - y[:half].mean(axis=0)) / y[:half].std(axis=0)
    rest = x[half:], y[half:]
    return Task(x[:half], y[:half], *rest, rest, why, classes=classes)


def made(law, why, *, pays, classes=0, d=6, samples=600, fresh=6000, seed=0, mirrored=False):
    """Gaussian inputs and the targets that a law gives them; `mirrored` adds (−x, −y) to each sample."""
    rng = np.random.default_rng(seed)

    def sample(n):
        x = rng.normal(size=(n, d))
        y = law(x, rng)
        if not mirrored:
            return x, y
        other = classes - 1 - y if classes else -y
        return np.concatenate([x, -x]), np.concatenate([y, other])

    (x, y), (test_x, test_y), more = sample(samples), sample(samples), sample(fresh)
    return Task(x, y, test_x, test_y, more, why, pays, classes, mirrored)


def stored(load):
    """A set that scikit-learn holds."""
    x, y = load(return_X_y=True)
    return real(x, y, classes=0 if load is datasets.load_diabetes else len(np.unique(y)))


def _slope(d=6):
    return np.random.default_rng(7).normal(size=d) / np.sqrt(d)


def _noisy(x, rng, size=0.1):
    return x @ _slope() + size * rng.normal(size=len(x))


#: Law → targets, what is known of them, whether a nonlinear model does better, number of classes.
LAWS = {
    "linear": (_noisy, "y = w·x + noise", False, 0),
    "offset": (lambda x, rng: 1.5 + _noisy(x, rng), "y = 1.5 + w·x + noise", False, 0),
    "odd": (
        lambda x, _: x @ _slope() + np.sin(3 * x @ _slope()),
        "y = w·x + sin(3w·x): odd, which two layers without biases cannot fit", True, 0,
    ),
    "even": (lambda x, _: np.abs(x @ _slope()) - 0.5, "y = |w·x| − ½: even", True, 0),
    "XOR": (lambda x, _: (x[:, 0] * x[:, 1] > 0).astype(int), "the sign of x₁x₂: even", True, 2),
    "threshold": (
        lambda x, rng: (_noisy(x, rng, 0.3) > 0).astype(int),
        "the sign of w·x + noise: a linear map is the best classifier", False, 2,
    ),
    "noise": (lambda x, rng: rng.normal(size=len(x)), "y is noise: nothing can be learned", False, 0),
}  # fmt: skip


def law(name, **options):
    """A task whose law is known."""
    function, why, pays, classes = LAWS[name]
    return made(function, why, pays=pays, classes=classes, **options)


def moons():
    """Two arcs that scikit-learn generates."""
    x, y = datasets.make_moons(7200, noise=0.15, random_state=0)
    return _generated(x, y, "two interleaved arcs", classes=2)


def friedman():
    """Friedman's first problem."""
    x, y = datasets.make_friedman1(7200, 10, noise=0.5, random_state=0)
    why = "10 sin(πx₁x₂) + 20(x₃ − ½)² + 10x₄ + 5x₅ + noise, of ten inputs"
    return _generated(x, (y - y.mean()) / y.std(), why)


def _generated(x, y, why, *, classes=0):
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    train, test, fresh = ((x[part], y[part]) for part in (slice(600), slice(600, 1200), slice(1200, None)))
    return Task(*train, *test, fresh, why, True, classes)


def mirrored_digits():
    """Even or odd digits, centered, and with (−x, other class) added to every sample."""
    x, y = datasets.load_digits(return_X_y=True)
    task = real(x - x.mean(axis=0), y % 2, classes=2)
    train, test = (
        (np.concatenate([a, -a]), np.concatenate([b, 1 - b]))
        for a, b in ((task.x, task.y), (task.test_x, task.test_y))
    )
    why = "whether a digit is even, with mirror images added: measured with scikit-learn's models"
    return Task(*train, *test, test, why, classes=2, mirrored=True)


def denoising(noise=0.3):
    """Digits with noise, from which the clean image is to be told."""
    digits: Any = datasets.load_digits()
    clean = digits.images[:, None] / 16
    rng = np.random.default_rng(0)
    train, test, more = clean[:1500], clean[1500:], np.tile(clean[1500:], (10, 1, 1, 1))
    noisy = [part + noise * rng.normal(size=part.shape) for part in (train, test, more)]
    why = "the clean image of a digit: measured with scikit-learn's models"
    return Task(noisy[0], train, noisy[1], test, (noisy[2], more), why)


def equality(tokens=4, words=4, seed=0):
    """Sequences of words, of which the first and the last are equal or not."""
    rng = np.random.default_rng(seed)

    def sample(n):
        found = rng.integers(0, words, size=(n, tokens))
        same = rng.random(n) < 0.5
        found[same, -1] = found[same, 0]
        return np.eye(words)[found].reshape(n, -1), (found[:, 0] == found[:, -1]).astype(int)

    (x, y), (test_x, test_y), fresh = sample(600), sample(600), sample(6000)
    why = "whether two words are equal: not linear in them"
    return Task(x, y, test_x, test_y, fresh, why, True, 2)


def linnerud():
    """Twenty men at exercises: too few samples for any comparison."""
    return real(*datasets.load_linnerud(return_X_y=True), why="ten samples: nothing can be told")
