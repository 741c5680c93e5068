"""[ZSL25] Fig. 8 of TMLR: orthogonal and XOR points, logistic loss, learned one by one."""

from biasfree.experiments.experiment import Experiment
from biasfree.experiments.fig8.numbers import run
from biasfree.experiments.points import settings
from biasfree.experiments.points_picture import draw
from biasfree.experiments.points_sentences import claims, tables

SETTINGS = settings(step=0.004)

EXPERIMENT = Experiment(
    name="fig8",
    title="Orthogonal and XOR points, learned as independent linear networks ([ZSL25] TMLR Fig. 8)",
    caption="Two orthogonal points (a–c) and XOR (d–f), logistic loss. (a, d) Loss of the first draw: flow "
    "(circles), descent (crosses), theory (line); theory for the other draws (grey); dotted, the times of "
    "the panels on the right. (b, e) Outputs y·f(x) at every point: theory (lines) and flow (markers). "
    "(c, f) Neurons w_h at four times, in units of the largest one; radii are cube roots, so that small "
    "neurons are seen.",
    settings=SETTINGS,
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=30,
    rebuilt="XOR: the signs of −3 and −4 and the labels, opposite on the two axes; the last time and the "
    "times at which neurons are shown",
    deviations=(
        "Exact gradient flow beside descent with the printed step 0.004, so that the theory, which is about "
        "flow, is compared without the error of forward Euler; descent for the first draw only.",
    ),
)
