"""Gradient flow, Ẇ = −∇(loss + (λ/2)Σ|W_l|²), by the method that fits the network and the data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from biasfree.arrays import positive, whole
from biasfree.data import Dataset, Population
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._jax import require_jax
from biasfree.dynamics._problem import Params, Problem, for_each, has_populations, problem_of, times_of
from biasfree.dynamics._recorder import CONVERGED, Levels, Progress, Recorder, levels_of, run_in_threads
from biasfree.dynamics.events._deep import Deep
from biasfree.dynamics.events._event import Log, TooManyEventsError
from biasfree.dynamics.events._sides import branches_initially
from biasfree.dynamics.events._two_layers import TwoLayers
from biasfree.dynamics.network._layout import hyperplanes_of, parts_of
from biasfree.dynamics.network._state import STAGES, Saves
from biasfree.dynamics.population._field import PopulationField, fields_of
from biasfree.dynamics.steps._exponential import Exponential, at_rest
from biasfree.dynamics.steps._flow import Flow, Limits, UnfinishedError
from biasfree.dynamics.steps._loop import Code
from biasfree.networks import Network
from biasfree.threads import allowed
from biasfree.trajectory import Stats, Trajectory

#: Defaults of rtol and max_steps by method.
DEFAULTS = {"smooth": (1e-8, 100_000), "events": (1e-8, 1_000_000), "steps": (1e-4, 100_000)}
#: The error allowed per step, policy.LOCAL_SHARE·rtol, must not be below the rounding of the weights.
LEAST_RTOL = float(np.finfo(float).eps) / policy.LOCAL_SHARE
METHODS = ("auto", *DEFAULTS)
#: Bound on products of weights and inputs up to which nothing can overflow.
LARGE = 1e70


class FlowOptions(TypedDict, total=False):
    """The keywords of `gradient_flow`, written once for its overloads."""

    loss: str
    l2: float
    rtol: float | None
    method: str
    atol: float | None
    max_steps: int | None
    train: Sequence[bool] | None
    until: float | Sequence[float] | str | None
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
    until: float | Sequence[float] | str | None = None,
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
    until="converged" stops it, at any time before the end of `ts`, where it slows down and, as linearized
    there, would change no neuron by more than 1e-6 of its weights in as much time as it has taken.

    `data` may be a `bf.data.Population`, infinite data: two layers of one output, square loss, "smooth". The
    loss is then exact to rounding of E[y²]. A neuron that shrinks to w = 0 rests there until it can grow in
    some direction; `stats.events` counts both, and `stats.branch_times` has the times of the latter.

    Raises:
        UnfinishedError: with the time at which the flow stopped, the reason, and what to try.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}.")
    times = times_of(network, ts)
    to_rest = isinstance(until, str) and until == CONVERGED
    request = _Request(
        method=method,
        rtol=None if rtol is None else _relative(rtol),
        atol=None if atol is None else positive("atol", atol),
        max_steps=None if max_steps is None else whole("max_steps", max_steps),
        levels=() if to_rest else levels_of(until),
        to_rest=to_rest,
        save=save,
    )
    if request.to_rest:
        _check_method_and_data(method, data)
    if has_populations(data):
        fields = fields_of(network, data, loss=loss, l2=l2, train=train)
        found = _population_flows(fields, for_each(times, len(fields)), request)
        return found[0] if isinstance(network, Network) else found
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    if method == "events":
        _check_events(problem)
    if request.to_rest and loss == "logistic" and not problem.l2:
        _check_not_separable(problem)
    each = for_each(times, len(problem.networks))
    tasks = [partial(_flow, problem, i, ts, request) for i, ts in enumerate(each)]
    # threads do not call a function of the caller
    return problem.answer(run_in_threads(tasks, 1 if save is not None else min(allowed(), len(tasks))))


@dataclass(frozen=True)
class _Request:
    """The arguments that all flows of a call share, checked."""

    method: str
    rtol: float | None
    atol: float | None
    max_steps: int | None
    levels: tuple[float, ...]
    to_rest: bool
    save: Callable[[Network], Any] | None

    @property
    def strict(self) -> bool:
        """Whether the caller gave `rtol`: then an error above it is refused."""
        return self.rtol is not None

    def limits(self, method: str, rtol: float | None = None) -> Limits:
        """What the caller gave, or this rtol, and else the defaults of the method."""
        default_rtol, default_steps = DEFAULTS[method]
        rtol = rtol or self.rtol or default_rtol
        return Limits(rtol, self.atol or rtol, self.max_steps or default_steps)


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


def _check_method_and_data(method: str, data: Any) -> None:
    """Refuse until="converged" where the linearized flow is not at hand."""
    if has_populations(data):
        raise ValueError(
            'until="converged" needs samples, got infinite data; give a loss level, or use '
            "population.sample(n, seed)."
        )
    if method == "steps":
        raise ValueError(
            'until="converged" needs an adaptive method, got method="steps"; use method="auto", or give a '
            "loss level."
        )


def _check_not_separable(problem: Problem) -> None:
    """Refuse until="converged" with labels that a network can separate: its outputs then grow for ever."""
    if not all(_share_a_ray(*pair) for pair in zip(problem.networks, problem.datasets, strict=True)):
        raise ValueError(
            'until="converged" with loss="logistic" needs l2 > 0 or a ray from the origin with both labels: '
            "data that a network can separate have no stationary point; give a loss level, or use "
            "bf.long_descent."
        )


def _share_a_ray(network: Network, data: Dataset) -> bool:
    """Whether samples of both labels are on one ray; with biases, at one point."""
    targets = data.targets
    if network.biases is None:
        lines = hyperplanes_of(data.x)
        key = np.sign(lines.length) * (
            1 + lines.hyperplane
        )  # 0 for samples at the origin, which learn nothing
    else:
        key = 1 + np.unique(data.x, axis=0, return_inverse=True)[1].ravel()
    shared = [np.intersect1d(key[y > 0], key[y < 0]) for y in targets.T]
    return any(one.any() for one in shared)


def _population_flows(
    fields: list[PopulationField], times: list[np.ndarray], request: _Request
) -> list[Trajectory]:
    from biasfree.dynamics.population._flow import population_flow  # loads SciPy's integrators

    if request.method not in ("auto", "smooth"):
        raise ValueError(
            f'infinite data has no kinks, so its method is "smooth", got {request.method!r}; use "auto".'
        )
    limits, found = request.limits("smooth"), []
    for field, ts in zip(fields, times, strict=True):
        found.append(population_flow(field, ts, limits, levels=request.levels, save=request.save))
        _hold_to_rtol(found[-1].stats, strict=request.strict)
    return found


def _flow(problem: Problem, i: int, ts: np.ndarray, request: _Request) -> Trajectory:
    """The flow of one network by the method given, or by the first that fits."""
    _check_velocity(problem, i)
    run = _Run(problem, i, ts, request)
    if request.method != "auto":
        return getattr(run, request.method)()
    if problem.has_no_kinks(i):
        return run.smooth()
    rtols = (DEFAULTS["events"][0], DEFAULTS["steps"][0]) if request.rtol is None else (request.rtol,)
    for rtol in rtols:
        try:
            return run.events(rtol=rtol, most_events=policy.MOST_EVENTS)
        except TooManyEventsError:
            continue
    if request.to_rest:
        raise UnfinishedError(
            f"the flow has more than {policy.MOST_EVENTS} kinks that matter, and steps that pass them do not "
            "tell where it has converged; give a loss level instead, or a larger rtol."
        )
    return run.steps()


def _check_velocity(problem: Problem, i: int) -> None:
    """Refuse a network whose loss or velocity at t = 0 is not finite."""
    network, data = problem.networks[i], problem.datasets[i]
    arrays = data.x, data.y, *network.weights, *(network.biases or ())
    sizes = [max(a.max(), -a.min()) for a in arrays]
    if max(sizes) * max(data.x.shape[1], *network.sizes) < LARGE ** (1 / (network.depth + 1)):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        flow = Flow(problem, i, Limits(1.0, 1.0, 1), smooth=False)
        flow.examine(flow.state.theta)
        numbers = [flow.loss(flow.state.theta), *flow.velocity]
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"the velocity at t = 0 is not a finite number: inputs reach {sizes[0]:.2g}, targets "
            f"{sizes[1]:.2g}, weights {max(sizes[2:]):.2g}; measure the largest of them in larger units."
        )


class _Run:
    """One network, its data and times, with one function per method."""

    def __init__(self, problem: Problem, i: int, ts: np.ndarray, request: _Request):
        self.problem, self.i, self.ts, self.request = problem, i, ts, request
        self.began = time.perf_counter()

    def smooth(self) -> Trajectory:
        limits = self.request.limits("smooth")
        flow = Flow(self.problem, self.i, limits, smooth=True)
        log = Log(flow, None)
        if not self.problem.has_no_kinks(self.i):
            with_kinks = Flow(self.problem, self.i, limits, smooth=False)
            if branches_initially(with_kinks):
                log.note_branch()
        return self._followed("smooth", flow, Smooth(flow), log, limits)

    def events(self, *, rtol: float | None = None, most_events: int | None = None) -> Trajectory:
        limits = self.request.limits("events", rtol)
        flow = Flow(self.problem, self.i, limits, smooth=False)
        log = Log(flow, most_events)
        two_layers = self.problem.networks[self.i].depth == 2
        kinks = TwoLayers(flow, log) if two_layers else Deep(flow, log)
        return self._followed("events", flow, kinks, log, limits)

    def steps(self) -> Trajectory:
        require_jax('a flow by steps (method="steps", or more kinks than can be located)')
        from biasfree.dynamics.flow._by_steps import flow_by_steps  # the only method that needs JAX

        given = (self.problem, self.i, self.ts, self.request.limits("steps"), self._recorder)
        return flow_by_steps(*given, strict=self.request.strict, began=self.began)

    def _recorder(self) -> Recorder:
        network, request = self.problem.networks[self.i], self.request
        levels = request.levels
        return Recorder(network, self.problem.l2, request.save, levels, to_rest=request.to_rest)

    def _followed(self, method: str, flow: Flow, kinks: Kinks, log: Log, limits: Limits) -> Trajectory:
        recorder = self._recorder()
        _follow(flow, kinks, self.ts, limits, recorder)
        stats = Stats(
            method=method,
            evaluations=int(flow.state.status.evaluations),
            by_class=int(flow.state.status.by_class),
            accepted=flow.accepted,
            rejected=flow.tried - flow.accepted,
            events=log.events() if method == "events" else {},
            located=tuple(log.located),
            branch_times=tuple(log.branches),
            rtol=limits.rtol,
            error=flow.error,
            error_kind="sum of the local errors and of the kinks stepped over",
            stopped=recorder.levels.ending,
            wall_time=time.perf_counter() - self.began,
        )
        _hold_to_rtol(stats, strict=self.request.strict)
        return recorder.trajectory(stats)


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


class Smooth:
    """What becomes of steps of a flow without kinks, or taken to be: they end at levels of the loss only."""

    def __init__(self, flow: Flow):
        self._flow = flow

    def prepare(self) -> float:
        """Nothing is ever due."""
        return np.inf

    def attend(self, code: Code, saves: Saves, levels: Levels) -> None:  # noqa: ARG002
        """Take the step under way, up to the lowest level of the loss."""
        self._flow.take(saves, self._flow.reach_levels(levels, 1.0))


#: What becomes of steps in which something happens.
Kinks: TypeAlias = Smooth | TwoLayers | Deep


def _follow(flow: Flow, kinks: Kinks, ts: np.ndarray, limits: Limits, recorder: Recorder) -> None:
    """Follow the flow through `ts`, block after block, and record the states there. `Flow` takes steps until
    something happens in one, and `kinks` attends to it."""
    end, levels, size = float(ts[-1]), recorder.levels, len(flow.state.theta)
    exponential = Exponential(flow)
    slots, call = max(1, policy.BLOCK_ELEMENTS // size), _steps_per_call(flow)
    levels.reach(0.0, flow.loss(flow.state.theta))
    with Progress("gradient flow") as progress:
        while len(ts) and not levels.done:
            saves = Saves(ts[:slots], np.zeros((len(ts[:slots]), size)), np.zeros(len(ts[:slots])))
            ts = ts[slots:]
            flow.state.status.saved = 0
            code = Code.PAUSED
            while code == Code.PAUSED:
                code = _advance(
                    flow, kinks, exponential, saves, levels, min(call, limits.max_steps - flow.tried)
                )
                progress.update(flow.t / end if end else 1.0)
                progress.saved(saves.ts[: flow.saved], saves.losses[: flow.saved])
                if code == Code.FAILED or (code == Code.PAUSED and flow.tried >= limits.max_steps):
                    raise UnfinishedError(_unfinished(flow, code, limits, end))
            done = flow.saved
            recorder.add(saves.ts[:done], _params(saves.states[:done], flow), saves.losses[:done])
    if levels.done:
        recorder.add_last(flow.t, _params(flow.state.theta, flow), flow.loss(flow.state.theta))


def _advance(
    flow: Flow, kinks: Kinks, exponential: Exponential, saves: Saves, levels: Levels, most: int
) -> Code:
    """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
    flow.save_present(saves)
    asked, doubled = flow.tried, 0.0
    end = asked + most
    while (tried := flow.tried) < end:
        due = min(end - tried, kinks.prepare())
        if levels.to_rest:
            due = min(due, policy.REST_AFTER)
            if tried >= asked or flow.t >= doubled:
                asked, doubled = tried + policy.REST_AFTER, 2 * flow.t
                levels.at_rest = at_rest(flow)
        if exponential.active or tried >= exponential.due:
            exponential.prepare()
        if flow.saved == len(saves.ts) or levels.at_rest:
            return Code.SAVED
        if exponential.active:
            code = exponential.step(saves, levels.next)
        else:
            code = flow.run(saves, levels.next, most=int(min(due, exponential.due - tried)))
        if code == Code.PAUSED:
            continue
        if code in (Code.PENDING, Code.EVENT):
            kinks.attend(code, saves, levels)
            if levels.done:
                return Code.SAVED
        else:
            return code
    return Code.PAUSED


def _steps_per_call(flow: Flow) -> int:
    """Steps of about policy.CALL_OPERATIONS: each evaluates every unit with its inputs in every stage."""
    each = STAGES * len(flow.state.signs) * (2 * int(flow.shape.sizes[:-1].max()) + 10)
    return max(1, min(policy.CALL_STEPS, int(policy.CALL_OPERATIONS / max(each, 1))))


def _params(states: np.ndarray, flow: Flow) -> Params:
    weights, biases = parts_of(states, flow.shape)
    return Params(tuple(weights), tuple(biases))


def _unfinished(flow: Flow, code: Code, limits: Limits, end: float) -> str:
    """The reason why the flow was given up, and what to try."""
    where = f"the flow stopped at t = {flow.t:.6g} of {end:g} at rtol = {limits.rtol:g}"
    advice = ' method="steps" is less accurate by default.'
    if flow.shape.follow:
        advice = ' At kinks, where the field jumps, use method="events" or method="steps".'
    if code == Code.FAILED:
        return (
            f"{where}: no step is accurate enough there, however short, as where weights diverge. Raise rtol "
            f"or end ts earlier.{advice}"
        )
    return (
        f"{where}, after {flow.tried} steps (max_steps = {limits.max_steps}). Raise max_steps or rtol, or "
        f"end ts earlier.{advice}"
    )
