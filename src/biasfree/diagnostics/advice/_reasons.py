"""The reasons of a report: sentences with their numbers, each derived from the state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from biasfree.diagnostics._mirror_test import Symmetry
from biasfree.diagnostics._targets import OVERLAP, Part, TargetShares
from biasfree.diagnostics.advice._measurements import Measurements
from biasfree.diagnostics.advice._state import State, Thresholds
from biasfree.diagnostics.advice._wording import ROUNDING, Reason, measured_points, percent
from biasfree.ties import first_least, side

_EQUIVALENCE = "docs/theory/equivalence.md"
_EXPRESSIVITY = "docs/theory/expressivity.md"
_ROUNDINGS = 10_000  # of a moment over the samples of a study, at most


def reasons(state: State, measured: Measurements, thresholds: Thresholds) -> tuple[Reason, ...]:
    """How the numbers were measured, what they are, and which theorem applies; the paper's terms last."""
    return (
        *_of_scores(state, measured),
        *_of_peers(measured),
        *_of_function(state, measured, thresholds),
        *(Reason(f"a tie: {tie}.") for tie in state.ties),
        *_of_targets(measured),
        *_of_centering(measured),
        *_of_symmetry(state, measured),
        *_of_training(state),
        *_of_theory(state, measured),
    )


def _of_scores(state: State, measured: Measurements) -> Iterator[Reason]:
    versus, data = measured.competitors, measured.data
    if versus is None or data is None:
        return
    how = f"on {len(versus.tested):,} samples held out from their fit"
    if versus.folds > 1:
        how = f"in {versus.folds}-fold cross-validation"
    kernel = (
        f"kernel machine minus linear map: {measured_points(versus.flexible_gain)} "
        f"({versus.flexible_samples:,} samples). A difference counts if it exceeds two standard errors, "
        "which follow the ±."
    )
    if measured.gain is None:
        yield Reason(f"linear maps are scored {how}; {kernel}")
    else:
        seen = "; if it was trained on them, its score is optimistic (unseen=True says that it was not)"
        if state.unseen:
            seen = ", which it has not seen"
        yield Reason(f"the model is scored on the samples given{seen}. Linear maps are scored {how}.")
        yield Reason(f"model minus linear map: {measured_points(measured.gain)}; {kernel}")
    if state.intercept_helps:
        yield Reason(f"an intercept adds {measured_points(versus.intercept_gain)} to the linear map.")


def _of_peers(measured: Measurements) -> Iterator[Reason]:
    peers = measured.peers
    if peers is None:
        return
    shape = " → ".join(map(str, peers.sizes))
    whose = "the model's shape" if peers.known else "a standard shape, since the model's is not known"
    yield Reason(
        f"networks {shape} ({whose}) trained here on the same samples, tested on held-out ones: with biases "
        f"minus without {measured_points(peers.biased.minus(peers.plain))}, one layer more minus the same "
        f"{measured_points(peers.deeper.minus(peers.plain))}."
    )


def _of_function(state: State, measured: Measurements, thresholds: Thresholds) -> Iterator[Reason]:
    if measured.nonlinear is None:
        return
    worst = first_least(-measured.nonlinear)
    several = len(measured.nonlinear) > 1
    which = f" (output {worst}, the worst of {len(measured.nonlinear)})" if several else ""
    compared = "not more" if state.small else "more"
    yield Reason(
        f"the best linear map leaves N = {percent(measured.nonlinear[worst])} of the model's outputs "
        f"unexplained{which}, {compared} than {percent(thresholds.nonlinear_above)}."
    )
    nearly = state.small or (state.close and not measured.bias_free)
    if not state.linear and not state.affine and nearly:
        replaced = measured.replaced(intercept=not state.small)
        assert replaced is not None
        assert measured.score is not None
        lost = measured_points(measured.score.minus(replaced))
        yield Reason(f"small as this is, it matters: the model minus its best linear map scores {lost}.")
    if state.affine and measured.beyond_affine is not None:
        left = percent(measured.beyond_affine.max())
        yield Reason(f"with an intercept it leaves {left}: the model is a linear map plus a constant.")
    if measured.residual is None or measured.task is None:
        return
    more = "more" if state.unfinished else "not more"
    amount = percent(measured.residual) if measured.residual < 1 else "all"
    yield Reason(f"{amount} {_what(measured)}, {more} than {percent(thresholds.residual_above)}.")


def _what(measured: Measurements) -> str:
    """What the residual is a share of."""
    task, score = measured.task, measured.score
    assert task is not None
    assert score is not None
    if task.classes is None or (measured.found is not None and measured.found.shape[1] == 1):
        several = measured.data is not None and measured.data.outputs > 1
        return "of ⟨y²⟩ is not fitted" + (" in the worst output" if several else "")
    if score.cross_entropy is None:
        return "of the samples is put in another class"
    return "of the cross entropy of guessing is left"


def _of_targets(measured: Measurements) -> Iterator[Reason]:
    shares = measured.shares
    if shares is None:
        return
    if np.isnan(shares.total.linear):
        yield Reason("all targets are zero, so they have no parts.", _EXPRESSIVITY)
        return
    total = shares.total
    yield Reason(
        f"of ⟨y²⟩, a linear map without intercept, fitted to all samples, explains {percent(total.linear)}; "
        f"the odd nonlinear part, which two bias-free layers cannot express, is {_part(total.odd)}; the "
        f"part that is even in x is {_part(total.even)}.",
        _EXPRESSIVITY,
    )
    unknown = [
        name
        for name, part in (("odd", total.odd), ("even", total.even))
        if part.identified == "not identifiable"
    ]
    if unknown:
        yield Reason(
            f"not identifiable ({' and '.join(unknown)} part): {_why(shares, unknown)}", _EXPRESSIVITY
        )


def _why(shares: TargetShares, unknown: list[str]) -> str:
    """Why a part of the targets is not identifiable, and what would make it so."""
    if np.isnan(shares.overlap):
        return f"{shares.samples} samples are too few to hold some out; at least 10 are needed."
    if all(getattr(shares.total, name).error <= ROUNDING for name in unknown):
        return (
            "to rounding, it is predicted to be zero on held-out samples: a linear map leaves nothing that "
            "such functions of these inputs explain."
        )
    if side(shares.overlap, OVERLAP, terms=shares.samples) > 0:
        return (
            "odd and even functions look alike on these inputs (their predictions correlate by "
            f"{shares.overlap:.2f}, more than 0.5), as where the inputs lie on one side of 0. Center the "
            "inputs, or add samples near −x."
        )
    errors = " and ".join(percent(getattr(shares.total, name).error) for name in unknown)
    return (
        f"on held-out samples it is smaller than its error allows to see (standard error {errors} of ⟨y²⟩, "
        f"from {shares.samples:,} samples). It may be zero; four times as many samples halve the error."
    )


def _part(part: Part) -> str:
    if part.identified == "not identifiable":
        return "not identifiable"
    return percent(part.value) + (
        "" if part.identified == "exact" else f" ± {percent(part.error)} (estimate)"
    )


def _of_centering(measured: Measurements) -> Iterator[Reason]:
    """The effect of centering, if the mean of the inputs matters."""
    seen, made = measured.symmetry, measured.preparation
    if seen is None or made is None or seen.exact or side(made.offset, 0.1, terms=_ROUNDINGS) < 0:
        return
    if side(made.centered.symmetry, seen.defect / 2, terms=_ROUNDINGS) <= 0:
        yield Reason(
            "the inputs are not centered: bf.data.center would reduce the asymmetry of the data from "
            f"{percent(seen.defect)} to {percent(made.centered.symmetry)}, and so make a bias-free network "
            "more nearly linear."
        )


def _of_symmetry(state: State, measured: Measurements) -> Iterator[Reason]:
    if measured.symmetry is not None:
        yield Reason(_symmetry(state, measured, measured.symmetry), _EQUIVALENCE)


def _symmetry(state: State, measured: Measurements, seen: Symmetry) -> str:
    if seen.exact:
        return (
            "the data are symmetric: every sample has its mirror image (−x, −y), so Condition 3 (TMLR 3) "
            "holds exactly."
        )
    if measured.moments_only:
        return (
            "the data are symmetric in second moments only: this suffices for the square loss, but the "
            "logistic loss also needs mirror images (−x, −y), which are missing (Condition 3, TMLR 3)."
        )
    off = (
        f"in the worst half-space found, the moments deviate by {percent(seen.inputs)} (inputs) and "
        f"{percent(seen.targets)} (targets)"
    )
    p = f"p = {seen.p_value:.3g}"
    if measured.mirrored_by_design:
        odd = "their targets are not odd" if seen.evenness == 1 else "the others do not"
        return (
            f"the data are not symmetric: {percent(seen.evenness)} of the samples have a mirror input, more "
            f"than by chance, but {odd}; {off}. Condition 3 (TMLR 3) is rejected ({p} for independent "
            "samples)."
        )
    if state.rejected:
        return (
            f"the data are not symmetric: {off}, more than by chance. Condition 3 (TMLR 3) is rejected, {p}."
        )
    return (
        f"the data show no asymmetry: {off}, which chance explains. Condition 3 (TMLR 3) is not rejected, "
        f"{p}."
    )


def _of_training(state: State) -> Iterator[Reason]:
    """Which ways to train keep a network linear on symmetric data."""
    if state.kept_linear:
        yield Reason(
            "whether two bias-free layers stay linear here also depends on the training: descent, momentum "
            "and batches that hold x together with −x keep them linear; batches that separate the two do "
            "not, nor does Adam, unless neurons begin in opposite pairs.",
            "docs/theory/optimizers.md",
        )


_LEARNING = (
    (
        "equivalent_flow",
        "Theorem 5 (TMLR 8): the model learns as its linear twin, in rescaled time",
        _EQUIVALENCE,
    ),
    (
        "aligned",
        "Theorem 13 of v1: from these small weights, only one direction is learned first",
        "docs/theory/early_phase.md",
    ),
    (
        "deep_flow",
        "Proposition 12 (App. F.2 of v1): a deep network of low rank is linear",
        "docs/theory/deep.md",
    ),
    (
        "loss_split",
        "on these data the loss is that of a linear network plus that of the even part",
        "docs/theory/loss_split.md",
    ),
)


def _of_theory(state: State, measured: Measurements) -> Iterator[Reason]:
    table = measured.coverage
    if table is None:
        if state.has_model and state.two_layers:
            yield Reason(
                "Theorem 1: two bias-free layers are a linear map plus an even function.", _EXPRESSIVITY
            )
        return
    apply = sum(row.applies for row in table)
    count = f"{apply} of {len(table)} results of the theory apply to this model and these data"
    for name, text, page in _LEARNING:
        if table[name].applies:
            yield Reason(f"{count}, among them: {text} (bf.theory.{name}).", page)
            return
    yield Reason(f"{count}; bf.theory.coverage lists them.", "docs/theory/README.md")
