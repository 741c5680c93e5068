"""Neurons of two layers sorted into activation classes: cones of directions that few hyperplanes meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics.evaluate._cones import (
    TINY,
    Cones,
    axes_of,
    cones_of,
    directions_of,
    in_order_of,
    tangents_of,
)
from biasfree.dynamics.network._layout import joined, merged, part_of, rays_on
from biasfree.dynamics.network._records import Buffers, Classes, Groups, Rays, Side
from biasfree.losses import SQUARE


class Around(NamedTuple):
    """Lines that cones may meet soon, so many `lines`, and then all others, merged: on these, classes in
    cones of this `reach` around `centers` have the signs of the bits of `codes`. `at` are the places of the
    rays of the former among all rays."""

    rays: Rays
    lines: int
    codes: Int[np.ndarray, "M"]
    at: Int[np.ndarray, "R"]
    centers: Float[np.ndarray, "C D"]
    reach: float


class Choice(NamedTuple):
    """The cheapest cones: as `tight` around the axes of classes, as `wide` around their centers; the number
    of outliers, and the cost of an evaluation over that of a dense one."""

    tight: float
    wide: float
    outliers: int
    share: float


def no_groups(rays: Rays, width: int, *, active: bool = False) -> Groups:
    """No classes: every neuron is evaluated on every line; if `active`, as one with classes is."""
    nobody = Cones(np.zeros((0, len(rays.normals))), np.full(width, -1), np.zeros(width))
    lines = rays.normals.shape[1] if active else 0
    groups = _groups(
        nobody, Choice(0.0, 0.0, 0, 1.0), np.zeros((0, lines)), np.zeros(lines), _everything(rays)
    )
    return groups._replace(active=active)


class Sorter:
    """Sorts the neurons of one flow, again and again; of many lines it looks at most only once."""

    def __init__(self, rays: Rays, outputs: int):
        self._all, self._outputs = _everything(rays), outputs
        self._around = self._all

    def sort(
        self,
        hidden: Float[np.ndarray, "H D"],
        later: Float[np.ndarray, "H D"],
        worth: float,
        *,
        turning: bool = True,
    ) -> tuple[Groups, float] | None:
        """Classes of neurons with these weights now and a step later, and the cost of an evaluation over that
        of a dense one; None if it is not below `worth`. Unless classes may be `turning` there are no
        middle lines."""
        cones = cones_of(hidden)
        if cones is None:
            return None
        cones, pace = _ahead(cones, later, turning=turning)
        if ordered := in_order_of(self._around.centers, cones):
            limit = _less(self._around.reach, self._around.centers, ordered.centers)
            sides, lines = _angles(ordered, self._around)
            choice = self._choice(ordered, np.sort(lines), pace)
            if not choice.outliers and choice.tight + policy.STEPS_TRIED[0] * pace <= limit:
                if choice.share >= worth:
                    return None
                choice = choice._replace(wide=min(choice.wide, limit))
                return _groups(ordered, choice, sides, lines, self._around, limit), choice.share
        return self._sorted_anew(cones, pace, worth)

    def _sorted_anew(self, cones: Cones, pace: float, worth: float) -> tuple[Groups, float] | None:
        """Classes, after a look at all lines; of many, those around the cones are kept for the next time."""
        sides, lines = _angles(cones, self._all)
        many = len(lines) >= policy.MANY_LINES and self._all.rays.loss == SQUARE
        few = len(lines) // policy.ONE_IN
        nearest = np.partition(lines, few)[few] if many else np.inf
        some = lines <= nearest
        choice = self._choice(cones, np.sort(lines[some]), pace)
        keep = many and not choice.outliers and choice.wide < nearest
        if many and not keep:
            choice = self._choice(cones, np.sort(lines), pace)
        if choice.share >= worth:
            return None
        if not keep:
            return _groups(cones, choice, sides, lines, self._all), choice.share
        self._around = _around(cones, sides, lines, nearest, self._all.rays)
        given = sides[:, some], lines[some], self._around, self._around.reach
        return _groups(cones, choice, *given), choice.share

    def _choice(self, cones: Cones, lines: np.ndarray, pace: float) -> Choice:
        """The cheapest width of the cones; `lines` are the tangents of the angles between centers and
        hyperplanes, in increasing order, `pace` is how far classes turn in a step."""
        rays, width, classes = self._all.rays, len(cones.group), len(cones.centers)
        count = rays.normals.shape[1]
        few = 2**classes * len(rays.normals) if rays.loss == SQUARE else np.inf
        angles = np.sort(policy.CONE_SLACK * cones.tangent[cones.group >= 0])
        quantiles = np.interp(policy.CONE_WIDTHS * (len(angles) - 1), np.arange(len(angles)), angles)
        turns = np.maximum(quantiles, policy.LEAST_REACH)
        near = np.searchsorted(lines, turns, side="right")
        outliers = width - np.searchsorted(angles, turns, side="right")
        wides = turns[:, None] + pace * policy.STEPS_TRIED
        middle = np.searchsorted(lines, wides, side="right") - near[:, None]
        each = policy.STEP_EVALUATIONS * policy.MIDDLE_COST * classes * self._outputs
        steps = np.argmin(policy.CLASS_SORTING_COST / policy.STEPS_TRIED + each * middle, axis=1)
        wide, middle = (np.take_along_axis(a, steps[:, None], axis=1)[:, 0] for a in (wides, middle))
        rest = count - near
        far = np.where(outliers > 0, rest, np.minimum(rest, few + policy.MIDDLE_COST * middle))
        cost = width * (near + policy.BESIDES_COST) + outliers * rest + classes * self._outputs * far
        best = int(np.argmin(np.where(near < count, cost, np.inf)))
        share = cost[best] / (width * (count + policy.BESIDES_COST)) if near[best] < count else np.inf
        return Choice(float(turns[best]), float(wide[best]), int(outliers[best]), float(share))


def _ahead(cones: Cones, later: np.ndarray, *, turning: bool) -> tuple[Cones, float]:
    """The cones, wider by how far neurons move from the axes of their classes in the next steps, or from
    their centers if these are not `turning`; and how far axes turn in one step."""
    axes = axes_of(later, cones.group, len(cones.centers)) if turning else cones.centers
    apart = np.maximum(tangents_of(directions_of(later), axes, cones.group) - cones.tangent, 0.0)
    wider = cones._replace(tangent=cones.tangent + policy.STEPS_AHEAD / policy.CONE_SLACK * apart)
    return wider, float(np.linalg.norm(axes - cones.centers, axis=1).max())


def _angles(cones: Cones, around: Around) -> tuple[np.ndarray, np.ndarray]:
    """Products of centers and normals, and the tangents of the angles between hyperplanes and the nearest
    center."""
    sides = cones.centers @ around.rays.normals[:, : around.lines]
    sine = np.abs(sides).min(axis=0)
    return sides, sine / np.sqrt(np.maximum(1 - sine**2, TINY))


def _less(reach: float, before: np.ndarray, centers: np.ndarray) -> float:
    """The largest reach with which cones around `centers` stay inside the cones of `reach` around
    `before`."""
    tilt = 2 * np.arcsin(np.minimum(np.linalg.norm(before - centers, axis=1).max() / 2, 1.0))
    return (1 - 1e-12) * float(np.tan(max(np.arctan(reach) - tilt, 0.0)))


def _everything(rays: Rays) -> Around:
    nothing = np.zeros((0, len(rays.normals)))
    places = np.arange(len(rays.orient))
    return Around(rays, rays.normals.shape[1], np.zeros(0, int), places, nothing, np.inf)


def _around(cones: Cones, sides: np.ndarray, lines: np.ndarray, nearest: float, rays: Rays) -> Around:
    """The lines up to the angle `nearest` to the centers, and the others merged."""
    far = lines > nearest
    at = rays_on(rays, np.flatnonzero(~far))
    some = part_of(rays, at, 0.0)
    rest, codes = merged(rays, _by_ray(np.where(far, _codes(sides), -1), len(sides), rays))
    reach = (1 - 1e-12) * float(lines[far].min())
    return Around(joined(some, rest), some.normals.shape[1], codes, at, cones.centers, reach)


def _codes(sides: np.ndarray) -> np.ndarray:
    """One integer per line: its bit c is set if class c is on the positive side of the line."""
    return (sides > 0).T @ (1 << np.arange(len(sides)))


def _by_ray(codes: np.ndarray, classes: int, rays: Rays) -> np.ndarray:
    """Codes of lines as those of rays; −1 stays."""
    code = codes[rays.line]
    return np.where((rays.orient > 0) | (code < 0), code, 2**classes - 1 - code)


def _groups(
    cones: Cones, choice: Choice, sides: np.ndarray, lines: np.ndarray, around: Around, limit: float = np.inf
) -> Groups:
    count, rays = len(cones.centers), around.rays
    group = np.where(policy.CONE_SLACK * cones.tangent > choice.tight, -1, cones.group)
    outliers = np.flatnonzero(group < 0) if count else np.zeros(0, int)
    near = np.flatnonzero(lines <= choice.tight)
    middle = np.flatnonzero((lines > choice.tight) & (lines <= choice.wide))
    far = np.append(np.flatnonzero(lines > choice.wide), np.arange(around.lines, rays.normals.shape[1]))
    reach = (1 - 1e-12) * float(lines[lines > choice.wide].min(initial=limit))  # up to the first far line
    near_at = rays_on(rays, near)
    near_rays = part_of(rays, near_at, 0.0 if len(middle) + len(far) else rays.floor)
    codes = np.append(_codes(sides), around.codes)
    few = 2**count * len(rays.normals)
    if len(around.codes) or (count and not len(outliers) and rays.loss == SQUARE and len(far) > 2 * few):
        far_at = rays_on(rays, middle)
        far_rays = part_of(rays, far_at, 0.0)
        pattern = np.full(len(codes), -1)
        pattern[far] = codes[far]
        rest, far_codes = merged(rays, _by_ray(pattern, count, rays))
        far_rays, codes = joined(far_rays, rest), np.append(codes[middle], far_codes)
    else:
        far = np.append(middle, far)
        far_at = rays_on(rays, far)
        far_rays = part_of(rays, far_at, rays.floor if len(far) else 0.0)
        codes = codes[far]
    return Groups(
        active=count > 0,
        classes=count,
        group=group.astype(np.int64),
        outliers=outliers.astype(np.int64),
        center=np.ascontiguousarray(cones.centers),
        reach=reach,
        size=np.bincount(group[group >= 0], minlength=count).astype(np.int64),
        middle=len(middle),
        tight=choice.tight,
        signs=np.ascontiguousarray(2.0 * (codes >> np.arange(count)[:, None] & 1) - 1),
        near=near_rays,
        near_at=around.at[near_at].astype(np.int64),
        far=far_rays,
        far_at=around.at[far_at].astype(np.int64),
        stay=np.ones(1, np.int64),
        doubtful=np.full(1, len(middle) > 0, np.int64),
    )


def classes_of(groups: Groups, width: int, outputs: int) -> Classes:
    """These groups with arrays to work in; the signs are left to be set."""
    outliers, inputs = len(groups.outliers), len(groups.near.normals)
    classes, far = groups.classes * outputs, groups.far.normals.shape[1]
    buffers = Buffers(
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
    return Classes(groups, buffers)


def _side(rays: Rays, neurons: int, outputs: int) -> Side:
    lines, count = rays.normals.shape[1], len(rays.orient)
    by_line, by_ray = (outputs, lines), (outputs, count)
    return Side(
        sign=np.zeros((neurons, lines), np.int8),
        sz=np.zeros((neurons, lines)),
        bound=np.zeros(neurons),
        force=np.zeros((policy.ROWS, policy.COLUMNS)),
        even=np.zeros(by_line),
        odd=np.zeros(by_line),
        push=np.zeros(by_line),
        before=np.zeros(by_line),
        f=np.zeros(by_ray),
        e=np.zeros(by_ray),
    )
