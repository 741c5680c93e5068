"""Cones of the plane: directions in which a ReLU neuron is active on the same samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biasfree.arrays import Bool, Float
from biasfree.threads import load

_ONE_LINE = 1e-12  # radians between two samples that count as on one line through the origin
_GRID = 5760  # directions on which multipliers are computed; the bound that they prove is exact


@dataclass(frozen=True, eq=False)
class Cones:
    """Cones of samples x. On each, σ(w·x_i) and g(w) = (w·S)|S|/P², S = Σ_{w·x_i>0} x_i, are linear in w."""

    x: Float[np.ndarray, "P 2"]

    @cached_property
    def ends(self) -> Float[np.ndarray, "C 2"]:
        """The first and the last angle of each cone."""
        angles = np.arctan2(self.x[:, 1], self.x[:, 0])
        kinks = np.sort(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]) % (2 * np.pi))
        after = np.append(kinks[1:], kinks[0] + 2 * np.pi)
        kinks = kinks[after - kinks > _ONE_LINE]  # samples on one line share their kinks
        return np.column_stack([kinks, np.append(kinks[1:], kinks[0] + 2 * np.pi)])

    @cached_property
    def spanning(self) -> Float[np.ndarray, "C 3"]:
        """Angles whose directions span a cone: its ends and, for half-planes, its middle."""
        return np.insert(self.ends, 1, self.ends.mean(axis=1), axis=1)

    @cached_property
    def active(self) -> Bool[np.ndarray, "C P"]:
        """A mask of the samples on which the neurons of each cone are active."""
        return unit(self.spanning[:, 1]) @ self.x.T > 0

    @cached_property
    def columns(self) -> Float[np.ndarray, "C 3 P"]:
        """σ(u·x_i) for the unit vectors u that span a cone."""
        return np.maximum(unit(self.spanning) @ self.x.T, 0) * self.active[:, None, :]

    @cached_property
    def costs(self) -> Float[np.ndarray, "C 3"]:
        """g(u) for the unit vectors u that span a cone, with the activations inside the cone."""
        sums = self.active @ self.x
        along = np.einsum("ced,cd->ce", unit(self.spanning), sums)
        return np.maximum(along, 0) * np.linalg.norm(sums, axis=1)[:, None] / len(self.x) ** 2

    def least_gain(self) -> float:
        """The least g(u) over unit vectors; 0 if some direction is active on no sample."""
        return float(self.costs.min()) if self.active.any(axis=1).all() else 0.0

    def norm_multipliers(self, y: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
        """m with |Σ_i m_iσ(u·x_i)| ≤ 1 for all unit vectors u, and m·y largest on a grid with the kinks."""
        angles = np.append(np.linspace(0, 2 * np.pi, _GRID, endpoint=False), self.ends[:, 0])
        columns = np.maximum(unit(angles) @ self.x.T, 0)
        m = _multipliers(columns, y)
        return m / self.largest(m)

    def largest(self, m: Float[np.ndarray, "P"]) -> float:
        """max |Σ_i m_iσ(u·x_i)| over unit vectors u, attained at an end of a cone or along its Σ m_i x_i."""
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


def _multipliers(columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The multipliers of min Σ|z_k| over Σ z_k columns_k = y."""
    linprog = load("scipy.optimize").linprog

    found = linprog(np.ones(2 * len(columns)), A_eq=np.vstack([columns, -columns]).T, b_eq=y)
    if not found.success:
        raise RuntimeError(f"the linear program of {len(y)} samples was not solved: {found.message}")
    return np.asarray(found.eqlin.marginals)
