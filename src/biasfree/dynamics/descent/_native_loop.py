"""Native loop of gradient descent: steps by the native field, one program for all shapes."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from biasfree.dynamics.network._compiled import native
from biasfree.dynamics.network._field import evaluate, holds
from biasfree.dynamics.network._records import Field, Integers, Matrix, Signs, Vector
from biasfree.dynamics.network._residual import loss_of
from biasfree.dynamics.network._vectors import add, copy


class Ended(IntEnum):
    """Why a call ended: all stops are passed, the loss is at the level or not finite, or the patterns of
    merged samples may have changed."""

    STOPS = 0
    LEVEL = 1
    DIVERGED = 2
    CHANGED = 3


_STOPS, _LEVEL, _DIVERGED, _CHANGED = (int(why) for why in Ended)


@native
def take_steps(
    theta: Vector,
    signs: Signs,
    field: Field,
    velocity: Vector,
    step: float,
    level: float,
    stops: Integers,
    saved: Matrix,
    losses: Vector,
) -> tuple[int, int, int, float, float, int]:
    """Take steps from θ up to stops[0], stops[1], …; the states there go to `saved` and `losses`.

    Returns why it ended, the steps done, the stops passed, the loss at the end, the lowest loss and its step.
    """
    done, passed, lowest, lowest_step = 0, 0, np.inf, 0
    while True:
        evaluate(theta, signs, field, velocity)
        loss = loss_of(field.rays, field.workspace.f)
        if not holds(field):
            return _CHANGED, done, passed, loss, lowest, lowest_step
        if not math.isfinite(loss):
            return _DIVERGED, done, passed, loss, lowest, lowest_step
        if loss < lowest:
            lowest, lowest_step = loss, done
        while passed < len(stops) and stops[passed] == done:
            copy(theta, saved[passed])
            losses[passed] = loss
            passed += 1
        if loss <= level:
            return _LEVEL, done, passed, loss, lowest, lowest_step
        if passed == len(stops):
            return _STOPS, done, passed, loss, lowest, lowest_step
        add(step, velocity, theta)
        done += 1
