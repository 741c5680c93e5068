"""Nacson et al. (2023): the larger the step, the flatter and the smaller the minimum of descent."""

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.nacson2023.numbers import run
from biasfree_papers.nacson2023.picture import draw
from biasfree_papers.nacson2023.sentences import claims
from biasfree_papers.nacson2023.sentences_tables import tables
from biasfree_papers.settings import Setting, at_least, draws, several

_RUNGS = (0.0625, 0.125, 0.177, 0.21, 0.25, 0.297, 0.354, 0.42, 0.5, 0.595, 0.707, 0.841, 1.0, 1.414)

SETTINGS = {
    "width": Setting(20, "a number of neurons", at_least(1)),
    "excess": Setting(
        1.5,
        "the initial norm of a layer over the square root of the least Σ|a||w| that interpolates",
        positive,
    ),
    "rungs": Setting(
        _RUNGS,
        "steps, over the largest at which any minimum of a set can be stable",
        several(low=1e-6, least=2),
    ),
    "time": Setting(1200.0, "step times number of steps, at least, a positive number", positive),
    "steps": Setting(20_000, "a number of steps, at least", at_least(8)),
    "level": Setting(1e-16, "the loss at and below which a run has converged, a positive number", positive),
    "kick": Setting(1e-10, "the length of a kick over that of all weights, a positive number", positive),
    "kicked": Setting(400, "a number of steps after a kick", at_least(50)),
    **draws(16),
}

EXPERIMENT = Experiment(
    name="nacson2023",
    title="The step selects the minimum: sharpness at most 2/η, and a norm that falls (Nacson et al. 2023)",
    caption="Descent of two-layer ReLU networks on four small sets of the plane (circle: evenly spaced; "
    "generic: another set for every start), from the same starts at every step η. η_c is known from the "
    "data alone: no interpolating minimum with all neurons off all kinks, of any width, is stable at a "
    "larger step (derived here). (a) Sharpness of the minimum that each run ends at, in units of 2/η_c; "
    "line: 2/η. Open: all neurons off all kinks; crosses: some neuron on the kink of a sample, where "
    "there is no Hessian and the line may be passed. Colours as in b. (b) The norm Σ|a||w| over the least "
    "one that interpolates, medians and middle halves, of the same starts at every step of a set: those "
    "(their number in the legend) that converge at all steps shown; steps go on as long as these are half "
    "of all that converge at the least. (c) How many starts converge. (d, e) The function on the unit "
    "circle that the first start ends at with the least step and with the largest it converges at, and "
    "the samples (y/|x|). (f) The first losses of that start on the circle set, at those two steps and "
    "one between.",
    settings=SETTINGS,
    small={
        "width": 8,
        "rungs": (0.125, 0.25, 0.35, 0.5, 1.414),
        "time": 100.0,
        "steps": 4000,
        "kicked": 200,
        "seeds": 4,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=36,
    rebuilt="all settings (sets, width, initial scale, steps); the two laws are the paper's",
    deviations=(
        "Networks have no biases. The sets are ours: three are fixed, so that errors over starts are of "
        "these sets alone; generic, a point in every fifth of the circle, is drawn for every start, and "
        "its targets scaled so that η_c = 1. From five independent angles 7 of 16 sets, with samples "
        "close by, were not learned in these steps.",
        "The paper's norm is of Laplacian type; here it is the sum Σ|a||w| over neurons that are active on "
        "some sample.",
        "The largest stable step of a start is the largest of a ladder at which it converges, known to a "
        "factor of 1.2. Starts that diverge or come to rest elsewhere at larger steps are counted.",
        "Many minima have neurons on the kink of a sample. There the loss has no Hessian, and the sharpness "
        "of the pattern met at the end may be above 2/η; these runs are shown, counted and kept apart. "
        "What is derived of stable steps is derived, and measured, off all kinks only.",
        "Small steps stand for the flow: the least is 1/16 of η_c, where minima are not yet bound by it.",
    ),
    section=NEIGHBORS,
)
