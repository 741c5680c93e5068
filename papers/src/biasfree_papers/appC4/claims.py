"""Claims of App. C.4: the equivalence under L2, its reduced flow, and its limit."""

from __future__ import annotations

import xarray

from biasfree_papers.experiment import Claim
from biasfree_papers.statements import ours

_END = 1e-3  # in units of s; farther from its limit a run has not ended
_FLOW = (
    "the simulator's own error estimates of the runs; on white data errors do not grow, relative to weights"
)


def claims(n: xarray.Dataset) -> list[Claim]:
    """All ours: of the appendix only its subject is known."""
    return [*_paths(n), _ends(n)]


def _paths(n: xarray.Dataset) -> list[Claim]:
    """From rank-one weights of the first seed, all leaks and strengths."""
    common = {"seeds": (int(n.seed[0]),), "each": "strengths and leaks"}
    below = n.leak < 1
    return [
        ours(
            "with L2 of λ a (leaky) ReLU network follows the linear one with λ/c: √c·W(t) = W_lin(ct)",
            largest_weight_error_along_the_path=n.twin_error.where(below, drop=True),
            at_most=n.accuracy.where(below, drop=True) + n.accuracy.sel(leak=1),
            source="[ZSL25] TMLR App. C.4; the form λ/c is derived here",
            bound=_FLOW,
            nature="theorem",
            headline=True,
            **common,
        ),
        ours(
            "the reduced flow with L2 gives the weights",
            largest_relative_distance_along_the_path=n.reduced_error,
            at_most=n.accuracy + 1e-8,
            source="derived here from [ZSL25] Eq. 34",
            bound=f"{_FLOW}; plus 1e-8 for the reduced flow, a hundred times its tolerance",
            nature="theorem",
            **common,
        ),
        ours(
            "on white data the map learned with L2 from rank-one weights ends at max(s − λ/c, 0)·β̄",
            distance_at_the_last_time_over_s=n.path_gap,
            at_most=(n.path_left + 4 * n.accuracy).clip(max=_END),
            source="derived here; [ZSL25] TMLR App. C.4",
            bound="how far the reduced flow still is at the last time; plus the simulator's own error "
            "estimate, twice for a product of two layers and twice for |w| ≤ 2s; and "
            f"{_END:g} at most: farther away a run has not ended",
            nature="prediction",
            headline=True,
            **common,
        ),
    ]


def _ends(n: xarray.Dataset) -> Claim:
    """ReLU and linear, for which the halves of the initial weights say how far the end is."""
    return ours(
        "descent with L2 from small Gaussian weights ends at the shrunken least-squares solution, white data "
        "or not, for ReLU and linear networks",
        larger_distance_over_s=n.end_gap.isel(leak=[0, -1]).max("leak"),
        at_most=(3 * n.end_left + n.rounding).clip(max=_END),
        source="derived here; [ZSL25] TMLR App. C.4",
        bound="three times how far from its limit the slower half of the ReLU network is by then (reduced "
        "flow, slowed by forward Euler's ηs/2) and what L2 leaves of the initial map; plus rounding; and "
        f"{_END:g} at most: farther away a run has not ended",
        nature="prediction",
        each="data, strengths and seeds",
    )
