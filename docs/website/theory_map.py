"""The page of the map: which result of the theory needs which hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import biasfree as bf
from uses import link, plain

HEAD = """# Which result needs what

Which results can I use for my network and my data? {coverage} answers for yours. This table answers in
general. It is made from the hypotheses that the functions check.

| functions | result | needs |
|---|---|---|
"""


def theory_map() -> str:
    """The text of the page."""
    network, data = bf.networks.gaussian((2, 3, 1), scale=0.1, seed=0), bf.data.six_points()
    found = [row.result for row in bf.theory.coverage(network, data) if row.result.assumes]
    head = HEAD.format(coverage=link("biasfree.theory.coverage"))
    return head + "".join(map(_row, found)) + "\n" + "\n".join(_sections(found))


def _row(result: Any) -> str:
    calls = ", ".join(link(f"biasfree{path[2:]}") for path in result.paths)
    data = "samples or infinite data" if result.populations else "samples"
    needs = ", ".join(f"[{hypothesis.key}](#{hypothesis.key.lower()})" for hypothesis in result.assumes)
    title = plain(result.title).replace("|", "\\|")
    return f"| {calls} | {title}; {result.loss} loss, {data} | {needs} |\n"


def _sections(found: Iterable[Any]) -> Iterator[str]:
    """A section per key, with each wording of its hypotheses once."""
    keys: dict[str, dict[str, Any]] = {}
    for hypothesis in (one for result in found for one in result.assumes):
        keys.setdefault(hypothesis.key, {}).setdefault(_line(hypothesis), hypothesis)
    for key, lines in sorted(keys.items()):
        yield f"## {key}\n\n" + "".join(lines)


def _line(hypothesis: Any) -> str:
    name, measures = (plain(text.rstrip(",")) for text in (hypothesis.name, hypothesis.measures))
    largest = f"at most {hypothesis.tolerance:.3g}" if hypothesis.tolerance else "which must be zero"
    return f"- {name}. Measured: {measures}, {largest}. If it fails: {plain(hypothesis.remedy)}.\n"
