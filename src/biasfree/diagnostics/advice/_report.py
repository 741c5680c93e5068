"""The report of a diagnosis: answer, verdict, reasons and tables, as text, JSON or an HTML page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from biasfree.cards import card, scatter
from biasfree.files import replacing
from biasfree.tables import Table, printed, wrapped
from biasfree.threads import one_blas_thread

if TYPE_CHECKING:
    from biasfree.data import Dataset
    from biasfree.diagnostics.advice._subject import Subject
    from biasfree.diagnostics.advice._wording import Reason


@dataclass(frozen=True, eq=False)
class Report:
    """The result of `bf.diagnose`.

    `answer` says whether a linear model would do as well and what to change; `case` is that in two words.
    `verdict` is `effectively linear`, `effectively affine`, `linear so far` or `nonlinear`. `reasons` are
    sentences, each with a `page` of the documentation that explains it; `tables` contain all measured
    numbers; `thresholds` are those of the decisions; `notes` list limitations, such as subsamples and models
    of which only outputs are known.
    """

    answer: str
    case: str
    verdict: str
    reasons: tuple[Reason, ...]
    tables: Mapping[str, Table]
    thresholds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    subject: Subject | None = field(default=None, repr=False)
    data: Dataset | None = field(default=None, repr=False)

    @property
    def limits(self) -> str:
        """The thresholds in words."""
        return ", ".join(f"{name} = {value:g}" for name, value in self.thresholds.items())

    def to_json(self) -> str:
        """The report without pictures, as JSON."""
        record = {
            "answer": self.answer,
            "case": self.case,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "pages": [reason.page for reason in self.reasons],
            "tables": {name: table.record() for name, table in self.tables.items()},
            "thresholds": dict(self.thresholds),
            "notes": list(self.notes),
        }
        return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)

    @one_blas_thread
    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML page with embedded pictures."""
        from biasfree.diagnostics.advice._page import page

        text = page(self)
        with replacing(path) as file:
            file.write(text.encode())

    def _repr_html_(self) -> str:
        picture = None
        if self.data is not None and self.data.dimensions > 1:
            sign = self.data.targets[:, 0]
            picture = scatter(self.data.x[:, :2], sign, "first two inputs, by the sign of the target")
        return card(self.answer, (f"Verdict: {self.verdict}",), picture, items=(*self.reasons, *self.notes))

    def __str__(self) -> str:
        reasons = (f"  • {reason} [{reason.page}]" for reason in self.reasons)
        notes = (f"Note: {note}" for note in self.notes)
        parts = [
            wrapped([self.answer, "", f"Verdict: {self.verdict}", *reasons]),
            *map(printed, self.tables.values()),
            wrapped([f"Thresholds: {self.limits}", *notes]),
        ]
        return "\n".join(parts)
