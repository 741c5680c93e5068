"""Layout of the hyperplanes in a compiled program: one by one in chunks, or in classes with a remainder."""

from __future__ import annotations

from typing import Any

import numpy as np

from biasfree.dynamics.field._objective import squares_hold
from biasfree.dynamics.flow.events._forces import Given
from biasfree.dynamics.flow.events._hyperplane_sorting import Sorting, bundles_of, no_classes, sort
from biasfree.dynamics.flow.events._hyperplanes import Hyperplanes
from biasfree.dynamics.flow.events._rays import (
    chunk_sizes,
    folded,
    sample_chunks,
    square_chunks,
    targets_of,
    unfolded,
)

#: Signs times outputs times dimensions below which classes would save nothing.
LEAST_WORK = 2**20
#: Chunks beyond which the remainder of classes gets a shape, and so a program, of its own.
MOST_ROOM = 8


class Layout:
    """The hyperplanes in the order of the compiled programs, and the signs in that order."""

    def __init__(self, lines: Hyperplanes, y: np.ndarray, *, loss: str, width: int, biased: bool):
        self.lines, self._y, self.width = lines, y, width
        self.chunks, self.size = chunk_sizes(len(lines.normals))
        moments = loss == "square" and squares_hold(lines.length)
        self.targets = targets_of(lines, y, biased=biased) if moments else None
        self.work = lines.normals.size * width * y.shape[1]
        self.sortable = moments and self.work >= LEAST_WORK
        self.sorting: Sorting | None = None
        self._slot = np.arange(len(lines.normals))

    @property
    def patience(self) -> int:
        """Steps between two looks for classes: a look costs a few percent of them."""
        return int(np.clip(2**25 / self.work, 4, 64))

    def placed(self, by_line: Given) -> Given:
        """`by_line`, which names hyperplanes by their number, for the programs."""
        given = by_line._replace(slide=self._slots(by_line.slide), watch=self._slots(by_line.watch))
        if self.targets is None:
            lines = sample_chunks(self.lines, self._y, self.chunks, self.size)
            return given._replace(lines=lines, floor=np.float64(0))
        chunks = self._room if self.sorting else self.chunks
        lines = square_chunks(self.lines, self.targets, self._order, chunks, self.size)
        given = given._replace(lines=lines, floor=np.float64(self.targets.floor))
        if not self.sortable:
            return given
        if self.sorting is None:
            none = no_classes(self.width, self._y.shape[1], self.lines.normals.shape[1])
            return given._replace(chunks=np.int64(chunks), classes=none)
        used = np.int64(-(-len(self._order) // self.size))
        return given._replace(chunks=used, classes=self.sorting.classes, floor=np.float64(self.sorting.floor))

    def folded(self, signs: np.ndarray) -> np.ndarray:
        """Signs of the hyperplanes evaluated one by one, in that order, for the programs."""
        chunks = self._room if self.sorting else self.chunks
        return folded(signs, chunks, self.size, padding=1)

    def signs(self, seen: Any, lines: np.ndarray | None = None) -> np.ndarray:
        """The signs of these hyperplanes (None: all) while the programs hold those `seen`."""
        lines = np.arange(len(self.lines.normals)) if lines is None else lines
        rows = unfolded(seen, len(self._order))
        if self.sorting is None:
            return rows[lines]
        found = np.empty((len(lines), self.width), np.int8)
        slot = self._slot[lines]
        found[slot >= 0] = rows[slot[slot >= 0]]
        others = lines[slot < 0]
        patterns = self.sorting.classes.signs.astype(np.int8)[self.sorting.member[others]]
        found[slot < 0] = np.where(self.sorting.turn[others, None], -patterns, patterns)
        return found

    def look(self, hidden: np.ndarray, velocity: np.ndarray, length: float) -> Sorting | None:
        """Classes, if they would pay."""
        bundles = bundles_of(hidden, velocity, length)
        if bundles is None or self.targets is None:
            return None
        return sort(self.lines, self.targets, bundles, length, self.size, self._room)

    def change(self, sorting: Sorting | None, seen: Any) -> np.ndarray:
        """Look at the hyperplanes outside of these classes one by one, at all if there are none; returns
        their signs for the programs."""
        order = np.arange(len(self.lines.normals)) if sorting is None else sorting.remainder
        signs = self.signs(seen, order)
        self.sorting = sorting
        self._slot = np.full(len(self.lines.normals), -1)
        self._slot[order] = np.arange(len(order))
        return self.folded(signs)

    @property
    def _order(self) -> np.ndarray:
        return np.arange(len(self._slot)) if self.sorting is None else self.sorting.remainder

    @property
    def _room(self) -> int:
        return min(self.chunks, MOST_ROOM)

    def _slots(self, lines: np.ndarray) -> np.ndarray:
        """Where hyperplanes are; those that are not used point anywhere."""
        return np.maximum(self._slot[lines], 0)
