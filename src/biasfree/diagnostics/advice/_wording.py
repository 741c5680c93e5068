"""Numbers in words: percentages, points and scores, the same in every sentence of a report."""

from __future__ import annotations

from biasfree.diagnostics.advice._task import Difference, Task

#: Shares and scores are 0 up to here: sums of up to 4 000 terms, each rounded by 2e-16 of its size.
ROUNDING = 1e-12
TUTORIAL = "docs/tutorial_diagnose.md"


class Reason(str):
    """A sentence of a report, and the page of the documentation that explains it."""

    page: str

    def __new__(cls, text: str, page: str = TUTORIAL) -> Reason:
        made = super().__new__(cls, text)
        made.page = page
        return made


def digits(value: float, count: int) -> str:
    """A number with `count` digits, rounded to ten first: 6.25 is 6.2, whatever follows the tenth digit."""
    return f"{float(f'{value:.10g}'):.{count}g}"


def percent(share: float) -> str:
    """A share in percent, with two or three digits."""
    if ROUNDING < share < 1e-4:
        return "less than 0.01 %"
    share = 0.0 if abs(share) <= ROUNDING else share
    return f"{digits(100 * share, 3 if share > 0.1 else 2)} %"


def amount(score: float) -> str:
    """R² or an accuracy in percent; a negative R² explains nothing."""
    if score < -ROUNDING:
        return f"nothing (R² = {digits(score, 2)})".replace("-", "−")
    if 0.9995 <= score < 1:
        return f"{digits(100 * score, 5)} %" if score < 0.99999 else "100 %"
    return f"{digits(100 * max(score, 0.0), 3)} %"


def does(task: Task, score: float) -> str:
    """The score as a verb, in the measure of the task."""
    if task.is_classes:
        return f"classifies {amount(score)} of the samples correctly"
    return f"explains {amount(score)}" + (" of the targets' variance" if score >= -ROUNDING else "")


def points(value: float) -> str:
    """A difference of scores in points, hundredths of R² or of the accuracy."""
    rounded = float(digits(100 * abs(value), 2))
    return f"{rounded:g} point" + ("" if rounded == 1 else "s")


def measured_points(difference: Difference) -> str:
    """A difference with its standard error."""
    value, error = 100 * difference.value, 100 * difference.error
    sign, size = ("−" if value < 0 else "+"), abs(value)
    shown = f"{sign}{digits(size, 2)}" if size >= 0.01 else "+0"
    return f"{shown} ± {digits(error, 1) if error >= 0.01 else '0'} points"
