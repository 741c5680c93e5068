"""Gradient flow, Ẇ = −∇(loss + (λ/2)Σ|W_l|²), by the method that fits the network and the data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypedDict, Unpack, overload

import jax
import numpy as np

from biasfree.arrays import increasing_times, positive, whole
from biasfree.data import Dataset
from biasfree.dynamics._levels import levels_of
from biasfree.dynamics._problem import Problem, float64, problem_of
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics._threads import run_in_threads
from biasfree.dynamics.field._layers import Params, with_hidden
from biasfree.dynamics.field._objective import (
    Form,
    Moments,
    Samples,
    form_of,
    params_of,
    physics_of,
    view_of,
)
from biasfree.dynamics.field.classes._policy import Grouping
from biasfree.dynamics.flow._driver import LOCAL_SHARE, Limits, integrate
from biasfree.dynamics.flow._halving import StepFlow
from biasfree.dynamics.flow._initial import (
    branches_initially,
    check_velocity,
    first_layer_hyperplanes,
    initial_state,
    on_a_kink,
)
from biasfree.dynamics.flow._loop import Smooth
from biasfree.dynamics.flow._system import Loop
from biasfree.dynamics.flow.events._apply import Decisions
from biasfree.dynamics.flow.events._driver import KINDS, EventDriver, TooManyEventsError
from biasfree.networks import Network
from biasfree.threads import allowed
from biasfree.trajectory import Stats, Trajectory

#: Defaults of rtol and max_steps by method.
DEFAULTS = {"smooth": (1e-8, 100_000), "events": (1e-8, 1_000_000), "steps": (1e-4, 100_000)}
#: The error allowed per step, LOCAL_SHARE·rtol, must not be below the rounding of the weights.
LEAST_RTOL = float(np.finfo(float).eps) / LOCAL_SHARE
METHODS = ("auto", *DEFAULTS)
#: Events that method="auto" follows one by one before it changes to steps.
MOST_EVENTS = 10_000


class FlowOptions(TypedDict, total=False):
    """The keywords of `gradient_flow`, written once for its overloads."""

    loss: str
    l2: float
    rtol: float | None
    method: str
    atol: float | None
    max_steps: int | None
    train: Sequence[bool] | None
    until: float | Sequence[float] | None
    save: Callable[[Network], Any] | None


@overload
def gradient_flow(network: Network, data: Dataset, ts: Any, **options: Unpack[FlowOptions]) -> Trajectory: ...
@overload
def gradient_flow(
    network: Sequence[Network],
    data: Dataset | Sequence[Dataset],
    ts: Any,
    **options: Unpack[FlowOptions],
) -> list[Trajectory]: ...
def gradient_flow(
    network: Network | Sequence[Network],
    data: Dataset | Sequence[Dataset],
    ts: Any,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float | None = None,
    method: str = "auto",
    atol: float | None = None,
    max_steps: int | None = None,
    train: Sequence[bool] | None = None,
    until: float | Sequence[float] | None = None,
    save: Callable[[Network], Any] | None = None,
) -> Trajectory | list[Trajectory]:
    """Gradient flow from `network`, the state at t = 0, saved at the times `ts`.

    Methods:
        "smooth": adaptive; for networks without kinks: linear ones, or only the last layer trained.
        "events": adaptive between kinks, at any depth; every kink that matters is located.
        "steps": any depth; follows the path with steps and half steps until both agree.
        "auto": the first of these that fits; `stats.method` names it.

    Where the flow is not unique, as for a neuron that begins with w·x = 0 on a hyperplane that repels, a
    convention decides and `stats.branch_times` has the time. With two layers the neuron leaves, to the side
    on which descent with tiny steps spends more time; "smooth" and deeper networks follow σ′(0) = α, as
    `gradient_descent` does with every network. "steps" looks for such points at t = 0 only.

    `rtol` is the relative error allowed in the weights (None: 1e-8, and 1e-4 for "steps"): per step for the
    adaptive methods, whose sum is `stats.error`, and for the whole path with "steps". `atol`, relative to the
    initial norm of each layer, equals `rtol` unless given. Layers whose `train` is False stay fixed. `save`
    stores a measurement of each network instead of its weights. A list of networks of equal shape gives a
    list of trajectories.

    `until` stops the flow where the data loss falls to that level. Of several levels, the lowest one stops
    it; `stats.reached` has the time of each, in the order given, and ∞ for a level not reached.

    Raises:
        UnfinishedError: with the time at which the flow stopped, the reason, and what to try.
    """
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    request = _request(ts, rtol=rtol, atol=atol, method=method, max_steps=max_steps, until=until, save=save)
    if method == "events":
        _check_events(problem)
    with float64():
        return problem.answer(_flows(problem, request))


@dataclass(frozen=True)
class _Request:
    """The arguments of a flow, checked."""

    ts: np.ndarray
    method: str
    rtol: float | None
    atol: float | None
    max_steps: int | None
    levels: tuple[float, ...]
    save: Callable[[Network], Any] | None

    def limits(self, method: str) -> Limits:
        rtol, max_steps = DEFAULTS[method]
        rtol = self.rtol or rtol
        return Limits(rtol, self.atol or rtol, self.max_steps or max_steps)


def _request(
    ts: Any, *, rtol: Any, atol: Any, method: Any, max_steps: Any, until: Any, save: Any
) -> _Request:
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}.")
    return _Request(
        ts=_times(ts),
        method=method,
        rtol=None if rtol is None else _relative(rtol),
        atol=None if atol is None else positive("atol", atol),
        max_steps=None if max_steps is None else whole("max_steps", max_steps),
        levels=levels_of(until),
        save=save,
    )


def _times(ts: Any) -> np.ndarray:
    times = increasing_times(ts)
    late = times[times > 0]
    if len(late) and late[0] < np.finfo(float).tiny:  # compiled programs flush such numbers to zero
        raise ValueError(
            f"ts must be 0 or at least {np.finfo(float).tiny:.3g}, got {late[0]:.3g}; measure time in "
            "smaller units."
        )
    return times


def _relative(rtol: Any) -> float:
    if (rtol := positive("rtol", rtol)) < LEAST_RTOL:
        raise ValueError(
            f"rtol must be at least {LEAST_RTOL:.2g}, got {rtol:g}: steps would have to be more "
            "accurate than float64 weights are."
        )
    return rtol


def _check_events(problem: Problem) -> None:
    network = problem.networks[0]
    if network.depth < 2:
        raise ValueError(
            'method="events" needs a hidden layer, got one layer; use method="smooth" or "auto".'
        )
    if network.biases is None and not all(data.x.any() for data in problem.datasets):
        raise ValueError(
            'method="events" needs inputs that have kinks, got x all zero; use method="smooth" or "auto".'
        )


def _flows(problem: Problem, request: _Request) -> list[Trajectory]:
    """The flow of every network. The first one compiles; the others run in threads, unless they would call
    the caller's function `save` or share an accelerator."""
    alone = request.save is not None or jax.default_backend() != "cpu"
    rest = [partial(_flow, problem, i, request) for i in range(1, len(problem.networks))]
    return [_flow(problem, 0, request), *run_in_threads(rest, 1 if alone else min(allowed(), len(rest)))]


def _flow(problem: Problem, i: int, request: _Request) -> Trajectory:
    """The flow of one network by the method given, or by the first that fits."""
    check_velocity(problem, i)
    run = _Run(problem, i, request)
    if request.method != "auto":
        return getattr(run, request.method)()
    if run.has_no_kinks():
        return run.smooth()
    try:
        return run.events(most_events=MOST_EVENTS)
    except TooManyEventsError:
        return run.steps()


class _Run:
    """One network and its data, with one function per method."""

    def __init__(self, problem: Problem, i: int, request: _Request):
        self.problem, self.request = problem, request
        self.network, self.data = problem.networks[i], problem.datasets[i]
        self.physics = physics_of(self.network, problem.l2)
        self.began = time.perf_counter()

    @cached_property
    def form(self) -> Form:
        """The form in which this network is evaluated, whatever the other networks of a list need."""
        return form_of((self.network,), (self.data,), self.problem.loss, self.problem.train)

    @cached_property
    def view(self) -> Samples | Moments:
        """The data in that form; events have a form of their own."""
        return view_of(self.form, self.network, self.data)

    def has_no_kinks(self) -> bool:
        """Whether the field has no kinks: a linear network, fixed hidden layers, or inputs that are zero."""
        network, hidden = self.network, self.problem.train[:-1]
        blind = network.biases is None and not self.data.x.any()
        return network.leak == 1 or not any(hidden) or blind

    def recorder(self) -> Recorder:
        given = (self.physics, self.request.save, self.request.levels)
        return Recorder(self.form, self.network, self.view, *given)

    def smooth(self) -> Trajectory:
        limits, recorder = self.request.limits("smooth"), self.recorder()
        given = (self.view, self.physics)
        loop, stopped = integrate(
            Smooth(self.form), given, params_of(self.network), (), self.request.ts, limits, recorder
        )
        found = {"branch_times": self._branch_times()}
        return recorder.trajectory(self._adaptive_stats("smooth", limits, loop, stopped, **found))

    def events(self, *, most_events: int | None = None) -> Trajectory:
        if self.network.depth > 2:
            return self.deep_events(most_events=most_events)
        limits = self.request.limits("events")
        given = (self.physics, self.request.save, self.request.levels)
        recorder = Recorder(None, self.network, None, *given)
        driver = EventDriver(
            self.network,
            self.data,
            loss=self.problem.loss,
            l2=self.problem.l2,
            train=self.problem.train,
            most_events=most_events,
            slots=recorder.slots,
        )
        loop, stopped = driver.follow(self.request.ts, limits, recorder)
        found = {"events": driver.events(loop), "branch_times": driver.branch_times}
        return recorder.trajectory(self._adaptive_stats("events", limits, loop, stopped, **found))

    def deep_events(self, *, most_events: int | None = None) -> Trajectory:
        """The flow of three and more layers, through their kinks."""
        from biasfree.dynamics.flow.native._driver import follow  # Numba is loaded where it is needed
        from biasfree.dynamics.flow.native._flow import Flow

        limits, problem = self.request.limits("events"), self.problem
        recorder = Recorder(None, self.network, None, self.physics, self.request.save, self.request.levels)
        how = {"loss": problem.loss, "l2": problem.l2, "train": problem.train, "most_events": most_events}
        flow = Flow(self.network, self.data, limits, **how)
        stopped = follow(flow, self.request.ts, limits, recorder)
        stats = Stats(
            method="events",
            evaluations=flow.evaluations,
            accepted=flow.accepted,
            rejected=flow.tried - flow.accepted,
            events={kind: flow.counts[kind] for kind in KINDS},
            branch_times=self._branch_times(),
            rtol=limits.rtol,
            error=flow.error,
            error_kind="sum of the local errors and of the kinks stepped over",
            stopped=stopped,
            wall_time=time.perf_counter() - self.began,
        )
        return recorder.trajectory(stats)

    def steps(self) -> Trajectory:
        limits, strict = self.request.limits("steps"), self.request.rtol is not None
        grouping = Grouping(self.form, self.network, self.data, self.physics)
        params, branch_times = self._start()
        flow = StepFlow(self.form, params, grouping, self.physics, limits, strict=strict)
        recorder, outcome = flow.follow(self.request.ts, params_of(self.network), self.recorder)
        stats = Stats(
            method="steps",
            evaluations=outcome.evaluations,
            by_class=outcome.by_class,
            accepted=outcome.accepted,
            rejected=outcome.rejected,
            rtol=limits.rtol,
            error=outcome.error,
            error_kind="step halving, largest along the path",
            branch_times=branch_times,
            stopped=outcome.stopped,
            wall_time=time.perf_counter() - self.began,
        )
        return recorder.trajectory(stats)

    def _start(self) -> tuple[Params, tuple[float, ...]]:
        """The initial weights for steps, and the time 0 if the flow is not unique there. A neuron of two
        layers that leaves a kink is moved a rounding beyond it."""
        params, train = params_of(self.network), self.problem.train
        if self.network.depth != 2 or self.has_no_kinks() or not on_a_kink(self.network, self.data):
            return params, self._branch_times()
        decisions = Decisions(first_layer_hyperplanes(self.network, self.data))
        begun = initial_state(
            self.network, self.data, decisions, loss=self.problem.loss, l2=self.problem.l2, train=train
        )
        return with_hidden(params, begun.hidden), tuple(decisions.branch_times)

    def _branch_times(self) -> tuple[float, ...]:
        """The time 0 if the flow is not unique there, so that σ′(0) = α decides."""
        given = {"loss": self.problem.loss, "l2": self.problem.l2, "train": self.problem.train}
        return (0.0,) if branches_initially(self.network, self.data, **given) else ()

    def _adaptive_stats(self, method: str, limits: Limits, loop: Loop, stopped: str, **found: Any) -> Stats:
        return Stats(
            method=method,
            evaluations=int(loop.evaluations),
            by_class=int(loop.by_class),
            accepted=int(loop.accepted),
            rejected=int(loop.rejected),
            rtol=limits.rtol,
            error=float(loop.local_errors),
            error_kind="sum of the local errors",
            stopped=stopped,
            wall_time=time.perf_counter() - self.began,
            **found,
        )
