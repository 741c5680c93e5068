"""The population: infinite data, given by the law of the inputs and the target as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arrays import (
    Float,
    affordable,
    generator,
    non_negative,
    positive,
    real,
    whole,
)
from biasfree.data._absolute_products import AbsoluteProducts, Polar
from biasfree.data._dataset import Dataset
from biasfree.data._population_arguments import (
    Odd,
    Teacher,
    checked_covariance,
    checked_odd,
    checked_teachers,
    vector_of,
)
from biasfree.data._ridge import RidgeMoments, check_odd, ridge_moments
from biasfree.data._tasks import counts, sine_of, task_direction

_MOST_DIMENSIONS = 20_000  # of a Σ that is written out: 3.2 GB


@dataclass(frozen=True, eq=False)
class Population:
    """Infinitely many samples: Gaussian inputs or inputs on a sphere, and the target as a function of them.

    y = linear·x + g(u·x) + teacher(x) + noise·N(0, 1), of which any terms may be left out; E is the mean.

    Inputs: x ~ N(0, covariance), the identity by default; a number ν stands for νI. With `radius=` they are
    uniform on the sphere |x| = radius instead.

    Targets: `linear` is a vector. `odd` is a pair (u, g) of a vector and an odd function of arrays. `teacher`
    is a two-layer `bf.Network` of one output, or a list of them. `noise` is a standard deviation.
    """

    dimensions: int
    covariance: float | Float[np.ndarray, "D D"] | None = field(default=None, kw_only=True)
    radius: float | None = field(default=None, kw_only=True)
    linear: Float[np.ndarray, "D"] | None = field(default=None, kw_only=True)
    odd: Odd | None = field(default=None, kw_only=True)
    teacher: tuple[Teacher, ...] = field(default=(), kw_only=True)
    noise: float = field(default=0.0, kw_only=True)

    if TYPE_CHECKING:  # whatever NumPy reads as an array is taken

        def __init__(
            self,
            dimensions: int,
            *,
            covariance: ArrayLike | None = None,
            radius: float | None = None,
            linear: ArrayLike | None = None,
            odd: Odd | None = None,
            teacher: Teacher | Sequence[Teacher] = (),
            noise: float = 0.0,
        ) -> None: ...

    def __post_init__(self):
        d = whole("dimensions", self.dimensions)
        affordable(f"vectors of {d} dimensions", d)
        checked: dict[str, Any] = {
            "dimensions": d,
            "covariance": checked_covariance(self.covariance, self.radius, d),
            "radius": None if self.radius is None else positive("radius", self.radius),
            "linear": None if self.linear is None else vector_of("linear", self.linear, d),
            "odd": None if self.odd is None else checked_odd(self.odd, d),
            "teacher": checked_teachers(self.teacher, d),
            "noise": non_negative("noise", self.noise),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.odd is not None:
            u, g = self.odd
            check_odd(g, self._size(u), self._sphere)

    def __reduce__(self) -> Any:
        """For `pickle` and `copy`."""
        return partial(Population, **{one.name: getattr(self, one.name) for one in fields(self)}), ()

    def __repr__(self) -> str:
        inputs = "Gaussian inputs" if self.radius is None else f"inputs of norm {self.radius:g}"
        given = {"linear": self.linear is not None, "odd": self.odd is not None}
        given |= {"teacher": bool(self.teacher), "noise": self.noise > 0}
        terms = [name for name, there in given.items() if there]
        return f"Population(dimensions={self.dimensions}, {inputs}, y: {' + '.join(terms) or '0'})"

    @classmethod
    def linear_teacher(cls, d: int = 20, *, seed: int = 0) -> Population:
        """The law of `bf.data.linear_teacher`: x ~ N(0, I), y = w·x with the w of that seed."""
        return cls(d, linear=task_direction(d, seed))

    @classmethod
    def odd_sine(cls, d: int = 20, *, seed: int = 0) -> Population:
        """The law of `bf.data.odd_sine`: x ~ N(0, I), y = w·x + sin(4 w·x) with the w of that seed."""
        w = task_direction(d, seed)
        return cls(d, linear=w, odd=(w, sine_of))

    @property
    def outputs(self) -> int:
        """K = 1, the number of targets."""
        return 1

    @property
    def variance(self) -> float | None:
        """ν if Σ = νI, else None."""
        if self.radius is not None:
            return self.radius**2 / self.dimensions
        return None if isinstance(self.covariance, np.ndarray) else self.covariance

    @cached_property
    def sigma(self) -> Float[np.ndarray, "D D"]:
        """Σ = E[xxᵀ]."""
        if self.variance is None:
            return real("sigma", self.covariance)
        if self.dimensions > _MOST_DIMENSIONS:
            raise ValueError(
                f"Σ of {self.dimensions} dimensions has too many entries to write out; it is "
                f"{self.variance:g} times the identity."
            )
        return real("sigma", self.variance * np.eye(self.dimensions))

    @cached_property
    def beta(self) -> Float[np.ndarray, "D"]:
        """β = E[yx] = Σw*."""
        return real("beta", self.times_sigma(self.best_map))

    @cached_property
    def best_map(self) -> Float[np.ndarray, "D"]:
        """w* = Σ⁻¹β, the linear map nearest to the target."""
        total = np.zeros(self.dimensions) if self.linear is None else self.linear.copy()
        if self.odd is not None:
            u, _ = self.odd
            total += self._ridge.slope * u
        for one in self.teacher:
            total += (1 + one.leak) / 2 * (one.weights[1] @ one.weights[0])[0]
        return real("best_map", total)

    @cached_property
    def odd_rest(self) -> float:
        """The mean square of what no linear map explains of the odd part of y, the noise included."""
        return self.noise**2 + self._ridge.rest

    @cached_property
    def even_part(self) -> tuple[Float[np.ndarray, "M D"], Float[np.ndarray, "M"]]:
        """The even part Σ_m b_m|v_m·x| of y, as the rows v_m and the factors b_m."""
        rows = [np.zeros((0, self.dimensions)), *(one.weights[0] for one in self.teacher)]
        factors = [np.zeros(0), *((1 - one.leak) / 2 * one.weights[1][0] for one in self.teacher)]
        return real("rows", np.concatenate(rows)), real("factors", np.concatenate(factors))

    @cached_property
    def even_mean_square(self) -> float:
        """The mean square of the even part of y."""
        rows, factors = self.even_part
        rays = Polar.of(self.whitened(rows))
        return max(float(factors @ AbsoluteProducts.of(rays, rays).values @ factors), 0.0)

    @cached_property
    def mean_square(self) -> float:
        """E[y²]."""
        return float(self.best_map @ self.beta) + self.odd_rest + self.even_mean_square

    def times_sigma(self, w: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, "*N D"]:
        """wΣ; Σ = νI is not written out."""
        return w @ self.sigma if self.variance is None else self.variance * w

    def whitened(self, w: Float[np.ndarray, "*N D"]) -> Float[np.ndarray, "*N D"]:
        """wL with Σ = LLᵀ: w·x has the law of (wL)·z, z white."""
        return w @ self.root if self.variance is None else np.sqrt(self.variance) * w

    @cached_property
    def root(self) -> Float[np.ndarray, "D D"]:
        """The lower triangular L with Σ = LLᵀ."""
        return real("root", np.linalg.cholesky(self.sigma))

    def target(self, x: Any) -> Float[np.ndarray, "*P"]:
        """y at x without noise: (P, D) → (P,)."""
        x = real("x", x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.dimensions:
            raise ValueError(f"x must have shape (samples, {self.dimensions}), got {x.shape}.")
        y = np.zeros(x.shape[:-1]) if self.linear is None else x @ self.linear
        if self.odd is not None:
            u, g = self.odd
            y = y + np.asarray(g(x @ u), dtype=float)
        return y + sum(one(x) for one in self.teacher)

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """`n` independent samples. The same seed gives the same data."""
        (n, d), rng = counts(n, self.dimensions), generator(seed)
        x = rng.normal(size=(n, d))
        if self.radius is not None:
            x *= self.radius / np.linalg.norm(x, axis=1)[:, None]
        elif self.variance is not None:
            x *= np.sqrt(self.variance)
        else:
            x = x @ self.root.T
        return Dataset(x, self.target(x) + self.noise * rng.normal(size=n))

    def _size(self, u: Float[np.ndarray, "D"]) -> float:
        """√E[(u·x)²]."""
        return float(np.linalg.norm(self.whitened(u)))

    @cached_property
    def _ridge(self) -> RidgeMoments:
        if self.odd is None:
            return RidgeMoments(0.0, 0.0)
        u, g = self.odd
        return ridge_moments(g, self._size(u), self._sphere)

    @property
    def _sphere(self) -> int | None:
        """The dimensions of the sphere on which the inputs lie; None for Gaussian inputs."""
        return None if self.radius is None else self.dimensions
