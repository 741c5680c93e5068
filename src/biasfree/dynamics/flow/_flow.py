"""One flow by native steps: its weights, the constraints of its kinks, its saved states and levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.data import Dataset
from biasfree.dynamics._levels import NO_LEVEL, Levels
from biasfree.dynamics.flow._initial import branches_initially
from biasfree.dynamics.flow.events._sorting import no_groups
from biasfree.dynamics.flow.events._units import no_constraints
from biasfree.dynamics.flow.native import _policy as policy
from biasfree.dynamics.flow.native._buffers import buffers_for
from biasfree.dynamics.flow.native._classes import class_loss
from biasfree.dynamics.flow.native._compiled import drop_stale
from biasfree.dynamics.flow.native._field import loss
from biasfree.dynamics.flow.native._layout import Workspace, rays_of, shape_of, vector_of, workspace_for
from biasfree.dynamics.flow.native._loop import Code, run
from biasfree.dynamics.flow.native._state import DENSE, Saves, state_of
from biasfree.networks import Network
from biasfree.trajectory import Event

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
    """The flow of one network whose velocity is smooth, or is taken to be: σ′ follows the weights."""

    #: Whether the signs of units follow the weights at every evaluation.
    follows = True
    #: Whether σ′(0) = α decides where a unit is on its hyperplane at t = 0.
    decides_initially = True

    def __init__(
        self,
        network: Network,
        data: Dataset,
        limits: Limits,
        *,
        loss: str,
        l2: float,
        train: tuple[bool, ...],
    ):
        self.rays, self.lines = rays_of(network, data, loss, smooth=self.follows)
        count = len(self.rays.orient)
        self.shape = shape_of(network, count, l2=l2, train=train, follow=self.follows)
        self.workspace = self._first_workspace()
        theta, units = vector_of(network), int(self.shape.units_at[-1])
        balance = self._conserved(theta)
        self.state = state_of(theta, units, balance)
        self.constraints = no_constraints(count)
        self.groups = no_groups(self.rays, int(self.shape.sizes[1]))
        self.buffers = buffers_for(self.groups, 0, int(self.shape.sizes[-1]))
        self._branches = self.decides_initially and branches_initially(
            network, data, loss=loss, l2=l2, train=train
        )
        self.rtol = policy.LOCAL_SHARE * limits.rtol
        self.floors = _floors(network, limits.atol / limits.rtol, NOTHING / self.rtol)

    def _first_workspace(self) -> Workspace:
        return workspace_for(self.shape, self.rays)

    def _conserved(self, theta: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """The balances of neurons that steps keep; none."""
        return np.zeros(0)

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.state.status.time)

    @property
    def theta(self) -> np.ndarray:
        """The weights reached."""
        return self.state.theta

    @property
    def tried(self) -> int:
        """Steps attempted so far."""
        return self.accepted + int(self.state.status.rejected)

    @property
    def saved(self) -> int:
        """The number of states saved of the present block."""
        return int(self.state.status.saved)

    @property
    def accepted(self) -> int:
        """Steps taken, in whole or in part."""
        return int(self.state.status.accepted)

    @property
    def evaluations(self) -> int:
        """Evaluations of the velocity."""
        return int(self.state.status.evaluations)

    @property
    def error(self) -> float:
        """The sum of the local errors, relative to the weights."""
        return float(self.state.status.error)

    @property
    def by_class(self) -> int:
        """Evaluations by activation class."""
        return int(self.state.status.by_class)

    @property
    def events(self) -> dict[str, int]:
        """The number of events by kind; none for a smooth flow."""
        return {}

    @property
    def located(self) -> tuple[Event, ...]:
        """The events of neurons that slide or rest; none for a smooth flow."""
        return ()

    @property
    def branch_times(self) -> tuple[float, ...]:
        """The times at which the flow is not unique and a convention decided."""
        return (0.0,) if self._branches else ()

    def loss(self) -> float:
        """The data loss at the weights reached."""
        return self._loss(self.state.theta)

    def saves(self, ts: np.ndarray) -> Saves:
        """Workspace for the states at these times."""
        self.state.status.saved = 0
        return Saves(ts, np.zeros((len(ts), len(self.state.theta))), np.zeros(len(ts)))

    def advance(self, saves: Saves, levels: Levels, most: int) -> Code:
        """Advance until the times are saved, the lowest level is reached, or `most` steps are tried."""
        self._save_present(saves)
        begun = self.tried
        while (left := most - (self.tried - begun)) > 0:
            code = self._run(saves, levels.next, most=left)
            if code not in (Code.PENDING, Code.EVENT):
                return code
            self._attend(code, saves, levels)
            if levels.done:
                return Code.SAVED
        return Code.PAUSED

    def _attend(self, code: Code, saves: Saves, levels: Levels) -> None:  # noqa: ARG002
        """Take the step under way, up to the lowest level of the loss."""
        self._take(saves, self._reach_levels(levels, 1.0))

    def _take(self, saves: Saves, fraction: float, cost: float = 0.0) -> Code:
        """Take a fraction of the step under way, whose kinks cost so much of the error."""
        return self._run(saves, NO_LEVEL, fraction=fraction, cost=cost)

    def _run(
        self, saves: Saves, level: float, *, fraction: float = 0.0, cost: float = 0.0, most: int = 0
    ) -> Code:
        given = (self.shape, self.rays, self.workspace, self.constraints, self.groups, self.buffers)
        return Code(run(self.state, saves, *given, self.rtol, self.floors, level, fraction, cost, most))

    def _save_present(self, saves: Saves) -> None:
        """Save the state at the time reached, if that is due."""
        while self.saved < len(saves.ts) and saves.ts[self.saved] <= self.t:
            saves.states[self.saved] = self.state.theta
            saves.losses[self.saved] = self.loss()
            self.state.status.saved += 1

    def _at(self, fraction: float) -> np.ndarray:
        """The state at a fraction of the step under way."""
        weights = fraction ** np.arange(1, len(DENSE) + 1) @ DENSE
        # without BLAS: the same bits whatever its kernels
        return self.state.theta + self.state.status.trial * np.einsum("i,ij->j", weights, self.state.stages)

    def _loss(self, theta: np.ndarray) -> float:
        if self.groups.active:
            return float(class_loss(theta, self.shape, self.groups, self.buffers))
        return float(loss(theta, self.state.signs, self.shape, self.rays, self.workspace))

    def _reach_levels(self, levels: Levels, fraction: float) -> float:
        """Note the times of the levels reached in this part of the step; cut it at the lowest level."""
        if not self.state.status.low:
            return fraction
        start, h = self.t, float(self.state.status.trial)

        def low(part: float) -> bool:
            return self._loss(self._at(part)) <= levels.next

        while levels.next > NO_LEVEL and low(fraction):
            above, below = 0.0, fraction
            for _ in range(policy.LEVEL_HALVINGS):
                middle = (above + below) / 2
                above, below = (above, middle) if low(middle) else (middle, below)
            levels.reach(start + below * h, levels.next)
            if levels.done:
                return below
        return fraction


def _floors(network: Network, share: float, nothing: float) -> np.ndarray:
    """The absolute tolerance of every array over rtol: a share of its initial norm. What begins at zero is
    judged by itself, unless it is as good as nothing beside the largest array."""
    biases = network.biases or [np.zeros(0)] * network.depth
    norms = [np.linalg.norm(part) for pair in zip(network.weights, biases, strict=True) for part in pair]
    return share * np.where(np.array(norms) > 0, norms, min(nothing, 1.0) * (max(norms) or 1.0))
