"""Neurons of two layers sorted into activation classes: cones of directions that few hyperplanes meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from biasfree.dynamics.flow.events._cones import (
    TINY,
    Cones,
    axes_of,
    cones_of,
    directions_of,
    in_order_of,
    tangents_of,
)
from biasfree.dynamics.flow.native._buffers import Groups
from biasfree.dynamics.flow.native._layout import Rays, joined, merged, part_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int

#: Widths of cones that are tried, as quantiles of the angles of neurons to their centers.
WIDTHS = np.append(np.linspace(0, 1, 9), [0.95, 0.98, 0.99])
#: Neurons may be this many times as far from their centers as they are before they leave their cones.
SLACK = 1.25
#: Steps that neurons should stay in their cones if they turn on as now; numbers of them that are tried where
#: all neurons of a class turn together.
STEPS_AHEAD, TOGETHER = 3.0, 2.0 ** np.arange(1, 8)
#: The least angle of a cone, well above the rounding of directions.
LEAST_REACH = 1e-9
#: The cost of an evaluation by class, over that of a dense one, from which classes are worth it.
WORTH = 0.7
#: Costs, in those of evaluating a neuron on a line: of sorting; of a middle line, per class and output; and
#: of an evaluation besides its lines, per neuron. And evaluations in a step.
SORTING, MIDDLE, BESIDES, EACH_STEP = 1e6, 12, 10, 7
#: With so many lines, one in so many, the nearest ones to the centers, is looked at in later sorts.
MANY_LINES, ONE_IN = 10_000, 20


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
        together: bool = True,
    ) -> tuple[Groups, float] | None:
        """Classes of neurons with these weights now and a step later, and the cost of an evaluation over that
        of a dense one; None if it is not below `worth`. Unless classes may turn `together` there are no
        middle lines."""
        cones = cones_of(hidden)
        if cones is None:
            return None
        cones, pace = _ahead(cones, later, together=together)
        if ordered := in_order_of(self._around.centers, cones):
            limit = _less(self._around.reach, self._around.centers, ordered.centers)
            sides, lines = _angles(ordered, self._around)
            choice = self._choice(ordered, np.sort(lines), pace)
            if not choice.outliers and choice.tight + TOGETHER[0] * pace <= limit:
                if choice.share >= worth:
                    return None
                choice = choice._replace(wide=min(choice.wide, limit))
                return _groups(ordered, choice, sides, lines, self._around, limit), choice.share
        return self._sorted_anew(cones, pace, worth)

    def _sorted_anew(self, cones: Cones, pace: float, worth: float) -> tuple[Groups, float] | None:
        """Classes, after a look at all lines; of many, those around the cones are kept for the next time."""
        sides, lines = _angles(cones, self._all)
        many = len(lines) >= MANY_LINES and not self._all.rays.logistic
        nearest = np.partition(lines, len(lines) // ONE_IN)[len(lines) // ONE_IN] if many else np.inf
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
        count, few = rays.normals.shape[1], np.inf if rays.logistic else 2**classes * len(rays.normals)
        angles = np.sort(SLACK * cones.tangent[cones.group >= 0])
        quantiles = np.interp(WIDTHS * (len(angles) - 1), np.arange(len(angles)), angles)
        turns = np.maximum(quantiles, LEAST_REACH)
        near = np.searchsorted(lines, turns, side="right")
        outliers = width - np.searchsorted(angles, turns, side="right")
        wides = turns[:, None] + pace * TOGETHER
        middle = np.searchsorted(lines, wides, side="right") - near[:, None]
        steps = np.argmin(SORTING / TOGETHER + EACH_STEP * MIDDLE * classes * self._outputs * middle, axis=1)
        wide, middle = (np.take_along_axis(a, steps[:, None], axis=1)[:, 0] for a in (wides, middle))
        far = np.where(outliers > 0, count - near, np.minimum(count - near, few + MIDDLE * middle))
        cost = width * (near + BESIDES) + outliers * (count - near) + classes * self._outputs * far
        best = int(np.argmin(np.where(near < count, cost, np.inf)))
        share = cost[best] / (width * (count + BESIDES)) if near[best] < count else np.inf
        return Choice(float(turns[best]), float(wide[best]), int(outliers[best]), float(share))


def _ahead(cones: Cones, later: np.ndarray, *, together: bool) -> tuple[Cones, float]:
    """The cones, wider by how far neurons move from the axes of their classes in the next steps, or from
    their centers if these do not turn `together`; and how far axes turn in one step."""
    axes = axes_of(later, cones.group, len(cones.centers)) if together else cones.centers
    apart = np.maximum(tangents_of(directions_of(later), axes, cones.group) - cones.tangent, 0.0)
    wider = cones._replace(tangent=cones.tangent + STEPS_AHEAD / SLACK * apart)
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
    some, at = part_of(rays, np.flatnonzero(~far), 0.0)
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
    group = np.where(SLACK * cones.tangent > choice.tight, -1, cones.group)
    outliers = np.flatnonzero(group < 0) if count else np.zeros(0, int)
    near = np.flatnonzero(lines <= choice.tight)
    middle = np.flatnonzero((lines > choice.tight) & (lines <= choice.wide))
    far = np.append(np.flatnonzero(lines > choice.wide), np.arange(around.lines, rays.normals.shape[1]))
    reach = (1 - 1e-12) * float(lines[lines > choice.wide].min(initial=limit))  # up to the first far line
    near_rays, near_at = part_of(rays, near, 0.0 if len(middle) + len(far) else rays.floor)
    codes = np.append(_codes(sides), around.codes)
    few = 2**count * len(rays.normals)
    if len(around.codes) or (count and not len(outliers) and not rays.logistic and len(far) > 2 * few):
        far_rays, far_at = part_of(rays, middle, 0.0)
        pattern = np.full(len(codes), -1)
        pattern[far] = codes[far]
        rest, far_codes = merged(rays, _by_ray(pattern, count, rays))
        far_rays, codes = joined(far_rays, rest), np.append(codes[middle], far_codes)
    else:
        far = np.append(middle, far)
        far_rays, far_at = part_of(rays, far, rays.floor if len(far) else 0.0)
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
