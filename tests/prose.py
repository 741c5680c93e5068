"""The numbers that a sentence types: whoever writes them must be able to say where they come from.

A number counts if it is a decimal, a power of ten, a percentage, a count such as "3 of 5", or an integer from
10 on. Years of citations and numbers of equations, figures and theorems do not count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: What a script has written into a page.
WRITTEN = re.compile(r"^<!-- (.*?): by .*?^<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:e[-−]?\d+)?)([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*)(?![\w]|\.\d)( ?%| of \d)?")
_YEAR = r"(?:19|20)\d\d[ab]?"
_PLACE = "Eqs?|Thms?|Figs?|Theorems?|Corollary|Propositions?|Conjecture|Lemmas?|Condition|Python"
_NAMED = re.compile(
    rf"(?:[A-Z]\w*|al\.),? \(?{_YEAR}(?:, {_YEAR})*|\]\([^)]*\)"
    rf"|(?:{_PLACE})\.?\s\d+(?:\.\d+)?(?:(?:,| and| to)\s\d+)*"
)
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def typed(prose: str, known: Iterable[float]) -> list[str]:
    """The numbers of sentences that are none of the known ones, each with the words before it."""
    known = set(known)
    return [words for words, found in counted(prose) if _value(found) not in known]


def counted(prose: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The numbers of sentences that count, each with the words before it."""
    prose = _NAMED.sub("", prose)
    for found in NUMBER.finditer(prose):
        base, power, after = found.groups()
        if after or not base.isdecimal() or (int(base) >= 10 and (base == "10" or not power)):
            yield prose[max(found.start() - 40, 0) : found.end()], found


def numbers(text: str) -> set[float]:
    """All numbers of a text, such as code."""
    return {_value(found) for found in NUMBER.finditer(re.sub(r"(?<=\d)_(?=\d)", "", text))}


def values(settings: Any) -> Iterator[float]:
    """All numbers of settings, however nested."""
    if isinstance(settings, Mapping):
        settings = tuple(settings.values())
    if isinstance(settings, list | tuple):
        for one in settings:
            yield from values(one)
    elif isinstance(settings, int | float):
        yield float(settings)


def _value(found: re.Match[str]) -> float:
    base, power = float(found[1].replace("−", "-")), found[2].translate(_POWERS)
    return float(f"1e{power}") if base == 10 and power else base
