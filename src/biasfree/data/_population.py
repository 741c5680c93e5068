"""The population: infinite data, given by the law of the inputs and the target as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from biasfree.arrays import generator, non_negative, positive, real, reduce_to_fields, whole
from biasfree.data._absolute_products import AbsoluteProducts, Rays
from biasfree.data._dataset import Dataset
from biasfree.data._ridge import RidgeMoments, check_odd, ridge_moments
from biasfree.data._tasks import sine_of, task_direction

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike

_MOST_DIMENSIONS = 20_000  # of a Σ that is written out: 3.2 GB


class Teacher(Protocol):
    """What is needed of a `bf.Network` as a teacher."""

    @property
    def weights(self) -> tuple[Any, ...]: ...

    @property
    def leak(self) -> float: ...

    @property
    def biases(self) -> Any: ...

    def __call__(self, x: Any) -> Any: ...


Odd = tuple[Any, Callable[[Any], Any]]


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
            odd: tuple[ArrayLike, Callable[[Any], Any]] | None = None,
            teacher: Teacher | Sequence[Teacher] = (),
            noise: float = 0.0,
        ) -> None: ...

    def __post_init__(self):
        d = whole("dimensions", self.dimensions)
        checked: dict[str, Any] = {
            "dimensions": d,
            "covariance": _checked_covariance(self.covariance, self.radius, d),
            "radius": None if self.radius is None else positive("radius", self.radius),
            "linear": None if self.linear is None else _vector("linear", self.linear, d),
            "odd": None if self.odd is None else _checked_odd(self.odd, d),
            "teacher": _checked_teachers(self.teacher, d),
            "noise": non_negative("noise", self.noise),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.odd is not None:
            check_odd(self.odd[1], self._odd_size, self._sphere)

    def __reduce__(self) -> Any:
        state = reduce_to_fields(self)[1]
        return _rebuilt, state

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
            total += self._ridge.slope * self.odd[0]
        for one in self.teacher:
            total += (1 + one.leak) / 2 * (one.weights[1] @ one.weights[0])[0]
        return real("best_map", total)

    @cached_property
    def odd_rest(self) -> float:
        """The mean square of what no linear map explains of the odd part of y, the noise included."""
        return self.noise**2 + (0.0 if self.odd is None else self._ridge.rest)

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
        rays = Rays.of(self.whitened(rows))
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
            y = y + np.asarray(self.odd[1](x @ self.odd[0]), dtype=float)
        return y + sum(one(x) for one in self.teacher)

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """`n` independent samples. The same seed gives the same data."""
        n, rng = whole("n", n), generator(seed)
        x = rng.normal(size=(n, self.dimensions))
        if self.radius is not None:
            x *= self.radius / np.linalg.norm(x, axis=1)[:, None]
        elif self.variance is not None:
            x *= np.sqrt(self.variance)
        else:
            x = x @ self.root.T
        return Dataset(x, self.target(x) + self.noise * rng.normal(size=n))

    @property
    def _odd_size(self) -> float:
        """√E[(u·x)²]."""
        assert self.odd is not None
        return float(np.linalg.norm(self.whitened(self.odd[0])))

    @cached_property
    def _ridge(self) -> RidgeMoments:
        assert self.odd is not None
        return ridge_moments(self.odd[1], self._odd_size, self._sphere)

    @property
    def _sphere(self) -> int | None:
        """The dimensions of the sphere on which the inputs lie; None for Gaussian inputs."""
        return None if self.radius is None else self.dimensions


def _rebuilt(dimensions: int, *rest: Any) -> Population:
    """A population from its fields, for `pickle` and `copy`."""
    names = ("covariance", "radius", "linear", "odd", "teacher", "noise")
    given = dict(zip(names, rest, strict=True))
    if given["radius"] is not None:
        given["covariance"] = None
    return Population(dimensions, **given)


def _vector(name: str, value: Any, d: int) -> Float[np.ndarray, "D"]:
    vector = real(name, value)
    if vector.shape != (d,):
        raise ValueError(f"{name} must be a vector of {d} numbers, got shape {vector.shape}.")
    return vector


def _checked_covariance(value: Any, radius: Any, d: int) -> float | Float[np.ndarray, "D D"]:
    if radius is not None:
        if value is not None:
            raise ValueError(
                "covariance and radius are both given; leave out one: on the sphere Σ = radius²/D·I."
            )
        return 1.0
    matrix = real("covariance", 1.0 if value is None else value)
    if matrix.ndim == 0:
        return positive("covariance", float(matrix))
    if matrix.shape != (d, d):
        raise ValueError(
            f"covariance must be a number or have shape ({d}, {d}), got shape {matrix.shape}; match it to "
            "dimensions."
        )
    largest, skew = np.abs(matrix).max(), np.abs(matrix - matrix.T).max()
    if skew > 1e-12 * largest:
        raise ValueError(
            f"covariance must be symmetric, but its entries differ from those of its transpose by up to "
            f"{skew:.3g}; pass (S + S.T)/2."
        )
    matrix = real("covariance", (matrix + matrix.T) / 2)
    values = np.linalg.eigvalsh(matrix)
    if values[0] <= d * np.finfo(float).eps * values[-1]:
        raise ValueError(
            f"covariance must be positive definite, but its least eigenvalue is {values[0]:.3g} and its "
            f"largest {values[-1]:.3g}; leave out directions in which the inputs do not vary."
        )
    white = not np.any(matrix - matrix[0, 0] * np.eye(d))
    return float(matrix[0, 0]) if white else matrix


def _checked_odd(value: Any, d: int) -> Odd:
    if not isinstance(value, tuple | list) or len(value) != 2 or not callable(value[1]):
        raise ValueError("odd must be a pair of a vector u and an odd function g, such as odd=(u, np.sin).")
    direction = _vector("the vector of odd", value[0], d)
    if not direction.any():
        raise ValueError("the vector of odd is zero, so g(u·x) is zero; leave odd out.")
    return direction, value[1]


def _checked_teachers(value: Any, d: int) -> tuple[Teacher, ...]:
    teachers: tuple[Any, ...] = tuple(value) if isinstance(value, list | tuple) else (value,)
    for one in teachers:
        if "Network" not in {base.__name__ for base in type(one).__mro__}:
            raise ValueError(f"teacher must be a bf.Network or a list of them, got a {type(one).__name__}.")
        sizes = one.sizes
        remedy = "take samples of it, bf.Dataset(x, teacher(x))"
        if sizes[0] != d:
            raise ValueError(f"the teacher takes {sizes[0]} inputs, but dimensions is {d}; match them.")
        if one.biases is not None:
            raise ValueError(f"the teacher must have no biases, got {one!r}; {remedy}.")
        if len(one.weights) != 2:
            raise ValueError(f"the teacher must have two layers, got {one!r}; {remedy}.")
        if sizes[-1] != 1:
            raise ValueError(f"the teacher must have one output, got {one!r}; {remedy}.")
    return teachers
