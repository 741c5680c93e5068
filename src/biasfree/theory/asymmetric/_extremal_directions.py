"""The directions to which neurons align while outputs are small, for any data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biasfree.arguments import public
from biasfree.arrays import Bool, Float, checked_leak, generator, representable, row_norms, unit_rows, whole
from biasfree.data import Dataset
from biasfree.losses import loss_named
from biasfree.theory.asymmetric._ascent import ascended
from biasfree.theory.asymmetric._early_force import ROUNDING, EarlyForce, early_force
from biasfree.theory.asymmetric._planar_extrema import planar_maxima

#: Ascents, the least number of them, and samples times dimensions over all of them: 0.3 ms for 100 numbers.
_STARTS = 1000
_LEAST = 50
_WORK = 100_000
_SAME = 1e-8  # the largest difference, in a coordinate, of two ends of ascents that are one direction


@dataclass(frozen=True, eq=False)
class ExtremalDirections:
    """Unit vectors r at which neurons align and grow, the fastest first.

    `signs` are those of a: local maxima of G for +1, minima for −1. A neuron along r grows as e^{rate·t},
    rate = ±G(r) > 0. It slides along the hyperplanes of the samples in `sliding`, and is active on those in
    `active`. `complete` tells whether these are all such directions.
    """

    directions: Float[np.ndarray, "N D"]
    signs: Float[np.ndarray, "N"]
    rates: Float[np.ndarray, "N"]
    active: Bool[np.ndarray, "N P"]
    sliding: Bool[np.ndarray, "N P"]
    complete: bool

    def __len__(self) -> int:
        return len(self.directions)

    @property
    def angles(self) -> Float[np.ndarray, "N"]:
        """The angles of the directions in the plane, from −π to π."""
        if self.directions.shape[1] != 2:
            raise ValueError(
                f"only directions in the plane have an angle, these have {self.directions.shape[1]} "
                "dimensions; use `directions`."
            )
        return np.arctan2(self.directions[:, 1], self.directions[:, 0])


@public
def extremal_directions(
    data: Dataset, *, leak: float = 0.0, loss: str = "square", starts: int | None = None, seed: int = 0
) -> ExtremalDirections:
    """The directions to which neurons align while outputs are small, and their rates of growth.

    While outputs are small ẇ = a∇G(w), ȧ = G(w), G(r) = ⟨eσ(r·x)⟩, e the residual at zero output: y for the
    square loss, y/2 for the logistic one, y/√(1 + y²) for Huber's. The direction of a neuron climbs G on the
    sphere |r| = 1 to a local maximum if a > 0, and descends to a local minimum if a < 0. Extrema with ±G(r) ≤
    0 are left out: neurons do not grow there.

    In the plane, and wherever the inputs span at most two dimensions, all extrema are returned, exact up to
    rounding. Above that each one returned is certified: the moment of its activation pattern lies inside its
    cone or, on hyperplanes, no direction leads up. They are the ends of ascents from samples and random
    directions, `starts` per sign of a: an extremum to which a share p of the sphere ascends is missing with
    probability (1 − p)^n, n ≥ starts/2 the random ones. By default there are 1000, which takes half a
    second, and fewer where samples times dimensions exceed 100, but at least 50.

    A neuron whose a changes sign ends at an extremum of the new sign; |a| ≥ |w| at t = 0 excludes that. Where
    a moment lies exactly on a hyperplane, as on orthogonal inputs, neurons can also end at one-sided extrema,
    which are not listed: along Σ yx over only some samples of one sign.

    Assumes: two layers, one output, no biases; outputs negligible.
    Reference: Maennel et al. (2018), Boursier and Flammarion (2024); the enumeration and the certificate are
    derived here.
    """
    if data.outputs != 1:
        raise ValueError(f"the data must have one output, got {data.outputs}; pass each y[:, k] separately.")
    leak = checked_leak(leak)
    if starts is None:
        starts = max(_LEAST, min(_STARTS, _WORK // data.x.size))
    starts = whole("starts", starts)
    rng = generator(seed)
    y = data.targets[:, 0]
    chosen = loss_named(loss)
    chosen.check(y)
    e = chosen.residual(np.zeros_like(y), y)
    scales = [float(np.abs(array).max()) or 1.0 for array in (data.x, e)]
    x, e = data.x / scales[0], e / scales[1]  # no square under- or overflows
    pushing = (e != 0) & (row_norms(x) > ROUNDING)
    if not pushing.any():
        return _found([], data, 1.0, complete=True)
    basis = _basis(x[pushing])
    force = early_force(x[pushing] @ basis, e[pushing], leak, len(x))
    planar = basis.shape[1] == 2
    found = []
    for sign, one in ((1.0, force), (-1.0, force.negative)):
        ends = planar_maxima(one) if planar else _climbs(one, starts, rng)
        found += [(sign, float(rate), end @ basis.T) for end, rate in zip(ends, one(ends), strict=True)]
    with np.errstate(over="ignore"):
        unit = float(representable("the rate of growth", np.float64(scales[0]) * scales[1]))
    return _found(found, data, unit, complete=planar)


def _basis(x: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "D Q"]:
    """Orthonormal columns that span the inputs, at least two; the axes in the plane."""
    dimensions = x.shape[1]
    if dimensions <= 2:
        return np.eye(dimensions, 2)
    _, singular, right = np.linalg.svd(x, full_matrices=False)
    rank = int(np.count_nonzero(singular > singular[0] * max(x.shape) * np.finfo(float).eps))
    return right[:rank].T if rank >= 2 else np.pad(right[:1].T, ((0, 0), (0, 1)))


def _climbs(force: EarlyForce, starts: int, rng: np.random.Generator) -> Float[np.ndarray, "N D"]:
    """The distinct ends of ascents from samples, at most half of them, and random directions."""
    toward = force.lines[: starts // 2] * np.sign(force.kinks[: starts // 2, None])
    firsts = np.vstack([toward, rng.standard_normal((starts - len(toward), len(force.b)))])
    found: list[np.ndarray] = []
    for first in firsts / row_norms(firsts)[:, None]:
        end = ascended(force, first)
        if end is not None and all(np.abs(end - other).max() > _SAME for other in found):
            found.append(end)
    return np.array(found).reshape(-1, len(force.b))


def _found(
    found: list[tuple[float, float, np.ndarray]], data: Dataset, unit: float, *, complete: bool
) -> ExtremalDirections:
    """The directions with their rates in units of `unit`, by decreasing rate; of equal ones a > 0 first."""
    found = sorted(found, key=lambda one: (-one[1], -one[0]))
    directions = np.array([r for *_, r in found]).reshape(-1, data.dimensions)
    reach = directions @ unit_rows(data.x).T
    return ExtremalDirections(
        directions,
        np.array([sign for sign, *_ in found]),
        unit * np.array([rate for _, rate, _ in found]),
        reach > ROUNDING,
        (np.abs(reach) <= ROUNDING) & data.x.any(axis=1),
        complete,
    )
