"""Loops over arrays, native: they compile in a fraction of the time of NumPy's expressions.

The products here run on one thread. Those of BLAS start threads of their own, which cost more than they gain
with few inputs per neuron, and fight for cores where flows of a list run side by side.
"""

from __future__ import annotations

import math

from biasfree.dynamics.flow.native._compiled import inner, summing

#: Columns of a product that are computed at once, so that their factors stay in the fastest cache.
COLUMNS = 128


@inner
def fill(a, value):
    """a = value."""
    flat = a.reshape(a.size)
    for i in range(len(flat)):
        flat[i] = value


@inner
def copy(source, target):
    """target = source."""
    flat, out = source.reshape(source.size), target.reshape(target.size)
    for i in range(len(flat)):
        out[i] = flat[i]


@inner
def norm(a):
    """|a|."""
    flat, total = a.reshape(a.size), 0.0
    for i in range(len(flat)):
        total += flat[i] * flat[i]
    return math.sqrt(total)


@summing
def product(a, b, out):
    """out = a·b: every row of `out` combines the rows of b, four at a time."""
    terms, width = b.shape
    for begin in range(0, width, COLUMNS):
        end = min(begin + COLUMNS, width)
        for i in range(len(a)):
            row = out[i, begin:end]
            for j in range(len(row)):
                row[j] = 0.0
            for k in range(0, terms - 3, 4):
                c0, c1, c2, c3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                b0, b1 = b[k, begin:end], b[k + 1, begin:end]
                b2, b3 = b[k + 2, begin:end], b[k + 3, begin:end]
                for j in range(len(row)):
                    row[j] += c0 * b0[j] + c1 * b1[j] + c2 * b2[j] + c3 * b3[j]
            for k in range(terms - terms % 4, terms):
                c0, b0 = a[i, k], b[k, begin:end]
                for j in range(len(row)):
                    row[j] += c0 * b0[j]


@summing
def product_by_rows(a, b, out):
    """out = a·bᵀ: the products of the rows of a and b, four rows of a at a time."""
    rows = len(a)
    for i in range(0, rows - 3, 4):
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        for k in range(len(b)):
            t0, t1, t2, t3, row = 0.0, 0.0, 0.0, 0.0, b[k]
            for j in range(len(row)):
                t0 += a0[j] * row[j]
                t1 += a1[j] * row[j]
                t2 += a2[j] * row[j]
                t3 += a3[j] * row[j]
            out[i, k], out[i + 1, k], out[i + 2, k], out[i + 3, k] = t0, t1, t2, t3
    for i in range(rows - rows % 4, rows):
        for k in range(len(b)):
            total, one, row = 0.0, a[i], b[k]
            for j in range(len(row)):
                total += one[j] * row[j]
            out[i, k] = total
