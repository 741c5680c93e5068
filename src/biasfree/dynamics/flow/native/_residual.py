"""Loss and residual of outputs on rays, native."""

from __future__ import annotations

import math

from biasfree.dynamics.flow.native._compiled import inner
from biasfree.dynamics.flow.native._records import Matrix, Rays


@inner
def residual(rays: Rays, f: Matrix, e: Matrix, begin: int, end: int) -> None:
    """Write −∂L/∂f of rays `begin` to `end` − 1 to e."""
    for k in range(len(f)):
        for r in range(begin, end):
            if rays.logistic:
                total = 0.0
                for i in range(rays.start[r], rays.start[r + 1]):
                    label = rays.y[k, i] * rays.c[i]
                    small = math.exp(-abs(label * f[k, r]))
                    total += label * (small if label * f[k, r] > 0 else 1.0) / (1 + small)
                e[k, r] = total * rays.share
            else:
                e[k, r] = rays.p[r] * (rays.t[k, r] - f[k, r])


@inner
def residual_along(rays: Rays, f: Matrix, turned: Matrix, e: Matrix) -> None:
    """Write the derivative of −∂L/∂f to e, where outputs f change by `turned`."""
    for k in range(len(f)):
        for r in range(len(f[k])):
            curvature = rays.p[r]
            if rays.logistic:
                curvature = 0.0
                for i in range(rays.start[r], rays.start[r + 1]):
                    label = rays.y[k, i] * rays.c[i]
                    small = math.exp(-abs(label * f[k, r]))
                    curvature += rays.share * label**2 * small / (1 + small) ** 2
            e[k, r] = -curvature * turned[k, r]


@inner
def loss_of(rays: Rays, f: Matrix) -> float:
    """The data loss."""
    total = 0.0
    for k in range(f.shape[0]):
        for r in range(f.shape[1]):
            if rays.logistic:
                for i in range(rays.start[r], rays.start[r + 1]):
                    margin = rays.y[k, i] * rays.c[i] * f[k, r]
                    total += rays.share * (math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0))
            else:
                gap = rays.t[k, r] - f[k, r]
                total += rays.p[r] * gap * gap / 2
    return total + rays.floor
