"""Classes of hyperplanes on which every neuron keeps its side: with square loss only their moments matter.

A *class* is a set of hyperplanes with the same row of signs, up to the sign of their normals. All samples on
one side see one linear map M = c·W₂W₁ ± k·Σ_h s_h a_h w_h, so that their force is ⟨(y − Mx)xᵀ⟩ = left −
(M − best)Σ, with `best` their least-squares map and `left` zero up to rounding. Nothing is approximated.

The *certificate*: a neuron that stays in the cone |w_⊥| ≤ reach·(w·axis) around its axis stays on its side
of a normal n with |n·axis| > reach·|n_⊥|: w·n = (w·axis)(n·axis) + w_⊥·n_⊥. Cones are convex, so a step
whose Bernstein points are in the cone is in it as a whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax


class Classes(NamedTuple):
    """N classes, `count` of them in use, by the two sides of their hyperplanes; `axis` and `reach` by
    neuron."""

    count: Any
    signs: Any
    sigma: Any
    best: Any
    left: Any
    axis: Any
    reach: Any

    def forces(self, view: View, start):
        """`start`, the force of other hyperplanes (mean, by neuron, on the output bias), with that of the
        classes added."""
        even, odd = view.gates

        def add(i, found):
            mean, slopes, drift = found
            force = self.left[i] - (view.maps(self.signs[i]) - self.best[i]) @ self.sigma[i]
            by_sign = odd * (force[0] - force[1])
            both = force[0] + force[1]
            # an input of 1 for the hidden bias is the input of the output bias
            drift = drift + both[:, -1] if view.biased else drift
            return mean + even * both, slopes + by_sign.reshape(-1, 1) * self.signs[i], drift

        return lax.fori_loop(0, self.count, add, start)

    def value(self, view: View):
        """The loss of the classes, less the least that each could have."""

        def add(i, total):
            gap = view.maps(self.signs[i]) - self.best[i]
            return total + jnp.sum(gap * (gap @ self.sigma[i] / 2 - self.left[i]))

        return lax.fori_loop(0, self.count, add, jnp.float64(0))

    def hold(self, points):
        """Whether every neuron is in its cone at all of these points (·, H, D), and so in between."""
        along = jnp.sum(points * self.axis, axis=2)
        across = jnp.sum((points - along[:, :, None] * self.axis) ** 2, axis=2)
        return jnp.all((along > 0) & (across <= (self.reach * along) ** 2))


class View(NamedTuple):
    """The products a_h w_h by neuron (KD, H), their sum (K, D), and the output bias."""

    by_neuron: Any
    total: Any
    bias: Any
    biased: bool
    gates: Any

    def maps(self, signs):
        """The linear maps (2, K, D) on the two sides of hyperplanes with these signs."""
        even, odd = self.gates
        kinked = odd * (self.by_neuron @ signs).reshape(self.total.shape)
        maps = even * self.total + jnp.stack([kinked, -kinked])
        return maps.at[:, :, -1].add(self.bias) if self.biased else maps
