"""[ZSL25] Fig. 8 of TMLR: orthogonal and XOR points, logistic loss, learned one by one."""

from biasfree.experiments.experiment import Experiment
from biasfree.experiments.fig8.numbers import run
from biasfree.experiments.points import settings
from biasfree.experiments.points_picture import draw
from biasfree.experiments.points_sentences import claims, described, tables

STEP = 0.004  # as printed
SETTINGS = settings(step=STEP)

EXPERIMENT = Experiment(
    name="fig8",
    settings=SETTINGS,
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=30,
    **described("Fig. 8", "logistic", STEP),
)
