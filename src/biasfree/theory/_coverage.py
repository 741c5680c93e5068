"""Coverage: which results apply to a network and its data, which hypotheses fail, and the remedies."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from biasfree.arguments import public
from biasfree.data import Dataset, Population
from biasfree.networks import Network
from biasfree.theory._coverage_text import screen, table
from biasfree.theory.hypotheses import Hypothesis, Result, results
from biasfree.theory.hypotheses._hypothesis import compared

_FITS = Hypothesis(
    "sizes",
    "data of the network's dimensions",
    "the difference in the number of inputs and outputs",
    lambda network, data: abs(network.sizes[0] - data.dimensions) + abs(network.sizes[-1] - data.outputs),
    "match the sizes of network and data",
)
_SAMPLES = Hypothesis(
    "samples",
    "samples, not infinite data",
    "the number of populations",
    lambda _, data: float(isinstance(data, Population)),
    "use samples, population.sample(n, seed)",
)


@dataclass(frozen=True)
class Finding:
    """A hypothesis and its measured defect for a network and data; NaN where it is undefined."""

    hypothesis: Hypothesis
    defect: float
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether the defect is within the default tolerance, or equals it to rounding."""
        return self._compared <= 0

    @property
    def _compared(self) -> int:
        return compared(self.defect, self.hypothesis.tolerance or 0.0)

    def __str__(self) -> str:
        mark = {-1: "", 0: " (a tie)", 1: " ✗"}[self._compared]
        return f"{self.hypothesis.key} {self.defect:.2g}{mark}"


@dataclass(frozen=True)
class Row:
    """A result and the measured defects of its hypotheses."""

    result: Result
    findings: tuple[Finding, ...]

    @property
    def applies(self) -> bool:
        """Whether every hypothesis holds, and none is left to the call."""
        return not self.missing and not self.result.until

    @property
    def perhaps(self) -> bool:
        """Whether every hypothesis holds but one along the flow, `result.until`, which the call checks."""
        return not self.missing and bool(self.result.until)

    @property
    def missing(self) -> tuple[Finding, ...]:
        """The hypotheses that do not hold."""
        return tuple(finding for finding in self.findings if not finding.holds)

    @property
    def remedies(self) -> tuple[str, ...]:
        """The remedies for the hypotheses that do not hold, without repetition."""
        return tuple(dict.fromkeys(finding.hypothesis.remedy for finding in self.missing))


@dataclass(frozen=True, repr=False)
class Coverage:
    """Whether each result of the theory applies to one network and its data.

    Printed, it shows what applies and the nearest misses; `table()` has the rest.
    """

    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        """The row of a function, by name; under the square loss where there are two."""
        for row in self.rows:
            if name in row.result.calls:
                return row
        known = ", ".join(name for row in self.rows for name in row.result.calls)
        raise KeyError(f"no result is called {name!r}; there are {known}")

    @property
    def applies(self) -> tuple[str, ...]:
        """The names of the functions whose results apply."""
        return tuple(dict.fromkeys(name for row in self.rows if row.applies for name in row.result.calls))

    @property
    def perhaps(self) -> dict[str, str]:
        """The functions that apply up to some time, with what ends it; at later times they refuse."""
        return {name: row.result.until for row in self.rows if row.perhaps for name in row.result.calls}

    @property
    def misses(self) -> tuple[Row, ...]:
        """The results that do not apply, the nearest first, without functions that apply under another loss.

        Nearest is the one with the fewest failed hypotheses; of these, the one with the fewest that cannot be
        relaxed or measured, and then the least ratio of a defect to its tolerance.
        """
        known = {*self.applies, *self.perhaps}
        rows = [row for row in self.rows if row.missing and not known & {*row.result.calls}]
        first = {row.result.calls: row for row in reversed(rows)}  # the square loss comes first
        return tuple(sorted((row for row in rows if first[row.result.calls] is row), key=_distance))

    def table(self) -> str:
        """Every result with its defects and remedies as text, 150 columns wide."""
        return table(self)

    def __repr__(self) -> str:
        return screen(self)


@public
def coverage(network: Network, data: Dataset | Population) -> Coverage:
    """For every result of the theory: whether it applies, the defects of its hypotheses, and the remedies.

    Defects are compared with the default tolerances; a result's function accepts larger ones. Nothing is
    raised for a network or data that no result covers. Results that need samples do not apply to infinite
    data.
    """
    fits, samples = (_finding(one, network, data) for one in (_FITS, _SAMPLES))
    measurable = [r for r in every_result() if fits.holds and (r.populations or samples.holds)]
    measured: dict[Hypothesis, Finding] = {}
    for hypothesis in dict.fromkeys(h for result in measurable for h in result.assumes):
        measured[hypothesis] = _finding(hypothesis, network, data)

    def row(result: Result) -> Row:
        first = [] if fits.holds else [fits]
        first += [] if samples.holds or result.populations else [samples]
        return Row(result, (*first, *(measured.get(h, Finding(h, np.nan)) for h in result.assumes)))

    return Coverage(tuple(map(row, every_result())))


@functools.cache
def every_result() -> tuple[Result, ...]:
    """The results of `bf.theory`, in the order of their public names."""
    from biasfree import theory  # here, because the package imports this module

    return results({name: f"bf.theory.{name}" for name in theory.__all__})


def _finding(hypothesis: Hypothesis, network: Network, data: Dataset | Population) -> Finding:
    """The measured defect of a hypothesis, or the problem that prevented the measurement."""
    try:
        return Finding(hypothesis, hypothesis.measured(network, data))
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return Finding(hypothesis, np.nan, f"not measurable: {error}")


def _distance(row: Row) -> tuple[int, int, float]:
    """How far a result is from applying: smaller is nearer."""
    ratios = [
        finding.defect / finding.hypothesis.tolerance if finding.hypothesis.tolerance else np.inf
        for finding in row.missing
    ]
    hard = np.count_nonzero(~np.isfinite(ratios))
    return len(ratios), int(hard), float(max((r for r in ratios if np.isfinite(r)), default=0.0))
