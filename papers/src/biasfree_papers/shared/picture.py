"""Parts of pictures that several figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from biasfree import plots

if TYPE_CHECKING:
    pass

#: Shapes that can be told apart where colors cannot.
MARKERS = "osDv^<>Ph*"


def colors(n: int) -> list[tuple[float, ...]]:
    """n colors from dark to light."""
    return plots.leak_colors(np.linspace(0, 1, n))
