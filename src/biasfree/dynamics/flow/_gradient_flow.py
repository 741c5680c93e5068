"""Gradient flow, Ẇ = −∇(loss + (λ/2)Σ|W_l|²), by the method that fits the network and the data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from biasfree.arrays import increasing_times, positive, whole
from biasfree.data import Dataset, Population
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._jax import require_jax
from biasfree.dynamics._levels import levels_of
from biasfree.dynamics._problem import Problem, has_populations, problem_of, times_of
from biasfree.dynamics._progress import run_in_threads
from biasfree.dynamics._recorder import Recorder
from biasfree.dynamics.events._deep import Deep
from biasfree.dynamics.events._event import Log, TooManyEventsError
from biasfree.dynamics.events._initial import branches_initially, check_velocity, has_no_kinks
from biasfree.dynamics.events._two_layers import TwoLayers
from biasfree.dynamics.population._problem import PopulationProblem, population_problem
from biasfree.dynamics.steps._driver import Kinks, Smooth, follow
from biasfree.dynamics.steps._flow import Flow, Limits, UnfinishedError
from biasfree.networks import Network
from biasfree.threads import allowed
from biasfree.trajectory import Stats, Trajectory

#: Defaults of rtol and max_steps by method.
DEFAULTS = {"smooth": (1e-8, 100_000), "events": (1e-8, 1_000_000), "steps": (1e-4, 100_000)}
#: The error allowed per step, policy.LOCAL_SHARE·rtol, must not be below the rounding of the weights.
LEAST_RTOL = float(np.finfo(float).eps) / policy.LOCAL_SHARE
METHODS = ("auto", *DEFAULTS)


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
def gradient_flow(
    network: Network, data: Dataset | Population, ts: Any, **options: Unpack[FlowOptions]
) -> Trajectory: ...
@overload
def gradient_flow(
    network: Sequence[Network],
    data: Dataset | Population | Sequence[Dataset] | Sequence[Population],
    ts: Any,
    **options: Unpack[FlowOptions],
) -> list[Trajectory]: ...
def gradient_flow(
    network: Network | Sequence[Network],
    data: Dataset | Population | Sequence[Dataset] | Sequence[Population],
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

    `loss` is "square", (y − f)²/2; "logistic", ln(1 + e^{−yf}), with labels ±1; or "huber",
    √(1 + (y − f)²) − 1. Outputs sum, samples average.

    Methods:
        "smooth": adaptive; for networks without kinks: linear ones, or only the last layer trained.
        "events": adaptive between kinks, at any depth; every kink that matters is located.
        "steps": any depth; follows the path with steps and half steps until both agree.
        "auto": the first of these that fits; `stats.method` names it. Where kinks are too many to locate them
            at the default `rtol` of "events", they are followed at that of "steps" before "steps" is used.

    Where the flow is not unique, as for a neuron that begins with w·x = 0 on a hyperplane that repels, a
    convention decides and `stats.branch_times` has the time. With two layers the neuron leaves, to the side
    on which descent with tiny steps spends more time; "smooth" and deeper networks follow σ′(0) = α, as
    `gradient_descent` does with every network. "steps" looks for such points at t = 0 only.

    `rtol` is the relative error allowed in the weights (None: 1e-8, and 1e-4 for "steps"; `stats.rtol` has
    it): per step for the adaptive methods, whose sum is `stats.error`, and for the whole path with "steps".
    A flow whose `stats.error` ends above that, rtol times its steps or rtol with "steps", warns, and raises
    if the caller gave `rtol`.
    `atol`, relative to the initial norm of each layer, equals `rtol` unless given. Layers whose `train` is
    False stay fixed. `save` stores a measurement of each network instead of its weights. A list of networks
    of equal shape gives a list of trajectories; `ts` is then the times of all, or a list with those of each,
    [ts1, ts2].

    `until` stops the flow where the data loss falls to that level. Of several levels, the lowest one stops
    it; `stats.reached` has the time of each, in the order given, and ∞ for a level not reached.

    `data` may be a `bf.data.Population`, infinite data: two layers of one output, square loss, "smooth". The
    loss is then exact to rounding of E[y²]. A neuron that shrinks to w = 0 rests there until it can grow in
    some direction; `stats.events` counts both, and `stats.branch_times` has the times of the latter.

    Raises:
        UnfinishedError: with the time at which the flow stopped, the reason, and what to try.
    """
    times = times_of(network, ts)
    request = _request(
        times, rtol=rtol, atol=atol, method=method, max_steps=max_steps, until=until, save=save
    )
    if has_populations(data):
        return _population_flow(population_problem(network, data, loss=loss, l2=l2, train=train), request)
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    if method == "events":
        _check_events(problem)
    return problem.answer(_flows(problem, request))


def _population_flow(problem: PopulationProblem, request: _Request) -> Trajectory | list[Trajectory]:
    from biasfree.dynamics.population._flow import population_flow  # needs SciPy

    if request.method not in ("auto", "smooth"):
        raise ValueError(
            f'infinite data has no kinks, so its method is "smooth", got {request.method!r}; use "auto".'
        )
    limits, times = request.limits("smooth"), request.times(len(problem.networks))
    runs = population_flow(problem, times, limits, levels=request.levels, save=request.save)
    for run in runs:
        _hold_to_rtol(run.stats, strict=request.rtol is not None)
    return problem.answer(runs)


def _hold_to_rtol(stats: Stats, *, strict: bool) -> None:
    """Warn of, or refuse, an adaptive flow that errs by more than rtol per step."""
    error, allowed = stats.error or 0.0, (stats.rtol or 0.0) * max(stats.accepted, 1)
    if error <= allowed:
        return
    missed = (
        f"the error of the flow is about {error:.1e} (see stats.error), more than rtol = {stats.rtol:g} for "
        f'each of {stats.accepted} steps; use method="steps", or end ts earlier.'
    )
    if strict:
        raise UnfinishedError(missed)
    warnings.warn(missed, stacklevel=6)


@dataclass(frozen=True)
class _Request:
    """The arguments of a flow, checked; `ts` has the times of all networks, or one item per network."""

    ts: tuple[np.ndarray, ...]
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

    def times(self, networks: int) -> tuple[np.ndarray, ...]:
        """The times of every network."""
        if len(self.ts) not in (1, networks):
            raise ValueError(
                f"got {networks} networks but {len(self.ts)} lists of times; give as many, or one for all."
            )
        return self.ts if len(self.ts) == networks else self.ts * networks


def _request(
    ts: Sequence[Any], *, rtol: Any, atol: Any, method: Any, max_steps: Any, until: Any, save: Any
) -> _Request:
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}.")
    return _Request(
        ts=tuple(_times(one) for one in ts),
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
    if rtol >= 1:
        raise ValueError(f"rtol must be below 1, an error as large as the weights, got {rtol:g}; try 1e-4.")
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
    """The flow of every network, in threads unless they would call the caller's function `save`."""
    times = request.times(len(problem.networks))
    tasks = [partial(_flow, problem, i, replace(request, ts=(ts,))) for i, ts in enumerate(times)]
    return run_in_threads(tasks, 1 if request.save is not None else min(allowed(), len(tasks)))


def _flow(problem: Problem, i: int, request: _Request) -> Trajectory:
    """The flow of one network by the method given, or by the first that fits."""
    check_velocity(problem, i)
    run = _Run(problem, i, request)
    if request.method != "auto":
        return getattr(run, request.method)()
    if has_no_kinks(problem, i):
        return run.smooth()
    rtols = (DEFAULTS["events"][0], DEFAULTS["steps"][0]) if request.rtol is None else (request.rtol,)
    for rtol in rtols:
        try:
            return run.events(rtol=rtol, most_events=policy.MOST_EVENTS)
        except TooManyEventsError:
            continue
    return run.steps()


class _Run:
    """One network and its data, with one function per method."""

    def __init__(self, problem: Problem, i: int, request: _Request):
        self.problem, self.i, self.request = problem, i, request
        self.network, self.data = problem.networks[i], problem.datasets[i]
        self.began = time.perf_counter()

    def recorder(self) -> Recorder:
        return Recorder(self.network, self.problem.l2, self.request.save, self.request.levels)

    def smooth(self) -> Trajectory:
        limits = self.request.limits("smooth")
        flow = Flow(self.problem, self.i, limits, smooth=True)
        branches = not has_no_kinks(self.problem, self.i) and branches_initially(
            Flow(self.problem, self.i, limits, smooth=False)
        )
        kinks = Smooth(flow, branches=branches)
        return self._followed("smooth", flow, kinks, limits)

    def events(self, *, rtol: float | None = None, most_events: int | None = None) -> Trajectory:
        request = self.request if rtol is None else replace(self.request, rtol=rtol)
        limits = request.limits("events")
        flow = Flow(self.problem, self.i, limits, smooth=False)
        log = Log(flow, most_events)
        kinks: Kinks = TwoLayers(flow, log) if self.network.depth == 2 else Deep(flow, log)
        return self._followed("events", flow, kinks, limits)

    def steps(self) -> Trajectory:
        require_jax('a flow by steps (method="steps", or more kinks than can be located)')
        from biasfree.dynamics.flow._by_steps import flow_by_steps  # the only method that needs JAX

        limits, ts, strict = self.request.limits("steps"), self.request.ts[0], self.request.rtol is not None
        return flow_by_steps(self.problem, self.i, ts, limits, self.recorder, strict=strict, began=self.began)

    def _followed(self, method: str, flow: Flow, kinks: Kinks, limits: Limits) -> Trajectory:
        recorder = self.recorder()
        stopped = follow(flow, kinks, self.request.ts[0], limits, recorder)
        stats = Stats(
            method=method,
            evaluations=int(flow.state.status.evaluations),
            by_class=int(flow.state.status.by_class),
            accepted=flow.accepted,
            rejected=flow.tried - flow.accepted,
            events=kinks.events,
            located=kinks.located,
            branch_times=kinks.branch_times,
            rtol=limits.rtol,
            error=flow.error,
            error_kind="sum of the local errors and of the kinks stepped over",
            stopped=stopped,
            wall_time=time.perf_counter() - self.began,
        )
        _hold_to_rtol(stats, strict=self.request.rtol is not None)
        return recorder.trajectory(stats)
