"""Kou et al. (2023): nearly orthogonal data; leaky sign blocks tend to rank one, ReLU ones stay bounded."""

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.kou2023.numbers import run
from biasfree_papers.kou2023.picture import draw
from biasfree_papers.kou2023.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole

SETTINGS = {
    "samples": Setting(20, "a number of samples, 2 or more", at_least(2)),
    "width": Setting(50, "a number of neurons, 2 or more", at_least(2)),
    "dimensions": Setting(
        (1000, 10000, 100000), "numbers of inputs, more than samples", several_whole(low=3)
    ),
    "leaks": Setting((0.0, 0.1), "leaks in [0, 1]", several(low=0, high=1)),
    "factor": Setting(0.01, "size of the start in units of Xavier's, a positive number", positive),
    "step": Setting(4.0, "the step, for inputs of length 1, a positive number", positive),
    "doublings": Setting(15, "how often the number of steps doubles", at_least(2)),
    "window": Setting(4, "doublings at the end over which the exponent of the loss is fitted", at_least(1)),
    "start_factors": Setting((0.01, 0.1, 1.0, 10.0), "sizes of ReLU starts", several(low=1e-12)),
    "short": Setting(12, "how often the number of steps doubles from these starts", at_least(2)),
    "widths": Setting((5, 10, 25, 50, 100, 250, 500), "neurons of drawn blocks", several_whole(low=1)),
    "data_seed": Setting(1000, "the first seed of the data", at_least(0)),
    **draws(5),
}

EXPERIMENT = Experiment(
    name="kou2023",
    title="Sign blocks, equal margins and a loss of 1/t (Kou et al. 2023)",
    caption="Lines are orthogonal inputs and markers Gaussian ones in the most dimensions, medians over "
    "seeds, unless said otherwise. (a) Stable rank of the neurons with a > 0 along training. (b) Its last "
    "value for either sign against dimension (markers; at the right, ⊥, orthogonal inputs), and that of the "
    "max-margin network of the last gates (medians, lines). (c) Share of ReLU gates that are not those "
    "foretold for orthogonal inputs, against the size of the start: alike in the numbers of dimensions "
    "shown. (d) Spread of margins, (largest − smallest)/largest. (e) Loss times t/τ over Σλ_i of the "
    "max-margin network: 1 where the loss is Σλ_i/t. (f) Exponent of the loss over the last doublings, one "
    "marker a seed, means with their standard errors beside them as bars of the same colour, and of the "
    "flow on orthogonal inputs (lines). (g) A ReLU block at the end whose gates are drawn with equal odds, "
    "against its number of neurons: stable rank (markers), its law for large matrices, 2/((1 + 1/n)(1 + "
    "1/H)), and the bound, the mean of neurons over those that are on (dashed). (h) How nearly orthogonal "
    "the inputs are: below 1 (shaded) samples weigh more than all others together.",
    settings=SETTINGS,
    small={
        "samples": 6,
        "width": 24,
        "dimensions": (20, 2000),
        "step": 1.0,
        "doublings": 7,
        "window": 2,
        "start_factors": (0.01, 1),
        "short": 3,
        "widths": (3, 50),
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=20,
    rebuilt="all settings: we know what the paper proves and no experiment of it",
    deviations=(
        "Gaussian inputs of length about 1 stand for nearly orthogonal ones: n·max|x_i·x_j|/min|x_i|² is 2, "
        "0.7 and 0.2 in 10³, 10⁴ and 10⁵ dimensions, and 0 for the orthogonal ones. The first of these is "
        "outside near-orthogonality.",
        "Descent is simulated in the span of the samples, exactly; what lies off the span is constant and "
        "enters every norm.",
        "Limits are approached as 1/ln t, so runs are compared with the max-margin network of their last "
        "gates too.",
    ),
    section=NEIGHBORS,
)
