"""[ZSL25] Fig. 8 of TMLR: orthogonal and XOR points, logistic loss, learned one by one."""

from biasfree_papers.experiment import Experiment
from biasfree_papers.fig8.numbers import run
from biasfree_papers.shared.xor.numbers import settings
from biasfree_papers.shared.xor.picture import draw
from biasfree_papers.shared.xor.sentences import claims, described, tables

STEP = 0.004  # as printed
SETTINGS = settings(step=STEP)

EXPERIMENT = Experiment(
    name="fig8",
    settings=SETTINGS,
    small={"sets": (2,), "width": 12, "scale": 1e-4, "step": 0.02, "times": 161, "seeds": 2, "span": 3},
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=30,
    **described("Fig. 8", "logistic", STEP),
)
