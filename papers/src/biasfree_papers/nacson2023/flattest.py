"""The least sharpness of ReLU networks that interpolate samples of the plane: a semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float, Int
from biasfree_papers.nacson2023.planar_cones import Cones, unit

_SEEN = 1e-12  # of the largest σ(u·x_i)
_GAP = 1e-7  # of the value, to the optimum
_RANK = 1e-10  # of the largest singular value


def flattest(cones: Cones, y: Float[np.ndarray, "P"]) -> float:
    """min λ_max(GGᵀ/P) over networks of any width with f(x_i) = y_i.

    GGᵀ = Σ_u(p_u σ_uσ_uᵀ + q_u K_u), with p = Σ|w|² and q = Σa² of the neurons of direction u,
    σ_u = σ(u·x_i), and K_u the products of the samples on which u is active; the outputs are Σ_u t_uσ_u,
    |t_u| ≤ √(p_uq_u). The problem is convex. Its dual is the largest m·y over V ⪰ 0, Tr V = 1 with
    |m·σ_u| ≤ (2/P)√(σ_uᵀVσ_u·⟨V, K_u⟩) for all u. It is solved on a few directions, and its constraint
    checked on all: on a cone the left side is linear in u and the right side a norm of u, so the worst u is
    known. Directions that violate it are added. The returned value, m·y over the worst ratio, is a bound for
    all directions, within 2·`_GAP` of the least.
    """
    width = np.diff(cones.ends, axis=1)[:, 0]
    shares = np.linspace(0, 1, 7)
    cone = np.repeat(np.arange(len(width)), len(shares))
    angle = (cones.ends[:, :1] + width[:, None] * shares).ravel()
    basis, now = _basis(cones), 1e-3  # a coarse gap, until no direction is missing
    while True:
        program = _Program.of(cones, cone, angle, y, basis)
        v, m = program.solved(now)
        ratio, at = _worst(cones, v, basis @ m)
        if now == _GAP and ratio.max() <= 1 + _GAP:
            return float((basis @ m) @ y / max(ratio.max(), 1.0) / np.trace(v))
        missing = ratio > 1 + _GAP
        now = _GAP if ratio.max() <= 1 + now else now
        cone, angle = (
            np.append(program.cone, np.flatnonzero(missing)),
            np.append(program.angle, at[missing]),
        )


def _basis(cones: Cones) -> Float[np.ndarray, "P R"]:
    """A basis of the multipliers, up to those n with Σ n_iσ(u·x_i) = 0 at all u, which change nothing."""
    columns = cones.columns.reshape(-1, len(cones.x))
    _, size, rows = np.linalg.svd(columns, full_matrices=False)
    return rows[size > _RANK * size[0]].T


def _worst(cones: Cones, v: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per cone the largest |m·σ_u| over its bound, and the angle of that u: an end, or along M⁻¹Σm_ix_i."""
    worst, p = [], len(m)
    for active, (low, high) in zip(cones.active, cones.ends, strict=True):
        x, inside = cones.x[active], v[np.ix_(active, active)]
        if not len(x):
            worst.append((0.0, low))
            continue
        along, product = m[active] @ x, x.T @ inside @ x
        best = np.linalg.lstsq(product, along, rcond=None)[0]
        turns = (np.arctan2(best[1], best[0]) + np.array([0, np.pi]) - low) % (2 * np.pi)
        angles = np.append([low, (low + high) / 2, high], low + turns[turns <= high - low])
        u = unit(angles)
        sizes = np.sqrt(np.maximum(np.einsum("id,de,ie->i", u, product, u), 0) * np.sum(inside * (x @ x.T)))
        seen = np.abs(u @ x.T).max(axis=1) > _SEEN * np.abs(cones.x).max()
        ratios = np.divide(np.abs(u @ along) * p / 2, sizes, out=np.zeros(len(u)), where=seen & (sizes > 0))
        worst.append((ratios.max(), angles[np.argmax(ratios)]))
    return np.array([ratio for ratio, _ in worst]), np.array([angle for _, angle in worst])


@dataclass(frozen=True, eq=False)
class _Program:
    """max m·y with a_u b_u > (m·σ_u)², a_u = 2σᵀVσ/P and b_u = 2⟨V, K_u⟩/P, V by its upper triangle."""

    cone: Int[np.ndarray, "N"]
    angle: Float[np.ndarray, "N"]
    by_inner: Float[np.ndarray, "N T"]
    by_outer: Float[np.ndarray, "N T"]
    by_m: Float[np.ndarray, "N R"]
    y: Float[np.ndarray, "R"]
    samples: int

    @classmethod
    def of(
        cls, cones: Cones, cone: np.ndarray, angle: np.ndarray, y: np.ndarray, basis: np.ndarray
    ) -> _Program:
        p, active = len(cones.x), cones.active[cone]
        sigma = np.maximum(unit(angle) @ cones.x.T, 0) * active
        kept = sigma.max(axis=1) > _SEEN * np.abs(cones.x).max()
        sigma, active = sigma[kept], active[kept]
        i, j = np.triu_indices(p)
        twice = np.where(i == j, 2.0, 4.0) / p
        products = (cones.x @ cones.x.T)[i, j]
        return cls(
            cone[kept],
            angle[kept],
            sigma[:, i] * sigma[:, j] * twice,
            (active[:, i] & active[:, j]) * products * twice,
            sigma @ basis,
            y @ basis,
            p,
        )

    def solved(self, gap: float) -> tuple[np.ndarray, np.ndarray]:
        """V and m by Newton's method on the barrier −m·y/μ − ln det V − Σ_u ln(a_ub_u − (m·σ_u)²), μ → 0.

        The gap to the optimum is at most μ·(P + 2N) for N directions.
        """
        i, j = np.triu_indices(self.samples)
        triangle = np.concatenate([(i == j) / self.samples, np.zeros(len(self.y))])
        mu = 1.0
        while True:
            triangle = self._centered(triangle, mu)
            best = triangle[len(i) :] @ self.y
            if mu * (self.samples + 2 * len(self.angle)) <= gap * best:
                return self._matrix(triangle), triangle[len(i) :]
            if mu < 1e-14:
                raise RuntimeError(
                    f"the program of {self.samples} samples was not solved; please report the data."
                )
            mu /= 8

    def _matrix(self, state: np.ndarray) -> np.ndarray:
        i, j = np.triu_indices(self.samples)
        v = np.zeros((self.samples, self.samples))
        v[i, j] = v[j, i] = state[: len(i)]
        return v

    def _barrier(self, state: np.ndarray) -> float:
        """−ln det V − Σ_u ln(a_ub_u − (m·σ_u)²); infinite outside the feasible set."""
        t = self.by_inner.shape[1]
        a, b, c = self.by_inner @ state[:t], self.by_outer @ state[:t], self.by_m @ state[t:]
        room = a * b - c**2
        if (a <= 0).any() or (room <= 0).any():
            return np.inf
        try:
            root = np.linalg.cholesky(self._matrix(state))
        except np.linalg.LinAlgError:
            return np.inf
        return float(-2 * np.log(np.diag(root)).sum() - np.log(room).sum())

    def _centered(self, state: np.ndarray, mu: float) -> np.ndarray:
        """The minimum at this μ and fixed Tr V, by Newton steps, halved until they decrease the objective."""
        i, j = np.triu_indices(self.samples)
        trace = np.concatenate([(i == j).astype(float), np.zeros(len(self.y)), [0.0]])
        for _ in range(200):
            slope, curvature = self._derivatives(state, mu)
            bordered = np.vstack([np.column_stack([curvature, trace[:-1]]), trace])
            move = np.linalg.solve(bordered, np.append(-slope, 0.0))[:-1]
            gain, towards = -slope @ move, move[len(i) :] @ self.y / mu
            if gain < 1e-9:
                break
            share, before = 1.0, self._barrier(state)
            while self._barrier(state + share * move) - before > share * (towards - 0.1 * gain):
                share /= 2
            if share < 1e-6:  # the remaining gain is below rounding
                break
            state = state + share * move
        return state

    def _derivatives(self, state: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
        t = self.by_inner.shape[1]
        a, b, c = self.by_inner @ state[:t], self.by_outer @ state[:t], self.by_m @ state[t:]
        room = (a * b - c**2)[:, None]
        rows = (
            np.hstack([self.by_inner * b[:, None] + self.by_outer * a[:, None], -2 * c[:, None] * self.by_m])
            / room
        )
        i, j = np.triu_indices(self.samples)
        inverse, twice = np.linalg.inv(self._matrix(state)), np.where(i == j, 1.0, 2.0)
        slope = -rows.sum(axis=0)
        slope[:t] -= twice * inverse[i, j]
        slope[t:] -= self.y / mu
        curvature, cross = rows.T @ rows, (self.by_inner / room).T @ self.by_outer
        both = inverse[np.ix_(i, i)] * inverse[np.ix_(j, j)] + inverse[np.ix_(i, j)] * inverse[np.ix_(j, i)]
        curvature[:t, :t] += np.outer(twice, twice) / 2 * both - cross - cross.T
        curvature[t:, t:] += 2 * (self.by_m / room).T @ self.by_m
        return slope, curvature
