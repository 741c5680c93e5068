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
On opposite rays this takes half the time of the field of any depth, whose arrays have a row per ray.

With one output the velocity of a neuron is a·moment, the moment ⟨eσ′x⟩ depends on signs and residuals only.
While outputs are far below the targets residuals stand still, and so do the moments within a step.
"""

from __future__ import annotations

from biasfree.dynamics._policy import COLUMNS, ROWS
from biasfree.dynamics.network._compiled import inner, native, summing, view
from biasfree.dynamics.network._layout import ROUNDING, matrix
from biasfree.dynamics.network._records import Classes, Matrix, Shape, Side, Vector
from biasfree.dynamics.network._residual import loss_of, residual
from biasfree.dynamics.network._vectors import (
    add,
    add_products,
    combine,
    copy,
    fill,
    inner_product,
    norm,
    product,
    product_by_rows,
)


@native
def class_velocity(theta: Vector, shape: Shape, classes: Classes, out: Vector) -> int:
    """Write θ̇ to `out`; returns how many units are wrong, and notes whether all cones hold."""
    near, far = classes.near, classes.far
    _gather(theta, shape, classes)
    for h in range(len(classes.group)):
        c = classes.group[h]
        if c >= 0 and not _in_cone(near.rows[h], classes.center[c], classes.reach):
            classes.stay[0] = 0
    wrong = _doubts(classes) + _evaluate(shape.leak, near, True) + _evaluate(shape.leak, far, True)
    _close(classes)
    if len(near.outer) == 1:
        still_velocity(theta, shape, classes, out)
        return wrong
    v, u = layers(out, shape)
    copy(near.back, v)
    copy(near.speed, u)
    _decay(theta, shape, out)
    return wrong


@inner
def still_velocity(theta: Vector, shape: Shape, classes: Classes, out: Vector) -> None:
    """Write θ̇ of a network with one output to `out`, with the moments of the last evaluation: v = a·moment
    and u = w·moment."""
    w, a = layers(theta, shape)
    v, u = layers(out, shape)
    for h in range(len(w)):
        total, moment = 0.0, classes.near.back[h]
        for i in range(len(moment)):
            v[h, i] = a[0, h] * moment[i]
            total += w[h, i] * moment[i]
        u[0, h] = total
    _decay(theta, shape, out)


@inner
def _decay(theta: Vector, shape: Shape, out: Vector) -> None:
    """Subtract λθ from the velocity; layers that are not trained do not move."""
    for layer in range(2):
        for i in range(shape.weights_at[layer], shape.biases_at[layer]):
            out[i] = out[i] - shape.l2 * theta[i] if shape.train[layer] else 0.0


@inner
def class_loss(theta: Vector, shape: Shape, classes: Classes) -> float:
    """The data loss."""
    _gather(theta, shape, classes)
    _evaluate(shape.leak, classes.near, False)
    _evaluate(shape.leak, classes.far, False)
    return loss_of(classes.near.rays, classes.near.f) + loss_of(classes.far.rays, classes.far.f)


@inner
def class_inputs(theta: Vector, shape: Shape, classes: Classes) -> None:
    """Inputs times signs of the units that are evaluated one by one, and of the axes of classes."""
    _gather(theta, shape, classes)
    _doubts(classes)
    _all_inputs(classes.near)
    _all_inputs(classes.far)


@inner
def keep_forces(classes: Classes) -> None:
    """Keep the forces at the start of the next step."""
    copy(classes.near.push, classes.near.before)
    copy(classes.far.push, classes.far.before)


@view
def layers(theta: Vector, shape: Shape) -> tuple[Matrix, Matrix]:
    """The weights of both layers, as views of θ."""
    width, outputs = shape.sizes[1], shape.sizes[2]
    first = matrix(theta, shape.weights_at[0], width, shape.sizes[0])
    return first, matrix(theta, shape.weights_at[1], outputs, width)


# Neurons and classes.


@summing
def _gather(theta: Vector, shape: Shape, classes: Classes) -> None:
    """The weights of all neurons, of outliers, and the linear functions of classes."""
    near, far, (w, a) = classes.near, classes.far, layers(theta, shape)
    copy(w, near.rows)
    copy(a, near.outer)
    alone = len(far.neurons)
    for s in range(alone):
        copy(w[far.neurons[s]], far.rows[s])
        for k in range(len(a)):
            far.outer[k, s] = a[k, far.neurons[s]]
    fill(far.rows[alone:], 0.0)
    for h in range(len(w)):
        for k in range(len(a) if classes.group[h] >= 0 else 0):
            row, given = far.rows[alone + classes.group[h] * len(a) + k], w[h]
            for i in range(len(row)):
                row[i] += a[k, h] * given[i]
    _bounds(near)
    _bounds(far)


@inner
def _bounds(side: Side) -> None:
    for m in range(len(side.neurons)):
        side.bound[m] = -ROUNDING * norm(side.rows[m])


@summing
def _close(classes: Classes) -> None:
    """Add to the velocities of all neurons those by far lines, and by the linear functions of all."""
    near, far = classes.near, classes.far
    outputs, alone = len(near.outer), len(far.neurons)
    add(1.0, far.linear_back, near.linear_back)
    for s in range(alone):
        add(1.0, far.back[s], near.back[far.neurons[s]])
        for k in range(outputs):
            near.speed[k, far.neurons[s]] += far.speed[k, s]
    for h in range(len(near.rows)):
        for k in range(outputs):
            linear, given, own, total = near.linear_back[k], near.rows[h], near.back[h], 0.0
            factor, c = _factor(k, h, near), classes.group[h]
            back = far.back[alone + c * outputs + k] if c >= 0 else linear
            share = 1.0 if c >= 0 else 0.0
            for i in range(len(own)):
                push = linear[i] + share * back[i]
                own[i] += factor * push
                total += given[i] * push
            near.speed[k, h] += total


@summing
def _doubts(classes: Classes) -> int:
    """s·z of the axes of classes on middle lines; returns how many units of classes may be wrong there. The
    cones around the axes are checked."""
    axis, group, far = classes.axis, classes.group, classes.far
    if classes.middle == 0:
        return 0
    fill(axis, 0.0)
    for h in range(len(group)):
        if group[h] >= 0:
            add(1.0, classes.near.rows[h], axis[group[h]])
    for c in range(len(axis)):
        length = norm(axis[c])
        for i in range(axis.shape[1]):
            axis[c, i] /= length
    for h in range(len(group)):
        if group[h] >= 0 and not _in_cone(classes.near.rows[h], axis[group[h]], classes.tight):
            classes.stay[0] = 0
    found = 0
    for begin in range(0, classes.middle, COLUMNS):
        end = min(begin + COLUMNS, classes.middle)
        for c in range(len(axis)):
            if c % ROWS == 0:
                combine(axis, c, far.rays.normals, begin, end, classes.along)
            sign = far.sign[len(far.neurons) + c * len(far.outer), begin:end]
            along, some = classes.along[c, begin:end], 0
            for q in range(len(along)):
                along[q] *= sign[q]
                some += along[q] < classes.tight
            found += some * classes.size[c]
    return found


@summing
def _in_cone(w: Vector, center: Vector, reach: float) -> bool:
    along, square = 0.0, 0.0
    for i in range(len(w)):
        along += center[i] * w[i]
    for i in range(len(w)):
        square += (w[i] - along * center[i]) ** 2
    return along > 0 and square <= (reach * along) ** 2


# The network of a side, on its lines.


@inner
def _evaluate(leak: float, side: Side, backward: bool) -> int:
    """Outputs, and if `backward` residuals and their forces; returns how many units are wrong. The odd parts
    of residuals replace those of outputs."""
    wrong, normals = 0, side.rays.normals
    product(side.outer, side.rows, side.linear)
    product(side.linear, normals, side.odd)
    fill(side.even, 0.0)
    fill(side.back, 0.0)
    fill(side.speed, 0.0)
    for begin in range(0, normals.shape[1], COLUMNS):
        end = min(begin + COLUMNS, normals.shape[1])
        wrong += _inputs(side, begin, end)
        _outputs(leak, side, begin, end)
        if backward:
            _residuals(leak, side, begin, end)
            _forces(side, begin, end)
    if backward:
        product_by_rows(side.odd, normals, side.linear_back)
    return wrong


@inner
def _all_inputs(side: Side) -> None:
    """s·z on all lines."""
    for begin in range(0, side.sz.shape[1], COLUMNS):
        _inputs(side, begin, min(begin + COLUMNS, side.sz.shape[1]))


@inner
def _inputs(side: Side, begin: int, end: int) -> int:
    """s·z on some lines; returns how many units are wrong."""
    wrong = 0
    for m in range(len(side.rows)):
        if m % ROWS == 0:
            combine(side.rows, m, side.rays.normals, begin, end, side.sz)
        sign, sz, bound = side.sign[m, begin:end], side.sz[m, begin:end], side.bound[m]
        for q in range(len(sz)):
            value = sign[q] * sz[q]
            sz[q] = value
            wrong += value < bound
    return wrong


@inner
def _outputs(leak: float, side: Side, begin: int, end: int) -> None:
    """Outputs on the rays of some lines."""
    mean, half, rays = (1 + leak) / 2, (1 - leak) / 2, side.rays
    for k in range(len(side.outer)):
        even = side.even[k, begin:end]
        for m in range(len(side.rows)):
            factor, sz = side.outer[k, m], side.sz[m, begin:end]
            for q in range(len(even)):
                even[q] += factor * sz[q]
        for r in range(rays.first[begin], rays.first[end]):
            q = rays.line[r]
            side.f[k, r] = rays.orient[r] * mean * side.odd[k, q] + half * side.even[k, q]


@inner
def _residuals(leak: float, side: Side, begin: int, end: int) -> None:
    """Residuals on the rays of some lines, and their even and odd parts."""
    mean, half, rays = (1 + leak) / 2, (1 - leak) / 2, side.rays
    residual(rays, side.f, side.e, rays.first[begin], rays.first[end])
    for k in range(len(side.e)):
        for q in range(begin, end):
            even, odd = 0.0, 0.0
            for r in range(rays.first[q], rays.first[q + 1]):
                even += half * side.e[k, r]
                odd += mean * rays.orient[r] * side.e[k, r]
            side.push[k, q], side.odd[k, q] = even, odd


@summing
def _forces(side: Side, begin: int, end: int) -> None:
    """The forces of some lines, added to velocities, a few neurons at a time."""
    for first in range(0, len(side.rows), ROWS):
        some = min(ROWS, len(side.rows) - first)
        for m in range(first, first + some):
            force, sign, sz = (
                side.force[m - first, : end - begin],
                side.sign[m, begin:end],
                side.sz[m, begin:end],
            )
            for q in range(len(force)):
                force[q] = 0.0
            for k in range(len(side.outer)):
                factor, push = _factor(k, m, side), side.push[k, begin:end]
                for q in range(len(force)):
                    force[q] += factor * sign[q] * push[q]
                if len(side.outer) > 1:  # of one output moments tell
                    side.speed[k, m] += inner_product(push, sz)
        add_products(side.force[:some], 0, side.rays.normals, begin, end, side.back[first : first + some])


@inner
def _factor(k: int, m: int, side: Side) -> float:
    """By what the force on an output acts on a neuron; 1 for the moments of a network with one output."""
    return side.outer[k, m] if len(side.outer) > 1 else 1.0
