"""Neurons of two layers sorted into activation classes: cones of directions that few hyperplanes meet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics.evaluate._seen import (
    TINY,
    Cones,
    axes_of,
    cones_of,
    directions_of,
    in_order_of,
    tangents_of,
)
from biasfree.dynamics.network._layout import ROUNDING, joined, merged, part_of, rays_on
from biasfree.dynamics.network._records import Classes, Rays, Side
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


def no_classes(rays: Rays, width: int, outputs: int, *, active: bool = False) -> Classes:
    """No classes: if `active`, every neuron is evaluated on every line as with classes."""
    nobody = Cones(np.zeros((0, len(rays.normals))), np.full(width if active else 0, -1), np.zeros(0))
    lines = np.zeros(rays.normals.shape[1] if active else 0)
    choice = Choice(0.0, 0.0, 0, 1.0)
    classes = _classes(nobody, choice, np.zeros((0, len(lines))), lines, _everything(rays), outputs)
    return classes._replace(active=active)


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
    ) -> tuple[Classes, float] | None:
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
                given = sides, lines, self._around, self._outputs, limit
                return _classes(ordered, choice, *given), choice.share
        return self._sorted_anew(cones, pace, worth)

    def _sorted_anew(self, cones: Cones, pace: float, worth: float) -> tuple[Classes, float] | None:
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
            return _classes(cones, choice, sides, lines, self._all, self._outputs), choice.share
        self._around = _around(cones, sides, lines, nearest, self._all.rays)
        given = sides[:, some], lines[some], self._around, self._outputs, self._around.reach
        return _classes(cones, choice, *given), choice.share

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


def _classes(
    cones: Cones,
    choice: Choice,
    sides: np.ndarray,
    lines: np.ndarray,
    around: Around,
    outputs: int,
    limit: float = np.inf,
) -> Classes:
    """Classes of neurons in the cones of this choice; the signs of single neurons are left to be set."""
    count, rays = len(cones.centers), around.rays
    group = (
        np.where(policy.CONE_SLACK * cones.tangent > choice.tight, -1, cones.group) if count else cones.group
    )
    outliers = np.flatnonzero(group < 0) if count else np.zeros(0, int)
    near = np.flatnonzero(lines <= choice.tight)
    middle = np.flatnonzero((lines > choice.tight) & (lines <= choice.wide))
    far = np.append(np.flatnonzero(lines > choice.wide), np.arange(around.lines, rays.normals.shape[1]))
    near_at, middle_at, far_at = (rays_on(rays, some) for some in (near, middle, far))
    codes = np.append(_codes(sides), around.codes)
    few = 2**count * len(rays.normals)
    if len(around.codes) or (count and not len(outliers) and rays.loss == SQUARE and len(far) > 2 * few):
        pattern = np.full(len(codes), -1)
        pattern[far] = codes[far]
        rest, far_codes = merged(rays, _by_ray(pattern, count, rays))
        far_rays = joined(part_of(rays, middle_at, 0.0), rest)
        codes, far_at = np.append(codes[middle], far_codes), middle_at
    else:
        codes, far_at = codes[np.append(middle, far)], np.append(middle_at, far_at)
        far_rays = part_of(rays, far_at, rays.floor if len(codes) else 0.0)
    near_rays = part_of(rays, near_at, 0.0 if len(codes) else rays.floor)
    signs = (2 * (codes >> np.arange(count)[:, None] & 1) - 1).repeat(outputs, axis=0)
    return Classes(
        active=count > 0,
        near=_side(near_rays, around.at[near_at], np.arange(len(group)), np.zeros((0, len(near))), outputs),
        far=_side(far_rays, around.at[far_at], outliers, signs, outputs),
        group=group.astype(np.int64),
        size=np.bincount(group[group >= 0], minlength=count).astype(np.int64),
        center=np.ascontiguousarray(cones.centers),
        reach=(1 - 1e-12) * float(lines[lines > choice.wide].min(initial=limit)),  # up to the first far line
        middle=len(middle),
        tight=choice.tight,
        axis=np.zeros(cones.centers.shape),
        along=np.zeros((count, len(middle))),
        stay=np.ones(1, np.int64),
        doubtful=np.full(1, len(middle) > 0, np.int64),
    )


def _side(rays: Rays, at: np.ndarray, neurons: np.ndarray, signs: np.ndarray, outputs: int) -> Side:
    """Arrays to work in, for these neurons and as many linear functions of classes, with their signs."""
    inputs, lines = rays.normals.shape
    single, count = len(neurons), len(neurons) + len(signs)
    sign, outer = np.zeros((count, lines), np.int8), np.zeros((outputs, count))
    sign[single:], outer[:, single:] = signs, np.tile(np.eye(outputs), len(signs) // outputs)
    by_line, by_ray = (outputs, lines), (outputs, len(rays.orient))
    return Side(
        rays=rays,
        at=at.astype(np.int64),
        neurons=neurons.astype(np.int64),
        rows=np.zeros((count, inputs)),
        outer=outer,
        sign=sign,
        sz=np.zeros((count, lines)),
        bound=np.full(count, -np.inf),
        back=np.zeros((count, inputs)),
        speed=np.zeros((outputs, count)),
        force=np.zeros((policy.ROWS, policy.COLUMNS)),
        linear=np.zeros((outputs, inputs)),
        linear_back=np.zeros((outputs, inputs)),
        even=np.zeros(by_line),
        odd=np.zeros(by_line),
        push=np.zeros(by_line),
        before=np.zeros(by_line),
        f=np.zeros(by_ray),
        e=np.zeros(by_ray),
    )


def put_on_sides(side: Side, hidden: Float[np.ndarray, "H D"], signs: Int[np.ndarray, "H R"]) -> int:
    """Put single neurons with these weights on their sides; returns how many units are on their hyperplanes:
    these have the signs of all units if they have any there."""
    rays, unclear = side.rays, 0
    rows = max(1, policy.SORTED_ELEMENTS // max(1, rays.normals.shape[1]))
    for begin in range(0, len(side.neurons), rows):
        some = side.neurons[begin : begin + rows]
        z = hidden[some] @ rays.normals
        sign = side.sign[begin : begin + len(some)]
        sign[:] = 2 * (z > 0).view(np.int8) - 1
        h, q = np.nonzero(np.abs(z) <= ROUNDING * np.linalg.norm(hidden[some], axis=1)[:, None])
        first = rays.first[q]
        before = signs[some[h], side.at[first]] * rays.orient[first]
        sign[h, q] = np.where(before != 0, before, sign[h, q])
        unclear += len(h)
    return unclear


def keep_signs(side: Side, signs: Int[np.ndarray, "H R"]) -> None:
    """Bring the signs of all units up to date with those of single neurons."""
    sign = side.sign[: len(side.neurons), side.rays.line]
    signs[side.neurons[:, None], side.at] = sign * side.rays.orient.astype(np.int8)
