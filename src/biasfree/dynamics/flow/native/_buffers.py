"""Arrays of an evaluation by class: neurons sorted into classes, and buffers to work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics.flow.native._layout import Rays
from biasfree.dynamics.flow.native._policy import COLUMNS, ROWS


class Groups(NamedTuple):
    """Neurons sorted into so many `classes`: the class of each, −1 for outliers, the sizes of classes, and
    the cones |w − (w·u)u| ≤ reach·(w·u) around unit vectors u, their centers. `signs` are those of the
    classes on far lines. The first `middle` ones of these may pass through the cones, and for moments through
    narrower ones of this `tight` reach around the present axes of classes; `doubtful` is 0 if surely none
    does at the start of the step. `near_at` and `far_at` are the places of near and far rays among all rays.
    `active` if evaluations are by class, `stay` 0 once a neuron has left its cone."""

    active: bool
    classes: int
    group: Int[np.ndarray, "H"]
    outliers: Int[np.ndarray, "S"]
    center: Float[np.ndarray, "C D"]
    reach: float
    size: Int[np.ndarray, "C"]
    middle: int
    tight: float
    signs: Float[np.ndarray, "C FQ"]
    near: Rays
    near_at: Int[np.ndarray, "N"]
    far: Rays
    far_at: Int[np.ndarray, "F"]
    stay: Int[np.ndarray, "1"]
    doubtful: Int[np.ndarray, "1"]


class Side(NamedTuple):
    """Near or far lines in an evaluation: signs and s·z of the neurons evaluated one by one there, the values
    of s·z below which they are wrong, and the forces on a few of them; the even and odd parts of outputs by
    line, the even part of residuals times (1−α)/2 (`push`; `before` at the start of a step), and outputs and
    residuals by ray."""

    sign: Int[np.ndarray, "M Q"]
    sz: Float[np.ndarray, "M Q"]
    bound: Float[np.ndarray, "M"]
    force: Float[np.ndarray, "m q"]
    even: Float[np.ndarray, "K Q"]
    odd: Float[np.ndarray, "K Q"]
    push: Float[np.ndarray, "K Q"]
    before: Float[np.ndarray, "K Q"]
    f: Float[np.ndarray, "K R"]
    e: Float[np.ndarray, "K R"]


class Buffers(NamedTuple):
    """Arrays to work in: the linear function of all neurons and those of the classes, the forces on them (of
    near lines in `linear_back`, of far ones in `far_back`), what belongs to near and to far lines, the
    moments ⟨eσ′x⟩ of the neurons of a network with one output, the axes of classes, and s·z of these on
    middle lines."""

    linear: Float[np.ndarray, "K D"]
    linear_back: Float[np.ndarray, "K D"]
    far_back: Float[np.ndarray, "K D"]
    rows: Float[np.ndarray, "CK D"]
    back: Float[np.ndarray, "CK D"]
    class_z: Float[np.ndarray, "CK FQ"]
    outlier_rows: Float[np.ndarray, "S D"]
    outlier_outer: Float[np.ndarray, "K S"]
    outlier_back: Float[np.ndarray, "S D"]
    outlier_speed: Float[np.ndarray, "K S"]
    near: Side
    far: Side
    moment: Float[np.ndarray, "H D"]
    axis: Float[np.ndarray, "C D"]
    along: Float[np.ndarray, "C M"]


def buffers_for(groups: Groups, width: int, outputs: int) -> Buffers:
    """Arrays to work in; the signs are left to be set."""
    outliers, inputs = len(groups.outliers), len(groups.near.normals)
    classes, far = groups.classes * outputs, groups.far.normals.shape[1]
    return Buffers(
        linear=np.zeros((outputs, inputs)),
        linear_back=np.zeros((outputs, inputs)),
        far_back=np.zeros((outputs, inputs)),
        rows=np.zeros((classes, inputs)),
        back=np.zeros((classes, inputs)),
        class_z=np.zeros((classes, far)),
        outlier_rows=np.zeros((outliers, inputs)),
        outlier_outer=np.zeros((outputs, outliers)),
        outlier_back=np.zeros((outliers, inputs)),
        outlier_speed=np.zeros((outputs, outliers)),
        near=_side(groups.near, width, outputs),
        far=_side(groups.far, outliers, outputs),
        moment=np.zeros((width, inputs)),
        axis=np.zeros((groups.classes, inputs)),
        along=np.zeros((groups.classes, groups.middle)),
    )


def _side(rays: Rays, neurons: int, outputs: int) -> Side:
    lines, count = rays.normals.shape[1], len(rays.orient)
    by_line, by_ray = (outputs, lines), (outputs, count)
    return Side(
        sign=np.zeros((neurons, lines), np.int8),
        sz=np.zeros((neurons, lines)),
        bound=np.zeros(neurons),
        force=np.zeros((ROWS, COLUMNS)),
        even=np.zeros(by_line),
        odd=np.zeros(by_line),
        push=np.zeros(by_line),
        before=np.zeros(by_line),
        f=np.zeros(by_ray),
        e=np.zeros(by_ray),
    )
