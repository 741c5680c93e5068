"""[ZSL25] App. C.4 of TMLR, rebuilt: the equivalence with a linear network under L2."""

from __future__ import annotations

from biasfree.arrays import positive
from biasfree_papers.appC4.numbers import run
from biasfree_papers.appC4.picture import draw
from biasfree_papers.appC4.sentences import claims, tables
from biasfree_papers.experiment import Experiment
from biasfree_papers.settings import Setting, several
from biasfree_papers.shared.linear_twins import small_task

SETTINGS = {
    **small_task(6),
    "strengths": Setting(
        (0.0, 0.25, 0.5, 0.75, 1.25),
        "the linear network's λ in units of s, numbers of at least 0",
        several(low=0),
    ),
    "scale": Setting(1e-2, "the initial norm of a linear layer, a positive number", positive),
    "end": Setting(40.0, "the last time of the linear network in units of τ/s, a positive number", positive),
    "step": Setting(
        0.05, "the linear network's step of descent in units of τ/s, a positive number", positive
    ),
    "rtol": Setting(1e-8, "the flow's tolerance for a step, a positive number", positive),
}

EXPERIMENT = Experiment(
    name="appC4",
    title="The equivalence under L2 ([ZSL25] TMLR App. C.4)",
    caption="L2 of strength λ on the weights; the linear twin of a network of slope c has λ/c. (a) Loss on "
    "rescaled time from a rank-one start on white data: simulated flow of leaks 0 (circles) and 0.5 "
    "(squares), the reduced flow (lines). (b) Size of the learned map at the end of descent from Gaussian "
    "weights (markers: every draw), against each network's own λ, and max(s − λ/c, 0) (lines). (c) The same "
    "against λ/c: white data (circles, solid line) and the data before whitening (diamonds; dashed line: "
    "the shrunken least-squares solution). (d) Weight error between ReLU and linear from Gaussian weights, "
    "first draw; the line is what the draw predicts for λ/c below s.",
    settings=SETTINGS,
    small={
        "width": 12,
        "dimensions": 3,
        "samples": 10,
        "leaks": (0, 0.5),
        "strengths": (0, 0.5, 1.5),
        "end": 24,
        "seeds": 2,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=18,
    rebuilt="All settings and the claims. Known of the appendix is that it proves the equivalence with L2; "
    "λ/c for the twin and the limit max(s − λ/c, 0)·β̄ are derived here. Ours: the target of Fig. 3 on 50 "
    "draws in 5 dimensions and their negatives, whitened or not; width 50; initial norm 0.01.",
    deviations=(
        "The equivalence itself by gradient flow, the limits by descent, whose fixed points are the same.",
    ),
)
