"""What the targets are, numbers or classes, and how well predictions fit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import real
from biasfree.data import Dataset
from biasfree.ties import EPS, side

if TYPE_CHECKING:
    from jaxtyping import Float, Int, Shaped

_MOST_CLASSES = 50  # distinct whole numbers, without a model, up to which they are taken for classes


class Reading(StrEnum):
    """What the outputs of a model mean."""

    NUMBERS = "numbers"
    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    LABELS = "predicted labels"
    HALF = "numbers near 0 and 1, with threshold ½"


#: What only the outputs of classifiers are.
_OF_CLASSES = (Reading.PROBABILITIES, Reading.LABELS)


@dataclass(frozen=True, eq=False)
class Score:
    """How well predictions fit: one number per sample, whose mean is R² or the accuracy."""

    hits: Float[np.ndarray, "P"]
    lost: Float[np.ndarray, "P"] | None = None
    """The cross entropy of every sample, where predictions are logits."""
    groups: Int[np.ndarray, "P"] | None = None
    """Samples of one group, such as x and −x, are no independent evidence."""

    @property
    def cross_entropy(self) -> float | None:
        """Its mean."""
        return None if self.lost is None else float(np.mean(self.lost))

    def of(self, chosen: Int[np.ndarray, "_"]) -> Score:
        """The score on some of the samples."""
        lost, groups = (None if one is None else one[chosen] for one in (self.lost, self.groups))
        return Score(self.hits[chosen], lost, groups)

    @property
    def value(self) -> float:
        """R² or the accuracy."""
        return float(np.mean(self.hits))

    def minus(self, other: Score) -> Difference:
        """The difference of two scores on the same samples."""
        return difference(self.hits - other.hits, other.groups if self.groups is None else self.groups)


@dataclass(frozen=True)
class Difference:
    """A difference of two scores, its standard error, and the rounding of both."""

    value: float
    error: float
    rounding: float = 0.0

    def above(self, least: float, *, errors: float = 2) -> bool:
        """Whether it is at least `least`, to rounding, and larger than `errors` standard errors."""
        return self._side(least) <= 0 and self._side(errors * self.error) < 0

    def below(self, least: float, *, errors: float = 2) -> bool:
        """Whether the opposite difference is `above`."""
        return Difference(-self.value, self.error, self.rounding).above(least, errors=errors)

    def tie(self, least: float) -> str:
        """The threshold that its size equals to rounding, and what that means; "" if there is none."""
        size = Difference(abs(self.value), self.error, self.rounding)
        if size._side(0.0) == 0:
            return ""
        if size._side(2 * self.error) == 0:
            return "two standard errors to rounding, and does not count"
        return "gain_above to rounding, and counts" if size._side(least) == 0 else ""

    def _side(self, threshold: float) -> int:
        """The side of the value on which a threshold lies."""
        return side(threshold, self.value, size=self.rounding / EPS)


def difference(per_sample: Float[np.ndarray, "P"], groups: Int[np.ndarray, "P"] | None = None) -> Difference:
    """The mean of paired differences, and its standard error, from independent groups of samples."""
    size = float(np.abs(per_sample).max()) or 1.0
    scaled = per_sample / size  # no square overflows
    n, mean = len(scaled), float(np.mean(scaled))
    index = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(index, scaled - mean)
    if len(sums) == 1:
        return Difference(size * mean, np.inf, n * EPS * size)
    error = float(np.sqrt(np.sum(sums**2) * len(sums) / (len(sums) - 1)) / n)
    return Difference(size * mean, size * error, n * EPS * size)


@dataclass(frozen=True, eq=False)
class Task:
    """Numbers y (P, K), or the class of each sample by its index in `classes`."""

    numbers: Float[np.ndarray, "P K"] | None
    classes: Shaped[np.ndarray, "C"] | None = None
    labels: Int[np.ndarray, "P"] | None = None
    notes: tuple[str, ...] = ()
    size: float | None = None
    """The variance to which squared errors are relative, if these are some of the samples."""
    groups: Int[np.ndarray, "P"] | None = None
    """Samples of one group, such as x and −x, are no independent evidence."""

    @property
    def is_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.classes is not None

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return "accuracy" if self.is_classes else "R²"

    @property
    def count(self) -> int:
        """The number of samples."""
        return len(self.labels if self.labels is not None else self.numbers)  # type: ignore[arg-type]

    def rows(self, chosen: Any) -> Task:
        """The same task for some of the samples."""
        numbers = None if self.numbers is None else self.numbers[chosen]
        labels = None if self.labels is None else self.labels[chosen]
        size, groups = None if numbers is None else self.spread, self.groups
        groups = None if groups is None else groups[chosen]
        return Task(numbers, self.classes, labels, self.notes, size, groups)

    @cached_property
    def one_hot(self) -> Float[np.ndarray, "P C"]:
        """The classes as columns of 0 and 1."""
        assert self.labels is not None
        assert self.classes is not None
        return np.equal.outer(self.labels, np.arange(len(self.classes))).astype(float)

    @cached_property
    def spread(self) -> float:
        """The variance of the numbers, over all outputs together."""
        assert self.numbers is not None
        return float(np.sum(np.var(self.numbers, axis=0))) if self.size is None else self.size

    @property
    def constant(self) -> bool:
        """Whether all samples have the same target, so that nothing is to be learned."""
        if self.labels is not None:
            return bool(np.all(self.labels == self.labels[0]))
        assert self.numbers is not None
        return bool(np.all(np.ptp(self.numbers, axis=0) <= 1e-7 * np.abs(self.numbers).max(axis=0)))

    def score(self, predicted: Float[np.ndarray, "P _"]) -> Score:
        """The score of predictions: numbers, or one logit per class."""
        if self.labels is None:
            assert self.numbers is not None
            size = self.spread or 1.0
            hits = 1 - np.sum(((self.numbers - predicted) / np.sqrt(size)) ** 2, axis=1)
            return Score(hits, groups=self.groups)
        right = np.argmax(predicted, axis=1) == self.labels
        top = predicted.max(axis=1)
        rest = np.log(np.sum(np.exp(predicted - top[:, None]), axis=1))
        lost = rest + top - predicted[np.arange(len(predicted)), self.labels]
        return Score(right.astype(float), lost, self.groups)

    @cached_property
    def baseline(self) -> float:
        """The score of the best constant: 0 for R², the share of the largest class for the accuracy."""
        return 0.0 if self.labels is None else float(np.bincount(self.labels).max() / self.count)

    def dataset(self, x: Float[np.ndarray, "P D"], outputs: int | None) -> Dataset:
        """The samples with their numbers; classes become 1 − 1/C and −1/C, or ±1 where one output tells."""
        if self.labels is None:
            assert self.numbers is not None
            return Dataset(x, self.numbers[:, 0] if self.numbers.shape[1] == 1 else self.numbers)
        if self.classes is not None and len(self.classes) == 2 and outputs in (None, 1):
            return Dataset(x, 2.0 * self.labels - 1)
        return Dataset(x, self.one_hot - 1 / self.one_hot.shape[1])


def task_of(
    y: np.ndarray,
    *,
    outputs: int | None = None,
    kind: Reading | None = None,
    known: Sequence[Any] | None = None,
    task: str | None = None,
) -> Task:
    """Whether the targets are numbers or classes.

    They are classes if they are text or booleans, if `known` classes are given, if there are only two, −1 and
    1 or 0 and 1, if they are whole numbers below the number of `outputs`, if their rows are 0 but for one 1,
    or, without a model, if they are few distinct whole numbers. `task` overrides the guess.
    """
    if task not in (None, "regression", "classification"):
        raise ValueError(f'task must be "regression" or "classification", got {task!r}.')
    flat = y.reshape(len(y), -1)
    if task == "regression":
        return Task(real("y", flat))
    if known is not None:
        return _named(flat, np.asarray(known), given=True)
    one_hot = flat.shape[1] > 1 and np.isin(flat, (0, 1)).all() and (flat.sum(axis=1) == 1).all()
    if one_hot and outputs in (None, flat.shape[1]):
        return Task(None, np.arange(flat.shape[1]), np.argmax(flat, axis=1))
    if flat.shape[1] > 1:
        if task is None and y.dtype.kind in "fiu":
            return Task(real("y", flat))
        raise ValueError(f"labels must be one per sample, got an array of shape {y.shape}.")
    labels = flat[:, 0]
    if not (task == "classification" or kind in _OF_CLASSES or _classes(y, labels, outputs)):
        return Task(real("y", flat))
    found = np.unique(labels)
    if outputs is not None and outputs > len(found) and labels.dtype.kind in "iu" and labels.min() >= 0:
        if labels.max() >= outputs:
            raise ValueError(f"the labels go up to {labels.max()}, but the model has {outputs} outputs.")
        found = np.arange(outputs)
    return _named(flat, found, given=False, outputs=outputs)


def _classes(y: np.ndarray, labels: np.ndarray, outputs: int | None) -> bool:
    """Whether labels that were given without a word are classes."""
    if y.dtype.kind in "Ub":
        return True
    found = np.unique(labels)
    two = len(found) <= 2 and (np.isin(found, (-1, 1)).all() or np.isin(found, (0, 1)).all())
    if two and outputs in (None, 1, 2):
        return len(found) == 2 or y.dtype.kind in "iu"
    if y.dtype.kind not in "iu":
        return False
    if outputs is None:
        return len(found) <= min(_MOST_CLASSES, max(2, int(np.sqrt(len(labels)))))
    return outputs > 1 and found[0] >= 0 and found[-1] < outputs


def _named(flat: np.ndarray, classes: np.ndarray, *, given: bool, outputs: int | None = None) -> Task:
    labels = flat[:, 0]
    if classes.dtype.kind in "fiub" and labels.dtype.kind == "U":
        classes = classes.astype(str)
    index = {label: i for i, label in enumerate(classes.tolist())}
    missing = [label for label in np.unique(labels).tolist() if label not in index]
    if missing:
        known = ", ".join(map(str, classes.tolist()[:10]))
        raise ValueError(f"y has the label {missing[0]!r}, which is not among the classes {known}.")
    notes: tuple[str, ...] = ()
    if not given and outputs is not None and outputs > 1 and classes.dtype.kind in "Uf":
        order = ", ".join(map(str, classes.tolist()))
        notes = (
            f"the outputs are taken to belong to the classes in this order: {order}; classes= changes it.",
        )
    return Task(None, classes, np.array([index[label] for label in labels.tolist()]), notes)


def reading_of(found: Float[np.ndarray, "P _"], task: Task, kind: Reading | None) -> Reading:
    """What the outputs of a classifier mean: by its `kind`, or by what they look like on the samples."""
    if kind is not None and kind in _OF_CLASSES:
        return kind
    inside = found.min() >= 0 and found.max() <= 1
    if found.shape[1] > 1:
        sums = np.allclose(found.sum(axis=1), 1, atol=1e-2)  # half precision
        return Reading.PROBABILITIES if inside and sums else Reading.LOGITS
    if inside and np.ptp(found) > 0:
        return Reading.PROBABILITIES
    assert task.classes is not None
    if task.classes.dtype.kind != "U" and set(task.classes.tolist()) == {0, 1}:
        zero, half = (np.mean((found[:, 0] > at) == (task.labels == 1)) for at in (0.0, 0.5))
        return Reading.HALF if half > zero else Reading.LOGITS  # labels 0 and 1 may be fitted as numbers
    return Reading.LOGITS


def logits_of(found: Float[np.ndarray, "P _"], reading: Reading) -> Float[np.ndarray, "P C"]:
    """The outputs of a classifier, so read, as one logit per class with mean 0.

    The mean over the classes, which softmax does not see, is removed. Probabilities become logarithms.
    """
    if reading is Reading.LABELS:
        return found
    if found.shape[1] == 1:
        if reading is not Reading.PROBABILITIES:
            shifted = found - (0.5 if reading is Reading.HALF else 0.0)
            return np.hstack([-shifted, shifted]) / 2
        found = np.hstack([1 - found, found])
    if reading is Reading.PROBABILITIES:
        found = np.log(np.maximum(found, found[found > 0].min(initial=1.0) / 2))
    return found - found.mean(axis=1, keepdims=True)
