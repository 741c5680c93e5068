"""One flow by native steps: the state of its integrator, its constraints, and its answers at an event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Problem
from biasfree.dynamics._recorder import NO_LEVEL, Levels
from biasfree.dynamics.evaluate._sorting import no_classes
from biasfree.dynamics.kinks._constraints import jump_at, project_direction, unit_rate
from biasfree.dynamics.kinks._crossings import budget_of
from biasfree.dynamics.kinks._decide import Decisions
from biasfree.dynamics.kinks._search import examine
from biasfree.dynamics.kinks._units import FirstLayer, Unit, Watch, constraints_of, no_constraints
from biasfree.dynamics.network._curvature import velocity_along
from biasfree.dynamics.network._field import holds
from biasfree.dynamics.network._layout import (
    empty_workspace,
    no_merged,
    rays_of,
    shape_of,
    vector_of,
    workspace_for,
)
from biasfree.dynamics.network._records import Constraints, Field, Rays, Shape, Tolerance, Workspace
from biasfree.dynamics.network._state import DENSE, Saves, state_of
from biasfree.dynamics.steps._loop import Code, error_of, loss_at, run
from biasfree.networks import Network

#: The size, relative to the largest array, below which one that begins at zero is zero but for rounding.
NOTHING = 1e-14


@dataclass(frozen=True)
class Limits:
    """The accuracy of a flow, and the number of steps it may take."""

    rtol: float
    atol: float
    max_steps: int


class UnfinishedError(RuntimeError):
    """The flow could not be followed to the last time at this accuracy."""


class Flow:
    """The flow of one network: the state of its integrator, and all that native code is handed.

    It takes steps and answers questions. What becomes of a step in which something happens is decided by
    `Smooth`, `TwoLayers` or `Deep`. If `smooth`, the signs of units follow the weights at every evaluation.
    """

    def __init__(self, problem: Problem, i: int, limits: Limits, *, smooth: bool):
        network = problem.networks[i]
        rays, lines = rays_of(network, problem.datasets[i], problem.loss, smooth=smooth)
        count = len(rays.orient)
        shape = shape_of(network, count, l2=problem.l2, train=problem.train, follow=smooth)
        by_class = network.depth == 2 and not smooth  # many such flows never need arrays over all units
        workspace = (empty_workspace if by_class else workspace_for)(shape, rays)
        self.field = Field(shape, rays, no_merged(shape), workspace, no_constraints(count))
        self.state = state_of(vector_of(network), int(self.shape.units_at[-1]))
        drifts = self.shape.biased and self.shape.l2 > 0
        self.first = FirstLayer(self.shape, self.rays, Decisions(lines, drifts=drifts))
        self.units: list[Unit] = []
        self.classes = no_classes(rays, int(shape.sizes[1]), int(shape.sizes[-1]))
        self.rtol = policy.LOCAL_SHARE * limits.rtol
        floors = _floors(network, limits.atol / limits.rtol, NOTHING / self.rtol)
        self.tolerance = Tolerance(self.rtol, floors)
        self.velocity = np.zeros(len(self.state.theta))  # at the state examined last
        self._turned: Field | None = None  # derivatives along a direction

    @property
    def shape(self) -> Shape:
        """The network without its weights."""
        return self.field.shape

    @property
    def rays(self) -> Rays:
        """The data."""
        return self.field.rays

    @property
    def workspace(self) -> Workspace:
        """Results of the last evaluation."""
        return self.field.workspace

    @property
    def constraints(self) -> Constraints:
        """The constraints until the next event."""
        return self.field.constraints

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.state.status.time)

    @property
    def accepted(self) -> int:
        """Steps taken, in whole or in part."""
        return int(self.state.status.accepted)

    @property
    def tried(self) -> int:
        """Steps attempted so far."""
        return self.accepted + int(self.state.status.rejected)

    @property
    def saved(self) -> int:
        """The number of states saved of the present block."""
        return int(self.state.status.saved)

    @property
    def error(self) -> float:
        """The sum of the local errors, relative to the weights."""
        return float(self.state.status.error)

    # Steps.

    def run(
        self, saves: Saves, level: float, *, fraction: float = 0.0, cost: float = 0.0, most: int = 0
    ) -> Code:
        """Take a fraction of the step under way, whose kinks cost so much of the error, and then up to `most`
        steps; returns why that ended."""
        given = self.field, self.classes, self.tolerance
        return Code(run(self.state, saves, *given, level, fraction, cost, most))

    def take(self, saves: Saves, fraction: float, cost: float = 0.0) -> Code:
        """Take a fraction of the step under way, and no other."""
        return self.run(saves, NO_LEVEL, fraction=fraction, cost=cost)

    def reject(self, factor: float) -> None:
        """Try the step under way again, with this factor of its length."""
        self.state.status.rejected += 1
        self.state.status.length = factor * self.state.status.trial

    def changed(self) -> None:
        """Forget the velocity at the start of the next step: weights, signs or constraints have changed."""
        self.state.status.fresh = 0

    def at(self, fraction: float) -> np.ndarray:
        """The weights at a fraction of the step under way."""
        weights = fraction ** np.arange(1, len(DENSE) + 1) @ DENSE
        # without BLAS: the same bits whatever its kernels
        return self.state.theta + self.state.status.trial * np.einsum("i,ij->j", weights, self.state.stages)

    def save_present(self, saves: Saves) -> None:
        """Save the state at the time reached, if that is due."""
        while self.saved < len(saves.ts) and saves.ts[self.saved] <= self.t:
            saves.states[self.saved] = self.state.theta
            saves.losses[self.saved] = self.loss(self.state.theta)
            self.state.status.saved += 1

    def reach_levels(self, levels: Levels, fraction: float) -> float:
        """Note the times of the levels reached in this part of the step; cut it at the lowest level."""
        if not self.state.status.low:
            return fraction
        start, h = self.t, float(self.state.status.trial)

        def low(part: float) -> bool:
            return self.loss(self.at(part)) <= levels.next

        while levels.next > NO_LEVEL and low(fraction):
            above, below = 0.0, fraction
            for _ in range(policy.LEVEL_HALVINGS):
                middle = (above + below) / 2
                above, below = (above, middle) if low(middle) else (middle, below)
            levels.reach(start + below * h, levels.next)
            if levels.done:
                return below
        return fraction

    # Evaluations, and what they are made on.

    def loss(self, theta: np.ndarray) -> float:
        """The data loss at θ."""
        return float(loss_at(theta, self.state, self.field, self.classes))

    def holds(self) -> bool:
        """Whether merged rays stood for all rays at the state evaluated last."""
        return bool(holds(self.field))

    def examine(self, theta: np.ndarray) -> float:
        """Evaluate the velocity, mark the units that are wrong; returns the slack of constraints."""
        if not len(self.workspace.z):
            self.make_workspace()
        self.state.status.evaluations += 1
        self.state.status.by_class += self.rays.single < len(self.rays.orient)
        return float(examine(theta, self.state.signs, self.field, self.velocity))

    def use(self, field: Field, signs: np.ndarray) -> None:
        """Evaluate the network by this field and these signs, which stand for the same data; no unit
        slides."""
        self.field = field._replace(constraints=no_constraints(len(field.rays.orient)))
        self.state = self.state._replace(signs=signs)
        self.changed()

    def constrain(
        self, units: list[Unit], rest: np.ndarray | None = None, watched: list[Watch] | None = None
    ) -> None:
        """Keep these units on their hyperplanes, and these neurons (None: the same as before) at rest."""
        rest = self.constraints.rest if rest is None else rest
        if len(units) + 1 >= len(self.workspace.back):
            self.make_workspace(2 * len(units) + 2)
        constraints = constraints_of(units, rest, self.first.ways(rest), watched)
        self.units, self.field = units, self.field._replace(constraints=constraints)
        self.changed()

    def make_workspace(self, slides: int = policy.FEW_SLIDES) -> None:
        """Make arrays over all units, for so many of them that slide."""
        self.field = self.field._replace(workspace=workspace_for(self.shape, self.rays, slides))

    # Answers after `examine`.

    def rate(self, unit: Unit) -> tuple[float, float, float]:
        """ż, |∇z|², and the part of |∇z|² that constraints leave."""
        return unit_rate(tuple(unit), self.state.theta, self.state.signs, self.field, self.velocity)

    def velocity_along(self, direction: np.ndarray) -> np.ndarray:
        """The derivative of the velocity along a direction, at fixed signs and without constraints: minus the
        Hessian of the objective times the direction."""
        if self._turned is None or self._turned.workspace.z.shape != self.workspace.z.shape:
            self._turned = self.field._replace(workspace=workspace_for(self.shape, self.rays))
        found = np.zeros_like(direction)
        velocity_along(self.state.theta, direction, self.state.signs, self.field, self._turned, found)
        return found

    def error_of(self, direction: np.ndarray) -> float:
        """The error allowed that a change of the weights by this direction makes use of, 1 for all of it;
        relative to the weights at the end of the step under way."""
        self.state.dense[:] = direction / self.state.status.trial
        return float(error_of(self.state, self.shape, self.tolerance))

    def project(self, direction: np.ndarray) -> None:
        """Take from a direction what constraints do not allow, after `examine`."""
        if self.constraints.size:
            project_direction(self.state.theta, self.state.signs, self.field, direction)

    def jump(self, unit: Unit) -> float:
        """The difference of the multipliers of ∇z on the two sides of a unit."""
        return jump_at(tuple(unit), self.field)

    def budget(self) -> float:
        """The error in θ that kinks stepped over may cost."""
        return float(budget_of(self.state, self.shape, self.tolerance))

    def count_move(self, length: float) -> None:
        """Count a change of θ that no velocity made, as a crossing that is located costs."""
        self.state.status.error += length / self.budget() * policy.KINK_SHARE * self.rtol


def _floors(network: Network, share: float, nothing: float) -> np.ndarray:
    """The absolute tolerance of every array over rtol: a share of its initial norm. What begins at zero is
    judged by itself, unless it is as good as nothing beside the largest array."""
    biases = network.biases or [np.zeros(0)] * network.depth
    norms = [np.linalg.norm(part) for pair in zip(network.weights, biases, strict=True) for part in pair]
    return share * np.where(np.array(norms) > 0, norms, min(nothing, 1.0) * (max(norms) or 1.0))
