"""The measurements of a report: of the data, the function, its competitors and the theory that applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from biasfree.arrays import Float, compressed
from biasfree.data import Dataset
from biasfree.diagnostics._function import homogeneity_defect, outputs, unexplained
from biasfree.diagnostics._mirror_test import Symmetry
from biasfree.diagnostics._monitor import residual_share
from biasfree.diagnostics._targets import Preparation, TargetShares, preparation, target_shares
from biasfree.diagnostics.advice._competitors import Competitors, competitors, installed
from biasfree.diagnostics.advice._peers import Peers, peers
from biasfree.diagnostics.advice._study import STUDIED, study_of, symmetry_of
from biasfree.diagnostics.advice._subject import Subject
from biasfree.diagnostics.advice._task import Difference, Reading, Score, Task, logits_of, reading_of
from biasfree.networks import Network
from biasfree.theory import Coverage, coverage
from biasfree.ties import side

PROBES = 1000  # random inputs, besides their mirror images, on which a model without data is measured
COVERED = 500  # samples on which the hypotheses of the theory are measured
_HOMOGENEOUS = 0.02  # defect of f(ax) = a·f(x) that half precision leaves
_MOMENTS = 1e-6  # symmetry defect that single precision leaves of one that is exactly zero


@dataclass(eq=False)
class Measurements:
    """All measurements of a model, a dataset or both, computed on first access; None if not applicable."""

    subject: Subject | None
    data: Dataset | None
    flips: int
    seed: int
    task: Task | None = None
    notes: tuple[str, ...] = ()
    """What is to be said of the samples."""
    compare: bool = False
    brief: bool = False
    """Whether to leave out what the answer does not need."""

    @property
    def network(self) -> Network | None:
        """The model as a network, if it can be read as one."""
        return None if self.subject is None else self.subject.network

    @cached_property
    def study(self) -> Dataset | None:
        """The samples of costly measurements: all, or a random subset that keeps x and −x together."""
        return None if self.data is None else study_of(self.data, STUDIED, seed=self.seed)

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """The measured defect of Condition 3 and its test."""
        if self.data is None or self.study is None:
            return None
        return symmetry_of(self.data, self.study, flips=self.flips, seed=self.seed)

    @cached_property
    def mirrored_by_design(self) -> bool:
        """Whether there are more mirror images than by chance, but not for all samples.

        Independent samples of a symmetric law have a mirror input as often as a duplicate. If most have a
        mirror input and few a duplicate, the data were mirrored on purpose, but incompletely.
        """
        seen = self.symmetry
        if seen is None or self.study is None or seen.exact or seen.evenness < 0.5:
            return False
        _, counts = np.unique(self.study.x, axis=0, return_counts=True)
        return float(np.sum(counts[counts > 1])) / len(self.study) < seen.evenness / 2

    @cached_property
    def moments_only(self) -> bool:
        """Whether labeled data satisfy Condition 3 in second moments, to rounding, without mirror images.

        Second moments suffice for the square loss. The logistic loss, usual for labels, needs mirror images.
        """
        seen = self.symmetry
        if seen is None or self.data is None or seen.exact:
            return False
        if side(seen.defect, _MOMENTS, terms=len(self.data), size=1.0) > 0:
            return False
        return bool(np.isin(self.data.targets, (-1.0, 1.0)).all())

    @cached_property
    def shares(self) -> TargetShares | None:
        """The linear, odd nonlinear and even shares of the targets."""
        if self.study is None or self.brief:
            return None
        return target_shares(self.study, subsample=1000, seed=self.seed)

    @cached_property
    def linear_share(self) -> float | None:
        """The share of ⟨y²⟩ of all outputs that a linear map without intercept explains; None if y = 0."""
        if self.study is None or not self.study.targets.any():
            return None
        energy = np.sum(self.study.targets**2, axis=0)
        return float(1 - unexplained(self.study.x, self.study.targets) @ energy / energy.sum())

    @cached_property
    def preparation(self) -> Preparation | None:
        """The data as given, centered and whitened."""
        return None if self.study is None or self.brief else preparation(self.study)

    @cached_property
    def independent(self) -> bool:
        """Whether the samples are linearly independent, so that every function is linear on them."""
        if self.data is None or len(self.data) > self.data.dimensions:
            return False
        return int(np.linalg.matrix_rank(self.data.x)) == len(self.data)

    @cached_property
    def x(self) -> Float[np.ndarray, "P D"] | None:
        """The inputs on which the function is measured: the data, or Gaussian inputs and their mirror images.

        Linearly independent samples come with their mirror images, since every function is linear on them.
        """
        if self.data is not None:
            return np.concatenate([self.data.x, -self.data.x]) if self.independent else self.data.x
        if self.network is None:
            return None
        drawn = np.random.default_rng(self.seed).normal(size=(PROBES, self.network.sizes[0]))
        return np.concatenate([drawn, -drawn])

    @cached_property
    def found(self) -> Float[np.ndarray, "P _"] | None:
        """The model's outputs on the samples, as it returns them."""
        if self.subject is None or self.data is None:
            return None
        return outputs(self.subject.function, self.data.x)

    @cached_property
    def reading(self) -> Reading:
        """What the outputs mean: numbers, or how a classifier tells its classes."""
        if self.found is None or self.task is None or not self.task.is_classes or self.subject is None:
            return Reading.NUMBERS
        return reading_of(self.found, self.task, self.subject.kind)

    @property
    def function(self) -> Callable[[Any], Float[np.ndarray, "P K"]]:
        """The function that is compared with linear maps: the outputs, or logits with mean 0 for classes.

        One logit stays one column.
        """
        subject = self.subject
        assert subject is not None
        return lambda x: self.read(outputs(subject.function, x))

    def read(self, found: Float[np.ndarray, "P _"]) -> Float[np.ndarray, "P _"]:
        """The outputs that a model returned as that function has them."""
        if self.task is None or not self.task.is_classes or self.subject is None:
            return found
        if found.shape[1] == 1 and self.reading is not Reading.PROBABILITIES:
            return found
        return logits_of(found, self.reading)

    @cached_property
    def outputs(self) -> Float[np.ndarray, "P K"] | None:
        """f(x) on these inputs."""
        if self.subject is None or self.x is None:
            return None
        if self.found is None:
            return outputs(self.subject.function, self.x)
        here = self.read(self.found)
        if not self.independent or self.data is None:
            return here
        return np.concatenate([here, self.function(-self.data.x)])

    @cached_property
    def nonlinear(self) -> Float[np.ndarray, "K"] | None:
        """N = 1 − R² of the best linear map to the outputs, per output."""
        if self.outputs is None or self.x is None:
            return None
        return unexplained(self.x, self.outputs)

    @cached_property
    def beyond_affine(self) -> Float[np.ndarray, "K"] | None:
        """The same for the best linear map with an intercept, relative to the same ⟨f²⟩."""
        if self.outputs is None or self.x is None:
            return None
        return unexplained(
            np.column_stack([self.x, np.full(len(self.x), np.abs(self.x).max() or 1.0)]), self.outputs
        )

    @cached_property
    def bias_free(self) -> bool:
        """Whether the model has no biases, as far as is known: f(ax) = a·f(x) for a > 0."""
        if self.subject is None or self.x is None:
            return True
        if self.network is not None:
            return self.network.biases is None
        defect = homogeneity_defect(self.function, self.x[:20], (0.25, 4.0))
        return side(defect, _HOMOGENEOUS, size=1.0) <= 0

    @cached_property
    def score(self) -> Score | None:
        """How well the model fits the targets, on all samples."""
        if self.found is None or self.task is None or self.subject is None:
            return None
        if not self.task.is_classes:
            return self.task.score(self.found)
        fitted = self.task.score(logits_of(self.found, self.reading))
        return fitted if self.reading in (Reading.LOGITS, Reading.PROBABILITIES) else Score(fitted.hits)

    def replaced(self, *, intercept: bool) -> Score | None:
        """The score of the best linear map to the model's outputs, in place of the model."""
        if self.score is None or self.task is None or self.data is None or self.outputs is None:
            return None
        x, f = self.data.x, self.outputs[: len(self.data)]
        if intercept:
            x = np.column_stack([x, np.full(len(x), np.abs(x).max() or 1.0)])
        fitted = x @ np.linalg.lstsq(*compressed(x, f), rcond=None)[0]
        if not self.task.is_classes:
            return self.task.score(fitted)
        one = fitted.shape[1] == 1
        return self.task.score(logits_of(fitted, self.reading) if one else fitted)

    @cached_property
    def rescaled(self) -> Score | None:
        """The score of the model's outputs times a number plus another, for each output; None for classes."""
        if self.found is None or self.task is None or self.task.numbers is None:
            return None
        f, y = (part - part.mean(axis=0) for part in (self.found, self.task.numbers))
        size = np.sum(f**2, axis=0)
        slope = np.divide(np.sum(f * y, axis=0), size, out=np.zeros_like(size), where=size > 0)
        return self.task.score(f * slope + self.task.numbers.mean(axis=0))

    def score_on(self, chosen: np.ndarray) -> Score:
        """The same on some of the samples."""
        assert self.score is not None
        return self.score.of(chosen)

    @cached_property
    def competitors(self) -> Competitors | None:
        """Linear maps and a kernel machine, tested on held-out samples; None without scikit-learn."""
        if self.data is None or self.task is None or not installed():
            return None
        return competitors(self.data.x, self.task, seed=self.seed)

    @cached_property
    def peers(self) -> Peers | None:
        """Networks of the model's shape, trained here; None unless they are asked for."""
        if not self.compare or self.competitors is None or self.data is None or self.task is None:
            return None
        return peers(self.data.x, self.task, self.network, seed=self.seed)

    @cached_property
    def gain(self) -> Difference | None:
        """The score of the model minus that of the better linear map, on held-out samples."""
        if self.competitors is None or self.score is None:
            return None
        return self.score_on(self.competitors.tested).minus(self.competitors.best)

    def against_linear(self, tested: np.ndarray, score: Score) -> Difference:
        """A score on the samples `tested` minus that of the better linear map, where both were tested."""
        versus = self.competitors
        assert versus is not None
        _, here, there = np.intersect1d(tested, versus.tested, return_indices=True)
        return score.of(here).minus(versus.best.of(there))

    @cached_property
    def residual(self) -> float | None:
        """The part of the targets that the model has not fitted.

        For numbers ⟨(y − f)²⟩/⟨y²⟩ of the worst output; for labels ±1 and one output ⟨max(0, 1 − yf)²⟩; for
        other classes the cross entropy over that of guessing, or the error rate of predicted labels.
        """
        if self.found is None or self.task is None or self.score is None or self.data is None:
            return None
        if self.task.classes is None or (self.found.shape[1] == 1 and self.reading is Reading.LOGITS):
            return residual_share(self.data.targets, self.found)
        lost = self.score.cross_entropy
        return 1 - self.score.value if lost is None else lost / np.log(max(2, len(self.task.classes)))

    @cached_property
    def coverage(self) -> Coverage | None:
        """The results of the theory, with the defects of their hypotheses; for numbers and for labels ±1."""
        network = self.network
        if network is None or self.data is None or self.brief or network.sizes[-1] != self.data.outputs:
            return None
        if self.task is not None and self.task.is_classes and self.data.outputs > 1:
            return None
        return coverage(network, study_of(self.data, COVERED, seed=self.seed))
