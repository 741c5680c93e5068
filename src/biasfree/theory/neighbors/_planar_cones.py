"""The plane cut into cones of directions in which a ReLU neuron is active on the same samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

_ONE_LINE = 1e-12  # radians: samples nearer to a line through the origin are on it
_GRID = 5760  # directions on which multipliers are looked for; what they prove is exact


@dataclass(frozen=True, eq=False)
class Cones:
    """The cones of the samples x: in each σ(w·x_i) is linear, and g(w) = (w·S)|S|/P², S = Σ_{w·x_i>0} x_i."""

    x: Float[np.ndarray, "P 2"]

    @cached_property
    def ends(self) -> Float[np.ndarray, "C 2"]:
        """The angles at which each cone begins and ends."""
        angles = np.arctan2(self.x[:, 1], self.x[:, 0])
        kinks = np.sort(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]) % (2 * np.pi))
        after = np.append(kinks[1:], kinks[0] + 2 * np.pi)
        kinks = kinks[after - kinks > _ONE_LINE]  # samples on one line share their kinks
        return np.column_stack([kinks, np.append(kinks[1:], kinks[0] + 2 * np.pi)])

    @cached_property
    def spanning(self) -> Float[np.ndarray, "C 3"]:
        """Angles whose directions span a cone; its ends do, unless it is a half-plane."""
        return np.insert(self.ends, 1, self.ends.mean(axis=1), axis=1)

    @cached_property
    def active(self) -> Bool[np.ndarray, "C P"]:
        """Whether neurons of a cone are active on a sample."""
        return unit(self.spanning[:, 1]) @ self.x.T > 0

    @cached_property
    def columns(self) -> Float[np.ndarray, "C 3 P"]:
        """σ(u·x_i) of the unit neurons that span a cone."""
        return np.maximum(unit(self.spanning) @ self.x.T, 0) * self.active[:, None, :]

    @cached_property
    def costs(self) -> Float[np.ndarray, "C 3"]:
        """g of the unit neurons that span a cone, as it is inside."""
        sums = self.active @ self.x
        along = np.einsum("ced,cd->ce", unit(self.spanning), sums)
        return np.maximum(along, 0) * np.linalg.norm(sums, axis=1)[:, None] / len(self.x) ** 2

    def least_gain(self) -> float:
        """The least g of a unit neuron; 0 where some direction sees no sample."""
        return float(self.costs.min()) if self.active.any(axis=1).all() else 0.0

    def norm_multipliers(self, y: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
        """m with |Σ_i m_iσ(u·x_i)| ≤ 1 for every unit u, and m·y as large as a grid with the kinks tells."""
        angles = np.append(np.linspace(0, 2 * np.pi, _GRID, endpoint=False), self.ends[:, 0])
        columns = np.maximum(unit(angles) @ self.x.T, 0)
        m = _multipliers(columns, np.ones(len(angles)), y)
        return m / self.largest(m)

    def largest(self, m: Float[np.ndarray, "P"]) -> float:
        """max |Σ_i m_iσ(u·x_i)| over all unit vectors u: at the end of a cone, or along its Σ m_i x_i."""
        inside = (self.active * m) @ self.x
        reach = [np.abs(np.einsum("ced,cd->ce", unit(self.ends), inside)).max()]
        for turn in (0.0, np.pi):
            angle = np.arctan2(inside[:, 1], inside[:, 0]) + turn
            since = (angle - self.ends[:, 0]) % (2 * np.pi)
            within = since <= self.ends[:, 1] - self.ends[:, 0]
            reach.append(np.linalg.norm(inside[within], axis=1).max(initial=0.0))
        return float(max(reach))


def unit(angles: Float[np.ndarray, "*T"]) -> Float[np.ndarray, "*T 2"]:
    """Unit vectors at these angles, on a last axis."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def misfit(x: Float[np.ndarray, "P 2"], y: Float[np.ndarray, "P"]) -> float:
    """The least |y − f|/|y| of two bias-free ReLU layers, of any width; 0 for targets that are all zero.

    f is a linear function plus any even one (Theorem 1), which is c|x_i| with a free c on every line through
    the origin: so what is left of y is fitted by what is left of x once |x| is projected out on every line.
    """
    size, line = np.linalg.norm(x, axis=1), _lines(x)
    square = np.bincount(line, size**2)

    def odd(values: np.ndarray) -> np.ndarray:
        even = np.bincount(line, size * values) / np.where(square > 0, square, 1.0)
        return values - even[line] * size

    left = np.column_stack([odd(column) for column in x.T])
    target = odd(y)
    target = target - left @ np.linalg.lstsq(left, target, rcond=1e-10)[0]
    return float(np.linalg.norm(target) / (np.linalg.norm(y) or 1.0))


def _lines(x: Float[np.ndarray, "P 2"]) -> np.ndarray:
    """The number of the line through the origin that each sample is on."""
    angles = np.arctan2(x[:, 1], x[:, 0]) % np.pi
    order = np.argsort(angles)
    number = np.append(0, np.cumsum(np.diff(angles[order]) > _ONE_LINE))
    if angles[order[-1]] - angles[order[0]] >= np.pi - _ONE_LINE:
        number[number == number[-1]] = 0
    lines = np.empty(len(x), dtype=int)
    lines[order] = number
    return lines


def _multipliers(columns: np.ndarray, costs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The multipliers of min Σ c_k|z_k| over Σ z_k columns_k = y."""
    from scipy.optimize import linprog

    found = linprog(np.tile(costs, 2), A_eq=np.vstack([columns, -columns]).T, b_eq=y)
    if not found.success:
        raise RuntimeError(f"the linear programme of {len(y)} samples was not solved: {found.message}")
    return np.asarray(found.eqlin.marginals)
