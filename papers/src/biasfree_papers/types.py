"""Types that the runs of all figures share."""

from __future__ import annotations

from collections.abc import Callable

#: Called with a few words on the progress of a run.
Report = Callable[[str], None]
