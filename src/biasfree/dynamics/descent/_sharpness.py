"""Sharpness: the largest curvature of the objective, which bounds the stable step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.dynamics._problem import Problem, problem_of
from biasfree.losses import loss_named
from biasfree.networks import Network
from biasfree.threads import load

#: Trained parameters up to which the full Hessian is computed: half a second, and exact.
DENSE = 1000
#: The residual of Lanczos vectors relative to the eigenvalue, which bounds the error of the eigenvalue.
RESIDUAL = 1e-12


def sharpness(
    network: Network,
    data: Dataset,
    *,
    loss: str = "square",
    l2: float = 0.0,
    train: Sequence[bool] | None = None,
) -> float:
    """The largest eigenvalue of the Hessian of loss + (λ/2)Σ|W_l|² at a network, to about 1e-12.

    The Hessian is that of the trained layers at a fixed activation pattern: the true one wherever no sample
    is on a kink. Descent can settle at a minimum only if its step is below 2/sharpness. Along a run:
    `run.map(lambda network: bf.sharpness(network, data))`.
    """
    return largest_curvature(problem_of(network, data, loss=loss, l2=l2, train=train), network, data)


def largest_curvature(problem: Problem, network: Network, data: Dataset) -> float:
    """The largest eigenvalue of the Hessian in the trained parameters."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        hessian = _Hessian(problem, network, data)
        if hessian.size > DENSE:
            return _lanczos(hessian.times, hessian.size)
        columns = np.array([hessian.times(unit) for unit in np.eye(hessian.size)])
        return float(np.linalg.eigvalsh((columns + columns.T) / 2)[-1])


def _lanczos(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    linalg = load("scipy.sparse.linalg")

    start = np.random.default_rng(0).standard_normal(size)  # fixed and generic
    if not product(start).any():
        return 0.0  # a Hessian of zeros, for which Lanczos has no second vector
    sparse: Any = linalg  # SciPy's annotations refuse arguments that it takes
    operator = sparse.LinearOperator((size, size), matvec=product, dtype=np.float64)
    options = {"which": "LA", "v0": start, "ncv": 40, "tol": RESIDUAL, "return_eigenvectors": False}
    return float(sparse.eigsh(operator, 1, **options)[0])


class _Hessian:
    """The Hessian at a network, for products with directions in the trained parameters.

    Layers take z = W(h, 1) with their biases as the last column of W, if there are any; δ = ∂loss/∂z.
    """

    def __init__(self, problem: Problem, network: Network, data: Dataset):
        self._l2 = problem.l2
        self._train = problem.train
        self._biased = network.biases is not None
        self._weights = [
            np.column_stack([w, b]) if self._biased else w
            for w, b in zip(network.weights, network.biases or network.weights, strict=True)
        ]
        self._inputs = [self._with_one(data.x, 1.0)]
        self._gates: list[np.ndarray] = []
        for w in self._weights[:-1]:
            z = self._inputs[-1] @ w.T
            self._gates.append(np.where(z > 0, 1.0, network.leak))
            self._inputs.append(self._with_one(self._gates[-1] * z, 1.0))
        f, loss = self._inputs[-1] @ self._weights[-1].T, loss_named(problem.loss)
        self._curvature = loss.curvature(f, data.targets) / len(data)
        self._deltas = [-loss.residual(f, data.targets) / len(data)]
        for w, gates in zip(self._weights[:0:-1], self._gates[::-1], strict=True):
            self._deltas.insert(0, gates * (self._deltas[0] @ w)[:, : gates.shape[1]])

    @property
    def size(self) -> int:
        """The number of trained parameters."""
        return sum(w.size for w, on in zip(self._weights, self._train, strict=True) if on)

    def _with_one(self, h: Float[np.ndarray, "P H"], one: float) -> Float[np.ndarray, "P _"]:
        return np.column_stack([h, np.full(len(h), one)]) if self._biased else h

    def times(self, direction: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
        """The derivative of the gradient along a direction: that of every array of both passes, in turn."""
        moves = self._layers(direction)
        turned = np.zeros_like(self._inputs[0])
        inputs_turned = [turned]
        for w, move, h, gates in zip(self._weights, moves, self._inputs, self._gates, strict=False):
            turned = self._with_one(gates * (turned @ w.T + h @ move.T), 0.0)
            inputs_turned.append(turned)
        delta_turned = self._curvature * (turned @ self._weights[-1].T + self._inputs[-1] @ moves[-1].T)
        found = []
        for i in reversed(range(len(moves))):
            slope = delta_turned.T @ self._inputs[i] + self._deltas[i].T @ inputs_turned[i]
            slope[:, : self._weight_columns(i)] += self._l2 * moves[i][:, : self._weight_columns(i)]
            found.append(slope)
            if i:
                back = delta_turned @ self._weights[i] + self._deltas[i] @ moves[i]
                delta_turned = self._gates[i - 1] * back[:, : self._gates[i - 1].shape[1]]
        trained = [slope.ravel() for slope, on in zip(found[::-1], self._train, strict=True) if on]
        product = np.concatenate(trained)
        if not np.isfinite(product).all():
            raise ValueError("the curvature is not a finite number; give a network of smaller weights.")
        return product

    def _weight_columns(self, layer: int) -> int:
        """The columns of a layer that the penalty is about: not the bias."""
        return self._weights[layer].shape[1] - self._biased

    def _layers(self, direction: np.ndarray) -> list[np.ndarray]:
        """The direction layer by layer; zero in layers that are not trained."""
        at, moves = 0, []
        for w, on in zip(self._weights, self._train, strict=True):
            moves.append(direction[at : at + w.size].reshape(w.shape) if on else np.zeros_like(w))
            at += w.size * on
        return moves
