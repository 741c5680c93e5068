"""The measurements of a report: of the data, the function and the theory that applies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from biasfree.data import Dataset
from biasfree.diagnosis._subject import Subject
from biasfree.diagnostics._function import outputs, unexplained
from biasfree.diagnostics._mirror_test import Symmetry, symmetry
from biasfree.diagnostics._monitor import residual_share
from biasfree.diagnostics._targets import Preparation, TargetShares, preparation, target_shares
from biasfree.theory import Coverage, coverage

if TYPE_CHECKING:
    from jaxtyping import Float

PROBES = 1000  # random inputs, besides their mirror images, on which a model without data is measured


@dataclass(frozen=True, eq=False)
class Measurements:
    """All measurements of a model, a dataset or both, computed on first access; None if not applicable."""

    subject: Subject | None
    data: Dataset | None
    flips: int
    seed: int

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """The measured defect of Condition 3 and its test."""
        return None if self.data is None else symmetry(self.data, flips=self.flips, seed=self.seed)

    @cached_property
    def mirrored_by_design(self) -> bool:
        """Whether there are more mirror images than by chance, but not for all samples.

        Independent samples of a symmetric law have a mirror input as often as a duplicate. If most have a
        mirror input and few a duplicate, the data were mirrored on purpose, but incompletely.
        """
        seen = self.symmetry
        if seen is None or self.data is None or seen.exact or seen.evenness < 0.5:
            return False
        _, counts = np.unique(self.data.x, axis=0, return_counts=True)
        return float(np.sum(counts[counts > 1])) / len(self.data) < seen.evenness / 2

    @cached_property
    def moments_only(self) -> bool:
        """Whether labeled data satisfy Condition 3 in second moments, to rounding, without mirror images.

        Second moments suffice for the square loss. The logistic loss, usual for labels, needs mirror images.
        """
        seen = self.symmetry
        if seen is None or self.data is None or seen.exact or seen.defect > 1e-8:  # of theory's Condition 3
            return False
        return bool(np.isin(self.data.targets, (-1.0, 1.0)).all())

    @cached_property
    def shares(self) -> TargetShares | None:
        """The linear, odd nonlinear and even shares of the targets."""
        return None if self.data is None else target_shares(self.data, seed=self.seed)

    @cached_property
    def preparation(self) -> Preparation | None:
        """The data as given, centered and whitened."""
        return None if self.data is None else preparation(self.data)

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
        if self.subject is None or self.subject.network is None:
            return None
        drawn = np.random.default_rng(self.seed).normal(size=(PROBES, self.subject.network.sizes[0]))
        return np.concatenate([drawn, -drawn])

    @cached_property
    def outputs(self) -> Float[np.ndarray, "P K"] | None:
        """f(x) on these inputs."""
        return None if self.subject is None or self.x is None else outputs(self.subject.function, self.x)

    @cached_property
    def nonlinear(self) -> Float[np.ndarray, "K"] | None:
        """N = 1 − R² of the best linear map to the outputs, per output."""
        if self.outputs is None or self.x is None:
            return None
        return unexplained(self.x, self.outputs)

    @cached_property
    def residual(self) -> float | None:
        """The fraction of ⟨y²⟩ that the model has not fitted, for the worst output."""
        if self.outputs is None or self.data is None:
            return None
        return residual_share(self.data.targets, self.outputs[: len(self.data)])

    @cached_property
    def coverage(self) -> Coverage | None:
        """The results of the theory, with the defects of their hypotheses."""
        known = self.subject is not None and self.subject.network is not None and self.data is not None
        if not known:
            return None
        return coverage(self.subject.network, self.data)  # type: ignore[union-attr,arg-type]
