"""Sharpness: the largest curvature of the objective, which bounds the stable step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biasfree.arrays import Float
from biasfree.data import Dataset
from biasfree.dynamics._problem import Problem, problem_of
from biasfree.dynamics.steps._flow import Flow, Limits
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
    problem = problem_of(network, data, loss=loss, l2=l2, train=train)
    return largest_curvature(problem, problem.networks[0], problem.datasets[0])


def largest_curvature(problem: Problem, network: Network, data: Dataset) -> float:
    """The largest eigenvalue of the Hessian in the trained parameters."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        product, size = _hessian(replace(problem, networks=(network,), datasets=(data,)))
        if size > DENSE:
            return _lanczos(product, size)
        columns = np.array([product(unit) for unit in np.eye(size)])
        return float(np.linalg.eigvalsh((columns + columns.T) / 2)[-1])


def _hessian(problem: Problem) -> tuple[Callable[[Float[np.ndarray, "n"]], Float[np.ndarray, "n"]], int]:
    """Products of the Hessian with directions in the trained parameters, and the number of these."""
    flow = Flow(problem, 0, Limits(1.0, 1.0, 1), smooth=True)
    flow.examine(flow.state.theta)
    ends = np.append(flow.shape.weights_at, len(flow.state.theta))
    trained = np.repeat(flow.shape.train, np.diff(ends))

    def product(direction: np.ndarray) -> np.ndarray:
        along = np.zeros(len(trained))
        along[trained] = direction
        found = -flow.velocity_along(along)[trained]
        if not np.isfinite(found).all():
            raise ValueError("the curvature is not a finite number; give a network of smaller weights.")
        return found

    return product, int(trained.sum())


def _lanczos(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    linalg = load("scipy.sparse.linalg")

    start = np.random.default_rng(0).standard_normal(size)  # fixed and generic
    if not product(start).any():
        return 0.0  # a Hessian of zeros, for which Lanczos has no second vector
    sparse: Any = linalg  # SciPy's annotations refuse arguments that it takes
    operator = sparse.LinearOperator((size, size), matvec=product, dtype=np.float64)
    options = {"which": "LA", "v0": start, "ncv": 40, "tol": RESIDUAL, "return_eigenvectors": False}
    return float(sparse.eigsh(operator, 1, **options)[0])
