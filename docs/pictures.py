"""Draw the pictures of the README, the tutorial, docs/neighbors.md and the pages in docs/theory.

    python docs/pictures.py OUT [NAME …]

Figures come from the numbers of the last `make paper`, in OUT; pictures of pages from docs/drawings.
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from biasfree import plots
from biasfree.files import replacing
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import load_numbers
from drawings import asymmetric, symmetric, tutorial

PICTURES = Path(__file__).parent / "pictures"


def drawn(out: Path, name: str) -> Figure:
    """A figure from its stored numbers, or a picture of docs/drawings."""
    if name in REGISTRY:
        return REGISTRY[name].draw(load_numbers(out / name)[0])
    function = name.removeprefix("theory_")
    room = next(room for room in (tutorial, symmetric, asymmetric) if hasattr(room, function))
    with plots.style():
        return getattr(room, function)()


def main(out: Path, names: list[str]) -> None:
    committed = {path.stem for path in PICTURES.glob("*.png")} - {"lab"}  # which shows a browser
    for name in names or sorted(committed):
        with replacing(PICTURES / f"{name}.png") as file:
            drawn(out, name).savefig(file, format="png", dpi=110)
        print(f"{name}.png", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
