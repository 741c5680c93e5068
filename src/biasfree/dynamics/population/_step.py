"""One step of the Runge–Kutta method DOP853, with its error by layer and its interpolation.

The coefficients are SciPy's. SciPy's own loop does not report the errors of its steps, whose sum is the error
estimate of a flow, and it has no error norm by layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from biasfree.arrays import Float
from biasfree.dynamics.population._field import PopulationField, Slope

_STAGES = len(DOP853.B)
_INTERPOLATED = DOP853.D.shape[1]  # stages of the interpolation


@dataclass(frozen=True, eq=False)
class Step:
    """A step from `theta` over the time h: the state at its end, its slope there, the errors |δW₁|, |δW₂|."""

    theta: Float[np.ndarray, "N"]
    h: float
    end: Float[np.ndarray, "N"]
    slope: Slope
    errors: Float[np.ndarray, "2"]
    stages: Float[np.ndarray, "S N"]

    @classmethod
    def attempt(cls, field: PopulationField, theta: np.ndarray, velocity: np.ndarray, h: float) -> Step:
        """The step of length h from `theta`, where the velocity is known."""
        stages = np.empty((_STAGES + 1, len(theta)))
        stages[0] = velocity
        for i in range(1, _STAGES):
            stages[i] = field(theta + h * (DOP853.A[i, :i] @ stages[:i])).velocity
        end = theta + h * (DOP853.B @ stages[:-1])
        slope = field(end)
        stages[-1] = slope.velocity
        fifth, third = (field.sizes(h * (e @ stages)) for e in (DOP853.E5, DOP853.E3))
        size = np.hypot(fifth, 0.1 * third)
        errors = np.divide(fifth**2, size, out=np.zeros(2), where=size > 0)
        return cls(theta, h, end, slope, errors, stages)

    def interpolation(self, field: PopulationField) -> Callable[[float], np.ndarray]:
        """The states inside the step, as a function of the time since its beginning; three more slopes."""
        stages = np.empty((_INTERPOLATED, len(self.theta)))
        stages[: _STAGES + 1] = self.stages
        for i, row in enumerate(DOP853.A_EXTRA, start=_STAGES + 1):
            stages[i] = field(self.theta + self.h * (row[:i] @ stages[:i])).velocity
        moved, first, last = self.end - self.theta, self.h * stages[0], self.h * self.stages[-1]
        terms = [moved, first - moved, 2 * moved - last - first, *(self.h * (DOP853.D @ stages))]

        def state(t: float) -> np.ndarray:
            share, total = t / self.h, np.zeros_like(self.theta)
            for i, term in enumerate(reversed(terms)):
                total = (total + term) * (share if i % 2 == 0 else 1 - share)
            return self.theta + total

        return state
