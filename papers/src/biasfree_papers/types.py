"""Types that the runs of all figures share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: The result of a run: arrays by name.
Numbers = dict[str, np.ndarray]
#: Called with a few words on the progress of a run.
Report = Callable[[str], None]
