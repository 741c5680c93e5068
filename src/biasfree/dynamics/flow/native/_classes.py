"""The velocity of two layers by activation class: aligned neurons act as one, beside strays and near lines.

Neurons of a class lie in a cone around its center, and no hyperplane of a *far* line passes through the cone.
So they have the same signs there, and with K outputs act on far lines as K linear functions Σ_h a_kh w_h.
Neurons outside the cones (*strays*), and all neurons on the other lines (*near* ones), are evaluated one by
one. The cones are checked at every evaluation.

σ(z) = (1+α)/2·z + (1−α)/2·|z|: the first part is linear in the input, and |z| = s·z at the sign s, so that
outputs are f(±n) = ±odd(n) + even(n), and one array over neurons and lines, s·z, has all that is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.flow.native._compiled import inner, native
from biasfree.dynamics.flow.native._layout import ROUNDING, Rays, matrix
from biasfree.dynamics.flow.native._residual import loss_of, residual
from biasfree.dynamics.flow.native._vectors import copy, fill, norm, product, product_by_rows

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class Groups(NamedTuple):
    """Neurons sorted into so many `classes`: the class of each, −1 for strays, and the cones |w − (w·u)u| ≤
    reach·(w·u) around unit vectors u. `signs` are those of the classes on far lines; `near_at` and
    `far_at` are the places of near and far rays among all rays. `active` if evaluations are by class, `stay`
    0 once a neuron has left its cone."""

    active: bool
    classes: int
    group: Int[np.ndarray, "H"]
    strays: Int[np.ndarray, "S"]
    center: Float[np.ndarray, "C D"]
    reach: float
    signs: Float[np.ndarray, "C FQ"]
    near: Rays
    near_at: Int[np.ndarray, "N"]
    far: Rays
    far_at: Int[np.ndarray, "F"]
    stay: Int[np.ndarray, "1"]


class Side(NamedTuple):
    """Near or far lines in an evaluation: signs, s·z and forces of the neurons evaluated one by one there,
    the even and odd parts of outputs by line, the even part of residuals times (1−α)/2 (`push`; `before` at
    the start of a step), and outputs and residuals by ray."""

    sign: Int[np.ndarray, "M Q"]
    sz: Float[np.ndarray, "M Q"]
    force: Float[np.ndarray, "M Q"]
    even: Float[np.ndarray, "K Q"]
    odd: Float[np.ndarray, "K Q"]
    push: Float[np.ndarray, "K Q"]
    before: Float[np.ndarray, "K Q"]
    f: Float[np.ndarray, "K R"]
    e: Float[np.ndarray, "K R"]


class Desk(NamedTuple):
    """Arrays to work in: the linear function of all neurons and those of the classes, the forces on them,
    and what belongs to near and to far lines."""

    whole: Float[np.ndarray, "K D"]
    whole_back: Float[np.ndarray, "K D"]
    rows: Float[np.ndarray, "CK D"]
    back: Float[np.ndarray, "CK D"]
    class_z: Float[np.ndarray, "CK FQ"]
    stray_rows: Float[np.ndarray, "S D"]
    stray_outer: Float[np.ndarray, "K S"]
    stray_back: Float[np.ndarray, "S D"]
    near: Side
    far: Side


def desk_for(groups: Groups, width: int, outputs: int) -> Desk:
    """Arrays to work in; the signs are left to be set."""
    strays, inputs = len(groups.strays), len(groups.near.normals)
    classes, far = groups.classes * outputs, groups.far.normals.shape[1]
    return Desk(
        whole=np.zeros((outputs, inputs)),
        whole_back=np.zeros((outputs, inputs)),
        rows=np.zeros((classes, inputs)),
        back=np.zeros((classes, inputs)),
        class_z=np.zeros((classes, far)),
        stray_rows=np.zeros((strays, inputs)),
        stray_outer=np.zeros((outputs, strays)),
        stray_back=np.zeros((strays, inputs)),
        near=_side(groups.near, width, outputs),
        far=_side(groups.far, strays, outputs),
    )


def _side(rays: Rays, neurons: int, outputs: int) -> Side:
    lines, count = rays.normals.shape[1], len(rays.orient)
    by_line, by_ray = (outputs, lines), (outputs, count)
    return Side(
        sign=np.zeros((neurons, lines), np.int8),
        sz=np.zeros((neurons, lines)),
        force=np.zeros((neurons, lines)),
        even=np.zeros(by_line),
        odd=np.zeros(by_line),
        push=np.zeros(by_line),
        before=np.zeros(by_line),
        f=np.zeros(by_ray),
        e=np.zeros(by_ray),
    )


@inner
def class_forward(theta, shape, groups, desk):
    """Outputs on near and far rays; returns how many units are wrong, and notes whether all cones hold."""
    width, outputs = shape.sizes[1], shape.sizes[2]
    w = matrix(theta, shape.weights_at[0], width, shape.sizes[0])
    a = matrix(theta, shape.weights_at[1], outputs, width)
    product(a, w, desk.whole)
    _class_rows(w, a, groups, desk)
    wrong = 0
    if groups.near.normals.shape[1] > 0:
        product(w, groups.near.normals, desk.near.sz)
        wrong += _signed(w, desk.near)
        product(a, desk.near.sz, desk.near.even)
        _outputs(shape, groups.near, desk.whole, desk.near)
    if groups.far.normals.shape[1] > 0:
        wrong += _far_even(groups, desk)
        _outputs(shape, groups.far, desk.whole, desk.far)
    return wrong


@inner
def _far_even(groups, desk):
    """The even part of outputs on far lines, over (1−α)/2: of the classes and of the strays."""
    outputs, wrong, side = desk.far.even.shape[0], 0, desk.far
    if len(groups.strays) > 0:
        product(desk.stray_rows, groups.far.normals, side.sz)
        wrong += _signed(desk.stray_rows, side)
        product(desk.stray_outer, side.sz, side.even)
    else:
        fill(side.even, 0.0)
    if groups.classes > 0:
        product(desk.rows, groups.far.normals, desk.class_z)
    for c in range(groups.classes):
        sign = groups.signs[c]
        for k in range(outputs):
            row, z = side.even[k], desk.class_z[c * outputs + k]
            for q in range(len(row)):
                row[q] += sign[q] * z[q]
    return wrong


@inner
def _signed(w, side):
    """z times the signs; returns how many of the products are negative beyond rounding."""
    wrong = 0
    for h in range(len(w)):
        bound = -ROUNDING * norm(w[h])
        sign, sz = side.sign[h], side.sz[h]
        for q in range(len(sz)):
            value = sign[q] * sz[q]
            sz[q] = value
            wrong += value < bound
    return wrong


@inner
def _outputs(shape, rays, whole, side):
    """Outputs on rays from the even and the odd parts on their lines."""
    mean, half = (1 + shape.leak) / 2, (1 - shape.leak) / 2
    product(whole, rays.normals, side.odd)
    for k in range(len(side.f)):
        for r in range(len(rays.orient)):
            q = rays.line[r]
            side.f[k, r] = rays.orient[r] * mean * side.odd[k, q] + half * side.even[k, q]


@inner
def _class_rows(w, a, groups, desk):
    """The linear functions of the classes, and the weights of the strays; the cones are checked."""
    outputs = a.shape[0]
    fill(desk.rows, 0.0)
    for h in range(len(w) if groups.classes > 0 else 0):
        c = groups.group[h]
        if c < 0:
            continue
        along, square = 0.0, 0.0
        for i in range(w.shape[1]):
            along += groups.center[c, i] * w[h, i]
        for i in range(w.shape[1]):
            square += (w[h, i] - along * groups.center[c, i]) ** 2
        for k in range(outputs):
            for i in range(w.shape[1]):
                desk.rows[c * outputs + k, i] += a[k, h] * w[h, i]
        if not (along > 0 and square <= (groups.reach * along) ** 2):
            groups.stay[0] = 0
    for s in range(len(groups.strays)):
        for i in range(w.shape[1]):
            desk.stray_rows[s, i] = w[groups.strays[s], i]
        for k in range(outputs):
            desk.stray_outer[k, s] = a[k, groups.strays[s]]


@native
def class_velocity(theta, shape, groups, desk, out):
    """Write θ̇ to `out`; returns how many units are wrong, and notes whether all cones hold."""
    wrong = class_forward(theta, shape, groups, desk)
    width, outputs, fan_in = shape.sizes[1], shape.sizes[2], shape.sizes[0]
    w = matrix(theta, shape.weights_at[0], width, fan_in)
    a = matrix(theta, shape.weights_at[1], outputs, width)
    v = matrix(out, shape.weights_at[0], width, fan_in)
    u = matrix(out, shape.weights_at[1], outputs, width)
    fill(out, 0.0)
    fill(desk.whole_back, 0.0)
    if groups.near.normals.shape[1] > 0:
        _forces(shape, groups.near, desk.near, desk.whole_back, desk.whole)
        _push(a, desk.near)
        product_by_rows(desk.near.force, groups.near.normals, v)
        product_by_rows(desk.near.push, desk.near.sz, u)
    if groups.far.normals.shape[1] > 0:
        _forces(shape, groups.far, desk.far, desk.whole_back, desk.whole)
        _far_back(groups, desk, v, u)
    for h in range(width):
        c = groups.group[h]
        for k in range(outputs):
            total = 0.0
            for i in range(fan_in):
                back = desk.whole_back[k, i] + (desk.back[c * outputs + k, i] if c >= 0 else 0.0)
                v[h, i] += a[k, h] * back
                total += w[h, i] * back
            u[k, h] += total
    for layer in range(2):
        for i in range(shape.weights_at[layer], shape.biases_at[layer]):
            out[i] = out[i] - shape.l2 * theta[i] if shape.train[layer] else 0.0
    return wrong


@inner
def _forces(shape, rays, side, back, more):
    """Residuals, and their even part; the odd part acts on all neurons alike. `more` is scratch."""
    mean, half = (1 + shape.leak) / 2, (1 - shape.leak) / 2
    residual(rays, side.f, side.e)
    fill(side.push, 0.0)
    fill(side.odd, 0.0)
    for k in range(len(side.e)):
        for r in range(len(rays.orient)):
            side.push[k, rays.line[r]] += half * side.e[k, r]
            side.odd[k, rays.line[r]] += mean * rays.orient[r] * side.e[k, r]
    product_by_rows(side.odd, rays.normals, more)
    for k in range(len(back)):
        for i in range(back.shape[1]):
            back[k, i] += more[k, i]


@inner
def _push(outer, side):
    """The forces on the units that are evaluated one by one."""
    for h in range(len(side.force)):
        force, sign = side.force[h], side.sign[h]
        for q in range(len(force)):
            force[q] = outer[0, h] * side.push[0, q]
        for k in range(1, len(outer)):
            for q in range(len(force)):
                force[q] += outer[k, h] * side.push[k, q]
        for q in range(len(force)):
            force[q] *= sign[q]


@inner
def _far_back(groups, desk, v, u):
    """The forces of far lines: on classes into `desk.back`, on strays added to the velocities."""
    outputs, side = desk.far.even.shape[0], desk.far
    for c in range(groups.classes):
        sign = groups.signs[c]
        for k in range(outputs):
            row = desk.class_z[c * outputs + k]
            for q in range(len(row)):
                row[q] = sign[q] * side.push[k, q]
    if groups.classes > 0:
        product_by_rows(desk.class_z, groups.far.normals, desk.back)
    if len(groups.strays) > 0:
        _push(desk.stray_outer, side)
        product_by_rows(side.force, groups.far.normals, desk.stray_back)
        product_by_rows(side.push, side.sz, desk.stray_outer)
        for s in range(len(groups.strays)):
            h = groups.strays[s]
            for i in range(v.shape[1]):
                v[h, i] += desk.stray_back[s, i]
            for k in range(outputs):
                u[k, h] += desk.stray_outer[k, s]


@inner
def keep_forces(desk):
    """Keep the forces at the start of the next step."""
    copy(desk.near.push, desk.near.before)
    copy(desk.far.push, desk.far.before)


@native
def class_loss(theta, shape, groups, desk):
    """The data loss."""
    class_forward(theta, shape, groups, desk)
    return loss_of(groups.near, desk.near.f) + loss_of(groups.far, desk.far.f)
