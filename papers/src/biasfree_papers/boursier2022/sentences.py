"""Claims and tables: exact facts on orthogonal inputs, the paper's phases, and sets outside the theorem."""

from __future__ import annotations

import numpy as np

from biasfree.tables import Table
from biasfree_papers.boursier2022.sentences_beyond import beyond, outside
from biasfree_papers.boursier2022.sentences_phases import phases
from biasfree_papers.boursier2022.sentences_shared import PAPER, covered, of_draws
from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.types import Numbers


def claims(numbers: Numbers) -> list[Claim]:
    """Ours, then the paper's with ours on their accuracy, then the sets outside the theorem."""
    return [
        _conserved(numbers),
        _across(numbers),
        _gained(numbers),
        _shortest(numbers),
        *phases(numbers),
        *beyond(numbers),
    ]


def _conserved(numbers: Numbers) -> Claim:
    return Claim(
        sentence="flow keeps a_h² − |w_h|² of every neuron (largest change over |θ|²)",
        source="Du et al. (2018)",
        kind="ours",
        measured=tuple(numbers["pair_drift"].ravel()),
        bound=tuple(4 * numbers["pair_error"].ravel()),
        origin="four times the simulator's own error of the weights: squares of both layers",
        **of_runs(numbers),
    )


def _across(numbers: Numbers) -> Claim:
    return Claim(
        sentence="while a neuron turns to its D±, the part of it across the samples of its sign never grows "
        "(largest growth half way to the escape, over this part of all such neurons at the start)",
        source="derived here: on the other sample it is inactive and stays, or is pulled to 0",
        kind="ours",
        measured=tuple(numbers["pair_spread"].ravel()),
        bound=tuple(numbers["pair_rounding"].ravel()),
        origin="rounding alone, ε|w_h| for every step of the simulator: a step is a sum of gradients, which "
        "have no part along the other sample where a neuron is inactive on it, and pull to 0 where it is "
        f"active. At γ = {numbers['scales'][0]:g} |w_h| half way is so much larger than this part that only "
        f"growth by {numbers['pair_rounding'][0].max():.0%} could be seen, at γ = {numbers['scales'][1]:g} "
        f"by {numbers['pair_rounding'][1].max():.0e}",
        **of_runs(numbers),
    )


def _gained(numbers: Numbers) -> Claim:
    return Claim(
        sentence="no neuron becomes active on one of a dozen orthogonal samples that it was inactive on "
        "(pairs that did)",
        source="derived here: orthogonal inputs have no gradient there",
        kind="ours",
        measured=tuple(numbers["many_gained"]),
        bound=(0.0,),
        origin="exact in floating point for inputs along the axes",
        **of_draws(numbers, np.arange(len(numbers["many_draws"]))),
    )


def _shortest(numbers: Numbers) -> Claim:
    pairs = [numbers[f"{part}_norm"].ravel() / numbers[f"{part}_least"].ravel() for part in ("pair", "many")]
    return Claim(
        sentence="no network, trained on two or a dozen orthogonal samples, is shorter than the shortest one "
        "with its outputs (ratio of ½|θ|²)",
        source=f"{PAPER}: bf.theory.neighbors.interpolator_norm",
        kind="ours",
        identity=True,
        measured=tuple(np.concatenate(pairs)),
        bound=(1 - 1e-12,),
        sense="at least",
        origin="the definition of the shortest one, to rounding",
        **of_runs(numbers),
    )


def tables(numbers: Numbers) -> list[Table]:
    """The norm at the end, by kind of draw and by scale; and the sets outside the theorem."""
    covers = numbers["many_covers"]
    ratio = numbers["many_norm"] / numbers["many_minimum"]
    rows = [(*_spread("covered", ratio[covers]),), (*_spread("not covered", ratio[~covers]),)]
    columns = ("a dozen samples", "draws", "least", "median", "largest")
    norms = Table(
        f"½|θ|² over that of the shortest interpolator, γ = {float(numbers['scale']):g}", columns, tuple(rows)
    )
    return [norms, _by_scale(numbers), outside(numbers)]


def _spread(name: str, values: np.ndarray) -> tuple[object, ...]:
    if not len(values):
        return name, 0, None, None, None
    return name, len(values), float(values.min()), float(np.median(values)), float(values.max())


def _by_scale(numbers: Numbers) -> Table:
    kept = covered(numbers)
    excess = numbers["many_scan_norm"] / numbers["many_scan_minimum"] - 1
    errors = [
        np.abs(numbers[f"pair_{name}"].reshape(len(numbers["scales"]), -1, 2) / numbers["pair_measured"] - 1)
        for name in ("printed", "predicted")
    ]
    rows = [
        (
            float(scale),
            *(float(error[i].max()) for error in errors),
            float(numbers["pair_angle"][i].max()),
            *(float(np.median(excess[i, k])) if k.any() else None for k in (kept, ~kept)),
        )
        for i, scale in enumerate(numbers["scales"])
    ]
    columns = (
        "γ",
        "error of ln(1/γ)/|D±|",
        "with n±, γ±",
        "angle half way (degrees)",
        "excess norm, covered",
        "not covered",
    )
    return Table(
        "As γ falls: largest relative errors for the pair, medians for a dozen", columns, tuple(rows)
    )
