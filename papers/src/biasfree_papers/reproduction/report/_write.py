"""The files of the report, written from the figures that are finished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from biasfree.files import replacing
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.report._page import whole_page
from biasfree_papers.reproduction.storage import RECORD, finished_record

PAGE = "report.html"


def write_report(out: Path) -> list[dict[str, Any]]:
    """Write out/report.html and out/claims.json from the figures that are finished; returns their records."""
    records = list(_records(out))
    with replacing(out / RECORD) as file:
        file.write(json.dumps(records, indent=1, ensure_ascii=False).encode())
    with replacing(out / PAGE) as file:
        file.write(whole_page(out, records).encode())
    return records


def _records(out: Path) -> Iterator[dict[str, Any]]:
    for name in REGISTRY:
        if (record := finished_record(out / name)) is not None:
            yield record
