"""Branch and bound over the signs of neurons for the nearest zero of a two-layer network."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from biasfree.diagnostics._rays import first_zero, rounding
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

#: Relative accuracy of distances.
RTOL = 1e-9
#: Tolerance of inequalities between unit vectors, whose products have rounding errors of 1e-16.
_FEASIBLE = 1e-11


@dataclass(frozen=True, eq=False)
class _Bound:
    """A part of space, given by the signs of some neurons, and a lower bound on the distance to a zero in it.

    `move` leads to the zero of the relaxed f, `reached` tells whether it satisfies all constraints, and
    `gaps` are the differences between the terms of f and their relaxations there.
    """

    signs: Float[np.ndarray, "H"]
    distance: float
    move: Float[np.ndarray, "D"]
    reached: bool
    gaps: Float[np.ndarray, "H"]


class NearestZero:
    """min |u| with s·f(x + u) ≤ 0, s the sign of f(x), for f(x) = b₂ + Σ a_hσ(w_h·x + b_h).

    R is the distance of the nearest zero found so far. Neurons with constant sign within R are linear; the
    others are replaced by a line below s·a_hσ: a chord if s·a_h < 0, and one of the two slopes if s·a_h > 0.
    The resulting least-distance problem gives a lower bound. A part is split by the sign of the neuron with
    the largest gap, and discarded when its bound reaches R.
    """

    def __init__(self, network: Network, x: Float[np.ndarray, "D"], sign: float):
        self.network, self.x, self.counter = network, x, count()
        first, second = network.weights
        biases = (np.zeros(len(first)), np.zeros(1)) if network.biases is None else network.biases
        self.w, self.q = first, first @ x + biases[0]
        self.sizes = np.linalg.norm(first, axis=1)
        self.a, self.offset = sign * second[0], sign * float(biases[1][0])

    def search(self, point: Float[np.ndarray, "D"], radius: float, effort: int) -> tuple[np.ndarray, float]:
        """The nearest zero, to rounding or after `effort` subproblems, and a lower bound on its distance.

        `point` is a zero at distance `radius`, or NaN if none is known; it is returned unless a zero within
        `radius` is found.
        """
        heap: list[tuple[float, int, _Bound]] = []
        self._push(heap, np.zeros(len(self.a)), radius)
        left = np.inf  # least bound of the parts that rounding leaves undecided
        while heap and heap[0][0] < radius * (1 - RTOL) and effort > 0:
            effort -= 1
            _, _, part = heapq.heappop(heap)
            along = self._crossing(part)
            if along < radius:
                point, radius = self.x + part.move * (along / part.distance), along
            if along <= part.distance * (1 + RTOL):
                continue
            if part.gaps.max() > rounding(self.network, (self.x + part.move)[None])[0]:
                for sign in (1.0, -1.0):
                    signs = part.signs.copy()
                    signs[np.argmax(part.gaps)] = sign
                    self._push(heap, signs, radius)
            elif part.reached:  # no term is relaxed, so this is a zero
                point, radius = self.x + part.move, part.distance
            else:
                left = min(left, part.distance)
        return point, min(radius, left, heap[0][0] if heap else np.inf)

    def _crossing(self, part: _Bound) -> float:
        """The distance to the first zero of f in the direction of the part's bound."""
        if part.distance == 0:
            return np.inf
        return first_zero(self.network, self.x, part.move / part.distance)

    def _push(self, heap: list, signs: Float[np.ndarray, "H"], radius: float) -> None:
        part = self._bounded(signs, radius)
        if part is not None:
            heapq.heappush(
                heap, (part.distance, next(self.counter), part)
            )  # parts have no order of their own

    def _bounded(self, signs: Float[np.ndarray, "H"], radius: float) -> _Bound | None:
        """The bound of a part, or None if it has no zero within the radius."""
        slopes, offsets = self._lines(signs, radius)
        fixed = signs != 0
        gradient = (self.a * slopes) @ self.w
        value = self.offset + self.a @ (slopes * self.q + offsets)
        rows = np.vstack([signs[fixed, None] * self.w[fixed], -gradient[None]])
        least = np.append(-signs[fixed] * self.q[fixed], value)
        found = _least_move(rows, least, radius)
        if found is None:
            return None
        move, reached = found
        p = self.q + self.w @ move
        active = np.where(p > 0, p, self.network.leak * p)
        gaps = np.where(fixed, 0.0, self.a * (active - slopes * p - offsets))
        return _Bound(signs, float(np.linalg.norm(move)), move, reached, gaps)

    def _lines(self, signs: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Slope and offset of the line that replaces each neuron."""
        leak, low, high = self.network.leak, self.q - radius * self.sizes, self.q + radius * self.sizes
        on = (signs > 0) | ((signs == 0) & (low >= 0))
        off = (signs < 0) | ((signs == 0) & (high <= 0) & ~on)
        slopes, offsets = np.where(off, leak, 1.0), np.zeros(len(signs))
        below = ~on & ~off & (self.a > 0)
        slopes[below] = np.where(high + low > 0, 1.0, leak)[below]
        chord = ~on & ~off & ~below
        slopes[chord] = ((high - leak * low)[chord]) / (high - low)[chord]
        offsets[chord] = (1 - slopes[chord]) * high[chord]
        return slopes, offsets


def _least_move(
    rows: Float[np.ndarray, "M D"], least: Float[np.ndarray, "M"], radius: float
) -> tuple[Float[np.ndarray, "D"], bool] | None:
    """The least u with rows·u ≥ least, and whether it satisfies this; None if none lies within the radius.

    Least-distance programming (Lawson and Hanson 1974, ch. 23): with u in units of the radius and rows of
    length 1, non-negative least squares of [rowsᵀ; leastᵀ]v = (0, 1) leaves r with u = −r_{1…D}/r_{D+1} and
    |u|² = −1/r_{D+1} − 1, so |u| ≤ 1 means r_{D+1} ≤ −½, far from the r = 0 of a problem without solution.
    Any v ≥ 0 with least·v > 0 proves |u| ≥ least·v/|rowsᵀv|, optimal or not.
    """
    sizes = np.linalg.norm(rows, axis=1)
    if (least[sizes == 0] > 0).any():
        return None
    rows, least = rows[sizes > 0] / sizes[sizes > 0, None], least[sizes > 0] / (radius * sizes[sizes > 0])
    if (least > 1).any():
        return None
    if not (least > 0).any():
        return np.zeros(rows.shape[1]), True
    system, target = np.vstack([rows.T, least]), np.append(np.zeros(rows.shape[1]), 1.0)
    rest = system @ _non_negative(system, target) - target
    if rest[-1] > -0.4:
        return None
    move = -rest[:-1] / rest[-1]
    return radius * move, bool((rows @ move >= least - _FEASIBLE).all())


def _non_negative(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """min |system·v − target| with v ≥ 0, by the active-set method of Lawson and Hanson (1974, ch. 23).

    Columns may be linearly dependent, as those of w·u ≥ q and −w·u ≥ −q: a column that would enter with a
    negative weight is skipped in this round.
    """
    v, inside = np.zeros(system.shape[1]), np.zeros(system.shape[1], dtype=bool)
    barred = inside.copy()
    for _ in range(10 * len(v)):
        slope = np.where(inside | barred, -np.inf, system.T @ (target - system @ v))
        enters = int(np.argmax(slope))
        if slope[enters] <= _FEASIBLE / 10:
            break
        trial = inside.copy()
        trial[enters] = True
        best = _on(system, target, trial)
        if best[enters] <= 0:
            barred[enters] = True
            continue
        inside, barred = trial, np.zeros_like(barred)
        while (best[inside] <= 0).any():
            falls = inside & (best <= 0)
            v = v + (v[falls] / (v[falls] - best[falls])).min() * (best - v)
            inside &= v > _FEASIBLE * v.max()
            v[~inside] = 0.0
            best = _on(system, target, inside)
        v = best
    return v


def _on(system: np.ndarray, target: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Least squares with the columns `inside`; 0 for the others."""
    v = np.zeros(len(inside))
    v[inside] = np.linalg.lstsq(system[:, inside], target, rcond=1e-13)[0]
    return v
