"""Neurons of two layers that fade beside larger ones, native: their balance and their own accuracy.

|w_h|² − |a_h|² of incoming and outgoing weights is conserved. A neuron that fades while |w| = |a| follows the
stable direction of a saddle: the least imbalance grows while the neuron shrinks, until w or a passes zero,
which the exact flow never does. So a step ends with the balance restored where it is lost, and with sliding
neurons on their hyperplanes. The tolerance of a step is relative to a whole layer and says nothing of a
neuron that is much smaller: it has loose ones of its own, for steps and for kinks that are stepped over.
"""

from __future__ import annotations

import math

from biasfree.dynamics._policy import OWN_TOLERANCE, UNBALANCED
from biasfree.dynamics.kinks._constraints import project
from biasfree.dynamics.network._compiled import inner
from biasfree.dynamics.network._records import Field, Shape, Vector
from biasfree.dynamics.network._state import State

#: Neurons smaller than this have lost digits to underflow.
LEAST_SIZE = 1e-290


@inner
def count_for_small(state: State, field: Field, jumps: Vector, budget: float) -> float:
    """Enlarge the jumps at kinks of neurons so small that a cost of the budget would exceed their own
    tolerance, so that it does not; returns the sum of all jumps."""
    width, total, largest = field.shape.sizes[1], 0.0, state.sizes[0]
    _largest(state.theta, field.shape, largest)
    for h in range(len(largest)):
        size = OWN_TOLERANCE * largest[h]
        if LEAST_SIZE < size < budget:
            for u in range(h, field.shape.units_at[1], width):
                jumps[u] *= budget / size
    for u in range(len(jumps)):
        total += jumps[u]
    return total


@inner
def stay_on_hyperplanes(state: State, field: Field) -> None:
    """Put neurons that slide on their hyperplanes again: the distance that rounding leaves does not fade with
    them."""
    for j in range(len(field.constraints.layer) if field.shape.train[0] else 0):
        project(field.constraints.neuron[j], field.constraints.ray[j], field, state.theta)


@inner
def restore_balances(state: State, shape: Shape) -> None:
    """Scale the weights of every neuron, w by s and a by 1/s, such that |w|² − |a|² has its value. Neither
    the function nor the force on w/|w| changes, so that velocities scale by 1/s and s.
    """
    theta, speed = state.theta, state.stages[0]
    decay = math.exp(-shape.l2 * state.status.time)
    for h in range(len(state.balance)):
        w, a = _lengths(h, theta, shape)
        if min(w, a) < LEAST_SIZE:
            continue
        s = _restoring(w, a, decay * state.balance[h])
        if abs(s - 1) > UNBALANCED:
            _scale(h, s, theta, shape)
            _scale(h, 1 / s, speed, shape)


@inner
def _restoring(w: float, a: float, root: float) -> float:
    """The s with (sw)² − (a/s)² = root·|root|. All numbers are relative to the largest of them, so that no
    square under- or overflows."""
    size = max(w, a, abs(root))
    w, a, square = w / size, a / size, (root / size) * abs(root / size)
    both = math.sqrt(square * square + 4 * w * w * a * a)
    if square >= 0:
        return math.sqrt((square + both) / 2) / w
    return a / math.sqrt((both - square) / 2)


@inner
def _scale(h: int, s: float, theta: Vector, shape: Shape) -> None:
    """Multiply the incoming weights of a neuron by s and divide its outgoing ones by it."""
    fan_in, width, outputs = shape.sizes[0], shape.sizes[1], shape.sizes[2]
    for i in range(fan_in):
        theta[shape.weights_at[0] + h * fan_in + i] *= s
    if shape.biased:
        theta[shape.biases_at[0] + h] *= s
    for k in range(outputs):
        theta[shape.weights_at[1] + k * width + h] /= s


@inner
def _lengths(h: int, theta: Vector, shape: Shape) -> tuple[float, float]:
    """|w| and |a| of a neuron, by numbers relative to its largest weights, whose squares do not underflow."""
    fan_in, width, outputs = shape.sizes[0], shape.sizes[1], shape.sizes[2]
    w = abs(theta[shape.biases_at[0] + h]) if shape.biased else 0.0
    a = 0.0
    for i in range(fan_in):
        w = max(w, abs(theta[shape.weights_at[0] + h * fan_in + i]))
    for k in range(outputs):
        a = max(a, abs(theta[shape.weights_at[1] + k * width + h]))
    if min(w, a) < LEAST_SIZE:
        return w, a
    incoming = (theta[shape.biases_at[0] + h] / w) ** 2 if shape.biased else 0.0
    outgoing = 0.0
    for i in range(fan_in):
        incoming += (theta[shape.weights_at[0] + h * fan_in + i] / w) ** 2
    for k in range(outputs):
        outgoing += (theta[shape.weights_at[1] + k * width + h] / a) ** 2
    return w * math.sqrt(incoming), a * math.sqrt(outgoing)


@inner
def own_error(state: State, shape: Shape) -> float:
    """The error of the step under way, which `state.dense` holds, over the tolerance of each neuron; the
    largest of all neurons."""
    worst, sizes, errors = 0.0, state.sizes[0], state.sizes[1]
    _largest(state.arrival, shape, sizes)
    _largest(state.dense, shape, errors)
    for h in range(len(sizes)):
        if sizes[h] >= LEAST_SIZE:
            worst = max(worst, errors[h] / sizes[h])
    return state.status.trial * worst / OWN_TOLERANCE


@inner
def _largest(theta: Vector, shape: Shape, found: Vector) -> None:
    """The largest weight of every neuron, incoming or outgoing, without its sign."""
    fan_in, width, outputs, biased = shape.sizes[0], shape.sizes[1], shape.sizes[2], shape.biased
    first, second, bias = shape.weights_at[0], shape.weights_at[1], shape.biases_at[0]
    for h in range(len(found)):
        largest = abs(theta[bias + h]) if biased else 0.0
        for i in range(first + h * fan_in, first + (h + 1) * fan_in):
            largest = max(largest, abs(theta[i]))
        found[h] = largest
    for k in range(outputs):
        for h in range(len(found)):
            found[h] = max(found[h], abs(theta[second + k * width + h]))
