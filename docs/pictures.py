"""Draw the pictures shown in the README from the numbers of the last `make paper`."""

import sys
from pathlib import Path

from biasfree.experiments import REGISTRY
from biasfree.files import load_npz, replacing

out, pictures = Path(sys.argv[1]), Path(__file__).parent / "pictures"
for name in ("fig3",):
    numbers = load_npz(out / name / "numbers.npz", needs=())
    with replacing(pictures / f"{name}.png") as file:
        REGISTRY[name].draw(numbers).savefig(file, format="png", dpi=110)
