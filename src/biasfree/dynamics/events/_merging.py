"""Deep networks on samples that share activation patterns: a few merged rays stand for all of a pattern.

With the square loss, samples on which all units have the same signs act through their moments only, so that
as many merged rays as inputs take their place. Rays near a hyperplane stay single, and go through kinks as
ever. Flows in which a unit slides or a neuron rests are evaluated ray by ray.

The rows √p·x of a pattern's rays are Q·R, and the rows of R are its merged rays. On them unit u has the
inputs ζ_u, and on a ray with the row q of Q it has √p·z = q·ζ_u. So z keeps its sign while ζ_u has turned by
less than the least |q·ζ_u|/|q| of the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from biasfree.arrays import Float, Int
from biasfree.dynamics import _policy as policy
from biasfree.dynamics.evaluate._turns import lengths, turns
from biasfree.dynamics.events._event import Log
from biasfree.dynamics.events._sides import step_over
from biasfree.dynamics.kinks._search import examine
from biasfree.dynamics.kinks._units import no_constraints
from biasfree.dynamics.network._layout import (
    ROUNDING,
    joined,
    merged,
    part_of,
    places_on,
    workspace_for,
)
from biasfree.dynamics.network._records import Field, Rays, Shape
from biasfree.dynamics.steps._flow import Flow
from biasfree.losses import SQUARE


@dataclass(frozen=True)
class Patterns:
    """Single rays, then the merged ones of C patterns, with the signs of the N hidden neurons on them.

    `which` are the places of the single rays among all. The inputs of a neuron on the merged rays of a
    pattern were `reference`, and the tangent of the angle by which they have turned may be up to `margin`.
    """

    rays: Rays
    shape: Shape
    signs: Int[np.ndarray, "U"]
    which: Int[np.ndarray, "r"]
    reference: Float[np.ndarray, "N C D"]
    margin: Float[np.ndarray, "N C"]

    def hold(self, z: Float[np.ndarray, "U"]) -> bool:
        """Whether all units with these inputs have the signs of their patterns on the rays merged."""
        now = z.reshape(-1, len(self.rays.orient))[:, self.rays.single :].reshape(self.reference.shape)
        return bool(np.all(turns(self.reference, now) <= self.margin))

    def write_signs(self, now: Int[np.ndarray, "U"], signs: Int[np.ndarray, "N R"]) -> None:
        """Write the signs of units on single rays, as they are `now`, to those on all rays; on merged ones
        they have not changed."""
        signs[:, self.which] = now.reshape(len(signs), -1)[:, : self.rays.single]


class AllRays(NamedTuple):
    """All rays, with the signs and inputs of the N hidden neurons on them."""

    rays: Rays
    shape: Shape
    signs: Int[np.ndarray, "N R"]
    z: Float[np.ndarray, "N R"]


class _Merged(NamedTuple):
    """Merged rays of C patterns, given by number, the signs of neurons on them, and the triangles R."""

    numbers: Int[np.ndarray, "C"]
    rays: Rays
    shape: Shape
    signs: Int[np.ndarray, "N C"]
    triangles: Float[np.ndarray, "C D D"]

    def inputs(self, theta: Float[np.ndarray, "W"]) -> Float[np.ndarray, "N C D"]:
        """ζ of every neuron and pattern."""
        workspace, none = workspace_for(self.shape, self.rays), no_constraints(len(self.rays.orient))
        field = Field(self.shape, self.rays, workspace, none)
        examine(theta, self.repeated.ravel(), field, np.zeros(len(theta)))
        return workspace.z.reshape(len(self.signs), *self.triangles.shape[:2])

    @property
    def repeated(self) -> Int[np.ndarray, "N C*D"]:
        """The signs on every merged ray."""
        return np.repeat(self.signs, self.triangles.shape[1], axis=1)


def sorted_rays(
    theta: Float[np.ndarray, "W"], later: Float[np.ndarray, "W"], given: AllRays
) -> Patterns | None:
    """Rays merged that stay on their sides for some steps, if units turn in each as they do until `later`;
    None if they are too few."""
    rays = given.rays
    pattern = _crowded(_patterns(given.signs), rays)
    if not _is_worth(pattern, rays):
        return None
    steps = _steps(theta, later, pattern, given)
    far = _crowded(np.where(steps >= policy.MERGED_STEPS, pattern, -1), rays)
    # sorting takes a time in proportion to all rays, and a step to those that are left
    long = _crowded(np.where(steps >= len(far) / _left(far, rays), far, -1), rays)
    far = long if _is_worth(long, rays) else far
    return _with_margins(theta, far, given) if _is_worth(far, rays) else None


def _steps(
    theta: Float[np.ndarray, "W"],
    later: Float[np.ndarray, "W"],
    pattern: Int[np.ndarray, "R"],
    given: AllRays,
) -> Float[np.ndarray, "R"]:
    """For how many steps every ray stays on its side of all hyperplanes; 0 without a pattern."""
    steps, some = np.zeros(len(pattern)), _merge(pattern, given)
    present = some.inputs(theta)
    turn, sizes = turns(present, some.inputs(later)) + ROUNDING, lengths(present)
    for c, number in enumerate(some.numbers):
        mine = np.flatnonzero(pattern == number)
        margins = _margins(mine, given, some.triangles[c], sizes[:, c])
        steps[mine] = (margins / turn[:, c, None]).min(axis=0)
    return steps


def _patterns(signs: Int[np.ndarray, "N R"]) -> Int[np.ndarray, "R"]:
    """A number for the activation pattern of every ray."""
    bits = np.ascontiguousarray(np.packbits(signs > 0, axis=0).T)
    return np.unique(bits.view(np.dtype((np.void, bits.shape[1]))).ravel(), return_inverse=True)[1]


def _crowded(pattern: Int[np.ndarray, "R"], rays: Rays) -> Int[np.ndarray, "R"]:
    """Patterns, with −1 for rays of those that too few rays have; rays of one line are single together."""
    least, pattern = policy.MERGED_RAYS * len(rays.normals), pattern.copy()
    while True:
        few = np.bincount(pattern + 1)[pattern + 1] < least
        lone = np.bincount(rays.line, few | (pattern < 0))[rays.line] > 0
        if (pattern[lone] < 0).all():
            return pattern
        pattern[lone] = -1


def _is_worth(pattern: Int[np.ndarray, "R"], rays: Rays) -> bool:
    return _left(pattern, rays) <= policy.MERGED_WORTH * len(pattern)


def _left(pattern: Int[np.ndarray, "R"], rays: Rays) -> int:
    """The number of rays that merging leaves."""
    patterns = len(np.unique(pattern[pattern >= 0]))
    return int(np.count_nonzero(pattern < 0)) + patterns * len(rays.normals)


def _merge(pattern: Int[np.ndarray, "R"], given: AllRays) -> _Merged:
    """The merged rays of all patterns, in their order."""
    (few, _), inputs = merged(given.rays, pattern), len(given.rays.normals)
    numbers, first = (part[bool((pattern < 0).any()) :] for part in np.unique(pattern, return_index=True))
    return _Merged(
        numbers=numbers,
        rays=few,
        shape=given.shape._replace(units_at=places_on(given.shape.sizes, len(few.orient))),
        signs=given.signs[:, first],
        triangles=few.normals.T.reshape(-1, inputs, inputs),
    )


def _margins(
    some: Int[np.ndarray, "n"],
    given: AllRays,
    triangle: Float[np.ndarray, "D D"],
    sizes: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "N n"]:
    """|q·ζ|/(|q||ζ|) of neurons on these rays of one pattern, less what may be rounding; 1 where both are
    zero, as by blocks of zeros in the weights: there any other ζ has turned too far."""
    rays, root = given.rays, np.sqrt(given.rays.p[some])
    rows = root * rays.orient[some] * rays.normals[:, rays.line[some]]
    # without BLAS: the same bits whatever its kernels
    q = lengths(np.einsum("dr,de->re", rows, np.linalg.pinv(triangle)))
    moving, inputs = sizes[:, None] > 0, np.abs(given.z[:, some])
    cosines = inputs / np.where(moving, sizes[:, None], 1.0) * (root / np.where(q > 0, q, np.inf))
    return np.where(moving, np.maximum(cosines - ROUNDING, 0.0), inputs == 0)


def _with_margins(theta: Float[np.ndarray, "W"], pattern: Int[np.ndarray, "R"], given: AllRays) -> Patterns:
    """Single and merged rays together, with the margins of neurons on the latter."""
    some = _merge(pattern, given)
    reference = some.inputs(theta)
    margin, sizes = np.zeros(reference.shape[:2]), lengths(reference)
    for c, number in enumerate(some.numbers):
        mine = np.flatnonzero(pattern == number)
        margin[:, c] = _margins(mine, given, some.triangles[c], sizes[:, c]).min(axis=1)
    single, which = part_of(given.rays, np.unique(given.rays.line[pattern < 0]), 0.0)
    rays = joined(single, some.rays)
    return Patterns(
        rays=rays,
        shape=given.shape._replace(units_at=places_on(given.shape.sizes, len(rays.orient))),
        signs=np.concatenate([given.signs[:, which], some.repeated], axis=1).ravel(),
        which=which,
        reference=reference,
        margin=margin,
    )


class Merging:
    """Merges the rays of a flow where they share activation patterns, and separates them again."""

    def __init__(self, flow: Flow, log: Log):
        self._flow, self._log = flow, log
        self._patterns: Patterns | None = None
        self._separated = flow.field, flow.state.signs
        many = len(flow.state.signs) >= policy.MERGED_UNITS
        by_moments = not (flow.shape.leak == 1 or flow.shape.biased or flow.rays.loss != SQUARE)
        self._due: float = 0 if many and by_moments else np.inf
        self._renewed = -1

    def prepare(self) -> float:
        """Merge rays if that is due; returns the number of steps until it is due again."""
        flow = self._flow
        if flow.tried >= self._due:
            self._merge(flow.state.theta + flow.state.status.length * flow.state.stages[0])
        return max(1, self._due - flow.tried)

    def hold(self) -> bool:
        """Whether all units have the signs of their pattern on the rays that were merged, at the state that
        was evaluated last."""
        return self._patterns is None or self._patterns.hold(self._flow.workspace.z)

    def renew(self) -> None:
        """Try a step that merged rays do not survive again with others, and the next time with none."""
        flow = self._flow
        again, self._renewed = self._renewed == flow.accepted, flow.accepted
        if again:
            self.separate()
            self._due = flow.tried + policy.MERGE_AFTER
        else:
            self._merge(flow.state.arrival.copy())
        flow.reject(1.0)

    def separate(self) -> None:
        """Return to the evaluation of every ray, with the signs that units have now."""
        if (patterns := self._patterns) is None:
            return
        field, signs = self._separated
        patterns.write_signs(self._flow.state.signs, signs.reshape(-1, len(field.rays.orient)))
        self._patterns = None
        self._flow.use(field, signs)

    def _merge(self, later: np.ndarray) -> None:
        """Merge rays if that makes evaluations cheaper; `later` are the weights after the next step."""
        flow = self._flow
        self.separate()
        patience = policy.MERGE_AFTER
        if not flow.constraints.size:
            step_over(flow, self._log)  # for the inputs of all units at the present weights
            signs, z = (a.reshape(-1, len(flow.rays.orient)) for a in (flow.state.signs, flow.workspace.z))
            found = sorted_rays(flow.state.theta, later, AllRays(flow.rays, flow.shape, signs, z))
            if found is not None:
                patience = max(policy.MERGE_MORE_AFTER, len(flow.rays.orient) // len(found.rays.orient))
                self._separated = flow.field, flow.state.signs
                self._patterns = found
                workspace = workspace_for(found.shape, found.rays)
                flow.use(Field(found.shape, found.rays, workspace, flow.constraints), found.signs.copy())
        self._due = flow.tried + patience
