"""The report as a self-contained HTML page: answer, reasons, pictures and tables."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from biasfree import pages, plots
from biasfree.diagnostics.advice._report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PICTURED = 2000  # samples in a picture


def page(report: Report) -> str:
    """The complete page, with embedded pictures and no external resources."""
    rest = {name: table for name, table in report.tables.items() if name != "scores"}
    parts = [
        *_answer(report.answer),
        pages.table(report.tables["scores"]) if "scores" in report.tables else "",
        pages.heading("Why"),
        pages.bullets(f"{reason[0].upper()}{reason[1:]} [{reason.page}]" for reason in report.reasons),
        pages.tag("p", "In the words of the theory: ", pages.tag("strong", report.verdict), "."),
        *(pages.note(note) for note in report.notes),
        pages.heading("Pictures"),
        *(figure(caption, draw) for caption, draw in _pictures(report)),
        pages.heading("All numbers"),
        *(pages.folded(table.title, pages.rows(table)) for table in rest.values()),
        pages.note(f"Thresholds: {report.limits}"),
    ]
    return pages.page(f"biasfree: {report.verdict}", parts)


def _answer(text: str) -> Iterator[pages.Markup]:
    """The first sentence as the heading, and the others below it."""
    first, dot, rest = text.partition(". ")
    yield pages.heading(first + dot.strip(), level=1)
    if rest:
        yield pages.tag("p", pages.tag("strong", rest))


def _pictures(report: Report) -> Iterator[tuple[str, Callable[[Axes], Any]]]:
    """Captions and drawing functions of the pictures that the model and the data allow."""
    subject, data = report.subject, report.data
    if subject is None:
        return
    network = subject.network
    if data is not None:
        x = data.x[:: max(1, len(data) // _PICTURED)]
        yield (
            "the outputs against the best linear map",
            lambda axes: plots.parity(axes, subject.function, x),
        )
        yield "even against odd energy", lambda axes: plots.energies(axes, subject.function, x)
        if data.dimensions == 2:
            yield "outputs in the plane", lambda axes: plots.output_map(axes, subject.function, data=data)
    if network is None:
        return
    yield "singular values of every layer", lambda axes: plots.spectra(axes, network)
    if network.depth > 1 and network.sizes[0] > 1:
        yield (
            "directions of the first layer's neurons",
            lambda axes: plots.directions(axes, network, data=data),
        )
    for i in range(network.depth):
        yield f"W{i + 1}, neurons sorted by sign", partial(plots.weights, network=network, layer=i)


def figure(caption: str, draw: Callable[[Axes], Any]) -> str:
    """A picture with its caption."""
    from matplotlib.figure import Figure

    with plots.style():
        drawn = Figure(figsize=(3.4, 2.8), layout="constrained")
        axes = drawn.add_subplot()
        draw(axes)
        if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
            axes.legend()
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=130)
    return pages.picture(buffer.getvalue(), caption)
