"""The nearest zero of a two-layer network: branch and bound over the signs of neurons."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from biasfree.diagnostics.rays import first_zero, rounding
from biasfree.networks import Network

if TYPE_CHECKING:
    from jaxtyping import Float

#: Distances are found to this share of them.
RTOL = 1e-9


@dataclass(frozen=True, eq=False)
class _Bound:
    """A part of space, by signs of some neurons, and the least distance that a relaxed f allows there."""

    signs: Float[np.ndarray, "H"]
    distance: float
    move: Float[np.ndarray, "D"]
    gaps: Float[np.ndarray, "H"]


class NearestZero:
    """min |u| with s·f(x + u) ≤ 0, s the sign of f(x), for f(x) = b₂ + Σ a_hσ(w_h·x + b_h).

    Within a radius R a neuron of one sign is linear; another one is replaced by a line, below s·a_hσ: a chord
    where s·a_h < 0, and one of its two slopes where s·a_h > 0. The least distance that this allows is a lower
    bound, by a least-distance problem; R is the distance of the nearest zero found. A part is split by the
    sign of the neuron whose line is furthest off, and left where its bound reaches R.
    """

    def __init__(self, network: Network, x: Float[np.ndarray, "D"], sign: float):
        self.network, self.x, self.counter = network, x, count()
        first, second = network.weights
        biases = (np.zeros(len(first)), np.zeros(1)) if network.biases is None else network.biases
        self.w, self.q = first, first @ x + biases[0]
        self.sizes = np.linalg.norm(first, axis=1)
        self.a, self.offset = sign * second[0], sign * float(biases[1][0])

    def search(self, point: Float[np.ndarray, "D"], radius: float, effort: int) -> tuple[np.ndarray, float]:
        """The nearest zero to rounding, or the nearest found by `effort` problems, and a lower bound.

        `point` is a zero at distance `radius` or, if there is none, anything, with no zero beyond `radius`
        of interest: it is returned unless one is found within.
        """
        heap: list[tuple[float, int, _Bound]] = []
        self._push(heap, np.zeros(len(self.a)), radius)
        while heap and heap[0][0] < radius * (1 - RTOL):
            if effort <= 0:
                break
            effort -= 1
            _, _, part = heapq.heappop(heap)
            along = self._crossing(part)
            if along < radius:
                point, radius = self.x + part.move * (along / part.distance), along
            if along <= part.distance * (1 + RTOL):
                continue
            if part.gaps.max() <= rounding(self.network, (self.x + part.move)[None])[0]:
                point, radius = self.x + part.move, part.distance  # nothing is relaxed: it is a zero
                continue
            for sign in (1.0, -1.0):
                signs = part.signs.copy()
                signs[np.argmax(part.gaps)] = sign
                self._push(heap, signs, radius)
        return point, min([radius, *(key for key, _, _ in heap)])

    def _crossing(self, part: _Bound) -> float:
        """Where f is first 0 on the way that a part's bound points."""
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
        """The bound of a part; None where it has no zero within the radius."""
        slopes, offsets = self._lines(signs, radius)
        fixed = signs != 0
        gradient = (self.a * slopes) @ self.w
        value = self.offset + self.a @ (slopes * self.q + offsets)
        rows = np.vstack([signs[fixed, None] * self.w[fixed], -gradient[None]])
        least = np.append(-signs[fixed] * self.q[fixed], value)
        move = _least_move(rows, least, radius)
        if move is None:
            return None
        p = self.q + self.w @ move
        active = np.where(p > 0, p, self.network.leak * p)
        gaps = np.where(fixed, 0.0, self.a * (active - slopes * p - offsets))
        return _Bound(signs, float(np.linalg.norm(move)), move, gaps)

    def _lines(self, signs: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Slope and offset of the line that stands for every neuron."""
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
) -> Float[np.ndarray, "D"] | None:
    """min |u| with rows·u ≥ least, or None where there is none within the radius.

    Least-distance programming (Lawson and Hanson 1974, ch. 23): with u in units of the radius and rows of
    length 1, non-negative least squares of [rowsᵀ; leastᵀ]v = (0, 1) leaves r with u = −r_{1…D}/r_{D+1} and
    |u|² = −1/r_{D+1} − 1. So |u| ≤ 1 means r_{D+1} ≤ −½, far from the r = 0 of a problem without solution.
    """
    from scipy.optimize import nnls

    sizes = np.linalg.norm(rows, axis=1)
    if (least[sizes == 0] > 0).any():
        return None
    rows, least = rows[sizes > 0], least[sizes > 0]
    least = least / sizes[sizes > 0] / radius
    if (least > 1).any():
        return None
    if not (least > 0).any():
        return np.zeros(rows.shape[1])
    system = np.vstack([(rows / sizes[sizes > 0, None]).T, least])
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    rest = system @ nnls(system, target, maxiter=100 * system.shape[1])[0] - target
    if rest[-1] > -0.4:  # |u| ≤ 1 gives −½ at most
        return None
    return -rest[:-1] / rest[-1] * radius
