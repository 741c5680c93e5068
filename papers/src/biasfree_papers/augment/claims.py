"""Claims on augmentation by mirror images: theorems' bounds, and the papers' statements."""

from __future__ import annotations

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.statements import ours, paper, table

HARD = ["xor", "three"]  # no line separates them
_FAIL = "[ZSL25] Sec. 1.1 of v1: mirror images can make a network fail at what it learns without"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """The theorem on mirrored data, then what happens without and with mirror images."""
    hard = n.sel(task=HARD)
    return [*_theorem(hard), *_tasks(hard), *_margin(n), *_asymmetric(n), _sets(n)]


def _theorem(hard: xarray.Dataset) -> list[Claim]:
    """f has the label's sign at x and −x only if the linear part does, so one sample is always wrong."""
    mirrored = hard.sel(images="mirrored")
    terms = hard.sizes["neuron"] + hard.sizes["axis"] + 2
    return [
        ours(
            "with mirror images neither loss ever falls below that of the best linear map, on two tasks that "
            "no line separates",
            lowest_loss_less_that=mirrored.losses.min("time") - mirrored.best,
            at_least=-4 * terms * np.finfo(float).eps,
            source="derived here from [ZSL25] Thm. 1: mirrored data and the even part",
            bound="f(±x) = ±a + e with a linear, and ½[ℓ(y(a + e)) + ℓ(y(a − e))] ≥ ℓ(ya) since ℓ is convex; "
            f"less rounding: ε for each of {terms} operations in f, a sum of H products of total size up to "
            "2, times the slope of the loss, up to 2",
            nature="identity",
            headline=True,
        ),
        ours(
            "with mirror images at least one sample is misclassified, on two tasks that no line separates",
            accuracy=mirrored.accuracy,
            at_most=1 - 1 / (2 * mirrored.samples),
            source="derived here from [ZSL25] Thm. 1",
            bound="y f > 0 at x and −x means ya > |e|: all samples right would make the linear part a "
            "separating one, and there is none, since the best linear map has a finite logistic loss; so 1 − "
            "1/(number of samples)",
            nature="identity",
        ),
    ]


def _tasks(hard: xarray.Dataset) -> list[Claim]:
    end = hard.losses.sel(images="mirrored").isel(time=-1)
    return [
        paper(
            "two tasks that no line separates are learned without mirror images, with either loss",
            accuracy_at_the_end=hard.accuracy.sel(images="plain"),
            at_least=1.0,
            basis="stated",
            source=_FAIL,
            bound="every sample right; the paper names no task",
            headline=True,
        ),
        paper(
            "with mirror images the same networks fail at both: they end as the best linear map",
            excess_over_its_loss=end / hard.best - 1,
            at_most=1e-2,
            source=f"{_FAIL}; Corollary 6",
            bound="a level of ours: a hundredth",
            headline=True,
        ),
    ]


def _margin(n: xarray.Dataset) -> list[Claim]:
    """On the separable task mirror images do no harm."""
    mirrored = n.sel(task="separable", images="mirrored", loss="logistic")
    source = "Lyu et al. (2021); [ZSL25] Corollary 6"
    early = float(n.angle_early)
    return [
        paper(
            "on a separable task all samples are right with mirror images too",
            accuracy_at_the_end=mirrored.accuracy,
            at_least=1.0,
            source=source,
            bound="every sample right",
        ),
        paper(
            "there, with mirror images, the angle between the linear part of f and the max-margin classifier "
            f"falls below that of β, {early:.3g}°, where it starts; the limit 0 is not reached",
            degrees_at_the_end=mirrored.angle,
            at_most=early,
            source=source,
            bound="the papers are about t → ∞, approached as 1/ln t: the angle falls. A linear network is "
            f"{float(n.angle_linear):.3g}° away at that time (reduced flow)",
            basis="stated",
        ),
        paper(
            "there, with mirror images, f is odd",
            share_of_the_even_part=mirrored.even,
            at_most=1e-2,
            source=source,
            bound="a level of ours: a hundredth of the energy",
        ),
    ]


def _asymmetric(n: xarray.Dataset) -> list[Claim]:
    """A sentence on data without mirror images, for sets that a line through the origin separates or not."""
    kinds = {
        "a line through the origin separates": n.homogeneous,
        "only a line off the origin separates": ~n.homogeneous,
    }
    return [
        paper(
            f"two bias-free layers fail to learn sets without mirror images that {name}",
            samples_that_are_wrong_at_the_end=n.wrong.values[chosen.values],
            at_least=1.0,
            source="a summary of [ZSL25] TMLR: failure to learn linearly separable, non-symmetric sets",
            bound="one sample wrong",
            basis="stated",
            rebuilt=True,
            each="runs",
            seeds=tuple(n.set.values),
            note="They must fail where two labels are on one ray from the origin, since f(ax) = a f(x). On "
            "these sets none are.",
        )
        for name, chosen in kinds.items()
    ]


def _sets(n: xarray.Dataset) -> Table:
    """Separable sets without mirror images, by whether a line through the origin separates them."""
    through = xarray.concat([n.homogeneous, ~n.homogeneous], xarray.DataArray(["yes", "no"], dims="origin"))
    chosen = through.assign_coords(origin=["yes", "no"])
    return table(
        "Separable sets without mirror images, logistic loss: runs that end with every sample right",
        over=("origin", "leak"),
        columns={
            "separable through the origin": chosen.origin,
            "leak": n.leak,
            "runs": chosen.sum(["line", "set"]),
            "all right": (chosen & (n.wrong == 0)).sum(["line", "set"]),
            "most samples wrong": n.wrong.where(chosen).max(["line", "set"]),
        },
    )
