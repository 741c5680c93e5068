"""[ZSL25] Fig. 4 of TMLR: orthogonal and XOR points, square loss, learned one by one."""

from biasfree_papers.experiment import Experiment
from biasfree_papers.fig4.numbers import run
from biasfree_papers.shared.xor.numbers import settings
from biasfree_papers.shared.xor.picture import draw
from biasfree_papers.shared.xor.sentences import claims, described, tables

STEP = 0.001  # as printed
SETTINGS = settings(step=STEP)

EXPERIMENT = Experiment(
    name="fig4",
    settings=SETTINGS,
    small={"sets": (2,), "width": 12, "scale": 1e-4, "step": 0.01, "times": 161, "seeds": 2},
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=30,
    **described("Fig. 4", "square", STEP),
)
