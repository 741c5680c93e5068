"""Constraints between two events: the hyperplanes each neuron slides along, and the neurons at rest."""

from __future__ import annotations

import numpy as np

from biasfree.dynamics.flow.events._apply import Decisions
from biasfree.dynamics.flow.events._forces import Given
from biasfree.networks import Network

#: Hyperplanes that a neuron may slide along before the compiled program needs larger arrays.
FEW_SLIDES = 4


class Constraints:
    """`Given` for the current signs, with hyperplanes by number; the layout adds the hyperplanes
    themselves."""

    def __init__(self, network: Network, decisions: Decisions, l2: float):
        self.lines, self._decisions = decisions.lines, decisions
        self._rank = decisions.rank
        self._spans: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}
        #: By neuron, the signs for which there was nothing better on the other side of a watched hyperplane.
        self.settled: dict[int, tuple[int, ...] | None] = {}
        self.given = self._first_given(network, l2)

    def update(self, signs: np.ndarray) -> None:
        """Update the constraints to new signs."""
        self.given = self._with_slides(self.given, signs)

    def _first_given(self, network: Network, l2: float) -> Given:
        """`Given` of a flow without constraints; the layout adds the hyperplanes."""
        width, dimensions = network.sizes[1], self.lines.normals.shape[1]
        room = max(1, min(self._rank - 1, FEW_SLIDES))
        return Given(
            lines=None,
            chunks=None,
            classes=None,
            floor=None,
            leak=np.float64(network.leak),
            l2=np.float64(l2),
            slide=np.zeros((width, room), int),
            slides=np.zeros((width, room), bool),
            basis=np.zeros((width, room, dimensions)),
            solve=np.zeros((width, room, dimensions)),
            resting=np.zeros(width, bool),
            rays=np.zeros((self.lines.ray_count, dimensions)),
            watch=np.zeros((width, 1), int),
            watch_sign=np.zeros((width, 1)),
            watch_solve=np.zeros((width, 1, room)),
        )

    def _with_slides(self, given: Given, signs: np.ndarray) -> Given:
        """`given` with the neurons that slide or rest under these signs."""
        resting = (signs == 0).all(axis=0)
        width, room, dimensions = given.basis.shape
        while room < np.max((signs == 0).sum(axis=0) * ~resting):  # a new size compiles anew: few sizes
            room = min(4 * room, self._rank - 1)
        slide, slides = np.zeros((width, room), int), np.zeros((width, room), bool)
        basis, solve = np.zeros((width, room, dimensions)), np.zeros((width, room, dimensions))
        for h in np.flatnonzero((signs == 0).any(axis=0) & ~resting):
            lines = np.flatnonzero(signs[:, h] == 0)
            slide[h, : len(lines)], slides[h, : len(lines)] = lines, True
            basis[h, : len(lines)], solve[h, : len(lines)] = self._spanned(tuple(lines.tolist()))
        given = given._replace(slide=slide, slides=slides, basis=basis, solve=solve, resting=resting)
        if resting.any():
            given = given._replace(rays=self._decisions.rays)
        return self._with_watch(given, signs)

    def _spanned(self, lines: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """`basis` and `solve` for a neuron that slides along these hyperplanes; many slide along the same."""
        if lines not in self._spans:
            normals = self.lines.normals[list(lines)].T
            self._spans[lines] = np.linalg.qr(normals)[0].T, np.linalg.pinv(normals)
        return self._spans[lines]

    def _also_on(self, h: int, signs: np.ndarray) -> np.ndarray:
        """The hyperplanes to watch for neuron `h`; none if they were looked at for these very signs."""
        implied = self._decisions.implied(signs == 0) & (signs != 0)
        return np.flatnonzero(implied & (self.settled.get(h) != tuple(signs)))

    def _with_watch(self, given: Given, signs: np.ndarray) -> Given:
        """`given` with the hyperplanes that sliding neurons are on without sliding on them: see `margins`."""
        sliding = given.slides.any(axis=1)
        lines = {h: self._also_on(h, signs[:, h]) for h in np.flatnonzero(sliding).tolist()}
        most, room = max(map(len, lines.values()), default=1), given.watch.shape[1]
        while room < most:
            room *= 4
        watch, sign = np.zeros((len(sliding), room), int), np.zeros((len(sliding), room))
        solve = np.zeros((*watch.shape, given.solve.shape[1]))
        for h, on in lines.items():
            watch[h, : len(on)], sign[h, : len(on)] = on, signs[on, h]
            solve[h, : len(on)] = self.lines.normals[on] @ given.solve[h].T
        return given._replace(watch=watch, watch_sign=sign, watch_solve=solve)
