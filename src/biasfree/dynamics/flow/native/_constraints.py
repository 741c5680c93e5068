"""Constraints between two events: the hyperplanes that units slide along.

The velocity of a unit that slides is chosen between those of the two sides such that ż = 0. With several of
them, in any layers, θ̇ is the orthogonal projection of the velocity on the complement of their gradients ∇z:
the slope of a unit changes θ̇ by a multiple of its own ∇z only. The gradient of a unit is, layer by layer, an
outer product back ⊗ act, so that Gram matrices of gradients are cheap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.flow.native._compiled import native
from biasfree.dynamics.flow.native._layout import slope

if TYPE_CHECKING:
    from jaxtyping import Int


class Held(NamedTuple):
    """The units (layer, neuron, ray) that slide until the next event; in the first layer a ray stands for
    its line."""

    layer: Int[np.ndarray, "M"]
    neuron: Int[np.ndarray, "M"]
    ray: Int[np.ndarray, "M"]


@native
def constrain(theta, signs, shape, rays, room, held, out):
    """Subtract from the velocity `out` the part that constraints cancel; keep the multipliers of the
    gradients."""
    count = len(held.layer)
    for j in range(count):
        unit = held.layer[j], held.neuron[j], held.ray[j]
        gradient(unit, theta, signs, shape, rays, room, room.back[j], room.act[j])
    gram, rhs = np.zeros((count, count)), np.zeros(count)
    for i in range(count):
        rhs[i] = _along(i, out, shape, room)
        for j in range(i + 1):
            gram[i, j] = _product(i, j, shape, room)
    solve(gram, rhs, room.multipliers)
    for j in range(count):
        _subtract(j, room.multipliers[j], shape, room, out)
        if held.layer[j] > 0:
            unit = held.layer[j], held.neuron[j], held.ray[j]
            _force_below(unit, room.multipliers[j], theta, signs, shape, rays, room)


@native
def gradient(unit, theta, signs, shape, rays, room, back, act):
    """∇z of a unit as back ⊗ act, layer after layer from the first."""
    layer, neuron, ray = unit
    count, fan_in = len(rays.orient), shape.sizes[0]
    back[:] = 0.0
    act[:] = 0.0
    for i in range(fan_in):
        act[i] = rays.orient[ray] * rays.normals[i, rays.line[ray]]
    back_at, act_at = 0, fan_in
    for below in range(layer):
        for i in range(shape.sizes[below + 1]):
            act[act_at + i] = room.a[shape.units_at[below] + i * count + ray]
        back_at += shape.sizes[below + 1]
        act_at += shape.sizes[below + 1]
    back[back_at + neuron] = 1.0
    for above in range(layer, 0, -1):
        fan_in, width = shape.sizes[above], shape.sizes[above + 1]
        for i in range(fan_in):
            total = 0.0
            for k in range(width):
                total += back[back_at + k] * theta[shape.weights_at[above] + k * fan_in + i]
            sign = signs[shape.units_at[above - 1] + i * count + ray]
            back[back_at - fan_in + i] = total * (
                1.0 if sign > 0 else shape.leak if sign < 0 else (1 + shape.leak) / 2
            )
        back_at -= fan_in


@native
def _force_below(unit, multiplier, theta, signs, shape, rays, room):
    """Add to the forces on the layers below a unit that slides: its slope is the mean − multiplier/force."""
    layer, neuron, ray = unit
    count = len(rays.orient)
    back = np.zeros(shape.sizes[layer + 1])
    back[neuron] = -multiplier
    for above in range(layer, 0, -1):
        fan_in, width = shape.sizes[above], shape.sizes[above + 1]
        below = np.zeros(fan_in)
        for i in range(fan_in):
            total = 0.0
            for k in range(width):
                total += back[k] * theta[shape.weights_at[above] + k * fan_in + i]
            u = shape.units_at[above - 1] + i * count + ray
            room.force[u] += total
            sign = signs[u]
            below[i] = total * slope(sign, shape.leak)
        back = below


@native
def _product(i, j, shape, room):
    """∇z_i·∇z_j over the layers that are trained."""
    back_at, act_at, total = 0, 0, 0.0
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        if shape.train[layer]:
            one, two = 0.0, 1.0 if shape.biased else 0.0
            for h in range(back_at, back_at + width):
                one += room.back[i, h] * room.back[j, h]
            for h in range(act_at, act_at + fan_in):
                two += room.act[i, h] * room.act[j, h]
            total += one * two
        back_at += width
        act_at += fan_in
    return total


@native
def _along(j, v, shape, room):
    """∇z_j·v."""
    back_at, act_at, total = 0, 0, 0.0
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        for h in range(width):
            if room.back[j, back_at + h] != 0.0 and shape.train[layer]:
                one = v[shape.biases_at[layer] + h] if shape.biased else 0.0
                for i in range(fan_in):
                    one += v[shape.weights_at[layer] + h * fan_in + i] * room.act[j, act_at + i]
                total += one * room.back[j, back_at + h]
        back_at += width
        act_at += fan_in
    return total


@native
def _subtract(j, factor, shape, room, v):
    """v − factor·∇z_j."""
    back_at, act_at = 0, 0
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        for h in range(width):
            one = factor * room.back[j, back_at + h]
            if one != 0.0 and shape.train[layer]:
                for i in range(fan_in):
                    v[shape.weights_at[layer] + h * fan_in + i] -= one * room.act[j, act_at + i]
                if shape.biased:
                    v[shape.biases_at[layer] + h] -= one
        back_at += width
        act_at += fan_in


@native
def solve(gram, rhs, x):
    """gram·x = rhs by Cholesky, in place; x is 0 for rows that depend on those before."""
    count = len(rhs)
    for i in range(count):
        whole = gram[i, i]
        for j in range(i + 1):
            value = gram[i, j]
            for k in range(j):
                value -= gram[i, k] * gram[j, k]
            if j < i:
                gram[i, j] = value / gram[j, j] if gram[j, j] > 0 else 0.0
            else:
                gram[i, i] = math.sqrt(value) if value > 1e-20 * whole else 0.0
        value = rhs[i]
        for k in range(i):
            value -= gram[i, k] * x[k]
        x[i] = value / gram[i, i] if gram[i, i] > 0 else 0.0
    for i in range(count - 1, -1, -1):
        value = x[i]
        for k in range(i + 1, count):
            value -= gram[k, i] * x[k]
        x[i] = value / gram[i, i] if gram[i, i] > 0 else 0.0


@native
def unit_rate(unit, theta, signs, shape, rays, room, held, v):
    """ż of a unit for the velocity v, |∇z|², and the part of |∇z|² that constraints leave; after
    `constrain`."""
    count = len(held.layer)
    gradient(unit, theta, signs, shape, rays, room, room.back[count], room.act[count])
    gram, rhs, x = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    for i in range(count):
        rhs[i] = _product(i, count, shape, room)
        for j in range(i + 1):
            gram[i, j] = _product(i, j, shape, room)
    solve(gram, rhs, x)
    square = _product(count, count, shape, room)
    return _along(count, v, shape, room), square, max(square - np.sum(rhs * x), 0.0)


@native
def half_jump(unit, shape, rays, room):
    """Half the difference of the multipliers of ∇z on the two sides of a unit; negative where they
    attract."""
    layer, neuron, ray = unit
    count, total = len(rays.orient), 0.0
    begin, end = ray, ray + 1
    if layer == 0:
        begin, end = rays.first[rays.line[ray]], rays.first[rays.line[ray] + 1]
    for r in range(begin, end):
        total += room.force[shape.units_at[layer] + neuron * count + r]
    return (1 - shape.leak) / 2 * total


@native
def slack(shape, rays, room, held):
    """The least distance of a multiplier from the end of its range: negative once a unit should be released.

    A unit that slides has a multiplier between those of its two sides.
    """
    least = np.inf
    for j in range(len(held.layer)):
        half = half_jump((held.layer[j], held.neuron[j], held.ray[j]), shape, rays, room)
        least = min(least, -half - abs(room.multipliers[j]))
    return least
