"""The sides of units: at t = 0, also of those that begin on a kink; and of three and more layers later.

Initial weights typed by hand, or zero, put neurons exactly on the hyperplanes of samples. The neuron slides
along a hyperplane that attracts and crosses one that does neither: the flow is unique. A hyperplane that
repels or lets the neuron stay (r₊ ≥ 0 ≥ r₋ for the rates on its two sides, not both zero) has several flows,
and a convention decides: for two layers that of `kinks/_decide.py`, for deeper networks σ′(0) = α.

A unit above a layer of which no neuron is active on a ray has an input of exactly zero there. Which side it
is on is told by the neuron that becomes active first, through its outgoing weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, Int, row_norms
from biasfree.dynamics import _policy as policy
from biasfree.dynamics.events._event import Log
from biasfree.dynamics.kinks._constraints import pin as pin_together
from biasfree.dynamics.kinks._decide import across
from biasfree.dynamics.kinks._search import flip_wrong
from biasfree.dynamics.kinks._units import Unit, of_layer, place_of, unit_at
from biasfree.dynamics.network._layout import ROUNDING, hyperplanes_of, parts_of
from biasfree.dynamics.steps._flow import Flow

#: Distance, relative to its weights, by which a neuron that leaves a kink is moved beyond it for the flow by
#: steps: well above the rounding of w·x, below any error that steps can reach across a kink.
BEYOND = 1e-11
#: Relative rounding of rates.
TINY = 1e-11


def first_signs(flow: Flow) -> None:
    """The signs of θ, layer by layer; σ′(0) = α where a unit is on its hyperplane."""
    for layer in range(len(flow.shape.sizes) - 2):
        flow.examine(flow.state.theta)
        z = of_layer(flow.workspace.z, layer, flow.shape)
        of_layer(flow.state.signs, layer, flow.shape)[:] = np.where(z > 0, 1, -1)


def step_over(flow: Flow, log: Log) -> None:
    """Give the units that are wrong at the end of a whole step the signs of their sides."""
    for _ in range(len(flow.shape.sizes)):  # a change in one layer may change the sides of the next
        crossed = int(flip_wrong(flow.state.theta, flow.state.signs, flow.field))
        if not crossed:
            return
        update_above(flow, np.flatnonzero(flow.workspace.wrong))
        log.counts["stepped over"] += crossed
        flow.changed()


def begin_again(flow: Flow, log: Log) -> None:
    """Evaluate the velocity after a change. A unit that sees a ray with an input of exactly zero, as weights
    with blocks of zeros have, follows σ′(0) = α."""
    shape, workspace, idle_units = flow.shape, flow.workspace, False
    flow.examine(flow.state.theta)
    for layer in range(1, len(shape.sizes) - 2):
        seen = of_layer(workspace.a, layer - 1, shape).any(axis=0)
        signs = of_layer(flow.state.signs, layer, shape)
        idle = (of_layer(workspace.z, layer, shape) == 0) & (signs > 0) & seen
        idle[:, flow.rays.single :] = False
        if idle.any():
            signs[idle] = -1
            log.note_branch()
            idle_units = True
    if not idle_units:  # the first stage of the next step
        flow.state.stages[0], workspace.before[:] = flow.velocity, workspace.force
        flow.state.status.fresh = 1


def pin(flow: Flow, unit: Unit) -> None:
    """Put a unit exactly on its hyperplane; the change of θ is part of the error. Its own weights change, so
    that no unit below is moved, unless they are fixed, or its inputs so small that this is far from least."""
    state, shape = flow.state, flow.shape
    place = place_of(unit, flow.field)
    z, act = float(flow.workspace.z[place]), inputs_of(flow, unit.layer, unit.ray)
    size = act @ act
    square = flow.rate(unit)[2]
    if square == 0:  # it sees nothing that weights could change, and is on its hyperplane
        return
    if shape.train[unit.layer] and size >= policy.OWN_SHARE * square:
        weights, biases = parts_of(state.theta, shape)
        weights[unit.layer][unit.neuron] -= z / size * act[: shape.sizes[unit.layer]]
        if biases:
            biases[unit.layer][unit.neuron] -= z / size
        moved = abs(z) / np.sqrt(size)
    else:
        moved = pin_together(tuple(unit), z, state.theta, state.signs, flow.field)
    flow.count_move(moved)


def inputs_of(flow: Flow, layer: int, ray: int | slice = slice(None)) -> Float[np.ndarray, "D *r"]:
    """What a layer sees of a ray, or of all; the last input is 1 if there are biases."""
    rays, shape = flow.rays, flow.shape
    if layer == 0:
        seen = rays.orient[ray] * rays.normals[:, rays.line[ray]]
    else:
        seen = of_layer(flow.workspace.a, layer - 1, shape)[:, ray]
    return np.concatenate([seen, np.ones_like(seen[:1])]) if shape.biased else seen


def update_above(flow: Flow, places: np.ndarray) -> None:
    """After units have changed sides: set the signs above them where they alone are active on a ray."""
    shape, rays, quiet = flow.shape, flow.rays, np.zeros(len(flow.rays.orient), bool)
    if shape.leak > 0 or shape.biased:
        return
    for layer in range(len(shape.sizes) - 2):  # on all other rays there is nothing to set
        quiet |= (of_layer(flow.state.signs, layer, shape) >= 0).sum(axis=0) <= 1
        quiet |= (of_layer(flow.workspace.z, layer, shape) == 0).any(axis=0)
    some = np.bincount(rays.line, quiet) > 0
    for unit in [unit_at(int(u), flow.field) for u in places]:
        if some[rays.line[unit.ray]]:
            update_above_unit(flow, unit)


def update_above_neuron(flow: Flow, h: int) -> None:
    """Set the signs above a neuron of the first layer on all lines on which it may be the only one."""
    for line in range(len(flow.rays.first) - 1):
        update_above_unit(flow, flow.first.unit(h, line))


def update_above_unit(flow: Flow, unit: Unit) -> None:
    """After a change of a unit: it, or one that slides on its ray, may be the only one that sees the ray."""
    set_signs_above(flow, unit)
    line = flow.rays.line[unit.ray]
    for one in [one for one in flow.units if one.layer == unit.layer and flow.rays.line[one.ray] == line]:
        set_signs_above(flow, one)


def set_signs_above(flow: Flow, unit: Unit) -> bool:
    """Set the signs of units above whose inputs are exactly zero until this unit becomes active; returns
    whether there are any.

    Then they have the signs of its outgoing weights. If no other neuron of its layer is active on a ray,
    these are all units above; with blocks of zeros in the weights they are some.
    """
    shape, rays = flow.shape, flow.rays
    if shape.leak > 0 or shape.biased or unit.layer >= len(shape.sizes) - 3:
        return False
    line = rays.line[unit.ray]
    some = range(rays.first[line], rays.first[line + 1]) if unit.layer == 0 else (unit.ray,)
    changed = [set_above(flow, unit, ray) for ray in some]
    return any(changed)


def set_above(flow: Flow, unit: Unit, ray: int) -> bool:
    """Set the signs above a unit that becomes active on this ray; returns whether there are any."""
    shape, state, changed = flow.shape, flow.state, []
    column = of_layer(state.signs, unit.layer, shape)[:, ray]
    alone = shape.leak == 0 and not (np.delete(column, unit.neuron) >= 0).any()
    signal = np.zeros(shape.sizes[unit.layer + 1])
    signal[unit.neuron] = 1.0
    weights = parts_of(state.theta, shape)[0]
    for layer in range(unit.layer + 1, len(shape.sizes) - 2):
        signal = weights[layer] @ signal
        signs, z = (of_layer(array, layer, shape)[:, ray] for array in (state.signs, flow.workspace.z))
        idle = alone | ((z == 0) & (signal != 0))
        signs[idle] = np.where(signal[idle] > 0, 1, -1)
        changed += [Unit(layer, int(k), ray) for k in np.flatnonzero(idle)]
        signal = np.where(signs > 0, signal, shape.leak * signal)
    if any(one in changed for one in flow.units):  # they are at zero whatever their signs
        flow.constrain([one for one in flow.units if one not in changed])
    return bool(changed)


# At t = 0, two layers.


def initial_signs(flow: Flow) -> Int[np.ndarray, "Q H"]:
    """The signs of two layers at t = 0, by hyperplane. A neuron on a kink is decided like one that reaches
    it, and the decisions of the flow keep the time 0 if the flow is not unique.

    The signs of units keep 0 where a neuron begins on a hyperplane.
    """
    first, theta = flow.first, flow.state.theta
    first_signs(flow)
    on = _on_hyperplanes(flow, 0)
    if not flow.shape.train[0] or not on.any():  # neurons that do not move may be on any side
        return first.line_signs(flow.state.signs)
    first.by_ray(flow.state.signs)[on] = 0
    flow.examine(theta)
    _push_at_once(flow)
    signs = first.line_signs(flow.state.signs)
    for neuron in first.neurons(theta, signs, flow.workspace.force, (signs == 0).any(axis=0)):
        first.decisions.decide(neuron, 0.0, signs, first.weights(theta))
    return signs


def weights_beyond(flow: Flow) -> Float[np.ndarray, "H D"]:
    """The first of two layers at t = 0, with its bias as a last column, moved a rounding off the hyperplanes
    that neurons leave."""
    first, theta = flow.first, flow.state.theta
    after, normals = initial_signs(flow), first.decisions.lines.normals
    left = (first.line_signs(flow.state.signs) == 0) & (after != 0)
    hidden, outer = first.weights(theta), parts_of(theta, flow.shape)[0][1]
    for neuron in first.neurons(theta, after, flow.workspace.force, left.any(axis=0)):
        h = neuron.h
        velocity = across(normals[after[:, h] == 0], neuron.free)
        away = velocity - across(normals[left[:, h]], velocity)
        length, size = np.linalg.norm(away), np.linalg.norm(neuron.w) or np.linalg.norm(outer[:, h]) or 1.0
        hidden[h] += BEYOND * size / (length or 1.0) * away
    return hidden


def _push_at_once(flow: Flow) -> None:
    """Let outer weights that are zero push with the sign of their velocity, which they take at once."""
    outer, speed = (parts_of(v, flow.shape)[0][1] for v in (flow.state.theta, flow.velocity))
    still = ~outer.any(axis=0)
    force = flow.first.by_ray(flow.workspace.force)
    force[still] = speed[:, still].T @ flow.workspace.e / (np.abs(speed).max() or 1.0)


# At t = 0, any depth.


class _Contact(NamedTuple):
    """A neuron on the hyperplane that the inputs of its layer on these rays share; `positive` ones are on the
    side of its normal."""

    layer: int
    neuron: int
    rays: Int[np.ndarray, "r"]
    positive: Bool[np.ndarray, "r"]


def branches_initially(flow: Flow) -> bool:
    """Whether the flow of a network of any depth, followed with σ′(0) = α, is one of several at t = 0; sets
    the signs of units so.

    Each hyperplane that holds a neuron is examined with all others on either side. This is exact for a single
    hyperplane. For several that interact, and for more than policy.INITIAL_UNITS, True may be wrong.
    """
    first_signs(flow)
    if flow.shape.leak == 1 or not flow.shape.train[:-1].any():
        return False
    masks = [_on_hyperplanes(flow, layer) for layer in range(len(flow.shape.sizes) - 2)]
    contacts = [one for layer, mask in enumerate(masks) for one in _contacts(flow, layer, mask)]
    if not 0 < len(contacts) <= policy.INITIAL_UNITS:
        return len(contacts) > 0
    signs, on = flow.state.signs.copy(), np.concatenate([mask.ravel() for mask in masks])
    given = signs, np.where(on, 1, signs).astype(np.int8)
    found = any(_branches(flow, contact, others) for contact in contacts for others in given)
    flow.state.signs[:] = signs
    return found


def _contacts(flow: Flow, layer: int, mask: Bool[np.ndarray, "H R"]) -> Iterator[_Contact]:
    """The hyperplanes on which neurons of a layer are; inputs on one line through the origin share one."""
    if not mask.any():
        return
    lines = hyperplanes_of(inputs_of(flow, layer).T)
    for neuron in np.flatnonzero(mask.any(axis=1)).tolist():
        met = np.flatnonzero(mask[neuron])
        for hyperplane in np.unique(lines.hyperplane[met]).tolist():
            rays = met[lines.hyperplane[met] == hyperplane]
            yield _Contact(layer, neuron, rays, lines.length[rays] > 0)


def _branches(flow: Flow, contact: _Contact, others: Int[np.ndarray, "U"]) -> bool:
    """Whether the hyperplane repels or lets the neuron stay, with these signs of all other units; or whether
    σ′(0) = α, which closes the gates of opposite rays at once, gives a velocity outside those of the two
    sides."""
    ways = [contact.positive, ~contact.positive, np.zeros(len(contact.rays), bool)]
    (above, below, on), roundings = zip(*[_rate(flow, contact, others, way) for way in ways], strict=True)
    rounding = max(roundings)
    repels = above - below > rounding and above >= -rounding and below <= rounding
    return repels or not min(above, below) - rounding <= on <= max(above, below) + rounding


def _rate(
    flow: Flow, contact: _Contact, others: Int[np.ndarray, "U"], active: Bool[np.ndarray, "r"]
) -> tuple[float, float]:
    """ż of a neuron toward the side of the normal, active on these of its rays, and the rounding of ż."""
    layer, neuron, rays, positive = contact
    unit = Unit(layer, neuron, int(rays[0]))
    flow.state.signs[:] = others
    of_layer(flow.state.signs, layer, flow.shape)[neuron, rays] = np.where(active, 1, -1)
    alone = ~inputs_of(flow, layer + 1)[:, rays].any(axis=0)
    for ray in rays[active & alone].tolist():
        set_above(flow, unit, ray)
    flow.examine(flow.state.theta)
    rate, square, _ = flow.rate(unit)
    force = of_layer(flow.workspace.force, layer, flow.shape)[neuron, rays]
    push = np.abs(force) @ row_norms(inputs_of(flow, layer)[:, rays].T)
    speed = push + np.linalg.norm(flow.velocity[: flow.shape.weights_at[layer + 1]])
    return rate if positive[0] else -rate, TINY * float(np.sqrt(square) * speed)


def _on_hyperplanes(flow: Flow, layer: int) -> Bool[np.ndarray, "H R"]:
    """Which neurons of a layer are on the hyperplanes of their inputs, up to rounding; inputs of zero have
    none."""
    weights, biases = parts_of(flow.state.theta, flow.shape)
    rows, sizes = weights[layer], row_norms(inputs_of(flow, layer).T)
    if biases:
        rows = np.column_stack([rows, biases[layer]])
    z = of_layer(flow.workspace.z, layer, flow.shape)
    return (np.abs(z) <= ROUNDING * np.outer(row_norms(rows), sizes)) & (sizes > 0)
