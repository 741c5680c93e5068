"""Making figures: in parallel processes, with reuse of unchanged numbers, and a report on one page."""

from biasfree_papers.reproduction.making import Figure, draw, is_current, make
from biasfree_papers.reproduction.parallel import Failure, make_all
from biasfree_papers.reproduction.report import write_report

__all__ = ["Failure", "Figure", "draw", "is_current", "make", "make_all", "write_report"]
