"""The velocity θ̇ = −∇(loss + (λ/2)Σ|W_l|²) at fixed activation patterns, native: that of flows and descents.

`signs` hold the pattern: +1 and −1 are the sides of its hyperplane on which a unit can be, and 0 means that
it slides along it. At constant signs the velocity is a smooth function of θ, also where z has passed zero:
there the unit is *wrong*. A unit that slides has the mean slope (1+α)/2; its constraint makes up for the
difference. Where the network is to `follow` its weights, signs are those of z, with σ′(0) = α.

Rays pass through the network in chunks, whose numbers stay in a core's cache. An array over the units of a
layer has a row per ray, so that all loops run over neurons.
"""

from __future__ import annotations

import math

from biasfree.dynamics.network._compiled import inner, native, view
from biasfree.dynamics.network._layout import ROUNDING, matrix, slope
from biasfree.dynamics.network._records import Array, Field, Matrix, Shape, Signs, SignTable, Vector
from biasfree.dynamics.network._residual import loss_of, residual
from biasfree.dynamics.network._vectors import (
    add_product,
    add_products,
    add_transposed,
    fill,
    inner_product,
    transpose,
)

#: Above the rounding of the sum of any number of squares that fits a memory, relative to the sum.
MERGED_ROUNDING = 1e-12


@inner
def evaluate(theta: Vector, signs: Signs, field: Field, out: Vector) -> int:
    """Write θ̇ without constraints to `out`, and the results of its evaluation to `workspace`; returns how
    many units are wrong."""
    wrong = 0
    _begin(theta, field)
    begin_velocity(field, out)
    lines = field.rays.normals.shape[1]
    for begin in range(0, lines, field.workspace.lines_at_once):
        end = min(begin + field.workspace.lines_at_once, lines)
        wrong += _forward(theta, signs, field, begin, end, field.shape.follow)
        outputs(theta, field, begin, end, field.workspace.f)
        residual(
            field.rays, field.workspace.f, field.workspace.e, field.rays.first[begin], field.rays.first[end]
        )
        _backward(theta, signs, field, begin, end, out)
    finish(field, out)
    decay(theta, field.shape, out)
    return wrong


@inner
def loss(theta: Vector, signs: Signs, field: Field) -> float:
    """The data loss, with the activation pattern of θ itself, but on merged rays with that of the signs."""
    _begin(theta, field)
    lines = field.rays.normals.shape[1]
    for begin in range(0, lines, field.workspace.lines_at_once):
        end = min(begin + field.workspace.lines_at_once, lines)
        _forward(theta, signs, field, begin, end, True)
        outputs(theta, field, begin, end, field.workspace.f)
    return loss_of(field.rays, field.workspace.f)


@inner
def hidden_inputs(theta: Vector, signs: Signs, field: Field) -> None:
    """The inputs and activations of all hidden units into `workspace`."""
    _begin(theta, field)
    lines = field.rays.normals.shape[1]
    for begin in range(0, lines, field.workspace.lines_at_once):
        _forward(theta, signs, field, begin, min(begin + field.workspace.lines_at_once, lines), False)


@native
def holds(field: Field) -> bool:
    """Whether no neuron had turned too far on the merged rays of any pattern, at the last evaluation."""
    merged = field.merged
    for c in range(len(merged.margin)):
        for h in range(merged.margin.shape[1]):
            along, square, margin = merged.along[c, h], merged.squares[c, h], merged.margin[c, h]
            aside = square - along * along + MERGED_ROUNDING * square
            if margin < 0:
                if square > 0:
                    return False
            elif not (along > 0 and aside <= (margin * along) ** 2):
                return False
    return True


@inner
def _begin(theta: Vector, field: Field) -> None:
    """The weights of the first layer, transposed, into `workspace`; nothing is known of merged rays."""
    shape = field.shape
    transpose(matrix(theta, shape.weights_at[0], shape.sizes[1], shape.sizes[0]), field.workspace.first)
    fill(field.merged.along, 0.0)
    fill(field.merged.squares, 0.0)


@view
def units(array: Array, layer: int, begin: int, end: int, field: Field) -> Matrix:
    """The part of an array over units that belongs to a layer and to the rays `begin` to `end` − 1."""
    width, whole = field.shape.sizes[layer + 1], field.workspace.whole
    return matrix(array, field.workspace.at[layer] + (begin if whole else 0) * width, end - begin, width)


@view
def signs_of(signs: Signs, layer: int, begin: int, end: int, shape: Shape) -> SignTable:
    """The signs of the units of a layer on the rays `begin` to `end` − 1."""
    width = shape.sizes[layer + 1]
    return matrix(signs, shape.units_at[layer] + begin * width, end - begin, width)


# Forward, on the rays of the lines `begin` to `end` − 1.


@inner
def _forward(theta: Vector, signs: Signs, field: Field, begin: int, end: int, own: bool) -> int:
    """Inputs and activations of hidden units, with the slopes of their own inputs or of the signs; returns
    how many units are wrong."""
    wrong, neurons = 0, 0
    for layer in range(len(field.shape.sizes) - 2):
        preactivate(layer, theta, field, field, begin, end)
        if own:
            _activate(layer, signs, field, begin, end)
        else:
            wrong += _activate_by_signs(layer, theta, signs, field, begin, end)
        if field.rays.single < field.rays.first[end]:
            _activate_merged(layer, neurons, signs, field, begin, end)
        neurons += field.shape.sizes[layer + 1]
    return wrong


@inner
def preactivate(layer: int, theta: Vector, seen: Field, field: Field, begin: int, end: int) -> None:
    """The inputs z of the units of a layer, from the activations of the layer below in the workspace of
    `seen`; those of the first layer from the weights that `field` has transposed."""
    shape, rays, workspace = field.shape, field.rays, field.workspace
    first, last = rays.first[begin], rays.first[end]
    z = units(workspace.z, layer, first, last, field)
    if layer == 0:
        by_line = lines_of(field, begin, end)
        fill(by_line, 0.0)
        add_transposed(rays.normals[:, begin:end], workspace.first, by_line)
        if rays.normals.shape[1] < len(rays.orient):
            for r in range(first, last):
                _orient(rays.orient[r], by_line[rays.line[r] - begin], z[r - first])
    else:
        below = units(seen.workspace.a, layer - 1, first, last, seen)
        w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
        fill(z, 0.0)
        add_products(below, 0, w, 0, shape.sizes[layer], z)
    if shape.biased:
        at = shape.biases_at[layer]
        for r in range(first, last):
            add_row(rays.ones[r], theta[at : at + shape.sizes[layer + 1]], z[r - first])


@view
def lines_of(field: Field, begin: int, end: int) -> Matrix:
    """Inputs or forces of the first layer by line; those by ray where every line has one."""
    if field.rays.normals.shape[1] < len(field.rays.orient):
        width = field.shape.sizes[1]
        at = begin * width if field.workspace.whole else 0
        return matrix(field.workspace.lines, at, end - begin, width)
    return units(field.workspace.z, 0, begin, end, field)


@inner
def _orient(factor: float, row: Vector, out: Vector) -> None:
    """out = factor·row."""
    for j in range(len(row)):
        out[j] = factor * row[j]


@inner
def add_row(factor: float, row: Vector, out: Vector) -> None:
    """out += factor·row."""
    for j in range(len(row)):
        out[j] += factor * row[j]


@inner
def _activate(layer: int, signs: Signs, field: Field, begin: int, end: int) -> None:
    """Activations of single rays with the slopes of their own inputs; sets the signs that follow them."""
    first, last = field.rays.first[begin], field.rays.first[end]
    z, a = (
        units(field.workspace.z, layer, first, last, field),
        units(field.workspace.a, layer, first, last, field),
    )
    single, leak = min(field.rays.single, last) - first, field.shape.leak
    for r in range(single):
        row, out = z[r], a[r]
        for h in range(len(row)):
            out[h] = row[h] if row[h] > 0 else leak * row[h]
    if field.shape.follow and field.workspace.whole:
        side = signs_of(signs, layer, first, last, field.shape)
        for r in range(single):
            for h in range(z.shape[1]):
                side[r, h] = 1 if z[r, h] > 0 else -1


@inner
def _activate_by_signs(layer: int, theta: Vector, signs: Signs, field: Field, begin: int, end: int) -> int:
    """Activations of single rays with the slopes of the signs; returns how many units are wrong."""
    first, last = field.rays.first[begin], field.rays.first[end]
    z, a = (
        units(field.workspace.z, layer, first, last, field),
        units(field.workspace.a, layer, first, last, field),
    )
    side, leak, wrong = signs_of(signs, layer, first, last, field.shape), field.shape.leak, 0
    for r in range(min(field.rays.single, last) - first):
        row, sign, out, some = z[r], side[r], a[r], 0
        for h in range(len(row)):
            out[h] = 0.0 if sign[h] == 0 else slope(sign[h], leak) * row[h]  # a unit that slides has z = 0
            some += sign[h] * row[h] < 0
        if some > 0:
            size = input_size(layer, first + r, field)
            for h in range(len(row)):
                if sign[h] * row[h] < 0:
                    wrong += abs(row[h]) > ROUNDING * row_size(layer, h, theta, field.shape) * size
    return wrong


@inner
def _activate_merged(layer: int, neurons: int, signs: Signs, field: Field, begin: int, end: int) -> None:
    """Activations of merged rays; notes how far their inputs have turned. `neurons` are those of the layers
    below."""
    first, last = field.rays.first[begin], field.rays.first[end]
    z, a = (
        units(field.workspace.z, layer, first, last, field),
        units(field.workspace.a, layer, first, last, field),
    )
    side, width = signs_of(signs, layer, first, last, field.shape), field.shape.sizes[layer + 1]
    merged, rows = field.merged, field.shape.sizes[0] + (1 if field.shape.biased else 0)
    for r in range(max(field.rays.single - first, 0), last - first):
        at, row, sign, out = first + r - field.rays.single, z[r], side[r], a[r]
        given = merged.reference[at, neurons : neurons + width]
        along = merged.along[at // rows, neurons : neurons + width]
        squares = merged.squares[at // rows, neurons : neurons + width]
        for h in range(width):
            along[h] += given[h] * row[h]
            squares[h] += row[h] * row[h]
            out[h] = slope(sign[h], field.shape.leak) * row[h]


@inner
def outputs(theta: Vector, field: Field, begin: int, end: int, f: Matrix) -> None:
    """Outputs into f, from the activations of the last hidden layer."""
    shape, rays = field.shape, field.rays
    layer, first, last = len(shape.sizes) - 2, rays.first[begin], rays.first[end]
    w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
    for k in range(len(f)):
        for r in range(first, last):
            f[k, r] = rays.ones[r] * theta[shape.biases_at[layer] + k] if shape.biased else 0.0
            for i in range(w.shape[1] if layer == 0 else 0):
                f[k, r] += w[k, i] * rays.orient[r] * rays.normals[i, rays.line[r]]
    if layer > 0:
        apply(w, units(field.workspace.a, layer - 1, first, last, field), f[:, first:last])


@inner
def apply(w: Matrix, a: Matrix, f: Matrix) -> None:
    """f += w·aᵀ, of few outputs."""
    for r in range(len(a)):
        for k in range(len(w)):
            f[k, r] += inner_product(w[k], a[r])


# Backward, on the rays of the lines `begin` to `end` − 1.


@inner
def _backward(theta: Vector, signs: Signs, field: Field, begin: int, end: int, out: Vector) -> None:
    """Add the velocity by these rays to `out`; forces on the units go to `workspace`."""
    shape, rays, workspace = field.shape, field.rays, field.workspace
    first, last, top = rays.first[begin], rays.first[end], len(shape.sizes) - 2
    add_output_velocity(workspace.e, field, begin, end, out)
    if top == 0:
        return
    w = matrix(theta, shape.weights_at[top], shape.sizes[top + 1], shape.sizes[top])
    force = units(workspace.force, top - 1, first, last, field)
    outer_forces(workspace.e[:, first:last], w, force)
    for layer in range(top - 1, -1, -1):
        delta = units(workspace.delta, layer, first, last, field)
        _close(layer, signs, field, first, last)
        add_velocity(layer, delta, field, field, begin, end, out)
        if layer > 0:
            w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
            force = units(workspace.force, layer - 1, first, last, field)
            fill(force, 0.0)
            add_product(delta, w, force)


@inner
def outer_forces(e: Matrix, w: Matrix, force: Matrix) -> None:
    """force = eᵀ·w, of few outputs."""
    for r in range(len(force)):
        row = force[r]
        for k in range(len(w)):
            factor, outer = e[k, r], w[k]
            for h in range(len(row)):
                row[h] = factor * outer[h] if k == 0 else row[h] + factor * outer[h]


@inner
def _close(layer: int, signs: Signs, field: Field, first: int, last: int) -> None:
    """−∂L/∂z of the units of a layer, from the forces on their activations."""
    force = units(field.workspace.force, layer, first, last, field)
    delta = units(field.workspace.delta, layer, first, last, field)
    leak, single = field.shape.leak, 0
    if field.shape.follow:
        z, single = units(field.workspace.z, layer, first, last, field), min(field.rays.single, last) - first
        for r in range(single):
            given, row, out = z[r], force[r], delta[r]
            for h in range(len(row)):
                out[h] = row[h] if given[h] > 0 else leak * row[h]
    if max(single, 0) < last - first:
        side = signs_of(signs, layer, first, last, field.shape)
        for r in range(max(single, 0), last - first):
            sign, row, out = side[r], force[r], delta[r]
            for h in range(len(row)):
                out[h] = slope(sign[h], leak) * row[h]


@inner
def add_output_velocity(e: Matrix, field: Field, begin: int, end: int, out: Vector) -> None:
    """Add the velocity of the last layer by −∂L/∂f of some rays."""
    shape, rays = field.shape, field.rays
    layer, first, last = len(shape.sizes) - 2, rays.first[begin], rays.first[end]
    v = matrix(out, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
    if layer > 0:
        add_product(e[:, first:last], units(field.workspace.a, layer - 1, first, last, field), v)
    for k in range(len(v)):
        for r in range(first, last):
            for i in range(v.shape[1] if layer == 0 else 0):
                v[k, i] += e[k, r] * rays.orient[r] * rays.normals[i, rays.line[r]]
            if shape.biased:
                out[shape.biases_at[layer] + k] += rays.ones[r] * e[k, r]


@inner
def add_velocity(
    layer: int, delta: Matrix, seen: Field, field: Field, begin: int, end: int, out: Vector
) -> None:
    """Add the velocity of a hidden layer by −∂L/∂z of its units on some rays, with the activations below in
    the workspace of `seen`; that of the first layer goes to the workspace of `field`, until `finish`."""
    shape, rays, workspace = field.shape, field.rays, field.workspace
    first, last = rays.first[begin], rays.first[end]
    if layer > 0:
        v = matrix(out, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
        add_transposed(delta, units(seen.workspace.a, layer - 1, first, last, seen), v)
    elif rays.normals.shape[1] < len(rays.orient):
        folded = lines_of(field, begin, end)
        fill(folded, 0.0)
        for r in range(first, last):
            add_row(rays.orient[r], delta[r - first], folded[rays.line[r] - begin])
        add_product(rays.normals[:, begin:end], folded, workspace.speed)
    else:
        add_product(rays.normals[:, begin:end], delta, workspace.speed)
    if shape.biased:
        at = shape.biases_at[layer]
        for r in range(first, last):
            add_row(rays.ones[r], delta[r - first], out[at : at + shape.sizes[layer + 1]])


@inner
def begin_velocity(field: Field, out: Vector) -> None:
    """Nothing is added to a velocity yet."""
    fill(out, 0.0)
    fill(field.workspace.speed, 0.0)


@inner
def finish(field: Field, out: Vector) -> None:
    """Complete a velocity: the first layer, and layers that are not trained."""
    shape = field.shape
    if len(shape.sizes) > 2:
        transpose(field.workspace.speed, matrix(out, shape.weights_at[0], shape.sizes[1], shape.sizes[0]))
    for layer in range(len(shape.sizes) - 1):
        if not shape.train[layer]:
            end = shape.biases_at[layer] + (shape.sizes[layer + 1] if shape.biased else 0)
            fill(out[shape.weights_at[layer] : end], 0.0)


@inner
def decay(theta: Vector, shape: Shape, out: Vector) -> None:
    """Subtract λW from the velocity of the layers that are trained."""
    for layer in range(len(shape.train) if shape.l2 > 0 else 0):
        for i in range(shape.weights_at[layer], shape.biases_at[layer]):
            out[i] -= shape.l2 * theta[i] if shape.train[layer] else 0.0


# Roundings.


@inner
def beyond_rounding(layer: int, h: int, r: int, z: float, theta: Vector, field: Field) -> bool:
    """Whether the input z of a unit is on one side of zero for certain: above ROUNDING·|w_h||a|. Few units
    are asked, so that lengths are not computed for the others."""
    return abs(z) > ROUNDING * row_size(layer, h, theta, field.shape) * input_size(layer, r, field)


@inner
def row_size(layer: int, h: int, theta: Vector, shape: Shape) -> float:
    """|(w_h, b_h)|."""
    fan_in, total = shape.sizes[layer], 0.0
    for i in range(fan_in):
        total += theta[shape.weights_at[layer] + h * fan_in + i] ** 2
    if shape.biased:
        total += theta[shape.biases_at[layer] + h] ** 2
    return math.sqrt(total)


@inner
def input_size(layer: int, r: int, field: Field) -> float:
    """|(a, 1)| of what a layer sees of a ray, without the 1 if there are no biases."""
    total = 1.0 if field.shape.biased else 0.0
    for i in range(field.shape.sizes[layer]):
        if layer == 0:
            total += field.rays.normals[i, field.rays.line[r]] ** 2
        else:
            total += units(field.workspace.a, layer - 1, r, r + 1, field)[0, i] ** 2
    return math.sqrt(total)
