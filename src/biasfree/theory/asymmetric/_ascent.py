"""Ascents of the early force on the sphere: each ends at a local maximum, which its last step certifies.

At r the first-order change of G along a tangent v is g·v + Σ κ_l|n_l·v| over the hyperplanes through r, g the
tangent part of the moment of the other lines. Where all their κ_l < 0 it is at most 0 for every v exactly if
g = Σ λ_l n_l with |λ_l| ≤ |κ_l|; otherwise g less the nearest such sum is the steepest ascent, which slides
along the hyperplanes of |λ_l| < |κ_l| and leaves the others. A line of κ_l > 0 adds ±κ_l n_l to g, and both
signs are tried. Where the change is at most 0 and G > 0, r is a strict local maximum: with u = r + v,
G(u/|u|) ≤ G(r)/√(1 + |v|²).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from biasfree.arrays import Bool, Float
from biasfree.theory.asymmetric._early_force import ROUNDING, EarlyForce
from biasfree.threads import load

_STEPS = 20  # of an ascent, per line and dimension; each goes up, and fewer are needed
_CONVEX = 8  # hyperplanes of κ > 0 through one direction, of which all signs are tried


def ascended(force: EarlyForce, r: Float[np.ndarray, "D"]) -> Float[np.ndarray, "D"] | None:
    """The certified local maximum of G > 0 at which the ascent from r ends, or None if it ends elsewhere."""
    for _ in range(_STEPS * sum(force.lines.shape)):
        on = force.on_hyperplanes(r)
        if np.count_nonzero(on & (force.kinks > 0)) > _CONVEX:
            return None
        moment = force.moment(np.where(on, 0.0, np.sign(force.lines @ r)))
        slope = steepest(force, r, on, moment)
        size = float(np.linalg.norm(slope))
        if size <= ROUNDING * np.linalg.norm(moment):
            grows = force(r[None])[0] > ROUNDING * force.size
            return _on(moment, force.lines[on]) if grows else None
        r = _climbed(force, r, slope / size, on)
    return None


def steepest(
    force: EarlyForce,
    r: Float[np.ndarray, "D"],
    on: Bool[np.ndarray, "L"],
    moment: Float[np.ndarray, "D"],
) -> Float[np.ndarray, "D"]:
    """The direction of steepest ascent times its slope, 0 exactly where no tangent leads up to first order.

    `on` are the hyperplanes through r, `moment` is that of the other lines.
    """
    convex = on & (force.kinks > 0)
    concave = on & (force.kinks < 0)
    found = []
    for signs in product((1.0, -1.0), repeat=int(convex.sum())):
        pushed = moment + (np.array(signs) * force.kinks[convex]) @ force.lines[convex]
        found.append(_remainder(pushed - (pushed @ r) * r, force.lines[concave], -force.kinks[concave]))
    return max(found, key=lambda v: float(v @ v))


def _remainder(
    g: Float[np.ndarray, "D"], normals: Float[np.ndarray, "M D"], limits: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "D"]:
    """g − Σ λ_l n_l of least norm over |λ_l| ≤ limits."""
    if not len(normals):
        return g
    weights = np.linalg.lstsq(normals.T, g, rcond=None)[0]
    if (np.abs(weights) > limits).any():
        lsq_linear = load("scipy.optimize").lsq_linear

        weights = lsq_linear(normals.T, g, bounds=(-limits, limits), method="bvls", tol=1e-15).x
    return g - weights @ normals


def _climbed(
    force: EarlyForce, r: Float[np.ndarray, "D"], w: Float[np.ndarray, "D"], on: Bool[np.ndarray, "L"]
) -> Float[np.ndarray, "D"]:
    """The first local maximum of G along the great circle from r in the direction w, at most half-way around.

    r cos φ + w sin φ crosses the hyperplane of line l once, at tan φ = −n_l·r/n_l·w. Between crossings
    G = p cos φ + q sin φ.
    """
    along = np.where(on, 0.0, force.lines @ r)
    across = force.lines @ w
    kept = on & (np.abs(across) <= ROUNDING)
    signs = np.where(kept, 0.0, np.sign(np.where(on, across, along)))
    moment = force.moment(signs)
    crossing = ~on
    angles = np.arctan2(-along[crossing], across[crossing]) % np.pi
    order = np.argsort(angles)
    angles = np.append(0.0, angles[order])
    lines = np.flatnonzero(crossing)[order]
    change = np.append(0.0, -2 * (force.kinks * signs)[lines])
    p = moment @ r + np.cumsum(change * np.append(0.0, along[lines]))
    q = moment @ w + np.cumsum(change * np.append(0.0, across[lines]))
    ends = np.append(angles[1:], np.pi)
    rises = q * np.cos(angles) - p * np.sin(angles) > 0
    rises[0] = True  # up to rounding
    stops = ~rises | (q * np.cos(ends) - p * np.sin(ends) <= 0)
    if not stops.any():
        return -r
    i = int(np.argmax(stops))
    at = angles[i] if not rises[i] else np.clip(np.arctan2(q[i], p[i]) % (2 * np.pi), angles[i], ends[i])
    joined = lines[[i - 1]] if not rises[i] else lines[:0]
    return _on(np.cos(at) * r + np.sin(at) * w, force.lines[np.append(np.flatnonzero(kept), joined)])


def _on(r: Float[np.ndarray, "D"], normals: Float[np.ndarray, "M D"]) -> Float[np.ndarray, "D"]:
    """r projected onto the hyperplanes of the normals, as a unit vector.

    Twice: what the first time leaves of r may be so short that rounding turns it off them.
    """
    for _ in range(2):
        if len(normals):
            r = r - np.linalg.lstsq(normals.T, r, rcond=None)[0] @ normals
        r = r / np.linalg.norm(r)
    return r
