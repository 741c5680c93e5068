"""The symmetry defect of infinite data: the asymmetry of its moments over half-spaces."""

from __future__ import annotations

import numpy as np

from biasfree.data import AbsoluteProducts, Polar, Population
from biasfree.theory.parts._moments import mean_square, trace

_RANDOM = 64  # random half-spaces compared, besides those of the teacher


def population_asymmetry(population: Population) -> float:
    """The distance of infinite data from Condition 3; 0 where the targets are odd.

    T_y(r) = |E[sgn(r·x)yx]|/√(E[y²]TrΣ); the inputs are symmetric, so their own term is 0, and only the even
    part Σb_m|v_m·x| of y counts: E[sgn(r·x)|v·x|x] = ∇_r E|r·x||v·x|. A lower bound of the maximum over r:
    the largest value at the teacher's neurons, at sums and differences of two of them, and at random r.
    It is 0 to rounding if and only if the even part cancels.

    Reference: [ZSL25] Condition 3 (TMLR 3) and Lemma 10.
    """
    rows, factors = population.even_part
    scale = np.sqrt(mean_square(population) * trace(population))
    if not factors.any() or scale == 0:
        return 0.0
    rays = Polar.of(population.whitened(rows))
    random = np.random.default_rng(0).normal(size=(_RANDOM, len(rays)))
    pairs = [rays.units[i] + sign * rays.units[:i] for i in range(len(rays)) for sign in (1, -1)]
    half_spaces = Polar.of(np.concatenate([rays.units, random @ rays.units, *pairs]))
    slopes = AbsoluteProducts.of(half_spaces, rays).gradients(factors)
    found = slopes @ population.root.T if population.variance is None else population.whitened(slopes)
    return float(np.linalg.norm(found, axis=1).max() / scale)
