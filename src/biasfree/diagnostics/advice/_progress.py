"""Progress of a diagnosis on a terminal: the first answer, the part being measured, the time left."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from biasfree.diagnostics.advice._report import Report

#: The parts of a diagnosis, in their order: name, samples up to which the cost grows, and its power.
PARTS: dict[str, tuple[str, float, float]] = {
    "score": ("the model's outputs", float("inf"), 1),
    "nonlinear": ("nonlinear share", float("inf"), 1),
    "competitors": ("linear maps and a kernel machine", 4000, 1.5),
    "symmetry": ("symmetry of the data", 1000, 1),
    "shares": ("parts of the targets", 1000, 2),
    "preparation": ("preparation", 2000, 1),
    "coverage": ("theory", 500, 1),
    "peers": ("networks trained for comparison", 1000, 1),
}


@dataclass
class Progress:
    """What is done and how long it took; written to stderr where that is a terminal."""

    shown: bool = field(default_factory=lambda: sys.stderr is not None and sys.stderr.isatty())
    _took: dict[str, float] = field(default_factory=dict)
    _before: tuple[int, dict[str, float]] = (0, {})
    _samples: int = 0
    _began: float = 0.0

    def begin(self, samples: int) -> None:
        """A new stage, on so many samples."""
        self._before, self._took, self._samples = (self._samples, self._took), {}, samples

    def part(self, name: str) -> None:
        """Show what is measured next."""
        self._began = time.monotonic()
        left = self.left(name)
        about = "" if left is None else f", about {max(1, round(left))} s left"
        self._write(f"measuring {PARTS[name][0]} on {self._samples:,} samples{about}; Ctrl-C ends it")

    def done(self, name: str) -> None:
        """The part is measured."""
        self._took[name] = time.monotonic() - self._began

    def left(self, name: str) -> float | None:
        """Seconds from this part on, from the times of the stage before; None if there was none."""
        samples, took = self._before
        if not took:
            return None
        names = list(PARTS)[list(PARTS).index(name) :]
        return sum(took[one] * _growth(one, samples, self._samples) for one in names if one in took)

    def answer(self, report: Report, samples: int) -> None:
        """Show an answer that is not the last."""
        self._write("")
        if self.shown:
            print(f"From {samples:,} samples: {report.answer}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.shown:
            sys.stderr.write(f"\r\x1b[K{text[:110]}")
            sys.stderr.flush()


def _growth(name: str, before: int, now: int) -> float:
    """How many times as long a part takes on `now` samples as on `before`."""
    _, most, power = PARTS[name]
    return max(1.0, (min(now, most) / min(before, most)) ** power)
