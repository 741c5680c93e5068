"""Claims on the trained networks: the floor, preserved signs, and the final norm."""

from __future__ import annotations

import numpy as np

from biasfree_papers.experiment import Claim, of_runs
from biasfree_papers.types import Numbers


def exact(numbers: Numbers) -> list[Claim]:
    """What holds for every draw."""
    return [_floor(numbers), _gained(numbers), _shortest(numbers)]


def observed(numbers: Numbers) -> list[Claim]:
    """What descent did, beyond what is derived."""
    excess = _both(numbers, "excess")
    return [
        Claim(
            sentence="training ends at that floor: at zero where every sample is covered (loss at the end "
            "above it, over ½)",
            source="derived here for flow as t → ∞, |a_h| > |w_h|: bf.theory.neighbors.loss_floor",
            kind="observed",
            measured=tuple(2 * excess.ravel()),
            bound=(1e-6,),
            origin="the theorem is about the limit; we take a millionth of the first loss at the last step",
            **of_runs(numbers),
        ),
        Claim(
            sentence="the outer weights keep their signs in descent too (signs that changed)",
            source="Boursier et al. (2022) for flow, |a_h| ≥ |w_h|",
            kind="observed",
            basis="stated",
            measured=tuple(_both(numbers, "flipped").ravel()),
            bound=(0.0,),
            origin="a theorem of flow",
            **of_runs(numbers),
        ),
        Claim(
            sentence="descent lets |w_h| pass |a_h| by no more than steady growth explains (largest "
            "|w_h|/|a_h| of a neuron, at the saved steps)",
            source="derived here for steady growth",
            kind="observed",
            basis="derived",
            measured=tuple(_both(numbers, "ratio").ravel()),
            bound=(_largest_ratio(float(numbers["step"])),),
            origin="√(1 + ε(1 + ε)²/(2 + ε)) at the largest ε = η|g|; signs of a_h are safe up to "
            f"{1 / float(numbers['step']):g}",
            **of_runs(numbers),
        ),
        Claim(
            sentence="half the step changes nothing that matters (relative change of the final ½|θ|²)",
            source="the first order of Euler's rule",
            kind="observed",
            measured=tuple(numbers["step_change"]),
            bound=(0.01,),
            origin="we take a hundredth",
            seeds=tuple(numbers["seeds"]),
        ),
    ]


def _both(numbers: Numbers, name: str) -> np.ndarray:
    """Of all trained networks, at either width."""
    return np.concatenate([numbers[f"half_{name}"], numbers[f"wide_{name}"]], axis=1)


def _rounding(numbers: Numbers) -> np.ndarray:
    """A mean of n squares, of sizes that add up to n."""
    return numbers["samples"] * np.finfo(float).eps


def _floor(numbers: Numbers) -> Claim:
    below = _both(numbers, "below")
    return Claim(
        sentence="the loss never falls below Σy²/(2P) over the samples that no neuron of their sign was "
        "active on at the start (lowest loss less that)",
        source="derived here: bf.theory.neighbors.loss_floor",
        kind="ours",
        measured=tuple(below.ravel()),
        bound=tuple(np.repeat(-_rounding(numbers), below.shape[1])),
        sense="at least",
        origin="such a sample keeps y f ≤ 0 while a_h keep their signs; less the rounding of a mean of n "
        f"squares, nε. {_why_signs_are_kept(float(numbers['step']))}",
        **of_runs(numbers),
    )


def _largest_ratio(step: float) -> float:
    """√(1 + ε(1 + ε)²/(2 + ε)): what |w_h|/|a_h| comes to by growth in steps of ε."""
    return float(np.sqrt(1 + step * (1 + step) ** 2 / (2 + step)))


def _why_signs_are_kept(step: float) -> str:
    lost, ratio, turned = (
        f"{np.ceil(100 * x) / 100:g}"
        for x in (_largest_ratio(step) ** 2 - 1, _largest_ratio(step), step * _largest_ratio(step))
    )
    return (
        "A step η changes a_h by ηw_h·g and w_h by ηa_h g, g = Σ(y − f)x/P over the samples it is active on: "
        f"η|g| ≤ {step:g}√(2L) ≤ {step:g} as the loss L falls from ½. So a_h turns over only if |w_h| > "
        f"{1 / step:g}|a_h|. And a_h² − |w_h|², positive at first, changes by exactly η²((w_h·g)² − "
        "a_h²|g|²): it loses (η|g|a_h)² at most. While a_h grows by the factor 1 + ε a step, ε = η|g|, those "
        "losses add up to ε/(2 + ε)·a_h², and with a last step that does not grow to ε(1 + ε)²/(2 + ε)·a_h², "
        f"{lost}a_h² at most. Hence |w_h| ≤ {ratio}|a_h| and η|g||w_h| ≤ {turned}|a_h|; as g → 0 nothing is "
        "added. Steady growth is an estimate, no proof for every step: the ratio is measured below"
    )


def _gained(numbers: Numbers) -> Claim:
    return Claim(
        sentence="no neuron becomes active on a sample that it was inactive on (pairs that did)",
        source="derived here: orthogonal inputs have no gradient there",
        kind="ours",
        measured=tuple(_both(numbers, "gained").ravel()),
        bound=(0.0,),
        origin="exact in floating point for inputs along the axes",
        **of_runs(numbers),
    )


def _shortest(numbers: Numbers) -> Claim:
    return Claim(
        sentence="no trained network is shorter than the shortest one with its outputs (ratio of ½|θ|²)",
        source="Boursier et al. (2022): bf.theory.neighbors.interpolator_norm",
        kind="ours",
        identity=True,
        measured=tuple((_both(numbers, "norm") / _both(numbers, "least")).ravel()),
        bound=(1 - 1e-12,),
        sense="at least",
        origin="the definition of the shortest one, to rounding",
        **of_runs(numbers),
    )
