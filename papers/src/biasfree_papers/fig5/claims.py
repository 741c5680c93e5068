"""Claims of Fig. 5: the theorem, and the paper's picture, measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.shared.trajectories import ACCURATE
from biasfree_papers.statements import observed, ours, paper

#: The share of |W|² that may lie outside a structure where it is said to be there.
SHARE = 0.05
#: A network has learned its linear target where so much of the loss is left.
LEARNED = 1e-4
_NOT_COUNTED = f"have not learned their target, or not within the error {ACCURATE:g}"


def claims(n: xarray.Dataset) -> list[Claim]:
    """The theorem, then the paper's picture of three layers, then speeds of all depths."""
    return [*_proved(n), *_trained(n.sel(depth=3)), _halves(n)]


def _proved(n: xarray.Dataset) -> list[Claim]:
    """Proposition 12 from initial weights of the exact structure, one value per depth."""
    source = "[ZSL25] App. F.2 (TMLR Proposition 12)"
    begin = "from initial weights in the structure of Eq. 40,"
    error: Any = {
        "at_most": n.exact_bound,
        "bound": "the error estimates of the runs and of the solution, grown (u/u₀)^(L−2)-fold",
        "seeds": (int(n.seed[0]),),
    }
    return [
        ours(
            f"{begin} simulated flow is that of Proposition 12, which stays in it",
            largest_relative_gap_of_a_layer=n.exact_gap,
            source=source,
            nature="theorem",
            headline=True,
            **error,
        ),
        ours(
            f"{begin} the ReLU network is √2 times its linear twin at half speed",
            largest_relative_gap_of_the_norms=n.exact_half_speed,
            source=f"derived here from {source}",
            nature="theorem",
            **error,
        ),
    ]


def _trained(n: xarray.Dataset) -> list[Claim]:
    """The paper's claims about trained networks of three layers; conjecture has more layers and inputs."""
    figure = "[ZSL25] Fig. 3 of v1 (TMLR 5)"
    ranks = n[["outer_second", "middle_third"]].to_dataarray("layer").where(learned(n))
    structures = (
        ("ReLU", "Eq. 40", n.relu_outside, "TMLR Conjecture 11"),
        ("linear", "Eq. 39", n.linear_outside, "Eq. 39"),
    )
    found = [
        paper(
            f"three layers: small random weights bring {network} networks to {equation}",
            share_of_the_squared_norm_outside=(outside**2).where(learned(n)),
            at_most=SHARE,
            source=f"{figure}, {source}",
            bound=f"a level of ours: {100 * SHARE:g} % of the squared norm",
            headline=network == "ReLU",
        )
        for network, equation, outside, source in structures
    ]
    found.append(
        paper(
            "three layers: the first layers have rank one, the middle layer of the ReLU network rank two",
            next_singular_value_over_the_first=ranks,
            at_most=np.sqrt(SHARE),
            source=figure,
            bound=f"a level of ours: {100 * SHARE:g} % of the square",
        )
    )
    return [explained(one, n.kept) for one in found]


def learned(n: xarray.Dataset) -> xarray.DataArray:
    """Which networks learned their target on a path that is accurate; the others prove nothing."""
    return (n.left < LEARNED) & n.trusted


def explained(claim: Claim, kept: xarray.DataArray) -> Claim:
    """With a note where it fails: networks that have not learned, and the initial size if it decides.

    `kept` is the initial size of every run, for claims of one or of several values per run.
    """
    held, unlearned = np.array(claim.held), np.isnan(claim.measured)
    sizes = np.resize(kept.values, held.shape)
    failed, notes = ~held & ~unlearned, []
    if unlearned.any():
        notes.append(f"{unlearned.sum()} of {unlearned.size} {_NOT_COUNTED}")
    if failed.any() and sizes[failed].min() > sizes[held].max(initial=0.0):
        least = sizes[failed].min()
        notes.append(f"weights start from {least:.2f} of the linear network's last norm or more")
        if held.any():
            notes.append(f"where it holds from {sizes[held].max():.2f} or less")
    return replace(claim, note="; ".join(notes))


def _halves(n: xarray.Dataset) -> Claim:
    """Proposition 12 along trained paths, for each half of a network."""
    gap = path_gap(n.path.sel(network="relu", part=["plus", "minus"])).max("part")
    found = observed(
        "along the path of the first seed each half of the ReLU network, the neurons of one sign, is a "
        "linear network at half speed",
        largest_gap_of_ṗ_over_largest_ṗ=gap.where(learned(n).isel(seed=0)),
        at_most=np.sqrt(SHARE),
        source="derived here from [ZSL25] TMLR Proposition 12: a half sees its half-space alone",
        bound=f"a level of ours: the distance at which {100 * SHARE:g} % of |W|² lie outside Eq. 40",
        headline=True,
        seeds=(int(n.seed[0]),),
    )
    return explained(found, n.kept.isel(seed=0))


def path_gap(path: xarray.DataArray) -> xarray.DataArray:
    """The largest gap between speed and theory along a path, over the largest speed."""
    speed, theory = (path.sel(quantity=name, drop=True) for name in ("speed", "predicted"))
    return abs(speed - theory).max("state") / abs(theory).max("state")
