"""Networks at t = 0: a check that the velocity is finite, and the sides of neurons that begin on a kink.

Initial weights typed by hand, or zero, put neurons exactly on the hyperplanes of samples. The neuron slides
along a hyperplane that attracts and crosses one that does neither: the flow is unique. A hyperplane that
repels or lets the neuron stay (r₊ ≥ 0 ≥ r₋ for the rates on its two sides, not both zero) has several flows,
and a convention decides: for two layers that of `events/_decide.py`, for deeper networks σ′(0) = α.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Bool, Float, Int, row_norms
from biasfree.dynamics import _policy as policy
from biasfree.dynamics._problem import Problem
from biasfree.dynamics.events import _sides as sides
from biasfree.dynamics.kinks._decide import across
from biasfree.dynamics.kinks._units import Unit, of_layer
from biasfree.dynamics.network._hyperplanes import hyperplanes_of
from biasfree.dynamics.network._layout import ROUNDING, parts_of
from biasfree.dynamics.steps._flow import Flow, Limits

#: Distance, relative to its weights, by which a neuron that leaves a kink is moved beyond it for the flow by
#: steps: well above the rounding of w·x, below any error that steps can reach across a kink.
BEYOND = 1e-11
#: Relative rounding of rates.
TINY = 1e-11
#: Bound on products of weights and inputs up to which nothing can overflow.
LARGE = 1e70


def check_velocity(problem: Problem, i: int) -> None:
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


def has_no_kinks(problem: Problem, i: int) -> bool:
    """Whether the field has no kinks: a linear network, fixed hidden layers, or inputs that are zero."""
    network = problem.networks[i]
    blind = network.biases is None and not problem.datasets[i].x.any()
    return network.leak == 1 or not any(problem.train[:-1]) or blind


# Two layers.


def initial_signs(flow: Flow) -> Int[np.ndarray, "Q H"]:
    """The signs of two layers at t = 0, by hyperplane. A neuron on a kink is decided like one that reaches
    it, and the decisions of the flow keep the time 0 if the flow is not unique.

    The signs of units keep 0 where a neuron begins on a hyperplane.
    """
    first, theta = flow.first, flow.state.theta
    sides.first_signs(flow)
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


# Any depth.


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
    sides.first_signs(flow)
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
    lines = hyperplanes_of(sides.inputs_of(flow, layer).T)
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
    alone = ~sides.inputs_of(flow, layer + 1)[:, rays].any(axis=0)
    for ray in rays[active & alone].tolist():
        sides.set_above(flow, unit, ray)
    flow.examine(flow.state.theta)
    rate, square, _ = flow.rate(unit)
    force = of_layer(flow.workspace.force, layer, flow.shape)[neuron, rays]
    push = np.abs(force) @ row_norms(sides.inputs_of(flow, layer)[:, rays].T)
    speed = push + np.linalg.norm(flow.velocity[: flow.shape.weights_at[layer + 1]])
    return rate if positive[0] else -rate, TINY * float(np.sqrt(square) * speed)


def _on_hyperplanes(flow: Flow, layer: int) -> Bool[np.ndarray, "H R"]:
    """Which neurons of a layer are on the hyperplanes of their inputs, up to rounding; inputs of zero have
    none."""
    weights, biases = parts_of(flow.state.theta, flow.shape)
    rows, sizes = weights[layer], row_norms(sides.inputs_of(flow, layer).T)
    if biases:
        rows = np.column_stack([rows, biases[layer]])
    z = of_layer(flow.workspace.z, layer, flow.shape)
    return (np.abs(z) <= ROUNDING * np.outer(row_norms(rows), sizes)) & (sizes > 0)
