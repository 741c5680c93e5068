"""Claims and tables on the limits of training."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.tables import Table
from biasfree_papers.experiment import Claim
from biasfree_papers.types import Numbers

_END = 1e-3  # farther from its limit a run has not ended
_ACCURACY = "how far runs are from those at a hundred times the tolerance, simulated and reduced"


def claims(numbers: Numbers) -> list[Claim]:
    """Ours for both losses, the paper's, and the asymptote."""
    ours = [_reduced(numbers, "square"), _least_squares(numbers), _norms(numbers)]
    ours += [_twins(numbers, loss) for loss in ("square", "logistic")]
    ours += [_reduced(numbers, "logistic"), _largest(numbers)]
    return [*ours, *_direction(numbers), *_asymptote(numbers)]


def _runs(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": tuple(numbers["seeds"]), "each": "runs"}


def _accuracy(numbers: Numbers, loss: str) -> np.ndarray:
    """One value a start and leak, in a row."""
    return numbers[f"{loss}_accuracy"].ravel()


def _reduced(numbers: Numbers, loss: str) -> Claim:
    gaps = np.linalg.norm(numbers[f"{loss}_maps"] - numbers[f"{loss}_reduced"][:, None], axis=-1)
    sizes = np.linalg.norm(numbers[f"{loss}_maps"], axis=-1).max(axis=-1)
    return Claim(
        sentence=f"{loss} loss: the reduced flow is the network's map at all times (largest gap over the "
        "largest map)",
        source="[ZSL25] Thm. 5 (TMLR 8), Eq. 34",
        kind="ours",
        measured=tuple((gaps.max(axis=-1) / sizes).ravel()),
        bound=tuple(_accuracy(numbers, loss)),
        origin=_ACCURACY,
        **_runs(numbers),
    )


def _distance(numbers: Numbers) -> np.ndarray:
    """|w − w*|/|w*| over time, for every start and leak."""
    target = numbers["square_target"]
    return np.linalg.norm(numbers["square_maps"] - target, axis=-1) / np.linalg.norm(target)


def _least_squares(numbers: Numbers) -> Claim:
    room = _accuracy(numbers, "square") * _overshoot(numbers)
    return Claim(
        sentence="square loss: networks of every leak end at least squares (distance at the last time, "
        "relative)",
        source="[ZSL25] Corollary 6",
        kind="ours",
        measured=tuple(_distance(numbers)[..., -1].ravel()),
        bound=tuple(np.minimum(numbers["square_bound"][..., -1].ravel() + room, _END)),
        origin="√(2E(0)/λ_min)·exp(−λ_min∫|w|dt)/|w*| from the decay of the excess loss E, with the "
        f"simulated ∫|w|dt; plus {_ACCURACY}; and {_END:g} at most: farther away a run has not ended",
        **_runs(numbers),
    )


def _overshoot(numbers: Numbers) -> np.ndarray:
    """The largest map on the way over the last, the unit of accuracy over that of distance."""
    largest = np.linalg.norm(numbers["square_maps"], axis=-1).max(axis=-1).ravel()
    return largest / np.linalg.norm(numbers["square_target"])


def _norms(numbers: Numbers) -> Claim:
    """|w| = c|W₁||W₂| for rank one; of both layers an error ε|W| moves |W_l|² by 2√2ε, and |w| by 2ε."""
    sizes = np.linalg.norm(numbers["square_maps"][..., -1, :], axis=-1)
    slopes = (1 + numbers["leaks"]) / 2
    ratio = slopes[:, None] * numbers["square_norms"] ** 2 / sizes[..., None]
    return Claim(
        sentence="square loss: both layers end with |W|² = |w|/c, w the map (distance of c|W|²/|w| from 1)",
        source="derived here from [ZSL25] Thm. 5 (TMLR 8)",
        kind="ours",
        measured=tuple(np.abs(ratio - 1).max(axis=-1).ravel()),
        bound=tuple(5 * numbers["square_weight_accuracy"].ravel()),
        origin="an identity of balanced networks of rank one; 2 + 2√2 < 5 times how far weights are from "
        "those at a hundred times the tolerance",
        **_runs(numbers),
    )


def _twins(numbers: Numbers, loss: str) -> Claim:
    return Claim(
        sentence=f"{loss} loss: weights are √(1/c) times those of the linear twin at time ct (largest error)",
        source="[ZSL25] Thm. 5 (TMLR 8), Corollary 6",
        kind="ours",
        measured=tuple(numbers[f"{loss}_twin_error"].ravel()),
        bound=tuple(
            (numbers[f"{loss}_weight_accuracy"] + numbers[f"{loss}_linear_accuracy"][:, None]).ravel()
        ),
        origin="how far weights are from those at a hundred times the tolerance, of either network, added up",
        **_runs(numbers),
    )


def _by_dimension(numbers: Numbers, name: str) -> list[np.ndarray]:
    return [numbers[f"{name}_{d}"] for d in numbers["margin_dimensions"]]


def _sets(numbers: Numbers) -> dict[str, Any]:
    return {"seeds": (int(numbers["seeds"][0]),), "each": "dimensions"}


def _largest(numbers: Numbers) -> Claim:
    return Claim(
        sentence="logistic loss: no direction on the way has a larger margin than the hard-margin one "
        "(largest ratio to it)",
        source="[ZSL25] Corollary 6",
        kind="ours",
        identity=True,
        measured=tuple(share.max() for share in _by_dimension(numbers, "margin_share")),
        bound=(1 + 1e-12,),
        origin="the definition of the largest margin, to rounding",
        **_sets(numbers),
    )


def _asymptote(numbers: Numbers) -> list[Claim]:
    """For sets whose support spans the inputs; the others have no asymptote of their own."""
    known = [d for d in numbers["margin_dimensions"] if np.isfinite(numbers[f"offset_{d}"])]
    if not known:
        return []
    return [
        Claim(
            sentence="logistic loss: the map tends to a multiple of the hard-margin classifier plus a fixed "
            "ρ across it, so the angle falls as |ρ|/|w| (distance from ρ at the last time)",
            source="derived here to leading order; [ZSL25] Corollary 6",
            kind="observed",
            measured=tuple(numbers[f"offset_gap_{d}"][-1] for d in known),
            bound=tuple(numbers[f"offset_bound_{d}"][-1] for d in known),
            origin="twice the first-order move of ρ at this |w|, by the turn of r and by samples off the "
            "support: leading order with a factor, which is no bound; infinity where it is no small number",
            **_sets(numbers),
        )
    ]


def _direction(numbers: Numbers) -> list[Claim]:
    """ln t doubles from the square root of the last time to the last."""
    middle = np.argmin(np.abs(np.log(numbers["margin_ts"]) - np.log(numbers["margin_ts"][-1]) / 2))
    ratios = tuple(angle[-1] / angle[middle] for angle in _by_dimension(numbers, "angle"))
    return [
        Claim(
            sentence="logistic loss: the direction tends to the hard-margin one (angle at the horizon over "
            "that at its square root)",
            source="[ZSL25] Corollary 6",
            kind="paper",
            measured=ratios,
            bound=(1.0,),
            origin="the paper is about t → ∞ and gives no rate: the angle falls",
            basis="stated",
            **_sets(numbers),
        ),
        Claim(
            sentence="logistic loss: it does so as 1/ln t, as one linear layer does (the same ratio)",
            source="measured here; Soudry et al. (2018) for one linear layer",
            kind="observed",
            measured=ratios,
            bound=(0.6,),
            origin="½ for 1/ln t exactly; we allow 0.6 for terms of higher order",
            note="later where samples lie just off the support, or where that does not span the inputs",
            **_sets(numbers),
        ),
    ]


def tables(numbers: Numbers) -> list[Table]:
    """How slowly the direction arrives, by dimension."""
    ts = numbers["margin_ts"]
    shown = [int(np.argmin(np.abs(np.log(ts) - np.log(ts[-1]) * share))) for share in (0.125, 0.25, 0.5, 1)]
    columns = ("inputs", *(f"angle at t = {ts[i]:.0e} (degrees)" for i in shown), "|ρ|", "margin share")
    rows = [
        (
            int(d),
            *(float(np.degrees(numbers[f"angle_{d}"][i])) for i in shown),
            float(numbers[f"offset_{d}"]),
            float(numbers[f"margin_share_{d}"][-1]),
        )
        for d in numbers["margin_dimensions"]
    ]
    return [Table("Angle between the map and the hard-margin direction", columns, tuple(rows))]
