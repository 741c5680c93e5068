"""The report as a self-contained HTML page."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from biasfree import pages, plots
from biasfree.diagnosis._report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def page(report: Report) -> str:
    """The complete page, with embedded pictures and no external resources."""
    parts = [
        pages.heading(report.answer, level=1),
        pages.bullets(f"{reason} [{reason.page}]" for reason in report.reasons),
        *(figure(caption, draw) for caption, draw in _pictures(report)),
        *(pages.table(table) for table in report.tables.values()),
        pages.note(f"Thresholds: {_thresholds(report)}"),
        *(pages.note(note) for note in report.notes),
    ]
    return pages.page(f"biasfree: {report.verdict}", parts)


def _thresholds(report: Report) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in report.thresholds.items())


def _pictures(report: Report) -> Iterator[tuple[str, Callable[[Axes], Any]]]:
    """Captions and drawing functions of the pictures that the model and the data allow."""
    subject, data = report.subject, report.data
    if subject is None:
        return
    network = subject.network
    if data is not None:
        yield (
            "the outputs against the best linear map",
            lambda axes: plots.parity(axes, subject.function, data.x),
        )
        yield "even against odd energy", lambda axes: plots.energies(axes, subject.function, data.x)
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
        yield f"W{i + 1}, neurons sorted by sign", lambda axes, i=i: plots.weights(axes, network, layer=i)


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
