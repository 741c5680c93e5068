"""The report as one self-contained page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from biasfree import plots
from biasfree.diagnosis.report import Report, Table, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #222; } h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 0.85rem; } th { border-bottom: 1px solid #999; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; vertical-align: top; }
figure { display: inline-block; margin: 0.5rem 1rem 0.5rem 0; } img { max-width: 100%; }
figcaption, .note { font-size: 0.85rem; color: #555; }
"""


def page(report: Report) -> str:
    """The whole page, pictures included; nothing is fetched from elsewhere."""
    parts = [
        f"<h1>Verdict: {html.escape(report.verdict)}</h1>",
        "<ul>" + "".join(f"<li>{html.escape(reason)}</li>" for reason in report.reasons) + "</ul>",
        *(_figure(caption, draw) for caption, draw in _pictures(report)),
        *(_table(table) for table in report.tables.values()),
        f"<p class='note'>Thresholds: {html.escape(_thresholds(report))}</p>",
        *(f"<p class='note'>{html.escape(note)}</p>" for note in report.notes),
    ]
    head = (
        f"<meta charset='utf-8'><title>biasfree: {html.escape(report.verdict)}</title><style>{_STYLE}</style>"
    )
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _thresholds(report: Report) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in report.thresholds.items())


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(shown(cell))}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return f"<h2>{html.escape(table.title)}</h2><table><tr>{head}</tr>{rows}</table>"


def _pictures(report: Report) -> Iterator[tuple[str, Callable[[Axes], Any]]]:
    """What a person wants to see of what there is."""
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


def _figure(caption: str, draw: Callable[[Axes], Any]) -> str:
    from matplotlib.figure import Figure

    with plots.style():
        figure = Figure(figsize=(3.4, 2.8), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        if axes.get_legend() is None and axes.get_legend_handles_labels()[0]:
            axes.legend()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=130)
    picture = base64.b64encode(buffer.getvalue()).decode()
    text = html.escape(caption)
    image = f"<img alt='{text}' src='data:image/png;base64,{picture}'>"
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"
