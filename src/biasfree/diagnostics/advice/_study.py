"""Subsets and projections of data on which costly measurements are made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biasfree.arrays import Bool, Float
from biasfree.data import Dataset, mirror_pairs
from biasfree.diagnostics._mirror_test import Symmetry, mirror_inputs, sample_lines, symmetry
from biasfree.theory import half_space_defect

STUDIED = 2000  # samples of the study
TESTED = 1000  # samples of the test of symmetry, in more than two dimensions
_INPUTS, _OUTPUTS = 40, 2  # dimensions in which the test searches
_STARTS = 4
_APART = 1e-4  # relative change of columns, so that rounding does not order equal variances


def study_of(data: Dataset, samples: int, *, seed: int) -> Dataset:
    """At most about `samples` samples at random; samples at x and −x are taken together."""
    if len(data) <= samples:
        return data
    chosen = chosen_pairs(data.x, samples, seed=seed)
    return Dataset(data.x[chosen], data.y[chosen])


def chosen_pairs(x: Float[np.ndarray, "P D"], samples: int, *, seed: int) -> Bool[np.ndarray, "P"]:
    """Which samples belong to a random choice of at most `samples`, where x and −x come together."""
    lines = sample_lines(x)[0]
    _, index, counts = np.unique(lines, return_inverse=True, return_counts=True)
    order = np.random.default_rng([seed, 9]).permutation(len(counts))
    last = max(1, int(np.searchsorted(np.cumsum(counts[order]), samples, side="right")))
    chosen = np.zeros(len(counts), bool)
    chosen[order[:last]] = True
    return chosen[index]


def symmetry_of(data: Dataset, study: Dataset, *, flips: int, seed: int) -> Symmetry:
    """The test of Condition 3 on the study, in its leading directions where it has many.

    A projection of symmetric data is symmetric, so p-values stay valid. The defects are those of the study,
    at the directions found. Mirror images are exact only if all data have them.
    """
    reduced, inputs = _reduced(study)
    found = symmetry(reduced, flips=flips, subsample=TESTED, starts=_STARTS, seed=seed)
    if found.exact and (study is data or mirror_pairs(data) is not None):
        return found
    mirrors = mirror_inputs(data if found.exact else study)  # a few samples without one are seldom chosen
    witnesses = found.witness_inputs, found.witness_targets
    at_inputs, at_targets = (r if r is None or inputs is None else inputs @ r for r in witnesses)
    return replace(
        found,
        exact=False,
        evenness=mirrors.share,
        oddness=mirrors.mismatch,
        inputs=0.0 if at_inputs is None else half_space_defect(study, at_inputs, "inputs"),
        targets=0.0 if at_targets is None else half_space_defect(study, at_targets, "targets"),
        witness_inputs=at_inputs,
        witness_targets=at_targets,
    )


def _reduced(data: Dataset) -> tuple[Dataset, Float[np.ndarray, "D _"] | None]:
    """The data in the leading directions of ⟨xxᵀ⟩ and ⟨yyᵀ⟩, and those of the inputs if they are fewer."""
    x, inputs = data.x, None
    if data.dimensions > _INPUTS:
        inputs = _leading(x, _INPUTS)
        x = x @ inputs
    y = data.targets
    if data.outputs > _OUTPUTS:
        y = y @ _leading(y, _OUTPUTS)
    return (data if inputs is None and y is data.targets else Dataset(x, y)), inputs


def _leading(rows: Float[np.ndarray, "P D"], count: int) -> Float[np.ndarray, "D _"]:
    """The leading directions, each with a sign; columns that are too alike to choose from are told apart."""
    generic = np.random.default_rng(rows.shape[1]).uniform(size=rows.shape[1])
    found = _eigenvectors(rows * (1 + _APART * generic), count)
    return found * np.where(generic @ found < 0, -1.0, 1.0)


def _eigenvectors(rows: Float[np.ndarray, "P D"], count: int) -> Float[np.ndarray, "D _"]:
    if rows.shape[1] <= len(rows):
        return np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :count]
    return np.linalg.svd(rows, full_matrices=False)[2][:count].T
