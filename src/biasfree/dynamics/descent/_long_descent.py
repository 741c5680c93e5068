"""Logistic descent to huge times: on separable data the curvature falls with the loss, so steps may grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Required, TypedDict, Unpack, overload

import numpy as np

from biasfree.arrays import positive, whole
from biasfree.data import Dataset
from biasfree.dynamics._problem import Problem, problem_of
from biasfree.dynamics._recorder import Progress
from biasfree.dynamics.descent._native_loop import take_steps
from biasfree.dynamics.descent._native_run import on_samples
from biasfree.dynamics.network._layout import parts_of, vector_of
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

_SHARE = 0.5  # the step in units of 1/curvature; steps up to 2/curvature are stable
_OUTPUT = 3.0  # the typical |f| at which a network that has left its plateau has begun to learn
_ROUNDING = 1e-12  # relative rise of the loss that is taken for rounding


class LongDescentOptions(TypedDict, total=False):
    """The keywords of `long_descent`, written once for its overloads."""

    horizon: Required[float]
    train: Sequence[bool] | None
    save_every: int
    max_steps: int


@overload
def long_descent(network: Network, data: Dataset, **options: Unpack[LongDescentOptions]) -> Trajectory: ...
@overload
def long_descent(
    network: Sequence[Network], data: Dataset | Sequence[Dataset], **options: Unpack[LongDescentOptions]
) -> list[Trajectory]: ...
def long_descent(
    network: Network | Sequence[Network],
    data: Dataset | Sequence[Dataset],
    *,
    horizon: float,
    train: Sequence[bool] | None = None,
    save_every: int = 64,
    max_steps: int = 25_600,
) -> Trajectory | list[Trajectory]:
    """Logistic descent until time `horizon`, which may be 1e30, with steps that grow as the curvature falls.

    The step is η = 1/(2B), a quarter of the stable limit, and is kept for `save_every` steps:

        B = ⟨p(|∇f|² + |x|·max_h σ′_h)⟩ ≥ |∇²L|,  p = 1/(1 + e^{yf}).

    With a fixed layer ∇f is the gradient in the other one, in which f is piecewise linear, and the second
    term is absent. B is a rigorous bound at the first of these steps, except for neurons with w_h·x = 0, and
    at the others while margins grow faster than weights, as they do late on separable data. When both layers
    are trained, 3e^{−|f|}|x|·max σ′ is added to B, about the value of |∇f|² after a plateau: a rule of thumb.
    So the loss is checked: steps after which the loss of a network is higher are undone, counted in
    `stats.rejected`, and halved.

    The times `ts` are sums of the steps, one time per `save_every` steps, and end at `horizon`; the steps
    between two times are np.diff(ts)/save_every. If `max_steps` are not enough, as on data that no network
    separates, `stats.stopped` says so. Networks of a list have equal shapes and take the same steps, which
    are safe for all, so their trajectories have common times.

    Assumes: two layers, one output, no biases, labels −1 and +1.
    """
    problem = problem_of(network, data, loss="logistic", l2=0.0, train=train)
    _check(problem)
    horizon, save_every = positive("horizon", horizon), whole("save_every", save_every)
    max_steps = whole("max_steps", max_steps)
    with Progress("long descent") as progress:
        group = _Group(problem)
        while group.t < horizon and group.steps + group.undone < max_steps:
            group.advance(min(save_every, max_steps - group.steps - group.undone), horizon)
            progress.update(min(1.0, np.log1p(group.t) / np.log1p(horizon)))
        stopped = "horizon reached" if group.t >= horizon else f"max_steps={max_steps} at t = {group.t:.3g}"
        return problem.answer(group.trajectories(stopped, progress.elapsed))


def _check(problem: Problem) -> None:
    network = problem.networks[0]
    if network.depth != 2 or network.sizes[-1] != 1 or network.biases is not None:
        raise ValueError(
            "long_descent needs two layers, one output and no biases to bound the curvature, "
            f"got {network!r}; use gradient_descent for others."
        )


class LossAndCurvature(NamedTuple):
    """The loss of a network, and a bound on the curvature of the loss."""

    loss: float
    curvature: float


def loss_and_curvature(
    weights: Sequence[np.ndarray], leak: float, data: Dataset, train: Sequence[bool]
) -> LossAndCurvature:
    """Loss and bound from one forward pass."""
    first, second = weights
    h, size = data.x @ first.T, np.linalg.norm(data.x, axis=1)
    gates = np.where(h > 0, 1.0, leak)
    margins = data.targets[:, 0] * ((gates * h) @ second[0])
    slopes = train[0] * ((gates**2) @ second[0] ** 2 * size**2) + train[1] * np.sum((gates * h) ** 2, axis=1)
    bent = all(train) * size * gates.max(axis=1) * (1 + _OUTPUT * np.exp(-np.abs(margins)))
    missing = np.exp(-np.logaddexp(0.0, margins))
    return LossAndCurvature(
        float(np.mean(np.logaddexp(0.0, -margins))), float(np.mean(missing * (slopes + bent)))
    )


class _Group:
    """Networks that take the same steps, and their states at common times."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.engines = [_Engine(problem, i) for i in range(len(problem.networks))]
        self.ts = [0.0]
        self.states = [[vector_of(network) for network in problem.networks]]
        self.measured = [self._measure(self.states[0])]
        self.steps = 0
        self.undone = 0
        self.caution = 1.0

    @property
    def t(self) -> float:
        """The time reached."""
        return self.ts[-1]

    def advance(self, count: int, horizon: float) -> None:
        """Take `count` steps of one size; if the loss of a network is higher after them, undo them and halve
        the next ones."""
        before, curvature = self.measured[-1], max(one.curvature for one in self.measured[-1])
        left = (horizon - self.t) / count
        step = self.caution * (_SHARE / curvature if curvature * left > _SHARE else left)
        states = self._after(step, count)
        after = self._measure(states)
        if any(not b.loss <= a.loss * (1 + _ROUNDING) for a, b in zip(before, after, strict=True)):
            self.undone, self.caution = self.undone + count, self.caution / 2
            return
        self.steps, self.caution = self.steps + count, 1.0
        self.ts.append(horizon if step == left else self.t + count * step)
        self.states.append(states)
        self.measured.append(after)

    def _after(self, step: float, count: int) -> list[np.ndarray]:
        each = zip(self.engines, self.states[-1], strict=True)
        return [engine.after_steps(theta, step, count) for engine, theta in each]

    def _measure(self, states: list[np.ndarray]) -> list[LossAndCurvature]:
        with np.errstate(over="ignore", invalid="ignore"):  # a loss that is not finite counts as higher
            return [engine.measure(theta) for engine, theta in zip(self.engines, states, strict=True)]

    def trajectories(self, stopped: str, wall_time: float) -> list[Trajectory]:
        stats = Stats(
            method="long descent",
            evaluations=self.steps + self.undone,
            accepted=self.steps,
            rejected=self.undone,
            error=0.0,
            error_kind="none: the iteration itself, exact to rounding",
            stopped=stopped,
            wall_time=wall_time,
        )
        losses = np.array([[one.loss for one in row] for row in self.measured])
        return [
            Trajectory(
                ts=np.array(self.ts),
                weights=engine.weights(np.array([row[i] for row in self.states])),
                loss=losses[:, i],
                objective=losses[:, i],
                leak=engine.network.leak,
                stats=stats,
            )
            for i, engine in enumerate(self.engines)
        ]


class _Engine:
    """One network in the native loop; its states are vectors θ."""

    def __init__(self, problem: Problem, i: int):
        self.network = problem.networks[i]
        self._data = problem.datasets[i]
        self._field, self._signs = on_samples(problem, self.network, self._data)

    def after_steps(self, theta: np.ndarray, step: float, count: int) -> np.ndarray:
        after, saved, velocity = theta.copy(), np.empty((1, len(theta))), np.empty(len(theta))
        given = self._signs, self._field, velocity, step, -np.inf
        take_steps(after, *given, np.array([count]), saved, np.empty(1))
        return after

    def weights(self, states: np.ndarray) -> tuple[np.ndarray, ...]:
        """The weights of these states, with their leading axis."""
        return tuple(parts_of(states, self._field.shape)[0])

    def measure(self, theta: np.ndarray) -> LossAndCurvature:
        weights, train = self.weights(theta), self._field.shape.train.tolist()
        return loss_and_curvature(list(weights), self.network.leak, self._data, train)
