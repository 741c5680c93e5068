"""Samples sorted by activation pattern at a state, each with its distance from a kink; any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics._programs import compiled
from biasfree.dynamics.field._layers import Params, gate, preactivation
from biasfree.dynamics.field.classes._certificate import basis
from biasfree.dynamics.field.classes._directions import directions, lengths, slacks

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int

    from biasfree.dynamics.field.classes._clusters import Clusters

#: The number of patterns that may form classes: the most frequent ones.
MOST_PATTERNS = 64


class Sorted(NamedTuple):
    """Samples by pattern: the pattern of each (−1: not a frequent one), and its margin.

    The margin of a sample is the least |r·x|/(|r||x|) of its neurons, minus a bound on rounding. `gates` and
    `mirrored` are the gates of x and of −x by layer and pattern, `directions` those of the rows up to every
    neuron. `cost` is the cost of sorting in passes over all samples. `clusters` are those of the neurons, if
    samples were sorted by them.
    """

    pattern: Int[np.ndarray, "P"]
    margin: Float[np.ndarray, "P"]
    gates: tuple[Float[np.ndarray, "M _"], ...]
    mirrored: tuple[Float[np.ndarray, "M _"], ...]
    directions: tuple[Float[np.ndarray, "M _ D"], ...]
    cost: float
    clusters: Clusters | None = None


def sort(params: Params, x: Float[np.ndarray, "C n D"], real: np.ndarray, leak, *, mirrored: bool) -> Sorted:
    """Sort samples, in chunks, by the pattern of all neurons; those that are not `real` are padding.

    Of mirrored data, the one of ±x on the positive side of the first neuron stands for both, so that both
    have one pattern.
    """
    keys, side = (np.asarray(a) for a in _keys(params, x, leak, mirrored))
    pattern, first = _frequent(keys.reshape(-1, 2), real)
    if np.count_nonzero(pattern[real] < 0) > np.count_nonzero(real) / 2:
        empty = tuple(np.zeros((0, len(w))) for w in params.weights[:-1])
        count = int(np.count_nonzero(real))
        return Sorted(np.full(count, -1), np.full(count, -1.0), empty, empty, empty, cost=1.0)
    x = side[:, :, None] * x
    # always as many: another number would compile anew
    samples = x.reshape(-1, x.shape[2])[np.resize(first, MOST_PATTERNS)]
    patterns = _pattern_data(params, samples, leak)
    margin = np.asarray(_margins(params, x, pattern.reshape(side.shape), patterns, leak)).ravel()
    gates, other, rows = (tuple(np.asarray(a)[: len(first)] for a in part) for part in patterns[:3])
    pattern, margin = np.where(margin > 0, pattern, -1)[real], margin[real]
    return Sorted(pattern, margin, gates, other, rows, cost=4.0)


def _frequent(keys: np.ndarray, real: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent keys: the rank of every sample's key (−1: not frequent), and a sample of each."""
    names = np.where(real, keys[:, 0] + 1j * keys[:, 1], -1)
    found, first, label, count = np.unique(names, return_index=True, return_inverse=True, return_counts=True)
    frequent = np.argsort(-np.where(found == -1, 0, count), kind="stable")[:MOST_PATTERNS]
    frequent = frequent[found[frequent] != -1]
    number = np.full(len(found), -1)
    number[frequent] = np.arange(len(frequent))
    return number[label], first[frequent]


class _PatternData(NamedTuple):
    """Patterns, layer by layer: gates of x and of −x, and directions, lengths and rounding of the rows up to
    every neuron."""

    gates: tuple[Float[Array, "M _"], ...]
    mirrored: tuple[Float[Array, "M _"], ...]
    directions: tuple[Float[Array, "M _ D"], ...]
    lengths: tuple[Float[Array, "M _"], ...]
    slacks: tuple[Float[Array, "M _"], ...]


def _hidden(params: Params, x: Float[np.ndarray, "n D"], leak):
    """z of every hidden layer, samples as columns."""
    h, unit = x.T, jnp.ones(len(x))
    for i in range(len(params.weights) - 1):
        z = preactivation(params, i, h, unit)
        yield z
        h = gate(z, leak) * z


@compiled("mirrored")
def _keys(params: Params, x, leak, mirrored: bool):
    """A key for the activation pattern of every sample, and the sign of ±x that was evaluated.

    A key is two sums of random whole numbers, one number per active neuron. The sums are exact in float64, so
    equal patterns have equal keys; `_margins` checks that equal keys are equal patterns.
    """
    sizes = [w.shape[0] for w in params.weights[:-1]]
    words = np.random.default_rng(0).integers(0, 2**52 // sum(sizes), (2, sum(sizes))).astype(float)

    def key(x):
        z = jnp.concatenate(list(_hidden(params, x, leak)))
        side = jnp.where(z[0] < 0, -1.0, 1.0) if mirrored else jnp.ones(len(x))
        return (words @ jnp.where(z * side > 0, 1.0, 0.0)).T, side

    return lax.map(key, x)


@compiled()
def _pattern_data(params: Params, x, leak) -> _PatternData:
    """The patterns of these samples."""
    hidden = list(_hidden(params, x, leak))
    gates, mirrored = ([gate(side * z, leak).T for z in hidden] for side in (1, -1))

    def rows(gates):
        h, unit = basis(params)
        found = []
        for i, open_ in enumerate(gates):
            found.append(preactivation(params, i, h, unit))
            h = open_[:, None] * found[-1]
        return list(map(directions, found)), list(map(lengths, found)), slacks(params, found)

    return _PatternData(tuple(gates), tuple(mirrored), *map(tuple, jax.vmap(rows)(gates)))


@compiled()
def _margins(params: Params, x, pattern, patterns: _PatternData, leak):
    """The margin of every sample; −1 where its gates are not those of its pattern."""

    def margin(x, pattern):
        size = lengths(jnp.concatenate([x, jnp.ones((len(x), len(params.biases[:1])))], axis=1))
        least = jnp.where(pattern < 0, -1.0, jnp.inf)
        for i, z in enumerate(_hidden(params, x, leak)):
            length, slack = patterns.lengths[i][pattern].T, patterns.slacks[i][pattern].T
            scale = length * size
            here = jnp.where(scale > 0, jnp.abs(z) / jnp.where(scale > 0, scale, 1.0) - slack, jnp.inf)
            # a row of zeros has z = 0 by structure, and any other z is rounding
            here = jnp.where((scale > 0) | (z == 0), here, -1.0)
            same = gate(z, leak) == patterns.gates[i][pattern].T
            least = jnp.minimum(least, jnp.min(jnp.where(same, here, -1.0), axis=0))
        return least

    return lax.map(lambda chunk: margin(*chunk), (x, pattern))
