"""Sharpness: the largest curvature of the objective, which bounds the stable step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.flatten_util
import numpy as np
from jax import lax

from biasfree.data import Dataset
from biasfree.dynamics._problem import problem_of
from biasfree.dynamics._programs import compiled, float64
from biasfree.dynamics.field._objective import (
    Form,
    Moments,
    Params,
    Physics,
    Samples,
    form_of,
    loss_and_slope,
    params_of,
    physics_of,
    view_of,
)
from biasfree.networks import Network
from biasfree.threads import load

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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
    form = form_of(problem.networks, problem.datasets, loss, problem.train)
    with float64():
        return largest(
            form, params_of(network), view_of(form, network, data), physics_of(network, problem.l2)
        )


def largest(form: Form, params: Params, view: Samples | Moments, physics: Physics) -> float:
    """The largest eigenvalue of the Hessian in the trained parameters, of the objective as it is compiled."""
    size = sum(leaf.size for leaf in jax.tree.leaves(_trained(form, params)))
    if size <= DENSE:
        hessian = _finite(_columns(form, params, view, physics, np.eye(size)))
        return float(np.linalg.eigvalsh((hessian + hessian.T) / 2)[-1])
    return _lanczos(lambda v: _finite(_product(form, params, view, physics, v)), size)


def _finite(found: ArrayLike) -> np.ndarray:
    if not np.isfinite(found := np.asarray(found)).all():
        raise ValueError("the curvature is not a finite number; give a network of smaller weights.")
    return found


def _lanczos(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    linalg = load("scipy.sparse.linalg")

    start = np.random.default_rng(0).standard_normal(size)  # fixed and generic
    if not product(start).any():
        return 0.0  # a Hessian of zeros, for which Lanczos has no second vector
    sparse: Any = linalg  # SciPy's annotations refuse arguments that it takes
    operator = sparse.LinearOperator((size, size), matvec=product, dtype=np.float64)
    options = {"which": "LA", "v0": start, "ncv": 40, "tol": RESIDUAL, "return_eigenvectors": False}
    return float(sparse.eigsh(operator, 1, **options)[0])


@compiled("form")
def _columns(form: Form, params: Params, view: Samples | Moments, physics: Physics, directions):
    """The Hessian times every direction, one after the other: it takes the memory of one gradient."""
    return lax.map(partial(_product, form, params, view, physics), directions)


@compiled("form")
def _product(form: Form, params: Params, view: Samples | Moments, physics: Physics, direction):
    """The Hessian times a direction in the trained parameters."""
    flat, unflatten = jax.flatten_util.ravel_pytree(_trained(form, params))

    def slope(trained):
        _, slopes = loss_and_slope(form, _with(form, params, unflatten(trained)), view, physics)
        return jax.flatten_util.ravel_pytree(_trained(form, slopes))[0]

    return -jax.jvp(slope, (flat,), (direction,))[1]


def _trained(form: Form, params: Params) -> Params:
    """The parameters of the trained layers only."""
    return Params(*(tuple(a for a, on in zip(part, form.train, strict=False) if on) for part in params))


def _with(form: Form, params: Params, trained: Params) -> Params:
    """`params` with their trained layers replaced."""
    parts = []
    for all_, new in zip(params, trained, strict=True):
        fresh = iter(new)
        parts.append(tuple(next(fresh) if on else a for a, on in zip(all_, form.train, strict=False)))
    return Params(*parts)
