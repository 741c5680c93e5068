"""Claims and the table of Fig. 5: the theorem, and the paper's picture, measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.shared.loss_levels import ACCURATE
from biasfree_papers.statements import observed, ours, paper, table

#: The share of |W|² that may lie outside a structure where it is said to be there.
SHARE = 0.05
#: A network has learned its linear target where so much of the loss is left.
LEARNED = 1e-4
_LEVEL = f"a level of ours: {100 * SHARE:g} % of the squared norm"
_NOT_COUNTED = f"have not learned their target, or not within the error {ACCURATE:g}"


def claims(n: xarray.Dataset) -> list[Claim | Table]:
    """The theorem, then the paper's picture of three layers, then norms and speeds of all depths."""
    return [*_proved(n), *_trained(n.sel(depth=3)), _alignment(n), _norms(n), *_speeds(n), _runs(n)]


def _proved(n: xarray.Dataset) -> list[Claim]:
    """Proposition 12 from initial weights of the exact structure, one value per depth; and Eq. 42."""
    source, first = "[ZSL25] App. F.2 (TMLR Proposition 12)", (int(n.seed[0]),)
    error: Any = {
        "at_most": n.exact_bound,
        "bound": "the error estimates of the runs and of the solution, grown (u/u₀)^(L−2)-fold",
        "seeds": first,
    }
    begin = "from initial weights in the structure of Eq. 40,"
    return [
        ours(
            f"{begin} simulated flow is that of Proposition 12, which stays in it",
            largest_relative_gap_of_a_layer=n.exact_gap,
            source=source,
            headline=True,
            **error,
        ),
        ours(
            f"{begin} the ReLU network is √2 times its linear twin at half speed",
            largest_relative_gap_of_the_norms=n.exact_half_speed,
            source=f"derived here from {source}",
            **error,
        ),
        ours(
            f"{begin} the middle layers stay non-negative",
            least_entry=n.exact_least,
            at_least=0.0,
            source=source,
            bound="exact: entries outside the blocks have slope 0, those inside grow or shrink by one factor",
            seeds=first,
        ),
        ours(
            f"{begin} the middle layers keep rank two",
            third_singular_value_over_the_first=n.exact_third,
            at_most=n.exact_rounding,
            source=source,
            bound="rounding in every evaluation, grown (u/u₀)^(L−2)-fold",
            seeds=first,
        ),
        ours(
            "Eq. 42 with only the blocks of equal signs is the slope of each layer; as printed, its error is "
            "the slope itself in the middle layer and none in the others",
            distance_of_the_relative_error_from_that=abs(n.slope_error - n.slope_expected),
            at_most=n.slope_rounding,
            source="[ZSL25] Eq. 42 of v1, corrected here (erratum 6)",
            bound="a hundred roundings of the weights, over the change that a step of descent makes",
            identity=True,
            each="layers, corrected and as printed",
            seeds=first,
        ),
    ]


def _trained(n: xarray.Dataset) -> list[Claim]:
    """The paper's claims about trained networks of three layers; conjecture has more layers and inputs."""
    figure = "[ZSL25] Fig. 3 of v1 (TMLR 5)"
    ranks = n[["outer_second", "middle_third"]].to_dataarray("layer")
    structures = (
        ("ReLU", "Eq. 40", n.relu_outside, "TMLR Conjecture 11"),
        ("linear", "Eq. 39", n.linear_outside, "Eq. 39"),
    )
    found = [
        *(
            paper(
                f"three layers: small random weights bring {network} networks to {equation}",
                share_of_the_squared_norm_outside=_counted(n, outside**2),
                at_most=SHARE,
                source=f"{figure}, {source}",
                bound=_LEVEL,
                headline=network == "ReLU",
            )
            for network, equation, outside, source in structures
        ),
        paper(
            "three layers: the first layers have rank one, the middle layer of the ReLU network rank two",
            next_singular_value_over_the_first=_counted(n, ranks),
            at_most=np.sqrt(SHARE),
            source=figure,
            bound=f"a level of ours: {100 * SHARE:g} % of the square",
        ),
        paper(
            "three layers: positive entries of the ReLU network's middle layer are where the linear "
            "network's are",
            share_of_the_squared_norm_there=_counted(n, n.agreeing),
            at_least=1 - SHARE,
            source=figure,
            bound=_LEVEL,
        ),
        paper(
            "three layers: rows of the middle layer align with what reaches them, [r₁⁺; 0] or [0; r₁⁻] in "
            "the ReLU network, r₁ in the linear one",
            share_of_the_squared_norm_along_it=_counted(n, n.aligned),
            at_least=1 - SHARE,
            source="[ZSL25] App. F.1 of v1, the reason it gives for Eq. 40",
            bound=_LEVEL,
        ),
    ]
    return [_explained(one, n.kept) for one in found]


def learned(n: xarray.Dataset) -> xarray.DataArray:
    """Which networks learned their target on a path that is accurate; the others prove nothing."""
    return (n.left < LEARNED) & n.trusted


def _counted(n: xarray.Dataset, values: xarray.DataArray) -> xarray.DataArray:
    """The values of networks that learned their target, NaN for the others: these are no agreement."""
    return values.where(learned(n))


def _explained(claim: Claim, kept: xarray.DataArray) -> Claim:
    """With a note where it fails: networks that have not learned, and the initial size if it decides.

    `kept` is the initial size of every run, for claims of one or of several values per run.
    """
    held, unlearned = np.array(claim.held), np.isnan(claim.measured)
    sizes = np.resize(kept.values, held.shape)
    failed, notes = ~held & ~unlearned, []
    if unlearned.any():
        notes.append(f"{unlearned.sum()} of {unlearned.size} {_NOT_COUNTED}")
    if failed.any() and (not held.any() or sizes[failed].min() > sizes[held].max()):
        notes.append(
            f"weights start from {sizes[failed].min():.2f} of the linear network's last norm or more"
        )
        if held.any():
            notes.append(f"where it holds from {sizes[held].max():.2f} or less")
    return replace(claim, note="; ".join(notes))


def _alignment(n: xarray.Dataset) -> Claim:
    """Rows of W₂ over time: aligned when the loss begins to fall, and from no alignment at first."""
    below = n.loss < 0.9 * n.loss[:, 0]
    begun = n.aligned_share.isel(save=below.argmax("save")).where(below.any("save"))
    starts = ", ".join(f"{100 * float(one[0]):.1f} %" for one in n.aligned_share)
    return observed(
        "rows of W₂ are aligned with their inputs when a tenth of the loss is gone, as ReLU and as linear "
        "network",
        share_of_the_squared_norm_along_the_inputs=begun,
        at_least=1 - SHARE,
        source="measured here, for [ZSL25] App. F.1 of v1, which gives alignment as the reason for Eq. 40",
        bound=_LEVEL,
        seeds=(int(n.seed[0]),),
        note=f"Initial weights have {starts}.",
    )


def _norms(n: xarray.Dataset) -> Claim:
    found = observed(
        "at the end of training the ReLU network's norm is √2 times the linear one's",
        relative_gap=_counted(n, abs(n.ratio / np.sqrt(2) - 1)),
        at_most=SHARE,
        source="derived here from [ZSL25] TMLR Proposition 12",
        bound=f"weights outside Eqs. 39 and 40 change |W|² by their share, of which we allow "
        f"{100 * SHARE:g} %",
    )
    return _explained(found, n.kept)


def _speeds(n: xarray.Dataset) -> list[Claim]:
    """Proposition 12 along trained paths, of the whole network and of its halves, each a linear network."""
    gap, complete = path_gap(n.path.sel(network="relu")), learned(n).isel(seed=0)
    common: Any = {
        "at_most": np.sqrt(SHARE),
        "bound": f"a level of ours: the distance at which {100 * SHARE:g} % of |W|² lie outside Eq. 40",
        "seeds": (int(n.seed[0]),),
    }
    whole = observed(
        "along the path of the first seed the ReLU network's u̇ is Proposition 12's",
        largest_gap_over_largest_speed=gap.sel(part="whole").where(complete),
        source="[ZSL25] TMLR Proposition 12, beyond its assumption |r_l⁺| = |r_l⁻|",
        **common,
    )
    halves = observed(
        "along the path of the first seed each half of the ReLU network, the neurons of one sign, is a "
        "linear network at half speed",
        largest_gap_of_ṗ_over_largest_ṗ=gap.sel(part=["plus", "minus"]).max("part").where(complete),
        source="derived here from [ZSL25] TMLR Proposition 12: a half sees its half-space alone",
        headline=True,
        **common,
    )
    late = "the two halves of the network escape one after the other, so |r_l⁺| ≠ |r_l⁻|"
    beyond = np.greater(whole.measured, whole.bound).any()
    missing = f"{int((~complete).sum())} {_NOT_COUNTED}"
    why = "; ".join([late] * bool(beyond) + [missing] * (not complete.all()))
    return [replace(whole, note=why), _explained(halves, n.kept.isel(seed=0))]


def path_gap(path: xarray.DataArray) -> xarray.DataArray:
    """The largest gap between speed and theory along a path, over the largest speed."""
    speed, theory = (path.sel(quantity=name, drop=True) for name in ("speed", "predicted"))
    return abs(speed - theory).max("state") / abs(theory).max("state")


def _runs(n: xarray.Dataset) -> Table:
    """Every seed of every depth."""
    return table(
        "Trained networks, seed by seed",
        over=("depth", "seed"),
        columns={
            "layers": n.depth,
            "seed": n.seed,
            "loss left": n.left,
            "ReLU, distance from Eq. 40": n.relu_outside,
            "linear, distance from Eq. 39": n.linear_outside,
            "s₂/s₁ of W₁": n.outer_second,
            "s₂/s₁ between": n.middle_second,
            "s₃/s₁ between": n.middle_third,
            "norm ratio": n.ratio,
            "share where the linear one is positive": n.agreeing,
            "share of the middle along their inputs": n.aligned,
            "initial norm / last of linear": n.kept,
            "simulator's error": n.error,
            "error that conserved norms show": n.drift,
            "events of the ReLU network": n.events,
            "its end": n.stopped,
        },
    )
