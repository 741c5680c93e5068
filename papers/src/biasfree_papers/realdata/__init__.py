"""Not in the paper: handwritten digits, their measured symmetry, and the effect of mirror images."""

from __future__ import annotations

from biasfree.arrays import positive
from biasfree_papers.experiment import Experiment
from biasfree_papers.realdata.numbers import run
from biasfree_papers.realdata.picture import draw
from biasfree_papers.realdata.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws
from biasfree_papers.shared.opposite_pairs import even_width

SETTINGS = {
    "width": Setting(50, "an even number of neurons", even_width),
    "scale": Setting(1e-3, "the initial norm of a linear layer, a positive number", positive),
    "step": Setting(0.05, "the linear network's step, a positive number", positive),
    "steps": Setting(4000, "a number of steps", at_least(1)),
    "flips": Setting(99, "a number of random flips for the symmetry test", at_least(1)),
    **draws(4),
}

EXPERIMENT = Experiment(
    name="realdata",
    title="Handwritten digits 3 against 5, centred, without and with mirror images (not in the paper)",
    caption="(a, b) Loss over time with the square and the logistic loss: linear twin (line), ReLU network "
    "on the centred digits and with their mirror images added (markers), first draw; the linear "
    "network does not see mirror images. (c) Distance of the outputs of ReLU networks from those "
    "of their twins, every draw. (d) Share of training samples on the wrong side, centred digits, "
    "median over draws. (e) Symmetry defect of the centred digits (lines) and of the same digits "
    "with random signs, (x, y) → ±(x, y), which are symmetric but for chance. (f) The linear maps "
    "that the first draw ends with on the centred digits, and their difference.",
    settings=SETTINGS,
    small={"width": 6, "steps": 300, "scale": 1e-2, "flips": 5, "seeds": 2},
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=35,
    deviations=(
        "Not in the paper. Neurons start in opposite pairs (w, a), (−w, −a), so that finite width, which "
        "Fig. 3 is about, parts nothing: what parts networks from their twins here is the data.",
        "Descent: the ReLU network takes twice the step of the linear one, which is exact on symmetric data. "
        "The linear networks are trained on the centred digits alone: mirror images change nothing for them.",
    ),
)
