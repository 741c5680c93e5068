"""The section of one figure: its picture and headlines; other claims, tables and settings are folded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from biasfree.pages import Markup, bullets, cells, folded, grid, heading, image, joined, note, rows, tag
from biasfree.tables import Table
from biasfree_papers.experiment import Experiment
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.report._verdicts import (
    Record,
    headlines,
    holds,
    limit,
    marks,
    measured,
    ordered,
    seed_count,
)


def section(out: Path, record: Record) -> Markup:
    """The section of a figure, whose picture is in its folder of `out`."""
    name = record["figure"]
    rebuilt = badge("rebuilt") if record["rebuilt"] else ""
    title = heading(joined([f"{name}: {record['title']} ", rebuilt]), level=3, id=f"{name}-title")
    parts = [title, _picture(out, record), *_claims(record), *_differences(record)]
    for one in record["tables"]:
        table = Table(one["title"], tuple(one["columns"]), tuple(map(tuple, one["rows"])))
        parts.append(folded(f"Table: {table.title}", rows(table)))
    parts += [folded("Settings, runtime, versions", *_settings(REGISTRY[name], record))]
    return tag("section", *parts, id=name, aria_labelledby=f"{name}-title")


def picture(out: Path, name: str, description: str, **attributes: object) -> Markup:
    """The picture of a figure, from its file beside the page."""
    png = (out / name / f"{name}.png").read_bytes()
    return image(f"{name}/{name}.png", png, description, **attributes)


def verdict(claim: Record) -> Markup:
    """The verdict on a claim, colored by whether it holds for all values, some, or none."""
    look = "good" if holds(claim) else "part" if any(claim["held"]) else "bad"
    return tag("span", claim["verdict"], class_=f"verdict {look}")


def badge(text: str) -> Markup:
    """A word in a frame: the kind of a claim, or a mark."""
    return joined([tag("span", text, class_="badge"), " "])


def _picture(out: Path, record: Record) -> Markup:
    name = record["figure"]
    described = f"{record['title']}. The caption below describes it."
    shown = picture(out, name, described, loading="lazy")
    paper = tag("a", "Picture as PDF", href=f"{name}/{name}.pdf")
    caption = tag("figcaption", f"{record['caption']} ", paper)
    return tag("figure", tag("a", shown, href=f"{name}/{name}.png"), caption)


def _claims(record: Record) -> Iterator[Markup]:
    first = headlines(record)
    yield from map(_claim, first)
    if others := [claim for claim in ordered(record) if claim not in first]:
        plural = "" if len(others) == 1 else "s"
        title = f"{len(others)} other claim{plural}, of which {sum(map(holds, others))} hold"
        yield folded(title, *map(_claim, others), class_="claims")


def _claim(claim: Record) -> Markup:
    """A claim: the verdict, the sentence and the numbers; folded below, where both come from.

    One that does not hold is open, since below is the reason.
    """
    numbers = tag("span", f"{measured(claim)}, {limit(claim)}", class_="numbers")
    title = joined([verdict(claim), ": ", claim["sentence"], " ", numbers])
    kinds = joined(map(badge, (claim["kind"], *marks(claim))))
    origin = f"{claim['source']}. Bound: {claim['origin']} ({claim['basis']})."
    reason = note(tag("b", "Note: "), claim["note"]) if claim["note"] else ""
    seeds = f" {seed_count(claim)}." if claim["number of seeds"] else ""
    source = note(kinds, origin, seeds)
    return folded(title, reason, source, opened=not holds(claim), class_="claim")


def _differences(record: Record) -> Iterator[Markup]:
    """What was rebuilt, and where the figure differs from what is printed or proved."""
    rebuilt = [joined([badge("rebuilt"), record["rebuilt"]])] if record["rebuilt"] else []
    if differences := [*rebuilt, *record["deviations"]]:
        yield folded("What we chose, and what differs from the paper", bullets(differences))


def _settings(experiment: Experiment, record: Record) -> Iterator[Markup]:
    meanings = {name: setting.meaning for name, setting in experiment.settings.described().items()}
    body = (
        cells([name, _marked(experiment, name, value), meanings.get(name, "")], named=True)
        for name, value in record["settings"].items()
    )
    yield grid(("setting", "value", "meaning"), body, label=f"Settings of {record['figure']}", class_="text")
    used = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    yield note(f"{record['seconds']:.1f} s on one thread; {used}")


def _marked(experiment: Experiment, name: str, value: Any) -> Markup:
    """The value of a setting; one that differs from its default is marked."""
    written = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    setting = experiment.settings.described().get(name)
    if setting is not None and setting.written == written:
        return joined([written])
    return tag("b", written, " (changed)")
