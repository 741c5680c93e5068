"""`animate`: a run in the plane as a page that replays it, or as a moving picture."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from biasfree.arguments import public
from biasfree.data import Dataset
from biasfree.files import replacing
from biasfree.trajectory import Trajectory

#: Pictures of a GIF, and the milliseconds between two of them; the last one stays longer.
FRAMES = 60
EACH = 80
LAST = 1500


@public
def animate(run: Trajectory, data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a run on two-dimensional data as a page (.html) or as a moving picture (.gif).

    The page is one file: it replays the run in any browser without Python and without a network.

    Assumes: two inputs, one output, two or three layers without biases, saved weights.
    """
    path = Path(path)
    _check(run, data)
    if path.suffix == ".html":
        content = _page(run, data, path.stem).encode()
    elif path.suffix == ".gif":
        content = _gif(run, data)
    else:
        raise ValueError(f"the name must end in .html or .gif, got {path.name!r}.")
    with replacing(path) as file:
        file.write(content)


def _check(run: Trajectory, data: Dataset) -> None:
    if not run.weights:
        raise ValueError("the run has no weights, because it was made with save=; run it again without.")
    sizes = run[-1].sizes
    if data.dimensions != 2 or data.outputs != 1 or (sizes[0], sizes[-1]) != (2, 1):
        raise ValueError(
            f"an animation needs two inputs and one output, got {data.dimensions} and {data.outputs} in the "
            f"data, {sizes[0]} and {sizes[-1]} in the network."
        )
    if run.biases is not None or len(sizes) not in (3, 4):
        raise ValueError(
            f"an animation needs two or three layers without biases, got {len(sizes) - 1} layers"
            f"{'' if run.biases is None else ' with biases'}."
        )


def _page(run: Trajectory, data: Dataset, title: str) -> str:
    from biasfree.lab._replay import exact_answer, measures
    from biasfree.lab._saved_page import saved_page
    from biasfree.lab._words import seen_plateaus

    words = [one.to_json() for one in seen_plateaus(run, data)]
    answers = [
        exact_answer(run, data, run.stats.method),
        {"stage": "measures", "measures": measures(run, data), "words": words},
    ]
    return saved_page(answers, title=title)


def _gif(run: Trajectory, data: Dataset) -> bytes:
    import io

    from biasfree.lab._picture import pictures

    times = np.linspace(run.ts[0], run.ts[-1], min(FRAMES, len(run)))
    places = np.unique(np.searchsorted(run.ts, times).clip(0, len(run) - 1)).tolist()
    first, *rest = pictures(run, data, places)
    file = io.BytesIO()
    pauses = [EACH] * len(rest) + [LAST]
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=pauses, loop=0)
    return file.getvalue()
