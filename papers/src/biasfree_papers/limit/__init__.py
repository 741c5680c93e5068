"""[ZSL25] Corollary 6: training ends at the least-squares map or at the largest margin."""

from biasfree.arrays import positive
from biasfree_papers.experiment import Experiment
from biasfree_papers.limit.numbers import run
from biasfree_papers.limit.picture import draw
from biasfree_papers.limit.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole

SETTINGS = {
    "width": Setting(10, "a number of neurons, 2 or more", at_least(2)),
    "dimensions": Setting(3, "a number of inputs of the simulated networks, 2 or more", at_least(2)),
    "samples": Setting(12, "a number of draws, before their negatives are added", at_least(2)),
    "scale": Setting(0.1, "the initial norm of a linear layer, a positive number", positive),
    "leaks": Setting((0.0, 0.5, 1.0), "leaks in [0, 1]", several(low=0, high=1)),
    "decays": Setting(
        10.0, "how often the distance to least squares falls by a factor e, at least", positive
    ),
    "end": Setting(1e5, "the last time of simulated logistic training, above 1", positive),
    "horizon": Setting(1e32, "the last time of the reduced flow, far above 1", positive),
    "others": Setting(
        (2, 5), "numbers of inputs for which the reduced flow alone is followed", several_whole(low=2)
    ),
    "rtol": Setting(1e-8, "the simulator's tolerance for a step, a positive number", positive),
    "times": Setting(81, "a number of saved times, 3 or more", at_least(3)),
    "data_seed": Setting(0, "a seed for the data", at_least(0)),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="limit",
    title="Where training ends: least squares and the largest margin ([ZSL25] Corollary 6)",
    caption="(a) Square loss: distance of the map from least squares, simulated from one rank-one start for "
    "every leak (markers), by the reduced flow (line), and the bound that follows from the loss (dashed). "
    "(b) Logistic loss on separable labels: angle to the hard-margin direction, simulated (markers), by the "
    "reduced flow (line), and the asymptote |ρ|/|w| (dashed). (c) How far the smallest margin of w/|w| is "
    "below the largest possible one. (d) The angle against ln t for several numbers of inputs, by the "
    "reduced flow (lines), and their asymptotes (crosses). Times of leaky networks are rescaled, ct.",
    settings=SETTINGS,
    small={
        "width": 4,
        "dimensions": 2,
        "samples": 6,
        "leaks": (0, 1),
        "end": 1e4,
        "others": (3,),
        "times": 41,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=15,
    rebuilt="all settings: the paper has no figure of its Corollary 6",
    deviations=(
        "The direction is compared with the hard margin only through its asymptote: at any time that can be "
        "simulated it is off by 1/ln t. ReLU and linear networks are compared to the simulator's accuracy.",
    ),
)
