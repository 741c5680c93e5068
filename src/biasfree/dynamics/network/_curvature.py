"""The derivative of the velocity along a direction at fixed activation patterns, native.

It is minus the Hessian of the objective times the direction: every array of an evaluation at θ has a
derivative along the direction, which goes to a second workspace, `turned`.
"""

from __future__ import annotations

from biasfree.dynamics.network._compiled import inner, native
from biasfree.dynamics.network._field import (
    add_output_velocity,
    add_velocity,
    apply,
    begin_velocity,
    decay,
    finish,
    outputs,
    preactivate,
    signs_of,
    units,
)
from biasfree.dynamics.network._layout import matrix, slope
from biasfree.dynamics.network._records import Field, Matrix, Signs, SignTable, Vector
from biasfree.dynamics.network._residual import residual_along
from biasfree.dynamics.network._vectors import (
    add_product,
    add_products,
    add_transposed,
    fill,
    transpose,
)


@native
def velocity_along(
    theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Field, out: Vector
) -> None:
    """Write the derivative of θ̇, without constraints, along a direction to `out`; after `evaluate`. `turned`
    is the field with a workspace of its own."""
    shape = field.shape
    begin_velocity(turned, out)
    transpose(matrix(direction, shape.weights_at[0], shape.sizes[1], shape.sizes[0]), turned.workspace.first)
    lines = field.rays.normals.shape[1]
    _forward_along(theta, direction, signs, field, turned, lines)
    residual_along(field.rays, field.workspace.f, turned.workspace.f, turned.workspace.e)
    _backward_along(theta, direction, signs, field, turned, lines, out)
    finish(turned, out)
    decay(direction, shape, out)


@inner
def _forward_along(
    theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Field, lines: int
) -> None:
    """Derivatives of activations and outputs, by dz = dW·a + W·da."""
    shape, count = field.shape, len(field.rays.orient)
    last = len(shape.sizes) - 2
    for layer in range(last):
        preactivate(layer, direction, field, turned, 0, lines)
        z = units(turned.workspace.z, layer, 0, count, turned)
        if layer > 0:
            below = units(turned.workspace.a, layer - 1, 0, count, turned)
            w = matrix(theta, shape.weights_at[layer], shape.sizes[layer + 1], shape.sizes[layer])
            add_products(below, 0, w, 0, shape.sizes[layer], z)
        side = signs_of(signs, layer, 0, count, shape)
        _apply_slopes(side, shape.leak, z, units(turned.workspace.a, layer, 0, count, turned))
    outputs(direction, field, 0, lines, turned.workspace.f)
    if last > 0:
        w = matrix(theta, shape.weights_at[last], shape.sizes[last + 1], shape.sizes[last])
        apply(w, units(turned.workspace.a, last - 1, 0, count, turned), turned.workspace.f)


@inner
def _backward_along(
    theta: Vector, direction: Vector, signs: Signs, field: Field, turned: Field, lines: int, out: Vector
) -> None:
    """Derivatives of forces δ and of the velocity δ·a, layer by layer from the last."""
    shape, count = field.shape, len(field.rays.orient)
    top = len(shape.sizes) - 2
    add_output_velocity(turned.workspace.e, field, 0, lines, out)
    for layer in range(top, 0, -1):
        fan_in, width, at = shape.sizes[layer], shape.sizes[layer + 1], shape.weights_at[layer]
        w, dw = matrix(theta, at, width, fan_in), matrix(direction, at, width, fan_in)
        below = units(turned.workspace.a, layer - 1, 0, count, turned)
        force = units(turned.workspace.force, layer - 1, 0, count, turned)
        fill(force, 0.0)
        if layer == top:
            add_product(field.workspace.e, below, matrix(out, at, width, fan_in))
            add_transposed(turned.workspace.e, w, force)
            add_transposed(field.workspace.e, dw, force)
        else:
            delta = units(field.workspace.delta, layer, 0, count, field)
            add_transposed(delta, below, matrix(out, at, width, fan_in))
            add_product(units(turned.workspace.delta, layer, 0, count, turned), w, force)
            add_product(delta, dw, force)
        change = units(turned.workspace.delta, layer - 1, 0, count, turned)
        _apply_slopes(signs_of(signs, layer - 1, 0, count, shape), shape.leak, force, change)
        add_velocity(layer - 1, change, field, turned, 0, lines, out)


@inner
def _apply_slopes(side: SignTable, leak: float, given: Matrix, out: Matrix) -> None:
    for r in range(len(given)):
        for h in range(given.shape[1]):
            out[r, h] = slope(side[r, h], leak) * given[r, h]
