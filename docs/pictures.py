"""Draw the pictures of the README, the tutorial, the neighbours and the pages in docs/theory.

    python docs/pictures.py OUT [NAME …]

Figures come from the numbers of the last `make paper`, in OUT; pages from the `draw` beside each of them.
"""

import runpy
import sys
from pathlib import Path

from matplotlib.figure import Figure

from biasfree import plots
from biasfree.files import replacing
from biasfree_papers.experiment import NEIGHBORS
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import load_numbers

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"


def figure(out: Path, name: str) -> Figure:
    """A figure of the paper or of a neighbour, from its stored numbers."""
    return REGISTRY[name].draw(load_numbers(out / name)[0])


def page(script: Path) -> Figure:
    """The picture of a page in docs/theory."""
    return runpy.run_path(str(script))["draw"]()


def tutorial(i: int) -> Figure:
    """A picture of the tutorial."""
    with plots.style():
        return runpy.run_path(str(DOCS / "tutorial.py"))[f"draw_{i}"]()


def main(out: Path, names: list[str]) -> None:
    neighbours = [name for name, one in REGISTRY.items() if one.section == NEIGHBORS]
    drawers = {name: lambda name=name: figure(out, name) for name in ("fig3", "fig6", *neighbours)}
    drawers |= {f"tutorial_{i}": lambda i=i: tutorial(i) for i in (1, 2, 3)}
    drawers |= {
        f"theory_{script.stem}": lambda script=script: page(script)
        for script in sorted((DOCS / "theory").glob("*.py"))
    }
    for name in names or drawers:
        with replacing(PICTURES / f"{name}.png") as file:
            drawers[name]().savefig(file, format="png", dpi=110)
        print(f"{name}.png", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
