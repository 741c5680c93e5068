"""The decisions of a diagnosis: every sentence of a report is derived from this one state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from biasfree.diagnostics.advice._competitors import installed
from biasfree.diagnostics.advice._measurements import Measurements
from biasfree.diagnostics.advice._task import difference
from biasfree.ties import EPS, share_side, side

Verdict = Literal["effectively linear", "effectively affine", "linear so far", "nonlinear"]
#: What the numbers say about the question "would a linear model do as well?".
Case = Literal[
    "not trained",  # the model does worse than a linear map
    "needs none",  # no difference from a linear map is seen, neither for the model nor for a kernel machine
    "earns",  # the model does better than a linear map, and held-out samples confirm it
    "unconfirmed",  # the model does better on samples that it may have memorized
    "held back",  # effectively linear, and the data keep it so, where a nonlinear model does better
    "not yet",  # as good as a linear map, where a nonlinear model does better
    "intercept",  # a linear map with an intercept does better than the model
    "no signal",  # nothing predicts the targets better than a constant
    "not compared",  # scikit-learn is not installed
    "too few",  # too few samples to hold some out
    "constant",  # all targets are equal
    "no targets",  # there are no data
]


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of the verdict, see `bf.diagnose`."""

    nonlinear_above: float
    rejected_below: float
    residual_above: float
    gain_above: float = 0.005


@dataclass(frozen=True)
class State:
    """What was decided, from the measurements and the thresholds."""

    verdict: Verdict
    case: Case
    has_model: bool
    has_data: bool
    small: bool
    """Whether N is small."""
    close: bool
    """Whether N is small with an intercept."""
    linear: bool
    """Whether a linear map without intercept stands for the model: N is small, and it scores as well."""
    affine: bool
    """Whether a linear map with an intercept does, but none without."""
    two_layers: bool
    """Whether the model is known to have two layers without biases, or to be linear."""
    mirrored: bool
    """Whether every sample has its mirror image."""
    rejected: bool
    """Whether Condition 3 is rejected."""
    unfinished: bool
    """Whether a part of the targets is not fitted, by the model or, without one, by a linear map."""
    nonlinear_helps: bool
    """Whether a nonlinear model does better than linear maps on held-out samples."""
    intercept_helps: bool
    """Whether an intercept makes a linear map better on held-out samples."""
    unseen: bool
    """Whether the model is known not to have been trained on the samples."""
    ties: tuple[str, ...] = ()
    """Numbers that equal their threshold to rounding, and what they count as."""

    @property
    def replacement(self) -> str:
        """The map that stands for the model; "" if none does."""
        if self.linear:
            return "linear"
        return "a linear map with an intercept" if self.affine else ""

    @property
    def kept_linear(self) -> bool:
        """Whether theory keeps a two-layer network linear on these data, as far as can be seen."""
        return self.has_data and not self.rejected and (self.two_layers or not self.has_model)


def state_of(measured: Measurements, thresholds: Thresholds, *, unseen: bool = False) -> State:
    """Decide."""
    sides = _sides(measured, thresholds)
    small, close = sides["N"] <= 0, sides["affine N"] <= 0
    linear = small
    affine = not linear and not measured.bias_free and close
    seen = measured.symmetry
    versus = measured.competitors
    gain = thresholds.gain_above
    if _matters(measured, linear, affine, gain):
        linear = affine = False
    rejected = (
        seen is not None
        and not seen.exact
        and (sides["p"] < 0 or measured.mirrored_by_design or measured.moments_only)
    )
    network = measured.network
    two_layers = network is not None and network.biases is None and (network.depth <= 2 or network.leak == 1)
    unfinished = sides["residual"] > 0
    helps = versus is not None and (versus.flexible_gain.above(gain) or _peers_gain(measured, gain))
    has_model = measured.subject is not None
    return State(
        verdict=_verdict(has_model, linear, affine, rejected, two_layers, unfinished),
        case=_case(
            measured, gain, linear=linear or affine, helps=helps, unseen=unseen,
            kept=two_layers and not rejected,
        ),
        has_model=has_model,
        has_data=measured.data is not None,
        small=small,
        close=close,
        linear=linear,
        affine=affine,
        two_layers=two_layers,
        mirrored=seen is not None and seen.exact,
        rejected=rejected,
        unfinished=unfinished,
        nonlinear_helps=helps,
        intercept_helps=versus is not None and versus.intercept_gain.above(gain),
        unseen=unseen,
        ties=tuple(_ties(sides, measured, gain)),
    )  # fmt: skip


def _sides(measured: Measurements, thresholds: Thresholds) -> dict[str, int]:
    """Every share and its threshold: −1 below, 0 for a tie, 1 above; 1 for what is not known."""
    terms = 1 if measured.x is None else sum(measured.x.shape)  # a mean over samples, a sum over inputs
    seen, left = measured.symmetry, measured.residual
    if measured.subject is None and measured.linear_share is not None:
        left = 1 - measured.linear_share

    def of(share: float | None, threshold: float) -> int:
        return 1 if share is None else share_side(share, threshold, terms=terms)

    nonlinear, beyond = measured.nonlinear, measured.beyond_affine
    return {
        "N": of(None if nonlinear is None else float(nonlinear.max()), thresholds.nonlinear_above),
        "affine N": of(None if beyond is None else float(beyond.max()), thresholds.nonlinear_above),
        "residual": of(left, thresholds.residual_above),
        "p": 1 if seen is None else side(seen.p_value, thresholds.rejected_below),
    }


_TIES = {
    "N": "N equals nonlinear_above to rounding, and counts as not more",
    "affine N": "N with an intercept equals nonlinear_above to rounding, and counts as not more",
    "residual": "the part of the targets that is not fitted equals residual_above to rounding, and counts as "
    "not more",
    "p": "p equals rejected_below, and counts as not less",
}


def _ties(sides: dict[str, int], measured: Measurements, gain: float) -> Iterator[str]:
    """Numbers that equal their threshold to rounding, and what they count as."""
    yield from (_TIES[name] for name, found in sides.items() if found == 0)
    if measured.competitors is None:
        return
    gains = {"model": measured.gain, "kernel machine": measured.competitors.flexible_gain}
    for name, one in gains.items():
        if one is not None and (tie := one.tie(gain)):
            yield f"{name} minus linear map equals {tie}"


def _verdict(
    has_model: bool, linear: bool, affine: bool, rejected: bool, two_layers: bool, unfinished: bool
) -> Verdict:
    if has_model and affine:
        return "effectively affine"
    if has_model and not linear:
        return "nonlinear"
    unprotected = rejected or (has_model and not two_layers)
    return "linear so far" if unprotected and unfinished else "effectively linear"


def _matters(measured: Measurements, linear: bool, affine: bool, gain: float) -> bool:
    """Whether a model that is nearly linear scores better than the linear map that it nearly is."""
    if not (linear or affine) or measured.score is None:
        return False
    replaced = measured.replaced(intercept=affine)
    return replaced is not None and measured.score.minus(replaced).above(gain)


def _peers_gain(measured: Measurements, gain: float) -> bool:
    """Whether a network trained here does better than the better linear map, where both were tested."""
    peers, versus = measured.peers, measured.competitors
    if peers is None or versus is None:
        return False
    best = max((peers.plain, peers.biased, peers.deeper), key=lambda score: score.value)
    return measured.against_linear(peers.tested, best).above(gain)


def _signal(measured: Measurements, unseen: bool) -> bool:
    """Whether anything predicts targets of samples that it has not seen better than a constant does."""
    task = measured.task
    versus = measured.competitors
    peers = measured.peers
    assert task is not None
    assert versus is not None
    tried = [versus.linear, versus.affine, versus.flexible]
    tried += [] if peers is None else [peers.plain, peers.biased, peers.deeper]
    tried += [measured.score] if unseen and measured.score is not None else []
    return any(difference(score.hits - task.baseline).above(0.0) for score in tried)


def _case(
    measured: Measurements, gain: float, *, linear: bool, helps: bool, unseen: bool, kept: bool
) -> Case:
    versus, task = measured.competitors, measured.task
    if task is None:
        return "no targets"
    if task.constant:
        return "constant"
    if versus is None:
        return "too few" if installed() else "not compared"
    signal = _signal(measured, unseen)
    if measured.score is None:
        return "earns" if helps else "needs none" if signal else "no signal"
    mine = measured.score_on(versus.tested)
    over_linear, over_best = mine.minus(versus.linear), mine.minus(versus.best)
    if not signal and (linear or not over_best.above(gain)):
        return "no signal"
    if over_best.below(gain, errors=3):  # three, since the better of two maps is chosen on the same samples
        return "intercept" if measured.bias_free and not over_linear.below(gain) else "not trained"
    if not linear and over_best.above(gain):
        # the excess error of a linear map falls as 1/n, so that endless samples would add as much again as
        # the last doubling; a model that was trained on others may have had them
        sure = side(over_best.value, versus.growth, size=over_best.rounding / EPS) > 0 if unseen else helps
        return "earns" if sure else "unconfirmed"
    if helps:
        return "held back" if linear and kept else "not yet"
    return "needs none"
