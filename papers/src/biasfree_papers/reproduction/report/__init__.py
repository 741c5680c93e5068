"""The report: report.html and claims.json, from the records of the finished figures."""

from biasfree_papers.reproduction.report._page import PAGE, whole_page, write_report
from biasfree_papers.reproduction.report._verdicts import (
    count,
    headlines,
    holds,
    limit,
    marks,
    measured,
    natures,
    of_kind,
    ordered,
    seed_count,
    spread,
    tally,
)

__all__ = [
    "PAGE",
    "count",
    "headlines",
    "holds",
    "limit",
    "marks",
    "measured",
    "natures",
    "of_kind",
    "ordered",
    "seed_count",
    "spread",
    "tally",
    "whole_page",
    "write_report",
]
