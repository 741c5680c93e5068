"""The text of a figure, from its Markdown file: title, caption, what is rebuilt, and deviations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_PARTS = ("Rebuilt", "Deviations")


@dataclass(frozen=True)
class Text:
    """What a reader is told of a figure."""

    title: str
    caption: str
    rebuilt: str = ""
    deviations: tuple[str, ...] = ()


def read_text(path: Path) -> Text:
    """The text in a Markdown file: `# title`, the caption, and, if there are any, `## Rebuilt` and
    `## Deviations`, a list.
    """
    head, *parts = path.read_text(encoding="utf-8").split("\n## ")
    title, _, caption = head.partition("\n")
    found = {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
    if not title.startswith("# ") or not caption.strip():
        raise ValueError(f"{path} must begin with a line '# title' and have a caption below it.")
    if unknown := [name for name in found if name not in _PARTS]:
        raise ValueError(f"{path} has the parts {unknown}; a figure has {' and '.join(_PARTS)}.")
    items = found.get("Deviations", "").split("\n- ")
    return Text(
        title[2:].strip(),
        _joined(caption),
        _joined(found.get("Rebuilt", "")),
        tuple(_joined(item.removeprefix("- ")) for item in items if item.strip()),
    )


def _joined(lines: str) -> str:
    """A paragraph without line breaks."""
    return " ".join(lines.split())
