"""One flow by native steps: the state of its integrator, its constraints, and its answers at an event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.dynamics._levels import NO_LEVEL, Levels
from biasfree.dynamics._problem import Problem
from biasfree.dynamics.flow.events._apply import Decisions
from biasfree.dynamics.flow.events._first_layer import FirstLayer
from biasfree.dynamics.flow.events._sorting import no_groups
from biasfree.dynamics.flow.events._units import Unit, Watch, constraints_of, jump_of, no_constraints
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._buffers import buffers_for
from biasfree.dynamics.flow.native._classes import class_loss
from biasfree.dynamics.flow.native._compiled import drop_stale
from biasfree.dynamics.flow.native._constraints import unit_rate
from biasfree.dynamics.flow.native._curvature import velocity_along
from biasfree.dynamics.flow.native._events import budget_of
from biasfree.dynamics.flow.native._field import loss
from biasfree.dynamics.flow.native._layout import (
    Rays,
    Shape,
    Workspace,
    empty_workspace,
    rays_of,
    shape_of,
    vector_of,
    workspace_for,
)
from biasfree.dynamics.flow.native._loop import Code, run
from biasfree.dynamics.flow.native._search import examine
from biasfree.dynamics.flow.native._state import DENSE, Saves, state_of
from biasfree.networks import Network

drop_stale(run)

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
        self.rays, lines = rays_of(network, problem.datasets[i], problem.loss, smooth=smooth)
        count = len(self.rays.orient)
        self.shape = shape_of(network, count, l2=problem.l2, train=problem.train, follow=smooth)
        by_class = network.depth == 2 and not smooth  # many such flows never need arrays over all units
        self.workspace = (empty_workspace if by_class else workspace_for)(self.shape, self.rays)
        self.state = state_of(vector_of(network), int(self.shape.units_at[-1]))
        drifts = self.shape.biased and self.shape.l2 > 0
        self.first = FirstLayer(self.shape, self.rays, Decisions(lines, drifts=drifts))
        self.units: list[Unit] = []
        self.constraints = no_constraints(count)
        self.groups = no_groups(self.rays, int(self.shape.sizes[1]))
        self.buffers = buffers_for(self.groups, 0, int(self.shape.sizes[-1]))
        self.rtol = policy.LOCAL_SHARE * limits.rtol
        self.floors = _floors(network, limits.atol / limits.rtol, NOTHING / self.rtol)
        self.velocity = np.zeros(len(self.state.theta))  # at the state examined last
        self._turned: Workspace | None = None  # derivatives along a direction

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
        given = (self.shape, self.rays, self.workspace, self.constraints, self.groups, self.buffers)
        return Code(run(self.state, saves, *given, self.rtol, self.floors, level, fraction, cost, most))

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
        if self.groups.active:
            return float(class_loss(theta, self.shape, self.groups, self.buffers))
        return float(loss(theta, self.state.signs, self.shape, self.rays, self.workspace))

    def examine(self, theta: np.ndarray) -> float:
        """Evaluate the velocity, mark the units that are wrong; returns the slack of constraints."""
        if not len(self.workspace.z):
            self.workspace = workspace_for(self.shape, self.rays)
        self.state.status.evaluations += 1
        self.state.status.by_class += self.rays.single < len(self.rays.orient)
        given = (self.shape, self.rays, self.workspace, self.constraints, self.velocity)
        return float(examine(theta, self.state.signs, *given))

    def use(self, rays: Rays, shape: Shape, signs: np.ndarray, workspace: Workspace) -> None:
        """Evaluate the network on these rays, which stand for the same data; no unit slides."""
        self.rays, self.shape, self.workspace = rays, shape, workspace
        self.state = self.state._replace(signs=signs)
        self.constraints = no_constraints(len(rays.orient))
        self.changed()

    def constrain(
        self, units: list[Unit], rest: np.ndarray | None = None, watched: list[Watch] | None = None
    ) -> None:
        """Keep these units on their hyperplanes, and these neurons (None: the same as before) at rest."""
        rest = self.constraints.rest if rest is None else rest
        if len(units) + 1 >= len(self.workspace.back):
            self.workspace = workspace_for(self.shape, self.rays, 2 * len(units) + 2)
        self.units, self.constraints = units, constraints_of(units, rest, self.first.ways(rest), watched)
        self.changed()

    # Answers after `examine`.

    def rate(self, unit: Unit) -> tuple[float, float, float]:
        """ż, |∇z|², and the part of |∇z|² that constraints leave."""
        given = (self.shape, self.rays, self.workspace, self.constraints, self.velocity)
        return unit_rate(tuple(unit), self.state.theta, self.state.signs, *given)

    def velocity_along(self, direction: np.ndarray) -> np.ndarray:
        """The derivative of the velocity along a direction, at fixed signs and without constraints: minus the
        Hessian of the objective times the direction."""
        if self._turned is None or self._turned.z.shape != self.workspace.z.shape:
            self._turned = workspace_for(self.shape, self.rays)
        found, given = np.zeros_like(direction), (self.shape, self.rays, self.workspace, self._turned)
        velocity_along(self.state.theta, direction, self.state.signs, *given, found)
        return found

    def jump(self, unit: Unit) -> float:
        """The difference of the multipliers of ∇z on the two sides of a unit."""
        return jump_of(unit, self.shape, self.rays, self.workspace)

    def budget(self) -> float:
        """The error in θ that kinks stepped over may cost."""
        return float(budget_of(self.state, self.shape, self.rtol, self.floors))

    def count_move(self, length: float) -> None:
        """Count a change of θ that no velocity made, as a crossing that is located costs."""
        self.state.status.error += length / self.budget() * policy.KINK_SHARE * self.rtol


def _floors(network: Network, share: float, nothing: float) -> np.ndarray:
    """The absolute tolerance of every array over rtol: a share of its initial norm. What begins at zero is
    judged by itself, unless it is as good as nothing beside the largest array."""
    biases = network.biases or [np.zeros(0)] * network.depth
    norms = [np.linalg.norm(part) for pair in zip(network.weights, biases, strict=True) for part in pair]
    return share * np.where(np.array(norms) > 0, norms, min(nothing, 1.0) * (max(norms) or 1.0))
