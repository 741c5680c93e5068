"""Symmetric separable data: every leak and width ends at the largest margin (Lyu et al. 2021)."""

from __future__ import annotations

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.lyu2021.numbers import run
from biasfree_papers.lyu2021.picture import draw
from biasfree_papers.lyu2021.sentences import claims, tables
from biasfree_papers.settings import Setting, at_least, draws, several, several_whole


def _late_enough(name: str, value: object) -> float:
    found = positive(name, value)
    if found < 100:
        raise ValueError(f"{name} must be 100 or more, got {value!r}: before, nothing has been learned.")
    return found


SETTINGS = {
    "widths": Setting((2, 4, 10, 50, 200), "numbers of neurons, 2 or more", several_whole(low=2)),
    "leaks": Setting((0.0, 0.25, 0.5, 0.75, 1.0), "leaks in [0, 1]", several(low=0, high=1)),
    "dimensions": Setting(5, "a number of inputs, 2 or more", at_least(2)),
    "others": Setting((2, 10), "numbers of inputs for one width", several_whole(low=2)),
    "samples": Setting(20, "a number of samples, before their mirror images are added", at_least(2)),
    "gap": Setting(0.3, "from the true boundary to every sample, a positive number", positive),
    "scale": Setting(1e-3, "the initial norm of a layer, a positive number", positive),
    "horizon": Setting(1e16, "a time to train until on symmetric data, 100 or more", _late_enough),
    "sizes": Setting((1.0, 3.0, 10.0), "lengths of the extra sample, 1 or more", several(low=1, high=1e3)),
    "extra_leaks": Setting(
        (0.25, 0.5), "leaks of networks with the extra sample, above 0", several(low=0.05, high=0.95)
    ),
    "scales": Setting(
        (1e-6, 1e-4, 1e-2), "initial norms with the extra sample, positive", several(low=1e-12, high=1)
    ),
    "extra_width": Setting(20, "a number of neurons with the extra sample", at_least(4)),
    "extra_horizon": Setting(1e30, "a time to train until with the extra sample, 100 or more", _late_enough),
    "late_horizon": Setting(1e100, "a time to follow linear networks until, 100 or more", _late_enough),
    "data_seed": Setting(0, "a seed for the symmetric data, beside that of the draw", at_least(0)),
    **draws(4),
}

EXPERIMENT = Experiment(
    name="lyu2021",
    title="The largest margin on symmetric data, and how one sample more spoils it (Lyu et al. 2021)",
    caption="Logistic loss, descent with steps that grow with time. (a)–(c) Symmetric separable data in five "
    "dimensions, drawn anew for every seed. (a) Angle between the linear part of the widest networks "
    "and the max-margin classifier w*: every leak on the first draw (markers), the reduced flow of the "
    "linear twin (black; thin grey on the other draws), and the law of very late times through its "
    "last point (red, dashed): 1/ln t if the support of w* spans the inputs, as in the default "
    "run, else 1/√ln t. (b) First draw: how far the normalised margin min y f/|θ|² is below "
    "c/(2|w*|), which no network exceeds. (c) That margin at the last time for all draws against "
    "width, colours as in (a); crosses are draws whose second layer has one sign, which cannot pass "
    "the dotted levels. (d), (e) Outputs tanh(f/3m), m the smallest margin, at the last time for α = "
    "0.5 and the first draw without and with one sample more, (e) drawn at the edge; circles y = +1, "
    "squares y = −1, black line f = 0, dotted line w*. (f) Margins over time with the longest extra "
    "sample, all draws, for three initial scales: neurons of one sign have run ahead, and the others "
    "catch up as a power of ln t. (g)–(i) ReLU networks with a sample beyond the margin of the others: "
    "(g) the first draw from the least scale at the last time, 0 over the white wedge, (h) a network "
    "of larger margin found by linear programming, (i) margins over that of (h), all draws: those from "
    "scale 1e-4 lie on the pale band of scale 1e-6.",
    settings=SETTINGS,
    small={  # widths up to 50 have one shape, which `extra_width` shares
        "widths": (2, 4),
        "leaks": (0.0, 0.5),
        "dimensions": 2,
        "others": (2,),
        "samples": 3,
        "horizon": 1e4,
        "sizes": (3.0,),
        "extra_leaks": (0.25, 0.5),
        "scales": (1e-3,),
        "extra_width": 50,
        "extra_horizon": 1e6,
        "late_horizon": 1e6,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=24,
    rebuilt="All settings, data and extra samples: of the paper we have the statement only.",
    deviations=(
        "Descent with steps that grow with time, in place of gradient flow: the equivalence with the "
        "linear network holds for both, step by step.",
        "The limit is reached as 1/ln t or, for the angle of two layers where the support of w* does not "
        "span the inputs, as 1/√ln t only: at the last time linear networks too are some per cent short of "
        "the largest margin. How late these laws begin depends on the draw of the data.",
        "ReLU networks (α = 0) beside leaky ones, and small widths whose draws may have one sign.",
        "Margins with the extra sample still rise at the last time; what is proved there is a bound by "
        "the share of the lagging sign, and for the ReLU networks a limit is extrapolated.",
    ),
    section=NEIGHBORS,
)
