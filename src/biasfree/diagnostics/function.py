"""What function a network computes: its even part and its linear map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree.arrays import real
from biasfree.networks import Network
from biasfree.theory.expressivity import even_part, odd_part

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy.typing import ArrayLike


def even_fraction(network: Network, x: ArrayLike) -> float:
    """The energy of the even part of f over the energy of f, on the samples x and −x: 0 odd, 1 even.

    ⟨f_e²⟩/(⟨f_e²⟩ + ⟨f_o²⟩), f_e = (f(x) + f(−x))/2, f_o = (f(x) − f(−x))/2; 0 where f vanishes.

    Reference: [ZSL25] Thm. 1, f_e = k·W₂|W₁x| for two layers.
    """
    odd, even = _parts(network, x)
    largest = max(np.abs(odd).max(), np.abs(even).max())
    if largest == 0:
        return 0.0
    odd_energy, even_energy = np.sum((odd / largest) ** 2), np.sum((even / largest) ** 2)
    return float(even_energy / (odd_energy + even_energy))


def linear_map(network: Network, x: ArrayLike) -> Float[np.ndarray, "D"] | Float[np.ndarray, "K D"]:
    """The least-squares linear map w of the odd part of f on the samples: min ⟨(f_o(x) − w·x)²⟩.

    For two layers it is c·W₂W₁ exactly, whatever the samples, as long as they span the space; where they do
    not, it is the shortest such map.

    Reference: [ZSL25] Thm. 1.
    """
    odd, _ = _parts(network, x)
    return np.linalg.lstsq(real("x", x), odd, rcond=None)[0].T


def _parts(network: Network, x: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x = real("x", x)
    if x.ndim != 2 or len(x) == 0:
        raise ValueError(f"x must have shape (samples, {network.sizes[0]}), got {x.shape}.")
    return odd_part(network, x), even_part(network, x)
