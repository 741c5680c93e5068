"""Hyperplanes in chunks, and the forces of the samples on the two rays of each.

The samples of a hyperplane, x_μ = c_μ n_q, lie on two *rays*, c > 0 and c < 0. There f(x_μ) = c_μ f̂ + b,
with one f̂ per ray. With square loss all samples of a ray act as one; other losses evaluate each sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from biasfree.dynamics.flow.events._hyperplanes import Hyperplanes
from biasfree.losses import loss_named

#: Hyperplanes per chunk: their signs, as numbers, fill about a cache.
CHUNK_LINES = 256


class Square(NamedTuple):
    """The square loss of a ray: weight·|best − f̂ − tilt·b|²/2 and a constant, weight = Σ_μ c²/P.

    `tilt` is 1/c: with biases the inputs end on 1, so that samples on one ray are equal.
    """

    weight: Any
    best: Any
    tilt: Any

    def forces(self, f, bias, loss: str):  # noqa: ARG002
        """Σ_μ c_μ e_μ/P of every ray, and Σ_μ e_μ/P of all."""
        force = self.weight[:, None] * (self.best - f - self.tilt[:, None] * bias[:, None])
        return force, jnp.sum(self.tilt[:, None] * force, axis=(0, 2))

    def value(self, f, bias, loss: str):  # noqa: ARG002
        """The loss of these rays, less the constant."""
        return jnp.sum(self.weight[:, None] * (self.best - f - self.tilt[:, None] * bias[:, None]) ** 2) / 2


class Samples(NamedTuple):
    """Any other loss, sample by sample: `ray` is q for c > 0 and B + q for c < 0; `share` is 1/P, or 0."""

    ray: Any
    length: Any
    y: Any
    share: Any

    def forces(self, f, bias, loss: str):
        sides, outputs, lines = f.shape
        e = self.share[:, None] * loss_named(loss).residual(self._outputs(f, bias), self.y, jnp)
        sums = jax.ops.segment_sum(self.length[:, None] * e, self.ray, sides * lines)
        return sums.reshape(sides, lines, outputs).transpose(0, 2, 1), jnp.sum(e, axis=0)

    def value(self, f, bias, loss: str):
        return jnp.sum(self.share[:, None] * loss_named(loss).value(self._outputs(f, bias), self.y, jnp))

    def _outputs(self, f, bias):
        by_ray = f.transpose(0, 2, 1).reshape(-1, f.shape[1])
        return self.length[:, None] * by_ray[self.ray] + bias


class Chunk(NamedTuple):
    """Hyperplanes with their samples, B at a time: normals (C, D, B), and rays with leading axes C, 2."""

    normals: Any
    rays: Square | Samples

    def at(self, i) -> Chunk:
        """The i-th chunk."""
        return jax.tree.map(lambda a: lax.dynamic_index_in_dim(a, i, keepdims=False), self)


def over_chunks(count, chunks: int, body: Callable[[Any, Any], Any], start: Any) -> Any:
    """body(i, ·) for every chunk in use; `count` is traced, or None if all are."""
    if count is None and chunks == 1:
        return body(0, start)
    return lax.fori_loop(0, chunks if count is None else count, body, start)


class Targets(NamedTuple):
    """`Square` for every hyperplane, by hyperplane: weight (Q, 2), best (Q, 2, K), tilt (Q, 2), and the
    constant."""

    weight: np.ndarray
    best: np.ndarray
    tilt: np.ndarray
    floor: float


def targets_of(lines: Hyperplanes, y: np.ndarray, *, biased: bool) -> Targets:
    """Samples of a ray made one, with the square loss."""
    count, (samples, outputs) = len(lines.normals), y.shape
    ray = 2 * lines.hyperplane + (lines.length < 0)
    sums = np.zeros((2 * count, 1 + outputs))
    np.add.at(sums, ray, lines.length[:, None] * np.column_stack([lines.length, y]))
    weight, moment = sums[:, 0], sums[:, 1:]
    best = np.divide(moment, weight[:, None], out=np.zeros_like(moment), where=weight[:, None] > 0)
    floor = np.sum((y - lines.length[:, None] * best[ray]) ** 2) / (2 * samples)
    tilt = np.zeros(2 * count)
    if biased:
        tilt[ray] = 1 / lines.length
    shape = (count, 2)
    return Targets(
        weight.reshape(shape) / samples, best.reshape(*shape, outputs), tilt.reshape(shape), float(floor)
    )


def chunk_sizes(count: int) -> tuple[int, int]:
    """The number and the size of the chunks that hold `count` hyperplanes."""
    chunks = max(1, -(-count // CHUNK_LINES))
    return chunks, -(-count // chunks)


def folded(a: np.ndarray, chunks: int, size: int, *, padding: Any = 0) -> np.ndarray:
    """The rows of `a` as (C, ·, B)."""
    rest = [(0, 0)] * (a.ndim - 1)
    whole = np.pad(a, [(0, chunks * size - len(a)), *rest], constant_values=padding)
    return np.ascontiguousarray(np.moveaxis(whole.reshape(chunks, size, *a.shape[1:]), 1, -1))


def unfolded(a: Any, count: int) -> np.ndarray:
    """The first `count` rows of what `folded` made of them."""
    rows = np.moveaxis(np.asarray(a), -1, 1)
    return rows.reshape(-1, *rows.shape[2:])[:count]


def square_chunks(lines: Hyperplanes, targets: Targets, order: np.ndarray, chunks: int, size: int) -> Chunk:
    """The hyperplanes `order`, in that order, with the square loss."""
    parts = (targets.weight, targets.best, targets.tilt)
    rays = Square(*(folded(part[order], chunks, size) for part in parts))
    return Chunk(folded(lines.normals[order], chunks, size), rays)


def sample_chunks(lines: Hyperplanes, y: np.ndarray, chunks: int, size: int) -> Chunk:
    """All hyperplanes, with their samples."""
    home = lines.hyperplane // size
    most = max(1, int(np.bincount(home, minlength=chunks).max()))
    rank = np.argsort(np.argsort(home, kind="stable"), kind="stable")
    slot = rank - np.concatenate([[0], np.cumsum(np.bincount(home, minlength=chunks))])[home]

    def placed(values: np.ndarray) -> np.ndarray:
        out = np.zeros((chunks, most, *values.shape[1:]), values.dtype)
        out[home, slot] = values
        return out

    ray = lines.hyperplane % size + size * (lines.length < 0)
    rays = Samples(placed(ray), placed(lines.length), placed(y), placed(np.full(len(y), 1 / len(y))))
    return Chunk(folded(lines.normals, chunks, size), rays)
