"""Six points with every kink rounded off over a width ε, by an implicit method: no events, no conventions.

σ′ rises from 0 to 1 linearly in |z| < ε. A neuron that would slide along a kink stays inside that strip,
which is stiff, so that SciPy's Radau is needed, with the Jacobian; the path is O(ε) away from the flow's.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import biasfree as bf
from benchmarks.peers_numpy import flat, layers
from benchmarks.problems import Problem


def path(problem: Problem, width: float, rtol: float) -> tuple[np.ndarray, ...]:
    """The path of a two-layer ReLU network of one output at the problem's times."""
    network = problem.network
    field = Field(network, problem.data, width)
    ends, atol = (0.0, problem.ts[-1]), 1e-4 * rtol
    found = solve_ivp(
        field.slope,
        ends,
        flat(network.weights),
        "Radau",
        problem.ts,
        rtol=rtol,
        atol=atol,
        jac=field.jacobian,
    )
    return layers(found.y.T, network.weights)


class Field:
    """−∇ of the loss with rounded kinks, and its derivative, of all weights in one vector."""

    def __init__(self, network: bf.Network, data: bf.Dataset, width: float):
        self.like, self.x, self.y, self.width = network.weights, data.x, data.y, width

    def _parts(self, state: np.ndarray):
        first, second = layers(state, self.like)
        z, e = self.x @ first.T, self.width
        gate = np.clip((z + e) / (2 * e), 0.0, 1.0)
        hidden = np.where(z > e, z, e * gate**2)
        residual = (self.y - hidden @ second[0]) / len(self.y)
        return second[0], z, gate, hidden, residual

    def slope(self, _t: float, state: np.ndarray) -> np.ndarray:
        second, _z, gate, hidden, residual = self._parts(state)
        return flat([(residual[:, None] * second * gate).T @ self.x, hidden.T @ residual])

    def jacobian(self, _t: float, state: np.ndarray) -> np.ndarray:
        second, z, gate, hidden, residual = self._parts(state)
        outputs = np.hstack(
            [((gate * second)[:, :, None] * self.x[:, None]).reshape(len(self.x), -1), hidden]
        )
        jacobian = -outputs.T @ outputs / len(self.y)
        bend = residual[:, None] * (np.abs(z) < self.width) / (2 * self.width) * second
        within = np.einsum("ph,pi,pj->hij", bend, self.x, self.x)
        across = (residual[:, None] * gate).T @ self.x
        for h, (block, column) in enumerate(zip(within, across, strict=True)):
            row, last = slice(h * len(column), (h + 1) * len(column)), across.size + h
            jacobian[row, row] += block
            jacobian[row, last] += column
            jacobian[last, row] += column
        return jacobian
