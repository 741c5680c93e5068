"""The answer of a report: would a linear model do as well, and what should change?"""

from __future__ import annotations

from biasfree.diagnostics.advice._competitors import FEWEST, MISSING, Competitors
from biasfree.diagnostics.advice._measurements import PROBES, Measurements
from biasfree.diagnostics.advice._state import State
from biasfree.diagnostics.advice._task import Score, Task
from biasfree.diagnostics.advice._wording import amount, does, points


def answer(state: State, measured: Measurements) -> str:
    """One or two sentences that a person can act on."""
    if state.case in ("no targets", "constant", "not compared", "too few"):
        return _cannot_compare(state, measured)
    task, versus = measured.task, measured.competitors
    assert task is not None
    assert versus is not None
    if state.case == "no signal":
        mine = f", this model {_mine(measured, versus)}" if state.has_model else ""
        return (
            f"Cannot tell. {_linear(state, task, versus)}{mine}, and nothing that was tried predicts "
            f"held-out samples better than a constant ({amount(task.baseline)}): use more samples or other "
            "inputs."
        )
    if not state.has_model:
        return _of_data(state, measured, task, versus)
    assert measured.score is not None
    said = {
        "not trained": _not_trained,
        "needs none": _needs_none,
        "earns": _earns,
        "unconfirmed": _unconfirmed,
        "held back": _held_back,
        "not yet": _not_yet,
        "intercept": _intercept,
    }[state.case](state, measured, task, versus)
    return said + _would_add(state, measured)


def _not_trained(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    network = None if measured.subject is None else measured.subject.network
    small = "" if network is not None else " or too small"
    begun = f"{_both(state, measured, task, versus)}: it is not trained yet{small}"
    if _as_good(measured.rescaled, versus):
        assert measured.rescaled is not None
        more = amount(measured.rescaled.value)
        return f"{begun}, or its outputs are in other units: rescaled, they explain {more}."
    if not state.nonlinear_helps:
        return f"{begun}, and needs no nonlinearity."
    if state.two_layers and state.mirrored:
        kept = "Two layers without biases stay linear on these symmetric data (Theorem 5)"
        return f"{begun}. {_flexible(measured, versus)}. {kept}: add biases or a layer."
    return f"{begun}. {_flexible(measured, versus)}: a nonlinear model is worth training."


def _as_good(score: Score | None, versus: Competitors) -> bool:
    """Whether a score is no worse than that of the better linear map, as far as is seen."""
    return score is not None and not score.of(versus.tested).minus(versus.best).below(0.0)


def _needs_none(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    if state.linear or state.affine:
        kind = "linear" if state.linear else "a linear map with an intercept"
        linear = _linear(state, task, versus)
        return (
            f"The model is effectively {kind}, and nothing nonlinear is seen that it could learn. Tested on "
            f"held-out samples, {linear[0].lower()}{linear[1:]}, and a kernel machine does no better; this "
            f"model {_mine(measured, versus)} on the samples given."
        )
    return (
        f"{_both(state, measured, task, versus)}: no difference that these data can show, so it needs no "
        "nonlinearity."
    )


def _earns(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    gain = measured.gain
    assert gain is not None
    confirmed = versus.flexible_gain
    less = not state.unseen and confirmed.value < gain.value - 2 * (gain.error + confirmed.error)
    if not less or measured.peers is not None:
        return f"{_both(state, measured, task, versus)}: the nonlinearity earns {points(gain.value)}."
    return (
        f"{_both(state, measured, task, versus)}: the nonlinearity earns up to {points(gain.value)}; on "
        f"held-out samples a kernel machine earns {points(confirmed.value)}."
    )


def _unconfirmed(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    if state.unseen:
        less = amount(versus.best.value - versus.growth)
        return (
            f"Cannot tell. {_both(state, measured, task, versus)}, but the linear map is fitted to "
            f"{versus.fitted:,} samples only, and still improves: with half of them it reaches {less}. The "
            "model may have had more. Pass more samples."
        )
    if measured.peers is not None:
        return (
            f"{_both(state, measured, task, versus)}, but networks trained here are no better than linear on "
            "samples held out from them: the model may have memorized these samples, and no nonlinearity is "
            "seen that it needs. Diagnose it on samples that it was not trained on, with unseen=True."
        )
    return (
        f"Cannot tell. {_both(state, measured, task, versus)}, but a kernel machine is no better than linear "
        "on samples held out from it: the model may have memorized these samples. Diagnose it on samples "
        "that it was not trained on, with unseen=True, or with compare=True."
    )


def _held_back(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    assert measured.symmetry is not None
    if state.mirrored:
        why = "and must stay so: the data are symmetric (Theorem 5)"
        remedy = "add biases or a layer, or leave the mirror images out"
    else:
        p = measured.symmetry.p_value
        why = f"and likely to stay so: the data show no asymmetry (p = {p:.2g}, Theorem 5)"
        remedy = "add biases or a layer"
    said = f"Effectively linear, {why}. {_both(state, measured, task, versus)}."
    return f"{said} {_flexible(measured, versus)}: {remedy}."


def _not_yet(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    begun = f"{_both(state, measured, task, versus)}: no difference that these data can show. "
    if state.linear or state.affine:
        kind = "linear" if state.linear else "a linear map with an intercept"
        begun = f"The model is effectively {kind}. {_both(state, measured, task, versus)}. "
    network = None if measured.subject is None else measured.subject.network
    remedy = "train longer"
    if network is None:
        remedy = "use a nonlinear model" if state.linear or state.affine else "train longer, or another model"
    elif network.leak == 1:
        remedy = "use a nonlinear model"
    if network is not None and network.biases is None and network.leak < 1:
        remedy += ", or add biases or a layer"
    return f"{begun}{_flexible(measured, versus)}, so a nonlinear model can do better: {remedy}."


def _intercept(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    plain = amount(versus.linear.value)
    begun = f"A linear map with an intercept {does(task, versus.affine.value)}, one without {plain}"
    more = f" {_flexible(measured, versus)}." if state.nonlinear_helps else ""
    mine = f"this model, which has no biases, {_mine(measured, versus)}"
    return f"{begun}, {mine}: add biases, or center x and y.{more}"


def _of_data(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    begun = f"{_linear(state, task, versus)}"
    if not state.nonlinear_helps:
        return f"{begun}, and a kernel machine does no better: nothing nonlinear is seen in these data."
    said = f"{begun}. {_flexible(measured, versus)}: a nonlinear model is worth training."
    if state.mirrored:
        said += (
            " Two layers without biases stay linear here, since the data are symmetric (Theorem 5): use "
            "biases or three layers."
        )
    return said


def _cannot_compare(state: State, measured: Measurements) -> str:
    if state.case == "no targets":
        what = {True: "effectively linear", False: "nonlinear"}[state.linear]
        what = "a linear map with an intercept" if state.affine else what
        return (
            f"The model is {what} on {PROBES} Gaussian inputs and their mirror images. Whether a linear "
            "model would do as well depends on the data: pass them."
        )
    if state.case == "constant":
        return "Cannot tell: all targets are equal, so there is nothing to learn; pass other data."
    samples = 0 if measured.data is None else len(measured.data)
    begun = ""
    if state.has_model and state.linear and state.kept_linear and state.mirrored:
        begun = "Effectively linear, and must stay so: the data are symmetric (Theorem 5). "
    if state.case == "not compared":
        return f"{begun}The comparison with fitted models {MISSING}"
    return (
        f"{begun}Cannot tell whether a linear model would do as well: {samples} samples are too few to hold "
        f"some out; at least {FEWEST} are needed, where x and −x count as one."
    )


def _linear(state: State, task: Task, versus: Competitors) -> str:
    name = "A linear map with an intercept" if state.intercept_helps else "A linear map"
    return f"{name} {does(task, versus.best.value)}"


def _both(state: State, measured: Measurements, task: Task, versus: Competitors) -> str:
    return f"{_linear(state, task, versus)}, this model {_mine(measured, versus)}"


def _mine(measured: Measurements, versus: Competitors) -> str:
    return amount(measured.score_on(versus.tested).value)


def _flexible(measured: Measurements, versus: Competitors) -> str:
    """What a nonlinear model reaches on held-out samples."""
    peers = measured.peers
    if peers is not None and measured.against_linear(peers.tested, peers.biased).above(0.0):
        return f"With biases, the same network reaches {amount(peers.biased.value)} on held-out samples"
    data = measured.data
    if data is not None and versus.flexible_samples == len(data):
        return f"A kernel machine reaches {amount(versus.flexible.value)} on held-out samples"
    return (
        f"A kernel machine fitted to {versus.flexible_samples:,} samples does better than a linear map "
        f"fitted to them, by {points(versus.flexible_gain.value)}"
    )


def _would_add(state: State, measured: Measurements) -> str:
    """What biases and another layer would add, for networks trained here."""
    peers = measured.peers
    if peers is None or state.case == "unconfirmed":
        return ""
    changes = {"biases": peers.biased.minus(peers.plain), "one layer more": peers.deeper.minus(peers.plain)}
    said = [
        f"{name} would {'add' if more.value > 0 else 'cost'} {points(more.value)}"
        for name, more in changes.items()
        if more.above(0.0) or more.below(0.0)
    ]
    none = [name for name, more in changes.items() if not (more.above(0.0) or more.below(0.0))]
    if len(none) == 2:
        text = "neither biases nor one layer more would add anything that these data can show"
    else:
        text = "; ".join([*said, *(f"{name} would add nothing that these data can show" for name in none)])
    if not peers.known:
        return f" To a network of {peers.sizes[1]} neurons trained here, {text}."
    return f" {text[0].upper()}{text[1:]}."
