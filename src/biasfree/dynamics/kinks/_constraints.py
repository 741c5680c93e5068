"""Constraints between two events: the hyperplanes that units slide along.

The velocity of a unit that slides is chosen between those of the two sides such that ż = 0. With several of
them, in any layers, θ̇ is the orthogonal projection of the velocity on the complement of their gradients ∇z:
the slope of a unit changes θ̇ by a multiple of its own ∇z only. The gradient of a unit is, layer by layer, an
outer product back ⊗ act, so that Gram matrices of gradients are cheap.
"""

from __future__ import annotations

import math

import numpy as np

from biasfree.dynamics.network._compiled import allocating, inner, native, native_allocating
from biasfree.dynamics.network._field import evaluate
from biasfree.dynamics.network._layout import place, slope
from biasfree.dynamics.network._records import Field, Matrix, Place, Signs, Vector
from biasfree.dynamics.network._vectors import fill


@inner
def velocity(theta: Vector, signs: Signs, field: Field, out: Vector) -> int:
    """Write θ̇ to `out`, less the part that constraints cancel; returns how many units are wrong."""
    wrong = evaluate(theta, signs, field, out)
    if field.constraints.size > 0:
        constrain(theta, signs, field, field.shape.l2, out)
    return wrong


@inner
def constrain(theta: Vector, signs: Signs, field: Field, l2: float, out: Vector) -> None:
    """Subtract from the velocity `out` the part that constraints cancel; keep the multipliers of the
    gradients. `l2` is what shrinks neurons at rest."""
    constraints = field.constraints
    _rest(theta, field, l2, out)
    if constraints.single:
        for j in range(len(constraints.layer)):
            multiplier = project(constraints.neuron[j], constraints.ray[j], field, out)
            field.workspace.multipliers[j] = multiplier
    else:
        _constrain_together(theta, signs, field, out)


@allocating
def _constrain_together(theta: Vector, signs: Signs, field: Field, out: Vector) -> None:
    """`constrain` for units whose gradients are not orthogonal."""
    constraints = field.constraints
    _project_together(theta, signs, field, out)
    for j in range(len(constraints.layer)):
        if constraints.layer[j] > 0:
            unit = constraints.layer[j], constraints.neuron[j], constraints.ray[j]
            _force_below(unit, field.workspace.multipliers[j], theta, signs, field)


@native
def project_direction(theta: Vector, signs: Signs, field: Field, out: Vector) -> None:
    """Subtract from a direction the part that changes the inputs of units that slide, and what moves neurons
    at rest."""
    _rest(theta, field, 0.0, out)
    _project_together(theta, signs, field, out)


@allocating
def _project_together(theta: Vector, signs: Signs, field: Field, out: Vector) -> None:
    """Subtract from `out` the part along the gradients of units that slide; keep their multipliers."""
    count = len(field.constraints.layer)
    _gradients(theta, signs, field)
    rhs = np.zeros(count)
    for i in range(count):
        rhs[i] = _along(i, out, field)
    solve(gram_of(count, field), rhs, field.workspace.multipliers)
    for j in range(count):
        _subtract(j, field.workspace.multipliers[j], field, out)


@inner
def _rest(theta: Vector, field: Field, l2: float, out: Vector) -> None:
    """Samples do not move neurons at rest; L2 shrinks what they have orthogonally to the samples, which is
    nothing with biases."""
    shape = field.shape
    fan_in = shape.sizes[0]
    for h in field.constraints.rest:
        for i in range(shape.weights_at[0] + h * fan_in, shape.weights_at[0] + (h + 1) * fan_in):
            out[i] = -l2 * theta[i] if shape.train[0] else 0.0
        if shape.biased:
            out[shape.biases_at[0] + h] = 0.0


@inner
def rate_of(neuron: int, ray: int, field: Field, v: Vector) -> tuple[float, float]:
    """ż of a first-layer unit for the velocity v, and |∇z|², of ∇z = (n, 1) or n."""
    shape, rays = field.shape, field.rays
    at, rate, square = shape.weights_at[0] + neuron * shape.sizes[0], 0.0, 0.0
    for i in range(shape.sizes[0]):
        n = rays.orient[ray] * rays.normals[i, rays.line[ray]]
        rate += v[at + i] * n
        square += n * n
    if shape.biased:
        rate += v[shape.biases_at[0] + neuron]
        square += 1.0
    return rate, square


@inner
def project(neuron: int, ray: int, field: Field, out: Vector) -> float:
    """Subtract from the velocity of one first-layer neuron, or from its weights, the part along ∇z; returns
    the multiplier of ∇z."""
    shape, rays = field.shape, field.rays
    at = shape.weights_at[0] + neuron * shape.sizes[0]
    rate, square = rate_of(neuron, ray, field, out)
    for i in range(shape.sizes[0]):
        out[at + i] -= rate / square * rays.orient[ray] * rays.normals[i, rays.line[ray]]
    if shape.biased:
        out[shape.biases_at[0] + neuron] -= rate / square
    return rate / square


@inner
def _gradients(theta: Vector, signs: Signs, field: Field) -> None:
    """∇z of the units that slide."""
    constraints = field.constraints
    for j in range(len(constraints.layer)):
        unit = constraints.layer[j], constraints.neuron[j], constraints.ray[j]
        gradient(unit, theta, signs, field, field.workspace.back[j], field.workspace.act[j])


@inner
def gradient(unit: Place, theta: Vector, signs: Signs, field: Field, back: Vector, act: Vector) -> None:
    """∇z of a unit as back ⊗ act, layer after layer from the first; neurons at rest do not move."""
    shape = field.shape
    rays = field.rays
    layer, neuron, ray = unit
    fan_in = shape.sizes[0]
    fill(back, 0.0)
    fill(act, 0.0)
    for i in range(fan_in):
        act[i] = rays.orient[ray] * rays.normals[i, rays.line[ray]]
    back_at, act_at = 0, fan_in
    for below in range(layer):
        for i in range(shape.sizes[below + 1]):
            act[act_at + i] = field.workspace.a[place(below, i, ray, shape)]
        back_at += shape.sizes[below + 1]
        act_at += shape.sizes[below + 1]
    back[back_at + neuron] = 1.0
    for above in range(layer, 0, -1):
        fan_in, width, at = shape.sizes[above], shape.sizes[above + 1], shape.weights_at[above]
        below = back_at - fan_in
        for k in range(width):
            factor = back[back_at + k]
            if factor != 0.0:  # one neuron of the unit's own layer
                for i in range(fan_in):
                    back[below + i] += factor * theta[at + k * fan_in + i]
        for i in range(fan_in):
            back[below + i] *= slope(signs[place(above - 1, i, ray, shape)], shape.leak)
        back_at = below
    if layer > 0:
        for h in field.constraints.rest:
            back[h] = 0.0


@allocating
def _force_below(unit: Place, multiplier: float, theta: Vector, signs: Signs, field: Field) -> None:
    """Add to the forces on the layers below a unit that slides: its slope is the mean − multiplier/force. So
    do −∂L/∂z of the unit and of those below, which derivatives of the velocity need."""
    shape = field.shape
    layer, neuron, ray = unit
    field.workspace.delta[place(layer, neuron, ray, shape)] -= multiplier
    back = np.zeros(shape.sizes[layer + 1])
    back[neuron] = -multiplier
    for above in range(layer, 0, -1):
        fan_in, width = shape.sizes[above], shape.sizes[above + 1]
        below = np.zeros(fan_in)
        for i in range(fan_in):
            total = 0.0
            for k in range(width):
                total += back[k] * theta[shape.weights_at[above] + k * fan_in + i]
            u = place(above - 1, i, ray, shape)
            field.workspace.force[u] += total
            below[i] = total * slope(signs[u], shape.leak)
            field.workspace.delta[u] += below[i]
        back = below


@allocating
def gram_of(count: int, field: Field) -> Matrix:
    """∇z_i·∇z_j of the first rows, over the layers that are trained."""
    shape = field.shape
    gram, back_at, act_at = np.zeros((count, count)), 0, 0
    one, two = np.zeros((count, count)), np.zeros((count, count))
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        if shape.train[layer]:
            back = field.workspace.back[:count, back_at : back_at + width].copy()
            act = field.workspace.act[:count, act_at : act_at + fan_in].copy()
            np.dot(back, back.T, one)
            np.dot(act, act.T, two)
            for i in range(count):
                for j in range(count):
                    gram[i, j] += one[i, j] * (two[i, j] + (1.0 if shape.biased else 0.0))
        back_at += width
        act_at += fan_in
    return gram


@inner
def _along(j: int, v: Vector, field: Field) -> float:
    """∇z_j·v."""
    shape = field.shape
    back_at, act_at, total = 0, 0, 0.0
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        for h in range(width):
            if field.workspace.back[j, back_at + h] != 0.0 and shape.train[layer]:
                one = v[shape.biases_at[layer] + h] if shape.biased else 0.0
                for i in range(fan_in):
                    one += v[shape.weights_at[layer] + h * fan_in + i] * field.workspace.act[j, act_at + i]
                total += one * field.workspace.back[j, back_at + h]
        back_at += width
        act_at += fan_in
    return total


@inner
def _subtract(j: int, factor: float, field: Field, v: Vector) -> None:
    """v − factor·∇z_j."""
    shape = field.shape
    back_at, act_at = 0, 0
    for layer in range(len(shape.sizes) - 2):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        for h in range(width):
            one = factor * field.workspace.back[j, back_at + h]
            if one != 0.0 and shape.train[layer]:
                for i in range(fan_in):
                    v[shape.weights_at[layer] + h * fan_in + i] -= one * field.workspace.act[j, act_at + i]
                if shape.biased:
                    v[shape.biases_at[layer] + h] -= one
        back_at += width
        act_at += fan_in


@inner
def solve(gram: Matrix, rhs: Vector, x: Vector) -> None:
    """gram·x = rhs by Cholesky, in place, for the first rows of gram; x is 0 for rows that depend on those
    before."""
    count = len(rhs)
    for i in range(count):
        diagonal = gram[i, i]
        for j in range(i + 1):
            value = gram[i, j]
            for k in range(j):
                value -= gram[i, k] * gram[j, k]
            if j < i:
                gram[i, j] = value / gram[j, j] if gram[j, j] > 0 else 0.0
            else:
                gram[i, i] = math.sqrt(value) if value > 1e-20 * diagonal else 0.0
        value = rhs[i]
        for k in range(i):
            value -= gram[i, k] * x[k]
        x[i] = value / gram[i, i] if gram[i, i] > 0 else 0.0
    for i in range(count - 1, -1, -1):
        value = x[i]
        for k in range(i + 1, count):
            value -= gram[k, i] * x[k]
        x[i] = value / gram[i, i] if gram[i, i] > 0 else 0.0


@allocating
def _free_part(unit: Place, theta: Vector, signs: Signs, field: Field, x: Vector) -> tuple[float, float]:
    """∇z of a unit in the row after those of the constraints, and its components x along these; returns
    |∇z|² and the part of it that constraints leave."""
    count = len(field.constraints.layer)
    _gradients(theta, signs, field)
    gradient(unit, theta, signs, field, field.workspace.back[count], field.workspace.act[count])
    gram, rhs = gram_of(count + 1, field), np.zeros(count)
    for i in range(count):
        rhs[i] = gram[i, count]
    square = gram[count, count]
    solve(gram, rhs, x)
    left = square
    for i in range(count):
        left -= rhs[i] * x[i]
    return square, max(left, 0.0)


@native_allocating
def unit_rate(
    unit: Place, theta: Vector, signs: Signs, field: Field, v: Vector
) -> tuple[float, float, float]:
    """ż of a unit for the velocity v, |∇z|², and the part of |∇z|² that constraints leave; after
    `constrain`."""
    count = len(field.constraints.layer)
    square, left = _free_part(unit, theta, signs, field, np.zeros(count))
    return _along(count, v, field), square, left


@native_allocating
def pin(unit: Place, z: float, theta: Vector, signs: Signs, field: Field) -> float:
    """Put a unit with input z on its hyperplane, by the least change of θ that leaves the constraints; after
    `constrain`. Returns the length of the change."""
    count = len(field.constraints.layer)
    x = np.zeros(count)
    square, left = _free_part(unit, theta, signs, field, x)
    if not left > 1e-12 * square:
        return 0.0  # constraints hold it there already
    _subtract(count, z / left, field, theta)
    for j in range(count):
        _subtract(j, -x[j] * z / left, field, theta)
    return abs(z) / math.sqrt(left)


@native
def jump_at(unit: Place, field: Field) -> float:
    """The difference of the multipliers of ∇z on the two sides of a unit, negative where they attract; in the
    first layer its line, with all rays of it, counts."""
    rays = field.rays
    layer, neuron, ray = unit
    total, begin, end = 0.0, ray, ray + 1
    if layer == 0:
        begin, end = rays.first[rays.line[ray]], rays.first[rays.line[ray] + 1]
    for r in range(begin, end):
        total += field.workspace.force[place(layer, neuron, r, field.shape)]
    return (1 - field.shape.leak) * total


@native
def give_sign(unit: Place, sign: int, signs: Signs, field: Field) -> None:
    """Give a unit the sign +1 (active), −1 (inactive) or 0 (slides). In the first layer all rays of its line
    follow: those in the same direction get the same sign, opposite ones the opposite sign."""
    rays = field.rays
    layer, neuron, ray = unit
    if layer > 0:
        signs[place(layer, neuron, ray, field.shape)] = sign
        return
    for r in range(rays.first[rays.line[ray]], rays.first[rays.line[ray] + 1]):
        same = rays.orient[r] == rays.orient[ray]
        signs[place(0, neuron, r, field.shape)] = sign if same else -sign


@inner
def slack(field: Field) -> float:
    """The least distance of a constraint from its end: negative once a unit or a neuron should be released.

    A unit that slides has a multiplier between those of its two sides. A neuron at rest leaves once its rate
    in one of the ways is positive. A neuron leaves a watched hyperplane that repels if no multipliers of its
    units fit the other side of it.
    """
    constraints = field.constraints
    least = np.inf
    for j in range(len(constraints.layer)):
        half = jump_at((constraints.layer[j], constraints.neuron[j], constraints.ray[j]), field) / 2
        least = min(least, -half - abs(field.workspace.multipliers[j]))
    for i in range(len(constraints.watch)):
        push = jump_at((0, constraints.watch[i, 0], constraints.watch[i, 1]), field)
        if push > 0:
            for j in range(constraints.watch[i, 2], constraints.watch[i, 3]):
                half = jump_at((0, constraints.neuron[j], constraints.ray[j]), field) / 2
                change = push * constraints.watch_mix[i, j]
                least = min(least, -half - abs(change - field.workspace.multipliers[j]))
    count = len(field.rays.orient)
    for h in constraints.rest:
        for y in range(constraints.ways.shape[0]):
            rate = 0.0
            for r in range(count):
                rate += field.workspace.force[place(0, h, r, field.shape)] * constraints.ways[y, r]
            least = min(least, -rate)
    return least
