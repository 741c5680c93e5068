"""The velocity θ̇ = −∇(loss + (λ/2)Σ|W_l|²) at fixed activation patterns, native.

`signs` hold the pattern: +1 and −1 are the sides of its hyperplane on which a unit can be, and 0 means that
it slides along it. At constant signs the velocity is a smooth function of θ, also where z has passed zero:
there the unit is *wrong*. A unit that slides has the mean slope (1+α)/2; its constraint makes up for the
difference.
"""

from __future__ import annotations

import math

from biasfree.dynamics.network._compiled import inner, native
from biasfree.dynamics.network._layout import ROUNDING, matrix, slope
from biasfree.dynamics.network._records import Field, Matrix, Shape, Signs, Vector
from biasfree.dynamics.network._residual import loss_of
from biasfree.dynamics.network._vectors import dot, dot_by_columns, dot_by_rows, fill


@inner
def forward(theta: Vector, signs: Signs, field: Field) -> int:
    """Inputs, activations and outputs into `workspace`; returns how many units are wrong."""
    last = len(field.shape.sizes) - 2
    wrong = hidden_inputs(theta, signs, field)
    if last > 0:
        wrong += _activate(last - 1, theta, signs, field)
    preactivate(last, theta, field, field.workspace.f)
    return wrong


@inner
def hidden_inputs(theta: Vector, signs: Signs, field: Field) -> int:
    """The inputs of all hidden units into `workspace`, and the activations below the last of them; returns
    how many units below the last layer are wrong."""
    wrong = 0
    for layer in range(len(field.shape.sizes) - 2):
        if layer > 0:
            wrong += _activate(layer - 1, theta, signs, field)
        z = matrix(
            field.workspace.z,
            field.shape.units_at[layer],
            field.shape.sizes[layer + 1],
            len(field.rays.orient),
        )
        preactivate(layer, theta, field, z)
    return wrong


@inner
def preactivate(layer: int, theta: Vector, field: Field, z: Matrix) -> None:
    """The inputs z of a layer, from the activations of the layer below in `workspace`."""
    shape = field.shape
    rays = field.rays
    count, fan_in, width = len(rays.orient), shape.sizes[layer], shape.sizes[layer + 1]
    w = matrix(theta, shape.weights_at[layer], width, fan_in)
    if layer == 0:
        dot(w, rays.normals, field.workspace.lines)
        for h in range(width):
            for r in range(count):
                z[h, r] = rays.orient[r] * field.workspace.lines[h, rays.line[r]]
    else:
        dot(w, matrix(field.workspace.a, shape.units_at[layer - 1], fan_in, count), z)
    if shape.biased:
        for h in range(width):
            b = theta[shape.biases_at[layer] + h]
            for r in range(count):
                z[h, r] += b


@inner
def _activate(layer: int, theta: Vector, signs: Signs, field: Field) -> int:
    """Activations of a layer with the slopes of its signs; returns how many units are wrong."""
    shape = field.shape
    count, leak, wrong = len(field.rays.orient), shape.leak, 0
    for h in range(shape.sizes[layer + 1]):
        begin = shape.units_at[layer] + h * count
        end = begin + count
        zs, row, a = field.workspace.z[begin:end], signs[begin:end], field.workspace.a[begin:end]
        for r in range(field.rays.single):
            z = zs[r]
            if shape.follow:
                row[r] = 1 if z > 0 else -1
            sign = row[r]
            a[r] = 0.0 if sign == 0 else slope(sign, leak) * z  # a unit that slides has z = 0
            if sign * z < 0 and beyond_rounding(layer, h, r, z, theta, field):
                wrong += 1
        for r in range(field.rays.single, count):
            a[r] = slope(row[r], leak) * zs[r]
    return wrong


@inner
def beyond_rounding(layer: int, h: int, r: int, z: float, theta: Vector, field: Field) -> bool:
    """Whether the input z of a unit is on one side of zero for certain: above ROUNDING·|w_h||a|. Few units
    are asked, so that lengths are not computed for the others."""
    return abs(z) > ROUNDING * _row_size(layer, h, theta, field.shape) * input_size(layer, r, field)


@inner
def _row_size(layer: int, h: int, theta: Vector, shape: Shape) -> float:
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
    count, total = len(field.rays.orient), 1.0 if field.shape.biased else 0.0
    for i in range(field.shape.sizes[layer]):
        if layer == 0:
            total += field.rays.normals[i, field.rays.line[r]] ** 2
        else:
            total += field.workspace.a[field.shape.units_at[layer - 1] + i * count + r] ** 2
    return math.sqrt(total)


@inner
def backward(theta: Vector, signs: Signs, field: Field, out: Vector) -> None:
    """The velocity into `out`, and the forces on the units into `workspace`."""
    shape = field.shape
    workspace = field.workspace
    last, count, delta = len(shape.sizes) - 2, len(field.rays.orient), workspace.e
    for layer in range(last, -1, -1):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        w = matrix(theta, shape.weights_at[layer], width, fan_in)
        layer_velocity(layer, delta, field, out)
        if shape.l2 > 0 and shape.train[layer]:
            v = matrix(out, shape.weights_at[layer], width, fan_in)
            for h in range(width):
                for i in range(fan_in):
                    v[h, i] -= shape.l2 * w[h, i]
        if layer > 0:
            at = shape.units_at[layer - 1]
            dot_by_columns(w, delta, matrix(workspace.force, at, fan_in, count))
            for u in range(at, at + fan_in * count):
                workspace.delta[u] = slope(signs[u], shape.leak) * workspace.force[u]
            delta = matrix(workspace.delta, at, fan_in, count)


@inner
def layer_velocity(layer: int, delta: Matrix, field: Field, out: Vector) -> None:
    """Write the velocity of a layer, without L2, to its place in `out`; `delta` is −∂L/∂z of its inputs."""
    shape = field.shape
    rays = field.rays
    workspace = field.workspace
    count, fan_in, width = len(rays.orient), shape.sizes[layer], shape.sizes[layer + 1]
    v = matrix(out, shape.weights_at[layer], width, fan_in)
    if not shape.train[layer]:
        fill(v, 0.0)
    elif layer == 0:
        fill(workspace.folded, 0.0)
        for h in range(width):
            for r in range(count):
                workspace.folded[h, rays.line[r]] += rays.orient[r] * delta[h, r]
        dot_by_rows(workspace.folded, rays.normals, v)
    else:
        dot_by_rows(delta, matrix(workspace.a, shape.units_at[layer - 1], fan_in, count), v)
    for h in range(width if shape.biased else 0):
        total = 0.0
        for r in range(count):
            total += delta[h, r]
        out[shape.biases_at[layer] + h] = total if shape.train[layer] else 0.0


@native
def loss(theta: Vector, signs: Signs, field: Field) -> float:
    """The data loss, with the activation pattern of θ itself, but on merged rays with that of the signs."""
    shape = field.shape
    rays = field.rays
    last, count = len(shape.sizes) - 2, len(rays.orient)
    for layer in range(last + 1):
        width = shape.sizes[layer + 1]
        at = shape.units_at[layer] if layer < last else 0
        a = field.workspace.f if layer == last else matrix(field.workspace.a, at, width, count)
        preactivate(layer, theta, field, a)
        for h in range(width if layer < last else 0):
            for r in range(rays.single):
                a[h, r] = a[h, r] if a[h, r] > 0 else shape.leak * a[h, r]
            for r in range(rays.single, count):
                a[h, r] *= slope(signs[at + h * count + r], shape.leak)
    return loss_of(rays, field.workspace.f)
