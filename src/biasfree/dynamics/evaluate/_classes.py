"""The velocity of two layers by activation class: aligned neurons act as one, beside outliers and near lines.

Neurons of a class lie in a cone around its center, and no hyperplane of a *far* line passes through the cone.
So they have the same signs there, and with K outputs act on far lines as K linear functions Σ_h a_kh w_h.
Neurons outside the cones (*outliers*), and all neurons on the other lines (*near* ones), are evaluated one by
one. The cones are checked at every evaluation.

Neurons of a class turn together. So they have the same sign on most lines that their cone moves across, too:
*middle* lines, on which a class acts as on far ones, and may change its sign. A narrower cone around the
present axis of the class holds all its neurons; while a hyperplane passes through it, or is beyond it, all
of them count as wrong there.

σ(z) = (1+α)/2·z + (1−α)/2·|z|: the first part is linear in the input, and |z| = s·z at the sign s, so that
outputs are f(±n) = ±odd(n) + even(n), and one array over neurons and lines, s·z, has all that is needed. A
block of lines passes through the whole evaluation before the next one, while its numbers are in the cache.

With one output the velocity of a neuron is a·moment, the moment ⟨eσ′x⟩ depends on signs and residuals only.
While outputs are far below the targets residuals stand still, and so do the moments within a step.
"""

from __future__ import annotations

from biasfree.dynamics._policy import COLUMNS, ROWS
from biasfree.dynamics.network._compiled import inner, native, summing, view
from biasfree.dynamics.network._layout import ROUNDING, matrix
from biasfree.dynamics.network._records import Buffers, Classes, Matrix, Rays, Shape, Side, Vector
from biasfree.dynamics.network._residual import loss_of, residual
from biasfree.dynamics.network._vectors import (
    add_products,
    combine,
    copy,
    fill,
    norm,
    product,
    product_by_rows,
)


@native
def class_velocity(theta: Vector, shape: Shape, classes: Classes, out: Vector) -> int:
    """Write θ̇ to `out`; returns how many units are wrong, and notes whether all cones hold."""
    groups = classes.groups
    buffers = classes.buffers
    w, a = layers(theta, shape)
    v, u = layers(out, shape)
    fill(out, 0.0)
    _linear_parts(w, a, classes)
    wrong = doubts(w, classes) + _evaluate(w, a, shape.leak, groups.near, buffers.near, v, u)
    fill(buffers.outlier_back, 0.0)
    fill(buffers.outlier_speed, 0.0)
    given = buffers.outlier_rows, buffers.outlier_outer, shape.leak, groups.far, buffers.far
    wrong += _evaluate(*given, buffers.outlier_back, buffers.outlier_speed)
    for s in range(len(groups.outliers)):
        h = groups.outliers[s]
        for i in range(v.shape[1]):
            v[h, i] += buffers.outlier_back[s, i]
        for k in range(len(u)):
            u[k, h] += buffers.outlier_speed[k, s]
    _linear_back(w, a, classes, v, u)
    if len(a) == 1:
        copy(v, buffers.moment)
        still_velocity(theta, shape, buffers, out)
        return wrong
    _decay(theta, shape, out)
    return wrong


@inner
def still_velocity(theta: Vector, shape: Shape, buffers: Buffers, out: Vector) -> None:
    """Write θ̇ of a network with one output to `out`, with the moments of the last evaluation: v = a·moment
    and u = w·moment."""
    w, a = layers(theta, shape)
    v, u = layers(out, shape)
    for h in range(len(w)):
        total = 0.0
        for i in range(w.shape[1]):
            v[h, i] = a[0, h] * buffers.moment[h, i]
            total += w[h, i] * buffers.moment[h, i]
        u[0, h] = total
    _decay(theta, shape, out)


@inner
def _decay(theta: Vector, shape: Shape, out: Vector) -> None:
    """Subtract λθ from the velocity; layers that are not trained do not move."""
    for layer in range(2):
        for i in range(shape.weights_at[layer], shape.biases_at[layer]):
            out[i] = out[i] - shape.l2 * theta[i] if shape.train[layer] else 0.0


@inner
def class_forward(theta: Vector, shape: Shape, classes: Classes) -> None:
    """Outputs on near and far rays."""
    buffers = classes.buffers
    w, a = layers(theta, shape)
    _linear_parts(w, a, classes)
    _forward(w, a, shape.leak, classes.groups.near, buffers.near)
    _forward(buffers.outlier_rows, buffers.outlier_outer, shape.leak, classes.groups.far, buffers.far)


@inner
def class_inputs(theta: Vector, shape: Shape, classes: Classes) -> None:
    """Inputs times signs of the units that are evaluated one by one, and of the axes of classes."""
    w, a = layers(theta, shape)
    doubts(w, classes)
    _outlier_rows(w, a, classes)
    _inputs(w, classes.groups.near, classes.buffers.near)
    _inputs(classes.buffers.outlier_rows, classes.groups.far, classes.buffers.far)


@view
def layers(theta: Vector, shape: Shape) -> tuple[Matrix, Matrix]:
    """The weights of both layers, as views of θ."""
    width, outputs = shape.sizes[1], shape.sizes[2]
    first = matrix(theta, shape.weights_at[0], width, shape.sizes[0])
    return first, matrix(theta, shape.weights_at[1], outputs, width)


# Linear functions: of all neurons on all lines, of classes on far lines.


@summing
def _linear_parts(w: Matrix, a: Matrix, classes: Classes) -> None:
    """What linear functions add to the odd and even parts of outputs; the cones are checked."""
    groups = classes.groups
    buffers = classes.buffers
    outputs = len(a)
    product(a, w, buffers.linear)
    product(buffers.linear, groups.near.normals, buffers.near.odd)
    product(buffers.linear, groups.far.normals, buffers.far.odd)
    fill(buffers.near.even, 0.0)
    fill(buffers.far.even, 0.0)
    _outlier_rows(w, a, classes)
    if groups.classes == 0:
        return
    fill(buffers.rows, 0.0)
    for h in range(len(w)):
        c = groups.group[h]
        if c >= 0:
            if not _in_cone(w[h], groups.center[c], groups.reach):
                groups.stay[0] = 0
            for k in range(outputs):
                for i in range(w.shape[1]):
                    buffers.rows[c * outputs + k, i] += a[k, h] * w[h, i]
    product(buffers.rows, groups.far.normals, buffers.class_z)
    for c in range(groups.classes):
        sign = groups.signs[c]
        for k in range(outputs):
            row, z = buffers.far.even[k], buffers.class_z[c * outputs + k]
            for q in range(len(row)):
                row[q] += sign[q] * z[q]


@summing
def doubts(w: Matrix, classes: Classes) -> int:
    """s·z of the axes of classes on middle lines; returns how many units of classes may be wrong there. The
    cones around the axes are checked."""
    groups = classes.groups
    buffers = classes.buffers
    if groups.middle == 0:
        return 0
    fill(buffers.axis, 0.0)
    for h in range(len(w)):
        if groups.group[h] >= 0:
            axis = buffers.axis[groups.group[h]]
            for i in range(len(axis)):
                axis[i] += w[h, i]
    for c in range(groups.classes):
        length = norm(buffers.axis[c])
        for i in range(w.shape[1]):
            buffers.axis[c, i] /= length
    for h in range(len(w)):
        c = groups.group[h]
        if c >= 0 and not _in_cone(w[h], buffers.axis[c], groups.tight):
            groups.stay[0] = 0
    found = 0
    for begin in range(0, groups.middle, COLUMNS):
        end = min(begin + COLUMNS, groups.middle)
        for c in range(groups.classes):
            if c % ROWS == 0:
                combine(buffers.axis, c, groups.far.normals, begin, end, buffers.along)
            along, sign, some = buffers.along[c, begin:end], groups.signs[c, begin:end], 0
            for q in range(len(along)):
                along[q] *= sign[q]
                some += along[q] < groups.tight
            found += some * groups.size[c]
    return found


@summing
def _in_cone(w: Vector, center: Vector, reach: float) -> bool:
    along, square = 0.0, 0.0
    for i in range(len(w)):
        along += center[i] * w[i]
    for i in range(len(w)):
        square += (w[i] - along * center[i]) ** 2
    return along > 0 and square <= (reach * along) ** 2


@inner
def _outlier_rows(w: Matrix, a: Matrix, classes: Classes) -> None:
    """The weights of the outliers."""
    for s in range(len(classes.groups.outliers)):
        for i in range(w.shape[1]):
            classes.buffers.outlier_rows[s, i] = w[classes.groups.outliers[s], i]
        for k in range(len(a)):
            classes.buffers.outlier_outer[k, s] = a[k, classes.groups.outliers[s]]


@summing
def _linear_back(w: Matrix, a: Matrix, classes: Classes, v: Matrix, u: Matrix) -> None:
    """Velocities by the forces on linear functions, after both `_evaluate`; of one output its moments."""
    groups = classes.groups
    buffers = classes.buffers
    outputs = len(a)
    product_by_rows(buffers.near.odd, groups.near.normals, buffers.linear_back)
    product_by_rows(buffers.far.odd, groups.far.normals, buffers.far_back)
    for c in range(groups.classes):
        sign = groups.signs[c]
        for k in range(outputs):
            row, push = buffers.class_z[c * outputs + k], buffers.far.push[k]
            for q in range(len(row)):
                row[q] = sign[q] * push[q]
    product_by_rows(buffers.class_z, groups.far.normals, buffers.back)
    for h in range(len(w)):
        c = groups.group[h]
        for k in range(outputs):
            total = 0.0
            for i in range(w.shape[1]):
                back = buffers.linear_back[k, i] + buffers.far_back[k, i]
                if c >= 0:
                    back += buffers.back[c * outputs + k, i]
                v[h, i] += back if outputs == 1 else a[k, h] * back
                total += w[h, i] * back
            u[k, h] += total


# Neurons that are evaluated one by one: all on near lines, outliers on far ones.


@inner
def _evaluate(rows: Matrix, outer: Matrix, leak: float, rays: Rays, side: Side, v: Matrix, u: Matrix) -> int:
    """Outputs and residuals on all lines of a side, the forces on these neurons added to their velocities;
    returns how many units are wrong. The odd parts of residuals replace those of outputs."""
    wrong = 0
    _bounds(rows, side)
    for begin in range(0, rays.normals.shape[1], COLUMNS):
        end = min(begin + COLUMNS, rays.normals.shape[1])
        wrong += _inputs_of(rows, rays, side, begin, end)
        _outputs(outer, leak, rays, side, begin, end)
        _residuals(leak, rays, side, begin, end)
        _forces(outer, rays, side, begin, end, v, u)
    return wrong


@inner
def _forward(rows: Matrix, outer: Matrix, leak: float, rays: Rays, side: Side) -> None:
    """Outputs on all rays of a side."""
    for begin in range(0, rays.normals.shape[1], COLUMNS):
        end = min(begin + COLUMNS, rays.normals.shape[1])
        _inputs_of(rows, rays, side, begin, end)
        _outputs(outer, leak, rays, side, begin, end)


@inner
def _inputs(rows: Matrix, rays: Rays, side: Side) -> None:
    """s·z on all lines of a side."""
    _bounds(rows, side)
    for begin in range(0, rays.normals.shape[1], COLUMNS):
        _inputs_of(rows, rays, side, begin, min(begin + COLUMNS, rays.normals.shape[1]))


@inner
def _bounds(rows: Matrix, side: Side) -> None:
    for h in range(len(rows)):
        side.bound[h] = -ROUNDING * norm(rows[h])


@inner
def _inputs_of(rows: Matrix, rays: Rays, side: Side, begin: int, end: int) -> int:
    """s·z on some lines; returns how many units are wrong."""
    wrong = 0
    for h in range(len(rows)):
        if h % ROWS == 0:
            combine(rows, h, rays.normals, begin, end, side.sz)
        sign, sz, bound = side.sign[h, begin:end], side.sz[h, begin:end], side.bound[h]
        for q in range(len(sz)):
            value = sign[q] * sz[q]
            sz[q] = value
            wrong += value < bound
    return wrong


@inner
def _outputs(outer: Matrix, leak: float, rays: Rays, side: Side, begin: int, end: int) -> None:
    """Outputs on the rays of some lines."""
    mean, half = (1 + leak) / 2, (1 - leak) / 2
    for k in range(len(outer)):
        even = side.even[k, begin:end]
        for h in range(outer.shape[1]):
            factor, sz = outer[k, h], side.sz[h, begin:end]
            for q in range(len(even)):
                even[q] += factor * sz[q]
        for r in range(rays.first[begin], rays.first[end]):
            q = rays.line[r]
            side.f[k, r] = rays.orient[r] * mean * side.odd[k, q] + half * side.even[k, q]


@inner
def _residuals(leak: float, rays: Rays, side: Side, begin: int, end: int) -> None:
    """Residuals on the rays of some lines, and their even and odd parts."""
    mean, half = (1 + leak) / 2, (1 - leak) / 2
    residual(rays, side.f, side.e, rays.first[begin], rays.first[end])
    for k in range(len(side.e)):
        for q in range(begin, end):
            even, odd = 0.0, 0.0
            for r in range(rays.first[q], rays.first[q + 1]):
                even += half * side.e[k, r]
                odd += mean * rays.orient[r] * side.e[k, r]
            side.push[k, q], side.odd[k, q] = even, odd


@summing
def _forces(outer: Matrix, rays: Rays, side: Side, begin: int, end: int, v: Matrix, u: Matrix) -> None:
    """The forces of some lines on neurons, added to their velocities, a few neurons at a time; with one
    output the moments of these lines."""
    for first in range(0, outer.shape[1], ROWS):
        some = min(ROWS, outer.shape[1] - first)
        for m in range(some):
            h = first + m
            force, sign, sz = side.force[m, : end - begin], side.sign[h, begin:end], side.sz[h, begin:end]
            for q in range(len(force)):
                force[q] = 0.0
            for k in range(len(outer)):
                factor, push, total = outer[k, h], side.push[k, begin:end], 0.0
                if len(outer) == 1:
                    factor = 1.0
                for q in range(len(force)):
                    force[q] += factor * sign[q] * push[q]
                    total += push[q] * sz[q]
                u[k, h] += total
        add_products(side.force[:some], 0, rays.normals, begin, end, v[first : first + some])


@inner
def keep_forces(buffers: Buffers) -> None:
    """Keep the forces at the start of the next step."""
    copy(buffers.near.push, buffers.near.before)
    copy(buffers.far.push, buffers.far.before)


@native
def class_loss(theta: Vector, shape: Shape, classes: Classes) -> float:
    """The data loss."""
    class_forward(theta, shape, classes)
    return loss_of(classes.groups.near, classes.buffers.near.f) + loss_of(
        classes.groups.far, classes.buffers.far.f
    )
