"""Loss, residual and curvature of outputs on rays, native."""

from __future__ import annotations

import math

from biasfree.dynamics.network._compiled import inner
from biasfree.dynamics.network._records import Matrix, Rays
from biasfree.losses import LOGISTIC, SQUARE


@inner
def residual(rays: Rays, f: Matrix, e: Matrix, begin: int, end: int) -> None:
    """Write −∂L/∂f of rays `begin` to `end` − 1 to e."""
    for k in range(len(f)):
        for r in range(begin, end):
            if rays.loss == SQUARE:
                e[k, r] = rays.p[r] * (rays.t[k, r] - f[k, r])
            else:
                total = 0.0
                for i in range(rays.start[r], rays.start[r + 1]):
                    c = rays.c[i]
                    total += c * _residual_of_sample(rays.loss, c * f[k, r], rays.y[k, i])
                e[k, r] = total * rays.share


@inner
def residual_along(rays: Rays, f: Matrix, turned: Matrix, e: Matrix) -> None:
    """Write the derivative of −∂L/∂f to e, where outputs f change by `turned`."""
    for k in range(len(f)):
        for r in range(len(f[k])):
            curvature = rays.p[r] if rays.loss == SQUARE else 0.0
            if rays.loss != SQUARE:
                for i in range(rays.start[r], rays.start[r + 1]):
                    c = rays.c[i]
                    found = _curvature_of_sample(rays.loss, c * f[k, r], rays.y[k, i])
                    curvature += rays.share * c**2 * found
            e[k, r] = -curvature * turned[k, r]


@inner
def loss_of(rays: Rays, f: Matrix) -> float:
    """The data loss."""
    total = 0.0
    for k in range(f.shape[0]):
        for r in range(f.shape[1]):
            if rays.loss == SQUARE:
                gap = rays.t[k, r] - f[k, r]
                total += rays.p[r] * gap * gap / 2
            else:
                for i in range(rays.start[r], rays.start[r + 1]):
                    total += rays.share * _loss_of_sample(rays.loss, rays.c[i] * f[k, r], rays.y[k, i])
    return total + rays.floor


@inner
def _residual_of_sample(loss: int, f: float, y: float) -> float:
    """−∂ℓ/∂f of the logistic or the Huber loss."""
    if loss == LOGISTIC:
        small = math.exp(-abs(y * f))
        return y * (small if y * f > 0 else 1.0) / (1 + small)
    return (y - f) / math.hypot(1.0, y - f)


@inner
def _loss_of_sample(loss: int, f: float, y: float) -> float:
    """ℓ of the logistic or the Huber loss."""
    if loss == LOGISTIC:
        return math.log1p(math.exp(-abs(y * f))) + max(-y * f, 0.0)
    gap = y - f
    return gap * (gap / (1 + math.hypot(1.0, gap)))


@inner
def _curvature_of_sample(loss: int, f: float, y: float) -> float:
    """∂²ℓ/∂f² of the logistic or the Huber loss."""
    if loss == LOGISTIC:
        small = math.exp(-abs(y * f))
        return y * y * small / (1 + small) ** 2
    return math.hypot(1.0, y - f) ** -3
