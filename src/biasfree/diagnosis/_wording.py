"""Numbers in words: percentages, points and scores, the same in every sentence of a report."""

from __future__ import annotations

from biasfree.diagnosis._task import Difference, Task

TUTORIAL = "docs/tutorial_diagnose.md"


class Reason(str):
    """A sentence of a report, and the page of the documentation that explains it."""

    page: str

    def __new__(cls, text: str, page: str = TUTORIAL) -> Reason:
        made = super().__new__(cls, text)
        made.page = page
        return made


def percent(share: float) -> str:
    """A share in percent, with two or three digits."""
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    return f"{100 * share:.3g} %" if share > 0.1 else f"{100 * share:.2g} %"


def amount(score: float) -> str:
    """R² or an accuracy in percent; a negative R² explains nothing."""
    if score < 0:
        return f"nothing (R² = {score:.2g})".replace("-", "−")
    if 0.9995 <= score < 1:
        return f"{100 * score:.5g} %" if score < 0.99999 else "100 %"
    return f"{100 * score:.3g} %"


def does(task: Task, score: float) -> str:
    """The score as a verb, in the measure of the task."""
    if task.is_classes:
        return f"classifies {amount(score)} of the samples correctly"
    return f"explains {amount(score)}" + (" of the targets' variance" if score >= 0 else "")


def points(value: float) -> str:
    """A difference of scores in points, hundredths of R² or of the accuracy."""
    rounded = float(f"{100 * abs(value):.2g}")
    return f"{rounded:g} point" + ("" if rounded == 1 else "s")


def measured_points(difference: Difference) -> str:
    """A difference with its standard error."""
    value, error = 100 * difference.value, 100 * difference.error
    shown = f"{value:+.2g}" if abs(value) >= 0.01 else "+0"
    return f"{shown} ± {f'{error:.1g}' if error >= 0.01 else '0'} points".replace("-", "−")
