"""Coverage as text: one screen of what applies and the nearest misses, and the whole table."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from biasfree.theory._coverage import Coverage, Finding, Row

_WIDTH = 110  # of the screen
_SHOWN = 5  # groups of nearest misses on the screen
_NAMES = 6  # lines of names on the screen
_SOURCE = re.compile(r" \([^()]*(?:TMLR|v1|\[ZSL25\]|\d{4})[^()]*\)")  # where a hypothesis is printed


def screen(coverage: Coverage) -> str:
    """What applies and the nearest misses, at most 20 lines."""
    applying = sum(row.applies for row in coverage.rows)
    lines = [f"{applying} of {len(coverage)} results apply{':' if applying else '.'}"]
    names = textwrap.wrap(", ".join(coverage.applies), _WIDTH - 2)
    lines += [f"  {line}" for line in names[:_NAMES]]
    if len(names) > _NAMES:
        lines[-1] += " …"
    if coverage.perhaps:
        lines.append(f"  Perhaps, up to some time: {', '.join(coverage.perhaps)}.")
    groups = _groups(coverage)
    lines += ["Nearest misses:"] if groups else []
    for failures, rows in list(groups.items())[:_SHOWN]:
        calls = ", ".join(dict.fromkeys(name for row in rows for name in row.result.calls))
        remedies = dict.fromkeys(finding.hypothesis.remedy for finding in failures)
        lines.append(f"  {_short('; '.join(map(_failure, failures)) + ': ' + calls, _WIDTH - 2)}")
        lines.append(f"    → {_short('; and '.join(remedies), _WIDTH - 6)}")
    lines.append('table() has every result with its defects and remedies; coverage["NAME"] has one of them.')
    return "\n".join(lines)


def _groups(coverage: Coverage) -> dict[tuple[Finding, ...], list[Row]]:
    """The results that do not apply by the hypotheses that fail, the nearest first.

    Where one fails by a number, those that could not be measured are left out: they may follow from it.
    """
    groups: dict[tuple[Finding, ...], list[Row]] = {}
    for row in coverage.misses:
        measured = tuple(finding for finding in row.missing if finding.defect == finding.defect)
        groups.setdefault(measured or row.missing, []).append(row)
    return groups


def table(coverage: Coverage) -> str:
    """Every result with its defects and remedies, and a legend of the hypotheses."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "result", "defects (✗ above tolerance)", "remedy", box=None, pad_edge=False)
    for row in coverage.rows:
        name = f"{', '.join(row.result.calls)}: {row.result.title} ({row.result.reference})"
        advice = (f"it applies until {row.result.until}",) if row.perhaps else row.remedies
        shown = [
            finding
            for finding in row.findings
            if finding.hypothesis.tolerance is not None or not finding.holds
        ]
        table.add_row(
            "✓" if row.applies else "?" if row.perhaps else "✗",
            Text(name),
            Text(", ".join(map(str, shown))),
            Text("\n".join(f"• {remedy}" for remedy in advice)),
        )
    console = Console(width=150, color_system=None)
    with console.capture() as captured:
        console.print(table)
        for line in _legend(coverage):
            console.print(Text(line))
    return captured.get()


def _failure(finding: Finding) -> str:
    """A hypothesis that fails, without its source, and its measured defect beside the tolerance."""
    hypothesis = finding.hypothesis
    name = _SOURCE.sub("", hypothesis.name).rstrip(",")
    return f"{name} ({hypothesis.key} {finding.defect:.2g} > {hypothesis.tolerance or 0.0:.2g})"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 2].rstrip() + " …"


def _legend(coverage: Coverage) -> Iterator[str]:
    """One line per hypothesis: its name, its measured defect and its tolerance."""
    found = dict.fromkeys(finding for row in coverage.rows for finding in row.findings)
    for finding in sorted(found, key=lambda finding: finding.hypothesis.key):
        hypothesis = finding.hypothesis
        yield (
            f"{hypothesis.key}: {hypothesis.name.rstrip(',')}; {hypothesis.measures.rstrip(',')} is "
            f"{finding.defect:.3g}, tolerated {hypothesis.tolerance or 0.0:.3g}"
            + (f" ({finding.problem})" if finding.problem else "")
        )
