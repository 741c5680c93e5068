"""A fine phase diagram, for `biasfree sweep run`; `biasfree run phases --set fine=1` draws it."""

from biasfree_papers.phases.grids import fine_sweep

sweep = fine_sweep("structure")
