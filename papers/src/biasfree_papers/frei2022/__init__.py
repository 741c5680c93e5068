"""Frei et al. (2022): high-dimensional data, on which a leaky first layer soon has low rank."""

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.frei2022.numbers import run
from biasfree_papers.frei2022.picture import draw
from biasfree_papers.frei2022.sentences import claims
from biasfree_papers.frei2022.sentences_tables import tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole

SETTINGS = {
    "samples": Setting(100, "a number of samples to learn, 2 or more", at_least(2)),
    "width": Setting(100, "a number of neurons, 2 or more", at_least(2)),
    "dimensions": Setting(
        (200, 500, 1000, 2000, 5000, 10000), "numbers of inputs, more than samples", several_whole(low=3)
    ),
    "factors": Setting((0.02, 0.2, 1.0), "sizes of the start in units of Xavier's", several(low=1e-12)),
    "tiny": Setting(1e-3, "a size of the start below these, a positive number", positive),
    "leak": Setting(0.1, "the leak on mixtures, a positive number up to 1", positive),
    "leaks": Setting((0.1, 0.3, 0.6, 1.0), "leaks on orthogonal inputs", several(low=0.01, high=1)),
    "step": Setting(0.01, "the step for growing dimension, a positive number", positive),
    "orthogonal_step": Setting(0.002, "the small step on orthogonal inputs, a positive number", positive),
    "large_step": Setting(0.16, "the step in the last dimension, a positive number", positive),
    "doublings": Setting(10, "how often the number of steps doubles, for growing dimension", at_least(2)),
    "long": Setting(12, "how often it doubles with the large step and on orthogonal inputs", at_least(2)),
    "data_seed": Setting(1000, "the first seed of the data", at_least(0)),
    **draws(4),
}

EXPERIMENT = Experiment(
    name="frei2022",
    title="Low rank after one step, and a linear boundary (Frei et al. 2022)",
    caption="Stable rank |W₁|_F²/|W₁|₂² unless said otherwise; α is the leak, γ in the paper. (a) After one "
    "step against the size of the start, in the most dimensions: closed form (lines), bounds by norms alone "
    "(bands), simulated at the paper's sizes (markers); dotted, before. (b) Against dimension with the "
    "small step: before (dotted), after one step (open markers) and at the end (filled), medians as lines. "
    "(c) Along training with the large step: all of W₁ (lines), the neurons with a > 0 (thin dashed); "
    "crosses at the right, both for the max-margin network. (d) On orthogonal inputs with the small step "
    "for several leaks (markers), and the limits 2(1+α²)/(1+α)² (lines); dashed, the large step at the "
    "smallest leak, which remembers its first step. (e) Spread of margins, (largest − smallest)/largest, "
    "and (f) share of |W₁|_F² beyond rank two, with the large step, and on orthogonal inputs with the small "
    "one; looks as in (e). (g) What near-orthogonality is about, measured (markers) and expected (line); "
    "the theorem needs it far below 1, which is dotted. (h) Angle between the boundary and the linear "
    "classifier of largest margin: at the end of runs (markers) and of the max-margin network whose neurons "
    "are all on their side (black); dashed where in some draws that network does not have these gates "
    "itself, so that it is no limit of training. (i) Share of samples on the margin of that network (black, "
    "open where it is no limit), of gates on their side at the end from the smallest start, and of points "
    "whose class the linear part of f then tells.",
    settings=SETTINGS,
    small={
        "samples": 8,
        "width": 6,
        "dimensions": (20, 60),
        "factors": (0.02, 1),
        "leaks": (0.2, 1),
        "step": 0.05,
        "orthogonal_step": 0.05,
        "large_step": 1.0,
        "doublings": 4,
        "long": 7,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=50,
    rebuilt="width 100, leak 0.1, the exponent 0.26 of the separation, the numbers of inputs below 10⁴, how "
    "long runs are, the tiny start, and all of the orthogonal runs",
    deviations=(
        "The inputs are not nearly orthogonal: n·max|x_i·x_j|/min|x_i|² is about 4 to 40 here and would "
        "have to be far below 1. It would pass 1 at about 2·10⁵ dimensions, and 0.1 at about 2·10⁷.",
        "W₁ is simulated in the span of the samples, exactly; what lies off the span is constant and enters "
        "every norm.",
        "The limits of gradient flow are approached as 1/ln t. They are solved for, as the max-margin "
        "network whose neurons are all on their side of all samples, and runs are compared with them.",
        "With step 0.01 the paper's starts are not small against a step: one step leaves more than half of "
        "the stable rank, as the bounds by norms say.",
    ),
    section=NEIGHBORS,
)
