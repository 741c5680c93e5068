"""The verdict and its reasons: the thresholds, the theorems that apply, and advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biasfree.diagnosis._measurements import Measurements
from biasfree.diagnostics._targets import Part


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of the verdict, see `bf.diagnose`."""

    nonlinear_above: float
    rejected_below: float
    residual_above: float

    def named(self) -> dict[str, float]:
        """The thresholds by the names of the arguments."""
        return dict(vars(self))


def verdict(measured: Measurements, thresholds: Thresholds) -> str:
    """One of `effectively linear`, `linear so far`, `nonlinear`."""
    if measured.nonlinear is not None and measured.nonlinear.max() > thresholds.nonlinear_above:
        return "nonlinear"
    unprotected = _rejected(measured, thresholds) or not (measured.subject is None or _two_layers(measured))
    return "linear so far" if unprotected and _unfinished(measured, thresholds) else "effectively linear"


def reasons(measured: Measurements, thresholds: Thresholds) -> tuple[str, ...]:
    """Sentences: measurements, the theorem that applies, and advice at the end."""
    said = [
        *_of_function(measured, thresholds),
        *_of_symmetry(measured, thresholds),
        *_of_targets(measured),
        *_of_theory(measured),
    ]
    return (*said, _advice(measured, thresholds))


def _rejected(measured: Measurements, thresholds: Thresholds) -> bool:
    """Whether Condition 3 is rejected: by the test, or because mirror images are incomplete."""
    seen = measured.symmetry
    if seen is None or seen.exact:
        return False
    return seen.p_value < thresholds.rejected_below or measured.mirrored_by_design or measured.moments_only


def _two_layers(measured: Measurements) -> bool:
    """Whether the model is known to have two layers without biases, or to be linear."""
    network = None if measured.subject is None else measured.subject.network
    return network is not None and network.biases is None and (network.depth <= 2 or network.leak == 1)


def _unfinished(measured: Measurements, thresholds: Thresholds) -> bool:
    """Whether a part of the targets is not fitted, by the model or, without one, by a linear map."""
    left = measured.residual
    if measured.subject is None and measured.shares is not None:
        left = 1 - measured.shares.total.linear
    return left is None or left > thresholds.residual_above


def _of_function(measured: Measurements, thresholds: Thresholds) -> Iterator[str]:
    if measured.nonlinear is None:
        return
    worst = int(np.argmax(measured.nonlinear))
    which = (
        "" if len(measured.nonlinear) == 1 else f" (output {worst}, the worst of {len(measured.nonlinear)})"
    )
    above = measured.nonlinear[worst] > thresholds.nonlinear_above
    yield (
        f"the best linear map leaves N = {_percent(measured.nonlinear[worst])} of the model's outputs "
        f"unexplained{which}, {'more' if above else 'not more'} than {_percent(thresholds.nonlinear_above)}."
    )
    if measured.residual is not None:
        left = measured.residual > thresholds.residual_above
        amount = _percent(measured.residual) if measured.residual < 1 else "all"
        yield (
            f"{amount} of the targets is not fitted{_of_worst(measured)}, "
            f"{'more' if left else 'not more'} than {_percent(thresholds.residual_above)}."
        )


def _of_worst(measured: Measurements) -> str:
    several = measured.data is not None and measured.data.outputs > 1
    return " in the worst output" if several else ""


def _of_symmetry(measured: Measurements, thresholds: Thresholds) -> Iterator[str]:
    seen = measured.symmetry
    if seen is None:
        return
    if seen.exact:
        yield "Condition 3 (TMLR 3) holds exactly: every sample has its mirror image (−x, −y)."
        return
    off = (
        f"in the worst half-space found, the moments deviate by {_percent(seen.inputs)} (inputs) and "
        f"{_percent(seen.targets)} (targets)"
    )
    if measured.moments_only:
        yield (
            "Condition 3 (TMLR 3) holds in second moments only: this suffices for the square loss, but the "
            "logistic loss also needs mirror images (−x, −y), which are missing."
        )
        return
    if measured.mirrored_by_design:
        odd = "their targets are not odd" if seen.evenness == 1 else "the others do not"
        yield (
            f"Condition 3 (TMLR 3) is rejected: {_percent(seen.evenness)} of the samples have a mirror "
            f"input, more than by chance, but {odd}; {off} (p = {seen.p_value:.3g} for independent samples)."
        )
        return
    outcome = "rejected" if _rejected(measured, thresholds) else "not rejected"
    yield f"Condition 3 (TMLR 3) is {outcome}, p = {seen.p_value:.3g}: {off}."


def _of_targets(measured: Measurements) -> Iterator[str]:
    if measured.shares is None:
        return
    total = measured.shares.total
    if np.isnan(total.linear):
        return
    yield (
        f"a linear map explains {_percent(total.linear)} of the targets; the odd nonlinear part is "
        f"{_part(total.odd)}, the even part {_part(total.even)}."
    )


def _of_theory(measured: Measurements) -> Iterator[str]:
    if measured.coverage is not None:
        for name, text in (
            (
                "equivalent_flow",
                "Theorem 5 (TMLR 8) applies: the model learns as its linear twin, in rescaled time",
            ),
            (
                "aligned",
                "Theorem 13 of v1 applies: from these small weights, only one direction is learned first",
            ),
            ("deep_flow", "Proposition 12 (App. F.2 of v1) applies: a deep network of low rank is linear"),
            ("loss_split", "on these data the loss is that of a linear network plus that of the even part"),
        ):
            if measured.coverage[name].applies:
                yield f"{text} (bf.theory.{name})."
                return
        yield "no result on learning applies to this model and these data; see bf.theory.coverage."
    elif _two_layers(measured):
        yield "Theorem 1: two bias-free layers are a linear map plus an even function."


def _advice(measured: Measurements, thresholds: Thresholds) -> str:
    """One sentence of advice: the first that applies."""
    advice = (
        _about_odd(measured, thresholds),
        _about_centering(measured),
        _about_even(measured, thresholds),
        _about_verdict(measured, thresholds),
    )
    return next(sentence for sentence in advice if sentence is not None)


def _about_odd(measured: Measurements, thresholds: Thresholds) -> str | None:
    odd = 0.0 if measured.shares is None else measured.shares.total.odd.known
    if not odd > thresholds.residual_above or not _unfinished(measured, thresholds):
        return None
    if measured.subject is None or _two_layers(measured):
        return (
            f"{_percent(odd)} of the targets is odd and nonlinear, which two bias-free layers cannot fit; "
            "add biases or a layer."
        )
    return f"{_percent(odd)} of the targets is odd and nonlinear; this model may learn it: train longer."


def _about_even(measured: Measurements, thresholds: Thresholds) -> str | None:
    even = 0.0 if measured.shares is None else measured.shares.total.even.known
    if not even > thresholds.residual_above or not _unfinished(measured, thresholds):
        return None
    return (
        f"{_percent(even)} of the targets is even; two bias-free layers can fit an even part that is "
        "positively homogeneous, once training leaves the linear plateau."
    )


def _about_verdict(measured: Measurements, thresholds: Thresholds) -> str:
    decided = verdict(measured, thresholds)
    if decided == "nonlinear":
        return "the model uses its nonlinearity; the tables list how it differs from a linear map."
    if decided == "linear so far":
        what = "a two-layer network" if measured.subject is None else "this model"
        return f"nothing keeps {what} linear; train longer and diagnose again."
    if measured.subject is not None:
        return "a linear model computes the same function; to learn more, add biases or a layer."
    unknown = 0.0 if measured.shares is None else measured.shares.total.noise
    if unknown > thresholds.residual_above:
        return f"{_percent(unknown)} of the targets is noise, or needs more samples to be identified."
    return "a linear model fits these data as well."


def _about_centering(measured: Measurements) -> str | None:
    """The effect of centering, if the mean of the inputs matters."""
    seen, made = measured.symmetry, measured.preparation
    if seen is None or made is None or seen.exact or made.offset < 0.1:
        return None
    if made.centered.symmetry > seen.defect / 2:
        return None
    return (
        f"the inputs are not centered: bf.data.center would reduce the symmetry defect from "
        f"{_percent(seen.defect)} to {_percent(made.centered.symmetry)} and make a bias-free network more "
        "nearly linear; to avoid that, keep the mean or add biases."
    )


def _part(part: Part) -> str:
    if part.identified == "not identifiable":
        return "not identifiable"
    return _percent(part.value) + (
        "" if part.identified == "exact" else f" ± {_percent(part.error)} (estimate)"
    )


def _percent(share: float) -> str:
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    return f"{100 * share:.3g} %" if share > 0.1 else f"{100 * share:.2g} %"
