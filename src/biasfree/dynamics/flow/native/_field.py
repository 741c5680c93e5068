"""The velocity θ̇ = −∇(loss + (λ/2)Σ|W_l|²) at fixed activation patterns, native.

`signs` hold the pattern: +1 and −1 are the sides of its hyperplane on which a unit can be, and 0 means that
it slides along it. At constant signs the velocity is a smooth function of θ, also where z has passed zero:
there the unit is *wrong*. A unit that slides has the mean slope (1+α)/2; its constraint makes up for the
difference.
"""

from __future__ import annotations

import math

from biasfree.dynamics.flow.native._compiled import inner, native
from biasfree.dynamics.flow.native._constraints import constrain, decay_at_rest
from biasfree.dynamics.flow.native._layout import ROUNDING, matrix, slope
from biasfree.dynamics.flow.native._residual import loss_of, residual
from biasfree.dynamics.flow.native._vectors import dot, dot_by_columns, dot_by_rows, fill


@inner
def forward(theta, signs, shape, rays, workspace):
    """Inputs, activations and outputs into `workspace`; returns how many units are wrong."""
    last = len(shape.sizes) - 2
    wrong = hidden_inputs(theta, signs, shape, rays, workspace)
    if last > 0:
        wrong += _activate(last - 1, theta, signs, shape, rays, workspace)
    preactivate(last, theta, shape, rays, workspace, workspace.f)
    return wrong


@inner
def hidden_inputs(theta, signs, shape, rays, workspace):
    """The inputs of all hidden units into `workspace`, and the activations below the last of them; returns
    how many units below the last layer are wrong."""
    wrong = 0
    for layer in range(len(shape.sizes) - 2):
        if layer > 0:
            wrong += _activate(layer - 1, theta, signs, shape, rays, workspace)
        z = matrix(workspace.z, shape.units_at[layer], shape.sizes[layer + 1], len(rays.orient))
        preactivate(layer, theta, shape, rays, workspace, z)
    return wrong


@inner
def preactivate(layer, theta, shape, rays, workspace, z):
    """The inputs z of a layer, from the activations of the layer below in `workspace`."""
    count, fan_in, width = len(rays.orient), shape.sizes[layer], shape.sizes[layer + 1]
    w = matrix(theta, shape.weights_at[layer], width, fan_in)
    if layer == 0:
        dot(w, rays.normals, workspace.lines)
        for h in range(width):
            for r in range(count):
                z[h, r] = rays.orient[r] * workspace.lines[h, rays.line[r]]
    else:
        dot(w, matrix(workspace.a, shape.units_at[layer - 1], fan_in, count), z)
    if shape.biased:
        for h in range(width):
            b = theta[shape.biases_at[layer] + h]
            for r in range(count):
                z[h, r] += b


@inner
def _activate(layer, theta, signs, shape, rays, workspace):
    """Activations of a layer with the slopes of its signs; returns how many units are wrong."""
    count, leak, wrong = len(rays.orient), shape.leak, 0
    for h in range(shape.sizes[layer + 1]):
        begin = shape.units_at[layer] + h * count
        end = begin + count
        zs, row, a = workspace.z[begin:end], signs[begin:end], workspace.a[begin:end]
        for r in range(rays.single):
            z = zs[r]
            if shape.follow:
                row[r] = 1 if z > 0 else -1
            sign = row[r]
            a[r] = 0.0 if sign == 0 else slope(sign, leak) * z  # a unit that slides has z = 0
            if sign * z < 0 and beyond_rounding(layer, h, r, z, theta, shape, rays, workspace):
                wrong += 1
        for r in range(rays.single, count):
            a[r] = slope(row[r], leak) * zs[r]
    return wrong


@inner
def beyond_rounding(layer, h, r, z, theta, shape, rays, workspace):
    """Whether the input z of a unit is on one side of zero for certain: above ROUNDING·|w_h||a|. Few units
    are asked, so that lengths are not computed for the others."""
    return abs(z) > ROUNDING * _row_size(layer, h, theta, shape) * input_size(
        layer, r, shape, rays, workspace
    )


@inner
def _row_size(layer, h, theta, shape):
    """|(w_h, b_h)|."""
    fan_in, total = shape.sizes[layer], 0.0
    for i in range(fan_in):
        total += theta[shape.weights_at[layer] + h * fan_in + i] ** 2
    if shape.biased:
        total += theta[shape.biases_at[layer] + h] ** 2
    return math.sqrt(total)


@inner
def input_size(layer, r, shape, rays, workspace):
    """|(a, 1)| of what a layer sees of a ray, without the 1 if there are no biases."""
    count, total = len(rays.orient), 1.0 if shape.biased else 0.0
    for i in range(shape.sizes[layer]):
        if layer == 0:
            total += rays.normals[i, rays.line[r]] ** 2
        else:
            total += workspace.a[shape.units_at[layer - 1] + i * count + r] ** 2
    return math.sqrt(total)


@inner
def backward(theta, signs, shape, rays, workspace, out):
    """The velocity into `out`, and the forces on the units into `workspace`."""
    last, count, delta = len(shape.sizes) - 2, len(rays.orient), workspace.e
    for layer in range(last, -1, -1):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        w = matrix(theta, shape.weights_at[layer], width, fan_in)
        layer_velocity(layer, delta, shape, rays, workspace, out)
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
def layer_velocity(layer, delta, shape, rays, workspace, out):
    """Write the velocity of a layer, without L2, to its place in `out`; `delta` is −∂L/∂z of its inputs."""
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


@inner
def velocity(theta, signs, shape, rays, workspace, constraints, out):
    """Write θ̇ to `out`, less the part that constraints cancel; returns how many units are wrong."""
    wrong = forward(theta, signs, shape, rays, workspace)
    residual(rays, workspace.f, workspace.e, 0, len(rays.orient))
    backward(theta, signs, shape, rays, workspace, out)
    if constraints.size > 0:
        constrain(theta, signs, shape, rays, workspace, constraints, out)
        decay_at_rest(theta, shape, constraints, out)
    return wrong


@native
def loss(theta, signs, shape, rays, workspace):
    """The data loss, with the activation pattern of θ itself, but on merged rays with that of the signs."""
    last, count = len(shape.sizes) - 2, len(rays.orient)
    for layer in range(last + 1):
        width = shape.sizes[layer + 1]
        at = shape.units_at[layer] if layer < last else 0
        a = workspace.f if layer == last else matrix(workspace.a, at, width, count)
        preactivate(layer, theta, shape, rays, workspace, a)
        for h in range(width if layer < last else 0):
            for r in range(rays.single):
                a[h, r] = a[h, r] if a[h, r] > 0 else shape.leak * a[h, r]
            for r in range(rays.single, count):
                a[h, r] *= slope(signs[at + h * count + r], shape.leak)
    return loss_of(rays, workspace.f)
