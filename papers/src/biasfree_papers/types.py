"""Types that the runs of all figures share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: What a run gives: arrays by name.
Numbers = dict[str, np.ndarray]
#: Called with a few words on what a run is doing.
Report = Callable[[str], None]
