"""What is measured for a report: of the data, of the function, of the weights, each where it is known."""

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

PROBES = 1000  # random inputs on which a model without data is measured, before their mirror images


@dataclass(frozen=True, eq=False)
class Measurements:
    """All measurements of one model and/or one dataset; what is not there is None."""

    subject: Subject | None
    data: Dataset | None
    flips: int
    seed: int

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """Condition 3, measured and tested."""
        return None if self.data is None else symmetry(self.data, flips=self.flips, seed=self.seed)

    @cached_property
    def mirrored_by_design(self) -> bool:
        """Whether mirror images are too many for chance, and yet not complete.

        Independent symmetric samples have a mirror input as often as a duplicate. Where most have the one and
        few the other the data were made so, and chance explains nothing of what is missing.
        """
        seen = self.symmetry
        if seen is None or self.data is None or seen.exact or seen.evenness < 0.5:
            return False
        _, counts = np.unique(self.data.x, axis=0, return_counts=True)
        return float(np.sum(counts[counts > 1])) / len(self.data) < seen.evenness / 2

    @cached_property
    def moments_only(self) -> bool:
        """Labels whose half-spaces agree in second moments to rounding, without mirror images.

        Chance does not make moments equal. They suffice the square loss; a logistic one, which labels are
        likely to be trained with, needs the mirror images.
        """
        seen = self.symmetry
        if seen is None or self.data is None or seen.exact or seen.defect > 1e-8:  # of theory's Condition 3
            return False
        return bool(np.isin(self.data.targets, (-1.0, 1.0)).all())

    @cached_property
    def shares(self) -> TargetShares | None:
        """What the targets are made of."""
        return None if self.data is None else target_shares(self.data, seed=self.seed)

    @cached_property
    def preparation(self) -> Preparation | None:
        """What centring and whitening would change."""
        return None if self.data is None else preparation(self.data)

    @cached_property
    def independent(self) -> bool:
        """Whether the samples are linearly independent, so that every function of them is linear."""
        if self.data is None or len(self.data) > self.data.dimensions:
            return False
        return int(np.linalg.matrix_rank(self.data.x)) == len(self.data)

    @cached_property
    def x(self) -> Float[np.ndarray, "P D"] | None:
        """Where the function is measured: the data, or Gaussian inputs and their mirror images.

        Of samples that are linearly independent every function is linear: those come with mirror images.
        """
        if self.data is not None:
            return np.concatenate([self.data.x, -self.data.x]) if self.independent else self.data.x
        if self.subject is None or self.subject.network is None:
            return None
        drawn = np.random.default_rng(self.seed).normal(size=(PROBES, self.subject.network.sizes[0]))
        return np.concatenate([drawn, -drawn])

    @cached_property
    def outputs(self) -> Float[np.ndarray, "P K"] | None:
        """f(x) on those inputs."""
        return None if self.subject is None or self.x is None else outputs(self.subject.function, self.x)

    @cached_property
    def nonlinear(self) -> Float[np.ndarray, "K"] | None:
        """N = 1 − R² of the best linear map to the outputs, per output."""
        if self.outputs is None or self.x is None:
            return None
        return unexplained(self.x, self.outputs)

    @cached_property
    def residual(self) -> float | None:
        """The share of ⟨y²⟩ that the model has not fitted, of the worst output."""
        if self.outputs is None or self.data is None:
            return None
        return residual_share(self.data.targets, self.outputs[: len(self.data)])

    @cached_property
    def coverage(self) -> Coverage | None:
        """Which results apply."""
        known = self.subject is not None and self.subject.network is not None and self.data is not None
        if not known:
            return None
        return coverage(self.subject.network, self.data)  # type: ignore[union-attr,arg-type]
