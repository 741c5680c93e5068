"""Files that the page offers: the script, the run as .npz, a picture, and a page that replays the run."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

from biasfree.lab._script import script
from biasfree.lab._session import Session, Shown

NAMES = {"npz": "run.npz", "png": "run.png", "page": "run.html"}


def file_of(session: Session, kind: str, at: Any = None) -> dict[str, Any]:
    """The answer with a file of the run that is shown, or a sentence if there is none yet."""
    if kind == "python":
        return {"stage": "file", "kind": kind, "text": script(session.experiment)}
    shown = session.shown
    if kind not in NAMES:
        return {"stage": "failed", "text": f"There is no file of kind {kind[:20]!r}."}
    if shown is None or shown.experiment != session.experiment:
        return {"stage": "failed", "text": "The exact run is not finished yet; ask again when it is."}
    place = at if isinstance(at, int) and 0 <= at < len(shown.run) else len(shown.run) - 1
    makers: dict[str, Callable[[Shown, int], bytes]] = {"npz": _npz, "png": _png, "page": _page}
    content = base64.b64encode(makers[kind](shown, place)).decode()
    return {"stage": "file", "kind": kind, "name": NAMES[kind], "content": content}


def _npz(shown: Shown, _: int) -> bytes:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        shown.run.save(path)
        return path.read_bytes()


def _png(shown: Shown, place: int) -> bytes:
    from biasfree.lab._picture import pictures

    file = io.BytesIO()
    (picture,) = pictures(shown.run, shown.data, [place])
    picture.save(file, format="PNG")
    return file.getvalue()


def _page(shown: Shown, _: int) -> bytes:
    from biasfree.lab._saved_page import saved_page

    title = shown.experiment.fragment
    return saved_page(list(shown.answers.values()), title=title).encode()
