"""Town et al. (2026): orthogonal data from vanishing weights, one neuron per saddle, a width ~ log n."""

from biasfree.arrays import positive
from biasfree_papers.experiment import NEIGHBORS, Experiment
from biasfree_papers.settings import Setting, at_least, draws, several_whole
from biasfree_papers.town2026.numbers import run
from biasfree_papers.town2026.picture import draw
from biasfree_papers.town2026.sentences import claims, tables

SETTINGS = {
    "samples": Setting(
        (8, 16, 32, 64, 128), "two or more numbers of samples, 4 or more each", several_whole(low=4, least=2)
    ),
    "further": Setting(
        (256, 512), "more numbers of samples, for the limit γ → 0 alone", several_whole(low=4, least=1)
    ),
    "width": Setting(40, "a number of neurons that nearly always suffices", at_least(1)),
    "few": Setting(16, "a number of neurons for the escapes one by one", at_least(1)),
    "scale": Setting(1e-12, "the initial norm of the first layer, a small positive number", positive),
    "tiny": Setting(1e-60, "the same for the escapes one by one", positive),
    "step": Setting(0.2, "the step of descent over √n, a positive number", positive),
    "draws": Setting(400, "a number of draws at every width, without training", at_least(10)),
    **draws(16),
}

EXPERIMENT = Experiment(
    name="town2026",
    title="Orthogonal data: one neuron a saddle, a width of log n, a norm of √n (Town et al. 2026)",
    caption="(a) Loss from tiny weights on the fewest samples, for the draw with most escapes (markers), and "
    "the limit γ → 0 derived here (line); what is left is of samples that no neuron covers. (b) In the "
    "same run, directions that have grown (steps), and ½|θ|² (markers) beside its limit (line). (c) All "
    "draws: when an escape came over when it was due. (d) Probability that training can fit all samples "
    "against the width, by the formula (lines) and as the share of draws (markers, with two standard "
    "errors); the filled markers are networks that were trained. (e) The width m½ at which it is ½ "
    "against n: draws (markers, two standard errors), formula (line), and two laws through the first "
    "point: 2 log₂ n (dotted), where the rarer sign has log₂ n neurons, and ln n/ln(4/3) (dashed), "
    "which keeps the mean number of uncovered samples, n(3/4)^m, the same. (f) ½|θ|² of the trained "
    "networks over √(2n), that of the shortest one (lower dotted): all draws at the large width and "
    "their mean, and the mean of those that fit at the width m½. Dashed: the limit γ → 0 of the draws "
    "at the large width, also for n that were not trained; 1 + √2 (upper dotted) is where it goes as n "
    "→ ∞. Exponents are fits to the n that were trained.",
    settings=SETTINGS,
    small={
        "samples": (4, 8),
        "further": (6, 12),
        "width": 12,
        "few": 6,
        "scale": 1e-6,
        "tiny": 1e-20,
        "draws": 40,
        "seeds": 3,
    },
    run=run,
    claims=claims,
    tables=tables,
    draw=draw,
    seconds=26,
    rebuilt="all settings but n = 8…128: labels ±1 alternating on orthonormal inputs, Gaussian w_h, |a_h| = "
    "√2|w_h| with fair signs, width 40 for the norm, initial norms 1e-12 and 1e-60; the laws are the paper's",
    deviations=(
        "γ = 1e-12 is not vanishing: the more samples, the more neurons are due together and share them, and "
        "½|θ|² at the large width is below its limit γ → 0 by the shares among the claims. The limit comes "
        "from `bf.theory.neighbors.escape_sequence`, without training.",
        "Descent with steps of 0.2√n, a seventh of the largest stable one, in place of flow; half the step "
        "changes final norms by the number among the claims.",
        "Which draws can fit all samples is decided at the start (`bf.theory.neighbors.uncovered_samples`), "
        "so shares of draws need no training; a part of them is trained all the same.",
        "One by one: targets of sizes from ½ to 1½, since samples of equal |y||x| make neurons tie for ever; "
        "neurons active on the same samples of their sign are one direction.",
        "Zero neurons fill networks up to one width: they stay zero.",
    ),
    section=NEIGHBORS,
)
