"""The local maxima of the early force on the circle, all of them: G is one sinusoid between two kinks."""

from __future__ import annotations

import numpy as np

from biasfree.arrays import Float
from biasfree.theory.asymmetric._early_force import ROUNDING, EarlyForce


def planar_maxima(force: EarlyForce) -> Float[np.ndarray, "N 2"]:
    """The unit vectors of the plane at which G has a local maximum and G > 0, in the order of their angles.

    Between two kinks G(r) = m·r, so a maximum there is at r = m/|m| if that lies between them. At a kink the
    derivative must not rise to the right nor fall from the left; where it is 0, G > 0 bends down.
    """
    if not len(force.lines):
        size = float(np.linalg.norm(force.b))
        return (force.b / size)[None] if size > ROUNDING * force.size else np.zeros((0, 2))
    kinks, after = _sectors(force)
    before = np.roll(after, 1, axis=0)
    width = np.roll(kinks, -1) - kinks
    width[-1] += 2 * np.pi
    size = np.linalg.norm(after, axis=1)
    previous = np.linalg.norm(before, axis=1)
    since = (np.arctan2(after[:, 1], after[:, 0]) - kinks) % (2 * np.pi)
    inside = (since > ROUNDING) & (since < width - ROUNDING) & (size > ROUNDING * force.size)
    at = _unit(kinks)
    along = _unit(kinks + np.pi / 2)
    stops = (np.sum(after * along, axis=1) <= ROUNDING * size) & (
        np.sum(before * along, axis=1) >= -ROUNDING * previous
    )
    stops &= np.sum(after * at, axis=1) > ROUNDING * force.size
    angles = np.concatenate([(kinks + since)[inside], kinks[stops]])
    return np.concatenate([after[inside] / size[inside, None], at[stops]])[np.argsort(angles % (2 * np.pi))]


def _sectors(force: EarlyForce) -> tuple[Float[np.ndarray, "C"], Float[np.ndarray, "C 2"]]:
    """The angles of the kinks, ascending, and the moment m of the sector that begins at each."""
    angles = np.arctan2(force.lines[:, 1], force.lines[:, 0])
    kinks = np.concatenate([angles - np.pi / 2, angles + np.pi / 2]) % (2 * np.pi)
    order = np.argsort(kinks)
    change = 2 * force.kinks[:, None] * force.lines  # of m where a line's sign becomes positive
    changes = np.concatenate([change, -change])[order]
    kinks = kinks[order]
    middle = _unit((kinks[0] + kinks[1]) / 2)
    first = force.moment(np.sign(force.lines @ middle))
    return kinks, first + np.cumsum(np.vstack([np.zeros(2), changes[1:]]), axis=0)


def _unit(angles: Float[np.ndarray, "*C"]) -> Float[np.ndarray, "*C 2"]:
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
