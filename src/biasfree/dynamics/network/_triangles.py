"""Triangles R of QR factorizations of rays, native: a few rows at a time, by Householder reflections."""

from __future__ import annotations

import math

import numpy as np

from biasfree.dynamics._policy import TRIANGLE_ROWS
from biasfree.dynamics.network._compiled import native_allocating, summing
from biasfree.dynamics.network._records import Cube, Integers, Matrix, Rays


@native_allocating
def triangles_of(rays: Rays, pattern: Integers, count: int) -> Cube:
    """Rᵀ of the rows √p·(direction, target) of all rays of each of `count` patterns, in the first columns;
    rays of a negative pattern are left out."""
    inputs, outputs = len(rays.normals), len(rays.t)
    size = inputs + outputs
    tables, filled = np.zeros((count, size, size + TRIANGLE_ROWS)), np.zeros(count, np.int64)
    for r in range(len(rays.orient)):
        if pattern[r] < 0:
            continue
        table, at, root = tables[pattern[r]], size + filled[pattern[r]], math.sqrt(rays.p[r])
        for i in range(inputs):
            table[i, at] = root * rays.orient[r] * rays.normals[i, rays.line[r]]
        for k in range(outputs):
            table[inputs + k, at] = root * rays.t[k, r]
        filled[pattern[r]] += 1
        if filled[pattern[r]] == TRIANGLE_ROWS:
            _absorb(table, TRIANGLE_ROWS)
            filled[pattern[r]] = 0
    for c in range(count):
        _absorb(tables[c], filled[c])
    return tables


@summing
def _absorb(table: Matrix, count: int) -> None:
    """Reflect `count` rows, the last columns of `table`, into the triangle in its first columns."""
    size = len(table)
    for j in range(size):
        tail, square = table[j, size : size + count], 0.0
        for i in range(len(tail)):
            square += tail[i] * tail[i]
        if square == 0.0:
            continue
        length = math.sqrt(table[j, j] ** 2 + square)
        head = table[j, j] + (length if table[j, j] > 0 else -length)
        table[j, j] -= head
        for k in range(j + 1, size):
            other, total = table[k, size : size + count], head * table[k, j]
            for i in range(len(tail)):
                total += tail[i] * other[i]
            total *= 2 / (head * head + square)
            table[k, j] -= total * head
            for i in range(len(tail)):
                other[i] -= total * tail[i]
