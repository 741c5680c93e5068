"""Loss levels of a run (`until=`), and the time at which it first reached each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from biasfree.arrays import as_array, positive

NO_LEVEL = -np.inf  # below any loss: a run without levels never reaches it


def levels_of(until: Any) -> tuple[float, ...]:
    """The levels that the argument `until` names, in its order; none for None."""
    if until is None:
        return ()
    if not isinstance(until, Sequence | np.ndarray) or isinstance(until, str) or np.ndim(until) == 0:
        return (positive("until", until),)
    if not len(until):
        raise ValueError("until must be a loss level or a list of them, got an empty list; leave it out.")
    return tuple(positive(f"until[{i}]", level) for i, level in enumerate(as_array("until", until).tolist()))


class Levels:
    """The levels of one run; the highest one not yet reached is `next`, and the run ends at the lowest."""

    def __init__(self, levels: Sequence[float]):
        self._levels = tuple(levels)
        self._times: dict[float, float] = {}

    @property
    def next(self) -> float:
        """The level to look for: the highest not yet reached, or −∞ if there is none."""
        return max((level for level in self._levels if level not in self._times), default=NO_LEVEL)

    @property
    def lowest(self) -> float:
        """The level at which the run ends, or −∞ if it has none."""
        return min(self._levels, default=NO_LEVEL)

    @property
    def done(self) -> bool:
        """Whether the lowest level is reached."""
        return self.lowest in self._times

    def reach(self, t: float, loss: float) -> None:
        """Record that the loss fell to `loss` at time t; levels reached earlier keep their times."""
        for level in self._levels:
            if loss <= level:
                self._times.setdefault(level, t)

    @property
    def times(self) -> tuple[float, ...]:
        """The time of every level, in the order in which they were given; ∞ if it was not reached."""
        return tuple(self._times.get(level, np.inf) for level in self._levels)
