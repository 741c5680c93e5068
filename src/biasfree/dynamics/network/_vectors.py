"""Loops over arrays, native: they compile in a fraction of the time of NumPy's expressions.

The products have the same bits whatever the kernels of BLAS, and run on one thread.
"""

from __future__ import annotations

import math

from biasfree.dynamics._policy import COLUMNS, LINE, ROWS
from biasfree.dynamics.network._compiled import inner, summing
from biasfree.dynamics.network._records import Array, Matrix, Vector


@inner
def fill(a: Array, value: float) -> None:
    """a = value."""
    flat = a.reshape(a.size)
    for i in range(len(flat)):
        flat[i] = value


@inner
def copy(source: Array, target: Array) -> None:
    """target = source."""
    flat, out = source.reshape(source.size), target.reshape(target.size)
    for i in range(len(flat)):
        out[i] = flat[i]


@inner
def add(factor: float, a: Array, out: Array) -> None:
    """out += factor·a."""
    flat, total = a.reshape(a.size), out.reshape(out.size)
    for i in range(len(flat)):
        total[i] += factor * flat[i]


@summing
def norm(a: Array) -> float:
    """|a|."""
    flat, total = a.reshape(a.size), 0.0
    for i in range(len(flat)):
        total += flat[i] * flat[i]
    return math.sqrt(total)


@summing
def add_product(a: Matrix, b: Matrix, out: Matrix) -> None:
    """out += a·b."""
    for begin in range(0, b.shape[1], COLUMNS):
        end = min(begin + COLUMNS, b.shape[1])
        left = len(a) - len(a) % ROWS
        for i in range(0, left, ROWS):
            s0, s1 = out[i, begin:end], out[i + 1, begin:end]
            s2, s3 = out[i + 2, begin:end], out[i + 3, begin:end]
            _add_four(a[i], a[i + 1], a[i + 2], a[i + 3], b, begin, end, s0, s1, s2, s3)
        for i in range(left, len(a)):
            _add_combination(a[i], b, begin, end, out[i, begin:end])


@summing
def add_transposed(a: Matrix, b: Matrix, out: Matrix) -> None:
    """out += aᵀ·b."""
    for begin in range(0, b.shape[1], COLUMNS):
        end = min(begin + COLUMNS, b.shape[1])
        left = a.shape[1] - a.shape[1] % ROWS
        for i in range(0, left, ROWS):
            s0, s1 = out[i, begin:end], out[i + 1, begin:end]
            s2, s3 = out[i + 2, begin:end], out[i + 3, begin:end]
            _add_four(a[:, i], a[:, i + 1], a[:, i + 2], a[:, i + 3], b, begin, end, s0, s1, s2, s3)
        for i in range(left, a.shape[1]):
            _add_combination(a[:, i], b, begin, end, out[i, begin:end])


@inner
def transpose(a: Matrix, out: Matrix) -> None:
    """out = aᵀ, a few rows at a time: what is written at once is one line of a cache."""
    for begin in range(0, len(a), LINE):
        for j in range(a.shape[1]):
            if begin + LINE <= len(a):  # unrolled: in half the time
                for i in range(LINE):
                    out[j, begin + i] = a[begin + i, j]
            else:
                for i in range(begin, len(a)):
                    out[j, i] = a[i, j]


@summing
def inner_product(a: Vector, b: Vector) -> float:
    """a·b."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@summing
def product(a: Matrix, b: Matrix, out: Matrix) -> None:
    """out = a·b."""
    for begin in range(0, b.shape[1], COLUMNS):
        end = min(begin + COLUMNS, b.shape[1])
        for i in range(0, len(a), ROWS):
            combine(a, i, b, begin, end, out)


@inner
def combine(a: Matrix, i: int, b: Matrix, begin: int, end: int, out: Matrix) -> None:
    """Rows i … i + ROWS − 1 of out = a·b, as far as there are any, from column `begin` to `end`."""
    if i + ROWS <= len(a):
        r0, r1, r2, r3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        s0, s1 = out[i, begin:end], out[i + 1, begin:end]
        s2, s3 = out[i + 2, begin:end], out[i + 3, begin:end]
        for j in range(len(s0)):
            s0[j] = s1[j] = s2[j] = s3[j] = 0.0
        _add_four(r0, r1, r2, r3, b, begin, end, s0, s1, s2, s3)
    else:
        for m in range(i, len(a)):
            combination(a[m], b, begin, end, out[m, begin:end])


@summing
def _add_four(
    c: Vector,
    d: Vector,
    e: Vector,
    f: Vector,
    b: Matrix,
    begin: int,
    end: int,
    s0: Vector,
    s1: Vector,
    s2: Vector,
    s3: Vector,
) -> None:
    """Add four combinations of the rows of b, four rows at a time: every number loaded is used four times."""
    left = len(b) % 4
    for k in range(left):
        c0, d0, e0, f0, b0 = c[k], d[k], e[k], f[k], b[k, begin:end]
        for j in range(len(s0)):
            s0[j] += c0 * b0[j]
            s1[j] += d0 * b0[j]
            s2[j] += e0 * b0[j]
            s3[j] += f0 * b0[j]
    for k in range(left, len(b), 4):
        c0, c1, c2, c3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        d0, d1, d2, d3 = d[k], d[k + 1], d[k + 2], d[k + 3]
        e0, e1, e2, e3 = e[k], e[k + 1], e[k + 2], e[k + 3]
        f0, f1, f2, f3 = f[k], f[k + 1], f[k + 2], f[k + 3]
        b0, b1 = b[k, begin:end], b[k + 1, begin:end]
        b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
        for j in range(len(s0)):
            x0, x1, x2, x3 = b0[j], b1[j], b2[j], b3[j]
            s0[j] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
            s1[j] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
            s2[j] += e0 * x0 + e1 * x1 + e2 * x2 + e3 * x3
            s3[j] += f0 * x0 + f1 * x1 + f2 * x2 + f3 * x3


@inner
def combination(c: Vector, b: Matrix, begin: int, end: int, row: Vector) -> None:
    """row = c·b, of the columns `begin` to `end` of b."""
    fill(row, 0.0)
    _add_combination(c, b, begin, end, row)


@summing
def _add_combination(c: Vector, b: Matrix, begin: int, end: int, row: Vector) -> None:
    """row += c·b, of the columns `begin` to `end` of b; four rows of b at a time."""
    left = len(b) % 4
    for k in range(left):
        c0, b0 = c[k], b[k, begin:end]
        for j in range(len(row)):
            row[j] += c0 * b0[j]
    for k in range(left, len(b), 4):
        c0, c1, c2, c3 = c[k], c[k + 1], c[k + 2], c[k + 3]
        b0, b1 = b[k, begin:end], b[k + 1, begin:end]
        b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
        for j in range(len(row)):
            row[j] += c0 * b0[j] + c1 * b1[j] + c2 * b2[j] + c3 * b3[j]


@inner
def product_by_rows(a: Matrix, b: Matrix, out: Matrix) -> None:
    """out = a·bᵀ."""
    fill(out, 0.0)
    for begin in range(0, b.shape[1], COLUMNS):
        add_products(a, begin, b, begin, min(begin + COLUMNS, b.shape[1]), out)


@summing
def add_products(a: Matrix, at: int, b: Matrix, begin: int, end: int, out: Matrix) -> None:
    """out += a·bᵀ, of the columns `begin` to `end` of b and as many of a from `at` on; four rows of a by two
    of b, and beyond the last row that row again."""
    for i in range(0, len(a), 4):
        i1, i2, i3 = min(i + 1, len(a) - 1), min(i + 2, len(a) - 1), min(i + 3, len(a) - 1)
        to = at + end - begin
        a0, a1, a2, a3 = a[i, at:to], a[i1, at:to], a[i2, at:to], a[i3, at:to]
        for k in range(0, len(b), 2):
            m = min(k + 1, len(b) - 1)
            b0, b1 = b[k, begin:end], b[m, begin:end]
            s0, s1, s2, s3, t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(len(b0)):
                x0, x1, x2, x3, y, z = a0[j], a1[j], a2[j], a3[j], b0[j], b1[j]
                s0 += x0 * y
                s1 += x1 * y
                s2 += x2 * y
                s3 += x3 * y
                t0 += x0 * z
                t1 += x1 * z
                t2 += x2 * z
                t3 += x3 * z
            s0, s1, s2, s3 = out[i, k] + s0, out[i1, k] + s1, out[i2, k] + s2, out[i3, k] + s3
            t0, t1, t2, t3 = out[i, m] + t0, out[i1, m] + t1, out[i2, m] + t2, out[i3, m] + t3
            out[i, k], out[i1, k], out[i2, k], out[i3, k] = s0, s1, s2, s3
            out[i, m], out[i1, m], out[i2, m], out[i3, m] = t0, t1, t2, t3
