"""The derivative of the velocity along a direction at fixed activation patterns, native.

It is minus the Hessian of the objective times the direction: every array of an evaluation at θ has a
derivative along the direction, which goes to a second workspace, `turned`.
"""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.network._compiled import allocating, inner, native
from biasfree.dynamics.network._field import layer_velocity, preactivate
from biasfree.dynamics.network._layout import matrix, slope
from biasfree.dynamics.network._records import Field, Signs, Vector, Workspace
from biasfree.dynamics.network._residual import residual_along
from biasfree.dynamics.network._vectors import add, dot, dot_by_columns, dot_by_rows


@native
def velocity_along(
    theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Workspace, out: Vector
) -> None:
    """Write the derivative of θ̇, without constraints, along a direction to `out`; after `velocity`."""
    _forward_along(theta, direction, signs, field, turned)
    residual_along(field.rays, field.workspace.f, turned.f, turned.e)
    _backward_along(theta, direction, signs, field, turned, out)


@inner
def _forward_along(theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Workspace) -> None:
    """Derivatives of activations and outputs, by dz = dW·a + W·da."""
    shape = field.shape
    last, count = len(shape.sizes) - 2, len(field.rays.orient)
    for layer in range(last + 1):
        fan_in, width, at = shape.sizes[layer], shape.sizes[layer + 1], shape.units_at[layer]
        z, more = turned.f, turned.e
        if layer < last:
            z, more = matrix(turned.z, at, width, count), matrix(turned.force, at, width, count)
        preactivate(layer, direction, field, z)
        if layer > 0:
            below = matrix(turned.a, shape.units_at[layer - 1], fan_in, count)
            dot(matrix(theta, shape.weights_at[layer], width, fan_in), below, more)
            add(1.0, more, z)
        for u in range(at, at + width * count if layer < last else at):
            turned.a[u] = 0.0 if signs[u] == 0 else slope(signs[u], shape.leak) * turned.z[u]


@allocating
def _backward_along(
    theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Workspace, out: Vector
) -> None:
    """Derivatives of forces δ and of the velocity δ·a, layer by layer from the last."""
    shape = field.shape
    last, count = len(shape.sizes) - 2, len(field.rays.orient)
    delta, change = field.workspace.e, turned.e
    for layer in range(last, -1, -1):
        fan_in, width = shape.sizes[layer], shape.sizes[layer + 1]
        below = shape.units_at[max(layer - 1, 0)]
        w = matrix(theta, shape.weights_at[layer], width, fan_in)
        dw = matrix(direction, shape.weights_at[layer], width, fan_in)
        layer_velocity(layer, change, field, out)
        if shape.train[layer]:
            v = matrix(out, shape.weights_at[layer], width, fan_in)
            add(-shape.l2, dw, v)
            if layer > 0:
                more = np.empty((width, fan_in))
                dot_by_rows(delta, matrix(turned.a, below, fan_in, count), more)
                add(1.0, more, v)
        if layer > 0:
            force = matrix(turned.force, below, fan_in, count)
            more = matrix(turned.z, below, fan_in, count)
            dot_by_columns(w, change, force)
            dot_by_columns(dw, delta, more)
            add(1.0, more, force)
            for u in range(below, below + fan_in * count):
                turned.delta[u] = slope(signs[u], shape.leak) * turned.force[u]
            delta = matrix(field.workspace.delta, below, fan_in, count)
            change = matrix(turned.delta, below, fan_in, count)
