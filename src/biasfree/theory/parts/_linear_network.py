"""Two-layer linear networks in the span of their neurons, for any Σ and any loss.

The columns of W₁ and the rows of W₂ stay in their initial span: W₁ = RA, W₂ = BRᵀ with R fixed, so a network
of any width is equivalent to one of at most D + K neurons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset, Population
from biasfree.losses import Loss
from biasfree.networks import Network
from biasfree.theory.parts._integration import integrated
from biasfree.theory.parts._linear_loss import check_scale, linear_loss, samples
from biasfree.theory.parts._moments import times_sigma
from biasfree.trajectory import Factored, Stats, Trajectory


@dataclass(frozen=True, eq=False)
class LinearNetwork:
    """W₁ = size·RA, W₂ = size·BRᵀ at t = 0, with its data and loss; Q = [A, Bᵀ] is the state."""

    basis: Float[np.ndarray, "H k"]
    state: Float[np.ndarray, "k Q"]
    size: float
    data: Dataset | Population
    loss: Loss
    l2: float

    @classmethod
    def of(cls, network: Network, data: Dataset | Population, *, loss: Loss, l2: float) -> LinearNetwork:
        """The network in a basis of the span of its neurons."""
        stacked = np.hstack([network.weights[0], network.weights[1].T])
        size = float(np.abs(stacked).max())
        if size == 0:
            raise ValueError("the weights are zero, so the flow does not move; use a scale above 0.")
        u, s, vt = np.linalg.svd(stacked / size, full_matrices=False)
        kept = s > s[0] * max(stacked.shape) * np.finfo(float).eps
        return cls(u[:, kept], s[kept, None] * vt[kept], size, data, loss, l2)

    def slope(self) -> Callable[[Float[np.ndarray, "k Q"]], Float[np.ndarray, "k Q"]]:
        """[Ȧ, Ḃᵀ] = [BᵀG, AGᵀ] − λ[A, Bᵀ], with G(w) = −∂L/∂w at w = size²·BA."""
        d = self.data.dimensions
        scale = self.size**2
        g = negative_gradient(self.loss, self.data)

        def slope(state: Float[np.ndarray, "k Q"]) -> Float[np.ndarray, "k Q"]:
            a = state[:, :d]
            bt = state[:, d:]
            force = g(scale * (bt.T @ a))
            return np.hstack([bt @ force, a @ force.T]) - self.l2 * state

        return slope

    def flow(
        self, ts: Float[np.ndarray, "T"], *, name: str, rtol: float, method: str
    ) -> tuple[Float[np.ndarray, "T k Q"], Stats]:
        """The states at `ts`, in units of the initial size, and the statistics of the solver."""
        slope = self.slope()
        shape = self.state.shape
        states, stats = integrated(
            lambda state: slope(state.reshape(shape)).ravel(),
            self.state.ravel(),
            ts,
            name=name,
            method=method,
            rtol=rtol,
            atol=1e-3 * rtol,
        )
        return states.reshape(-1, *shape), stats

    def descent(self, step: float, saves: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T k Q"]:
        """The states after `saves` steps of gradient descent."""
        slope = self.slope()
        state = self.state
        kept = []
        wanted = set(saves.tolist())
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(int(saves[-1]) + 1):
                if i in wanted:
                    kept.append(state)
                    if not np.isfinite(state).all():
                        raise RuntimeError(
                            f"descent of the linear network diverged within {i} steps of {step:g}; use a "
                            "smaller step."
                        )
                state = state + step * slope(state)
        return np.array(kept)

    def trajectory(
        self, ts: Float[np.ndarray, "T"], states: Float[np.ndarray, "T k Q"], *, leak: float, stats: Stats
    ) -> Trajectory:
        """The trajectory of the (leaky) ReLU network whose linear twin this is, W = √(1/c)·W_lin."""
        c = (1 + leak) / 2
        d = self.data.dimensions
        a = self.size * states[:, :, :d]
        b = self.size * states[:, :, d:].swapaxes(1, 2)
        found = linear_loss(b @ a, self.data, self.loss)
        basis = self.basis[None]
        norms = np.einsum("tkd,tkd->t", a, a) + np.einsum("tkh,tkh->t", b, b)
        return Trajectory(
            ts=ts,
            weights=Factored((basis, a / np.sqrt(c)), (b / np.sqrt(c), basis.swapaxes(1, 2))),
            loss=found,
            objective=found + self.l2 / 2 * norms,  # λ|W|² = λ_lin|W_lin|²
            leak=leak,
            stats=stats,
        )


def negative_gradient(
    loss: Loss, data: Dataset | Population
) -> Callable[[Float[np.ndarray, "K D"]], Float[np.ndarray, "K D"]]:
    """G(w) = −∂L/∂w of the linear function wx; the square loss needs only Σ and β."""
    if loss.name == "square":
        check_scale(data)
        beta = data.beta.reshape(-1, data.dimensions)
        return lambda w: beta - times_sigma(w, data)
    data = samples(data)
    x = data.x
    y = data.targets
    return lambda w: loss.residual(x @ w.T, y).T @ x / len(y)
