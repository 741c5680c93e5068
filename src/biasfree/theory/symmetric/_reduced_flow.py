"""The reduced flow: D + 1 equations for a rank-one network of any width, for any Σ and any loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from biasfree.arguments import public
from biasfree.arrays import increasing_times, non_negative, positive
from biasfree.data import Dataset, Population
from biasfree.losses import LOSSES
from biasfree.networks import Network
from biasfree.theory.hypotheses import EQUIVALENCE, check, result, under
from biasfree.theory.parts._integration import direction_flow
from biasfree.theory.parts._linear_loss import loss_on
from biasfree.theory.parts._linear_network import negative_gradient
from biasfree.theory.parts._rank_one import RankOne
from biasfree.trajectory import Trajectory

ASSUMES = EQUIVALENCE


@public
@result("D + 1 equations, for any Σ and L2", lambda: ASSUMES, losses=tuple(LOSSES))
def reduced_flow(
    network: Network,
    data: Dataset | Population,
    ts: ArrayLike,
    *,
    loss: str = "square",
    l2: float = 0.0,
    rtol: float = 1e-10,
    method: str = "DOP853",
    **tolerances: float,
) -> Trajectory:
    """Gradient flow of a rank-one network, computed by integrating its norm and direction.

    d ln u/dt̃ = g·r − λ/c,  dr/dt̃ = g − (g·r)r,  t̃ = ct/τ,  w = u²r,
    g(w) = ⟨ex⟩: β − Σw for the square loss, ⟨yx/(1 + e^{y w·x})⟩ for the logistic one, and with the e of
    f = w·x for Huber's.
    Weights: W₁ = (u/√c)v̂rᵀ, W₂ = (u/√c)v̂ᵀ with v̂ fixed. `method` is one of SciPy's; use
    "Radau" for a Σ of widely spread eigenvalues over long times.

    Accuracy: `rtol` in ln u, in r and in the loss.

    Assumes: Condition 3 (symmetry_tolerance=1e-8), for other losses than the square one with every mirror
    image (mirror_tolerance=0), for the logistic one labels ±1; W₁ = W₂ᵀrᵀ (rank_one_tolerance=1e-8) and |W₂⁺|
    = |W₂⁻| (signs_tolerance=1e-8), Assumption 4 (TMLR 7); r·x ≠ 0 on the samples (hyperplane_tolerance=0, a
    share of them). A linear network needs only W₁ = W₂ᵀrᵀ.
    Reference: [ZSL25] Thm. 5 (TMLR 8) and Eq. 34; the form in (ln u, r) and its L2 term are derived here.
    """
    ts = increasing_times(ts)
    l2 = non_negative("l2", l2)
    rtol = positive("rtol", rtol)
    kind = loss_on(loss, data)
    defects = check(under(kind, ASSUMES), network, data, tolerances)
    start = RankOne.of(network)
    force = negative_gradient(kind, data)
    log_u, r, stats = direction_flow(
        lambda w: force(w[None])[0],
        float(np.log(start.u)),
        start.r,
        start.c * ts,
        name="reduced_flow",
        method=method,
        rtol=rtol,
        decay=l2 / start.c,
    )
    return start.trajectory(
        ts, np.exp(log_u), r, data, loss=kind, l2=l2, stats=replace(stats, defects=defects)
    )
