"""Draw the pictures of the README, the tutorial, docs/neighbors.md and the pages in docs/theory.

    python docs/pictures.py OUT [NAME …]

Figures come from the numbers of the last `make paper`, in OUT; pages from the `draw` beside each of them.
"""

import runpy
import sys
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from biasfree import plots
from biasfree.files import replacing
from biasfree_papers.experiment import PAPER
from biasfree_papers.registry import REGISTRY
from biasfree_papers.reproduction.storage import load_numbers

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"


def figure(out: Path, name: str) -> Figure:
    """A figure of the paper or of a neighboring one, from its stored numbers."""
    return REGISTRY[name].draw(load_numbers(out / name)[0])


def page(script: Path) -> Figure:
    """The picture of a page in docs/theory."""
    return runpy.run_path(str(script))["draw"]()


def tutorial(i: int) -> Figure:
    """A picture of the tutorial."""
    with plots.style():
        return runpy.run_path(str(DOCS / "tutorial.py"))[f"draw_{i}"]()


def main(out: Path, names: list[str]) -> None:
    neighbors = [name for name, one in REGISTRY.items() if one.section != PAPER]
    drawers = {name: partial(figure, out, name) for name in ("fig3", "fig6", *neighbors)}
    drawers |= {f"tutorial_{i}": partial(tutorial, i) for i in (1, 2, 3)}
    scripts = sorted((DOCS / "theory").glob("*.py"))
    drawers |= {f"theory_{script.stem}": partial(page, script) for script in scripts}
    for name in names or drawers:
        with replacing(PICTURES / f"{name}.png") as file:
            drawers[name]().savefig(file, format="png", dpi=110)
        print(f"{name}.png", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
