"""Native loop of gradient descent: one program for all shapes, compiled by Numba and stored on disk.

Parameters are one vector θ: per layer its weights, then its biases if there are any. The weights of hidden
layers are transposed, so that neurons are contiguous in every loop over them. All functions are in this file,
since Numba compiles a stored function again only if its own file has changed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from biasfree.dynamics._stored import stored
from biasfree.losses import HUBER, SQUARE

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

#: Above the rounding of the sum of any number of squares that fits a memory, relative to the sum.
ROUNDING = 1e-12


class Ended(IntEnum):
    """Why a call ended: all stops are passed, the loss is at the level or not finite, or the patterns of
    merged samples may have changed."""

    STOPS = 0
    LEVEL = 1
    DIVERGED = 2
    CHANGED = 3


class Layers(NamedTuple):
    """The places of layers in θ, those of their activations on one sample, and constants of the network."""

    sizes: Int[np.ndarray, "L+1"]
    weights_at: Int[np.ndarray, "L"]
    biases_at: Int[np.ndarray, "L"]
    units_at: Int[np.ndarray, "L"]
    train: Bool[np.ndarray, "L"]
    biased: bool
    leak: float
    l2: float


class Merged(NamedTuple):
    """Rows that stand for the samples of C activation patterns: the pattern of each row, and the slopes of
    the N hidden neurons by pattern.

    The inputs of a neuron on the rows of a pattern are a vector. It was along the unit vector `reference`,
    and may have turned by an angle of tangent `margin`; that of a `still` neuron was zero, and must be. An
    evaluation writes its part `along` the reference and its square.
    """

    pattern: Int[np.ndarray, "m"]
    slopes: Float[np.ndarray, "C N"]
    reference: Float[np.ndarray, "m N"]
    margin: float
    still: Bool[np.ndarray, "C N"]
    along: Float[np.ndarray, "C N"]
    squares: Float[np.ndarray, "C N"]


class Inputs(NamedTuple):
    """Samples as rows, and chunk by chunk as columns; what biases are multiplied by, and targets. They stand
    for `total` samples, whose loss is above theirs by `floor`. `loss` is the code of the loss, a constant of
    `biasfree.losses`. Rows from `single` on are merged."""

    x: Float[np.ndarray, "R D"]
    columns: Float[np.ndarray, "D*R"]
    ones: Float[np.ndarray, "R"]
    y: Float[np.ndarray, "R K"]
    total: int
    floor: float
    loss: int
    single: int
    merged: Merged


class Room(NamedTuple):
    """Results of an evaluation: −∇ of all samples and of a later chunk. Of a chunk of n samples, activations
    of all layers, two arrays for what is propagated back, an array for transposes, and e = −∂loss/∂f as rows
    and as columns."""

    slope: Float[np.ndarray, "N"]
    more: Float[np.ndarray, "N"]
    active: Float[np.ndarray, "U"]
    back: Float[np.ndarray, "2 B"]
    turned: Float[np.ndarray, "T"]
    e: Float[np.ndarray, "n K"]
    columns: Float[np.ndarray, "K*n"]


def _native(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: compile as a part of `take_steps`."""
    return njit(nogil=True, error_model="numpy", **options)


@_native(fastmath={"contract"})
def _multiply(a, b, out):
    """out = a·b: every row of `out` combines the rows of `b`, four at a time, so that inner loops are
    vectorized and no sum is reordered; four rows at once read `b` a quarter as often."""
    rows, terms = a.shape
    width, first = b.shape[1], (terms - 1) % 4 + 1
    if first == 1:
        for i in range(rows):
            for j in range(width):
                out[i, j] = a[i, 0] * b[0, j]
    elif first == 2:
        for i in range(rows):
            for j in range(width):
                out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j]
    elif first == 3:
        for i in range(rows):
            for j in range(width):
                out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
    else:
        for i in range(rows):
            c0, c1, c2, c3 = a[i, 0], a[i, 1], a[i, 2], a[i, 3]
            for j in range(width):
                out[i, j] = c0 * b[0, j] + c1 * b[1, j] + c2 * b[2, j] + c3 * b[3, j]
    if terms > 4:
        _add_products(a, b, out, first)


@_native(fastmath={"contract"})
def _add_products(a, b, out, first):
    """Add the products of all terms from `first` on, a multiple of four of them."""
    rows, terms = a.shape
    width = b.shape[1]
    for i in range(0, rows - 3, 4):
        for k in range(first, terms, 4):
            c0, c1, c2, c3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            d0, d1, d2, d3 = a[i + 1, k], a[i + 1, k + 1], a[i + 1, k + 2], a[i + 1, k + 3]
            e0, e1, e2, e3 = a[i + 2, k], a[i + 2, k + 1], a[i + 2, k + 2], a[i + 2, k + 3]
            f0, f1, f2, f3 = a[i + 3, k], a[i + 3, k + 1], a[i + 3, k + 2], a[i + 3, k + 3]
            for j in range(width):
                b0, b1, b2, b3 = b[k, j], b[k + 1, j], b[k + 2, j], b[k + 3, j]
                out[i, j] += c0 * b0 + c1 * b1 + c2 * b2 + c3 * b3
                out[i + 1, j] += d0 * b0 + d1 * b1 + d2 * b2 + d3 * b3
                out[i + 2, j] += e0 * b0 + e1 * b1 + e2 * b2 + e3 * b3
                out[i + 3, j] += f0 * b0 + f1 * b1 + f2 * b2 + f3 * b3
    for i in range(rows - rows % 4, rows):
        for k in range(first, terms, 4):
            c0, c1, c2, c3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            for j in range(width):
                out[i, j] += c0 * b[k, j] + c1 * b[k + 1, j] + c2 * b[k + 2, j] + c3 * b[k + 3, j]


@_native(fastmath={"contract", "reassoc"})
def _dot(a, b):
    """a·b; the only sum that the compiler may reorder, always in the same way for one length."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@_native(inline="always")
def _matrix(vector, at, rows, columns):
    return vector[at : at + rows * columns].reshape(rows, columns)


@_native()
def _transposed(a, room):
    rows, columns = a.shape
    out = _matrix(room, 0, columns, rows)
    for i in range(rows):
        for j in range(columns):
            out[j, i] = a[i, j]
    return out


@_native(inline="always")
def _activate(z, leak):
    for j in range(len(z)):
        z[j] = z[j] if z[j] > 0 else leak * z[j]


@_native()
def _activate_merged(z, merged, first, at):
    """Activations of merged rows from `first` on, by the slopes of their patterns; notes their inputs."""
    rows, width = z.shape
    for p in range(rows):
        c = merged.pattern[first + p]
        slopes, reference = merged.slopes[c, at : at + width], merged.reference[first + p, at : at + width]
        along, squares, row = merged.along[c, at : at + width], merged.squares[c, at : at + width], z[p]
        for j in range(width):
            along[j] += reference[j] * row[j]
            squares[j] += row[j] * row[j]
            row[j] *= slopes[j]


@_native()
def _close_merged(back, merged, first, at):
    """Multiply by the slopes of the patterns of merged rows from `first` on."""
    rows, width = back.shape
    for p in range(rows):
        slopes, row = merged.slopes[merged.pattern[first + p], at : at + width], back[p]
        for j in range(width):
            row[j] *= slopes[j]


@_native()
def _hold(merged):
    """Whether no neuron has turned too far on the rows of any pattern."""
    for c in range(len(merged.along)):
        for u in range(merged.along.shape[1]):
            along, square = merged.along[c, u], merged.squares[c, u]
            aside = square - along * along + ROUNDING * square
            turned = square > 0 if merged.still[c, u] else aside > (merged.margin * along) ** 2
            if turned or not (along > 0 or merged.still[c, u]):
                return False
    return True


@_native(inline="always")
def _close(back, active, leak):
    """Multiply by σ′, with σ′(0) = α; an activation is positive where its input is."""
    for j in range(len(back)):
        back[j] = back[j] if active[j] > 0 else leak * back[j]


@_native()
def _residual(f, y, kind):
    """The loss of one output, and −∂loss/∂f."""
    gap = y - f
    if kind == SQUARE:
        return gap**2 / 2, gap
    if kind == HUBER:
        length = math.hypot(1.0, gap)
        return gap * (gap / (1 + length)), gap / length
    small = math.exp(-abs(y * f))
    if y * f > 0:
        return math.log1p(small), y * small / (1 + small)
    return math.log1p(small) - y * f, y / (1 + small)


@_native(inline="always")
def _forward(theta, layers, inputs, room, first, samples):
    """Activations of all hidden layers and the residuals of a chunk into `room`; returns its loss."""
    outputs = inputs.y.shape[1]
    single = min(max(inputs.single - first, 0), samples)
    last, h = len(layers.sizes) - 2, inputs.x[first : first + samples]
    for layer in range(last):
        fan_in, width = layers.sizes[layer], layers.sizes[layer + 1]
        z = _matrix(room.active, samples * layers.units_at[layer], samples, width)
        _multiply(h, _matrix(theta, layers.weights_at[layer], fan_in, width), z)
        if layers.biased:
            b = theta[layers.biases_at[layer] : layers.biases_at[layer] + width]
            for p in range(samples):
                z[p] += inputs.ones[first + p] * b
        at = samples * layers.units_at[layer]
        _activate(room.active[at : at + single * width], layers.leak)
        if single < samples:
            begin = first + single - inputs.single
            _activate_merged(z[single:], inputs.merged, begin, layers.units_at[layer])
        h = z
    w = _matrix(theta, layers.weights_at[last], outputs, layers.sizes[last])
    columns = _matrix(room.columns, 0, outputs, samples)
    value = 0.0
    for p in range(samples):
        for k in range(outputs):
            f = _dot(w[k], h[p])
            if layers.biased:
                f += inputs.ones[first + p] * theta[layers.biases_at[last] + k]
            loss, e = _residual(f, inputs.y[first + p, k], inputs.loss)
            value += loss / inputs.total
            room.e[p, k] = columns[k, p] = e / inputs.total
    return value


@_native(inline="always")
def _backward(theta, layers, inputs, room, first, samples, slope):
    """−∇ of the loss of a chunk into `slope`."""
    last, delta = len(layers.sizes) - 2, room.e[:samples]
    single = min(max(inputs.single - first, 0), samples)
    for layer in range(last, -1, -1):
        fan_in, width = layers.sizes[layer], layers.sizes[layer + 1]
        at, before = layers.weights_at[layer], max(layer - 1, 0)
        if layers.biased:
            ones = _matrix(inputs.ones, first, 1, samples)
            _multiply(ones, delta, _matrix(slope, layers.biases_at[layer], 1, width))
        units = samples * layers.units_at[before]
        if layer == last:
            rows = inputs.x[first : first + samples]
            h = rows if layer == 0 else _matrix(room.active, units, samples, fan_in)
            _multiply(_matrix(room.columns, 0, width, samples), h, _matrix(slope, at, width, fan_in))
        else:
            if layer == 0:
                turned = _matrix(inputs.columns, first * fan_in, fan_in, samples)
            else:
                turned = _transposed(_matrix(room.active, units, samples, fan_in), room.turned)
            _multiply(turned, delta, _matrix(slope, at, fan_in, width))
        if layer > 0:
            back = room.back[layer % 2]
            if layer == last:
                w = _matrix(theta, at, width, fan_in)
            else:
                w = _transposed(_matrix(theta, at, fan_in, width), room.turned)
            _multiply(delta, w, _matrix(back, 0, samples, fan_in))
            _close(back[: single * fan_in], room.active[units : units + single * fan_in], layers.leak)
            delta = _matrix(back, 0, samples, fan_in)
            if single < samples:
                begin = first + single - inputs.single
                _close_merged(delta[single:], inputs.merged, begin, layers.units_at[before])


@_native(inline="always")
def _evaluate(theta, layers, inputs, room):
    """−∇ of the loss into `room.slope`; returns the loss."""
    count, rows = len(inputs.y), len(room.e)
    loss = inputs.floor
    inputs.merged.along[:] = 0.0
    inputs.merged.squares[:] = 0.0
    for first in range(0, count, rows):
        samples = min(rows, count - first)
        slope = room.more if first else room.slope
        loss += _forward(theta, layers, inputs, room, first, samples)
        _backward(theta, layers, inputs, room, first, samples, slope)
        if first:
            room.slope[:] += slope
    return loss


@_native(inline="always")
def _step(theta, layers, slope, step):
    """θ ← θ + step·(slope − λW) in the layers that are trained."""
    for layer in range(len(layers.train)):
        if not layers.train[layer]:
            continue
        at, end = layers.weights_at[layer], layers.biases_at[layer]
        w, s = theta[at:end], slope[at:end]
        for j in range(len(w)):
            w[j] += step * (s[j] - layers.l2 * w[j])
        if layers.biased:
            b, s = theta[end : end + layers.sizes[layer + 1]], slope[end : end + layers.sizes[layer + 1]]
            for j in range(len(b)):
                b[j] += step * s[j]


@partial(stored, nogil=True, error_model="numpy")
def take_steps(theta, layers, inputs, room, step, level, stops, saved, losses):
    """Take steps from θ up to stops[0], stops[1], …; the states there go to `saved` and `losses`.

    Returns why it ended, the steps done, the stops passed, the loss at the end, the lowest loss and its step.
    """
    done = 0
    passed = 0
    lowest = np.inf
    lowest_step = 0
    while True:
        loss = _evaluate(theta, layers, inputs, room)
        if not _hold(inputs.merged):
            return Ended.CHANGED, done, passed, loss, lowest, lowest_step
        if not math.isfinite(loss):
            return Ended.DIVERGED, done, passed, loss, lowest, lowest_step
        if loss < lowest:
            lowest, lowest_step = loss, done
        while passed < len(stops) and stops[passed] == done:
            saved[passed], losses[passed] = theta, loss
            passed += 1
        if loss <= level:
            return Ended.LEVEL, done, passed, loss, lowest, lowest_step
        if passed == len(stops):
            return Ended.STOPS, done, passed, loss, lowest, lowest_step
        _step(theta, layers, room.slope, step)
        done += 1


def say_if_compiling() -> None:
    """Say on a terminal that the first call compiles, if no program is stored."""
    folder = take_steps.stats.cache_path
    stored = folder is not None and any(Path(folder).glob("_native_loop.take_steps-*.nbi"))
    if not stored and not take_steps.signatures and sys.stderr.isatty():
        print("compiling gradient descent, once for all shapes and for later processes", file=sys.stderr)
