"""The claims of a record: headlines, counts, and measured values beside their bounds as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from biasfree_papers.experiment import KINDS, NATURES

Record = Mapping[str, Any]


def ordered(record: Record) -> list[Record]:
    """The claims of a figure: ours, then the paper's, then observed ones."""
    return sorted(record["claims"], key=lambda claim: KINDS.index(claim["kind"]))


def headlines(record: Record) -> list[Record]:
    """The claims that the figure names as its headlines.

    A record that names none has two claims of ours that are not identities and the first of the paper; one
    that has neither, its first claim.
    """
    claims = ordered(record)
    if named := [claim for claim in claims if claim.get("headline")]:
        return named
    ours = [claim for claim in claims if claim["kind"] == "ours" and claim["nature"] != "identity"]
    return ours[:2] + of_kind(claims, "paper")[:1] or claims[:1]


def of_kind(claims: Iterable[Record], kind: str) -> list[Record]:
    """The claims of one kind."""
    return [claim for claim in claims if claim["kind"] == kind]


def holds(claim: Record) -> bool:
    """Whether a claim holds for every measured value."""
    return all(claim["held"])


def count(claims: Iterable[Record]) -> str:
    """How many claims hold, of all."""
    every = list(map(holds, claims))
    return f"{sum(every)} of {len(every)}" if every else "–"


def tally(claims: Iterable[Record]) -> dict[str, str]:
    """How many claims of each kind hold, in words, by the kinds that there are."""
    every, kinds = list(claims), ("claims of ours", "claims of papers", "observed claims")
    found = {kind: (of_kind(every, kind), name) for kind, name in zip(KINDS, kinds, strict=True)}
    return {kind: f"{count(chosen)} {name} hold" for kind, (chosen, name) in found.items() if chosen}


def natures(claims: Iterable[Record]) -> str:
    """How many claims of ours of each nature hold, in words, by the natures that there are."""
    every = list(claims)
    words = ("predictions that could fail", "theorems that test code", "identities")
    found = {name: [c for c in every if c["nature"] == one] for one, name in zip(NATURES, words, strict=True)}
    return ", ".join(f"{count(chosen)} {name}" for name, chosen in found.items() if chosen)


def marks(claim: Record) -> list[str]:
    """The marks of a claim beside its kind."""
    return [mark for mark in (claim["nature"], "rebuilt" if claim["rebuilt"] else None) if mark]


def seed_count(claim: Record) -> str:
    """The number of seeds, in words; none for a claim about data alone."""
    return f"{claim['number of seeds']} seed{'' if claim['number of seeds'] == 1 else 's'}"


def measured(claim: Record) -> str:
    """The measured values, after the name of the quantity where the record has it."""
    return f"{claim.get('quantity') or 'measured'}: {spread(claim['measured'])}"


def limit(claim: Record) -> str:
    """The bound in words: "at most 0.1"."""
    return f"{claim['sense']} {spread(claim['bound'])}"


def spread(values: Iterable[Any]) -> str:
    """One number, or the smallest and the largest; NaN is mentioned."""
    numbers = [float(value) for value in values]
    known = [number for number in numbers if not math.isnan(number)]
    if not known:
        return "NaN"
    low, high = f"{min(known):.2g}", f"{max(known):.2g}"
    return (low if low == high else f"{low} … {high}") + (", NaN" if len(known) < len(numbers) else "")
