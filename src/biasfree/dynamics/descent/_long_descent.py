"""Logistic descent to huge times: on separable data the curvature falls with the loss, so steps may grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Required, TypedDict, Unpack, overload

import jax
import numpy as np

from biasfree.arrays import positive, whole
from biasfree.data import Dataset
from biasfree.dynamics._problem import Problem, problem_of
from biasfree.dynamics._programs import float64
from biasfree.dynamics._progress import Progress
from biasfree.dynamics.descent._loop import take_steps
from biasfree.dynamics.field._objective import Form, Params, form_of, physics_of, view_of
from biasfree.networks import Network
from biasfree.trajectory import Stats, Trajectory

_BATCH = 16  # networks in a compiled call
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
    form = form_of(problem.networks, problem.datasets, problem.loss, problem.train)
    with float64(), Progress("long descent") as progress:
        group = _Group(form, problem)
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

    def __init__(self, form: Form, problem: Problem):
        self.problem = problem
        self.batches = [_Batch(form, problem, rows) for rows in _rows(len(problem.networks))]
        self.ts, self.states = [0.0], [_stack([network.weights for network in problem.networks])]
        self.measured = [self._measure(self.states[0])]
        self.steps, self.undone, self.caution = 0, 0, 1.0

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

    def _after(self, step: float, count: int) -> tuple[np.ndarray, ...]:
        ends = [batch.after_steps(self.states[-1], step, count) for batch in self.batches]
        joined = (np.concatenate(layer)[: len(self.problem.networks)] for layer in zip(*ends, strict=True))
        return tuple(joined)

    def _measure(self, states: tuple[np.ndarray, ...]) -> list[LossAndCurvature]:
        each = zip(zip(*states, strict=True), self.problem.networks, self.problem.datasets, strict=True)
        with np.errstate(over="ignore", invalid="ignore"):  # a loss that is not finite counts as higher
            return [
                loss_and_curvature(weights, net.leak, data, self.problem.train) for weights, net, data in each
            ]

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
        layers, losses = _stack(self.states), np.array([[one.loss for one in row] for row in self.measured])
        return [
            Trajectory(
                ts=np.array(self.ts),
                weights=tuple(layer[:, i] for layer in layers),
                loss=losses[:, i],
                objective=losses[:, i],
                leak=network.leak,
                stats=stats,
            )
            for i, network in enumerate(self.problem.networks)
        ]


class _Batch:
    """The networks `rows`, advanced by one compiled call."""

    def __init__(self, form: Form, problem: Problem, rows: np.ndarray):
        pairs = [(problem.networks[i], problem.datasets[i]) for i in rows]
        self.form, self.rows = form, rows
        self.views = _stack([view_of(form, network, data) for network, data in pairs])
        self.physics = _stack([physics_of(network, 0.0) for network, _ in pairs])

    def after_steps(self, states: tuple[np.ndarray, ...], step: float, count: int) -> tuple[np.ndarray, ...]:
        begin = Params(tuple(layer[self.rows] for layer in states))
        stops = np.array([count], dtype=np.int64)
        given = (self.views, self.physics, step, -np.inf)
        end = take_steps(self.form, begin, stops, *given, shared=False)[0]
        return tuple(np.asarray(layer) for layer in end.params.weights)


def _rows(count: int) -> list[np.ndarray]:
    """The networks of every batch, the last one repeated: a batch that is not full would compile anew."""
    size = min(_BATCH, count)
    return [np.minimum(np.arange(first, first + size), count - 1) for first in range(0, count, size)]


def _stack(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
