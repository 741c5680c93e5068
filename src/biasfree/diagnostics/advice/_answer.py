"""The answer of a report: would a linear model do as well, and what should change?"""

from __future__ import annotations

from dataclasses import dataclass

from biasfree.diagnostics.advice._competitors import FEWEST, MISSING, Competitors
from biasfree.diagnostics.advice._measurements import PROBES, Measurements
from biasfree.diagnostics.advice._state import State
from biasfree.diagnostics.advice._task import Score, Task
from biasfree.diagnostics.advice._wording import amount, does, points


def answer(state: State, measured: Measurements) -> str:
    """One or two sentences that a person can act on."""
    task, versus = measured.task, measured.competitors
    if task is None or versus is None or state.case == "constant":
        return _cannot_compare(state, measured)
    say = _Compared(state, measured, task, versus)
    if state.case == "no signal":
        mine = f", this model {say.mine}" if state.has_model else ""
        return (
            f"Cannot tell. {say.linear}{mine}, and nothing that was tried predicts held-out samples better "
            f"than a constant ({amount(task.baseline)}): use more samples or other inputs."
        )
    if not state.has_model:
        return say.of_data()
    said = {
        "not trained": say.not_trained,
        "needs none": say.needs_none,
        "earns": say.earns,
        "unconfirmed": say.unconfirmed,
        "held back": say.held_back,
        "not yet": say.not_yet,
        "intercept": say.intercept,
    }[state.case]()
    return said + _would_add(state, measured)


@dataclass(frozen=True)
class _Compared:
    """The sentences of a comparison with linear maps: one per `Case` of a model, and one about data alone."""

    state: State
    measured: Measurements
    task: Task
    versus: Competitors

    @property
    def linear(self) -> str:
        """How well the better linear map does."""
        name = "A linear map with an intercept" if self.state.intercept_helps else "A linear map"
        return f"{name} {does(self.task, self.versus.best.value)}"

    @property
    def mine(self) -> str:
        """The score of the model."""
        return amount(self.measured.score_on(self.versus.tested).value)

    @property
    def both(self) -> str:
        """How well the better linear map does, and the model."""
        return f"{self.linear}, this model {self.mine}"

    @property
    def flexible(self) -> str:
        """What a nonlinear model reaches on held-out samples."""
        measured, versus, peers = self.measured, self.versus, self.measured.peers
        if peers is not None and measured.against_linear(peers.tested, peers.biased).above(0.0):
            return f"With biases, the same network reaches {amount(peers.biased.value)} on held-out samples"
        if versus.flexible_samples == self.task.count:
            return f"A kernel machine reaches {amount(versus.flexible.value)} on held-out samples"
        return (
            f"A kernel machine fitted to {versus.flexible_samples:,} samples does better than a linear map "
            f"fitted to them, by {points(versus.flexible_gain.value)}"
        )

    def not_trained(self) -> str:
        state, rescaled = self.state, self.measured.rescaled
        small = "" if self.measured.network is not None else " or too small"
        begun = f"{self.both}: it is not trained yet{small}"
        if rescaled is not None and self._as_good(rescaled):
            more = amount(rescaled.value)
            return f"{begun}, or its outputs are in other units: rescaled, they explain {more}."
        if not state.nonlinear_helps:
            return f"{begun}, and needs no nonlinearity."
        if state.two_layers and state.mirrored:
            kept = "Two layers without biases stay linear on these symmetric data (Theorem 5)"
            return f"{begun}. {self.flexible}. {kept}: add biases or a layer."
        return f"{begun}. {self.flexible}: a nonlinear model is worth training."

    def _as_good(self, score: Score) -> bool:
        """Whether a score is no worse than that of the better linear map, as far as is seen."""
        return not score.of(self.versus.tested).minus(self.versus.best).below(0.0)

    def needs_none(self) -> str:
        if not self.state.replacement:
            return f"{self.both}: no difference that these data can show, so it needs no nonlinearity."
        linear = self.linear
        return (
            f"The model is effectively {self.state.replacement}, and nothing nonlinear is seen that it could "
            f"learn. Tested on held-out samples, {linear[0].lower()}{linear[1:]}, and a kernel machine does "
            f"no better; this model {self.mine} on the samples given."
        )

    def earns(self) -> str:
        gain, confirmed = self.measured.gain, self.versus.flexible_gain
        assert gain is not None
        less = not self.state.unseen and confirmed.value < gain.value - 2 * (gain.error + confirmed.error)
        if not less or self.measured.peers is not None:
            return f"{self.both}: the nonlinearity earns {points(gain.value)}."
        return (
            f"{self.both}: the nonlinearity earns up to {points(gain.value)}; on held-out samples a kernel "
            f"machine earns {points(confirmed.value)}."
        )

    def unconfirmed(self) -> str:
        if self.state.unseen:
            less = amount(self.versus.best.value - self.versus.growth)
            return (
                f"Cannot tell. {self.both}, but the linear map is fitted to {self.versus.fitted:,} samples "
                f"only, and still improves: with half of them it reaches {less}. The model may have had "
                "more. Pass more samples."
            )
        if self.measured.peers is not None:
            return (
                f"{self.both}, but networks trained here are no better than linear on samples held out from "
                "them: the model may have memorized these samples, and no nonlinearity is seen that it "
                "needs. Diagnose it on samples that it was not trained on, with unseen=True."
            )
        return (
            f"Cannot tell. {self.both}, but a kernel machine is no better than linear on samples held out "
            "from it: the model may have memorized these samples. Diagnose it on samples that it was not "
            "trained on, with unseen=True, or with compare=True."
        )

    def held_back(self) -> str:
        assert self.measured.symmetry is not None
        if self.state.mirrored:
            why = "and must stay so: the data are symmetric (Theorem 5)"
            remedy = "add biases or a layer, or leave the mirror images out"
        else:
            p = self.measured.symmetry.p_value
            why = f"and likely to stay so: the data show no asymmetry (p = {p:.2g}, Theorem 5)"
            remedy = "add biases or a layer"
        return f"Effectively linear, {why}. {self.both}. {self.flexible}: {remedy}."

    def not_yet(self) -> str:
        begun = f"{self.both}: no difference that these data can show. "
        if self.state.replacement:
            begun = f"The model is effectively {self.state.replacement}. {self.both}. "
        network = self.measured.network
        remedy = "train longer"
        if network is None:
            remedy = "use a nonlinear model" if self.state.replacement else "train longer, or another model"
        elif network.leak == 1:
            remedy = "use a nonlinear model"
        elif network.biases is None:
            remedy = "train longer, or add biases or a layer"
        return f"{begun}{self.flexible}, so a nonlinear model can do better: {remedy}."

    def intercept(self) -> str:
        begun = f"A linear map with an intercept {does(self.task, self.versus.affine.value)}"
        plain = f"one without {amount(self.versus.linear.value)}"
        more = f" {self.flexible}." if self.state.nonlinear_helps else ""
        mine = f"this model, which has no biases, {self.mine}"
        return f"{begun}, {plain}, {mine}: add biases, or center x and y.{more}"

    def of_data(self) -> str:
        if not self.state.nonlinear_helps:
            none = "nothing nonlinear is seen in these data"
            return f"{self.linear}, and a kernel machine does no better: {none}."
        kept = (
            " Two layers without biases stay linear here, since the data are symmetric (Theorem 5): use "
            "biases or three layers."
        )
        worth = f"{self.linear}. {self.flexible}: a nonlinear model is worth training."
        return worth + (kept if self.state.mirrored else "")


def _cannot_compare(state: State, measured: Measurements) -> str:
    if state.case == "no targets":
        what = "effectively linear" if state.linear else state.replacement or "nonlinear"
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
