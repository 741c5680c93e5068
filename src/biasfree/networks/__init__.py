"""Networks, their initializations, and changes of coordinates that keep the function."""

from biasfree.networks._initializations import balanced, gaussian, lambda_balanced, opposite, xavier
from biasfree.networks._network import Network
from biasfree.networks._rescaling import rebalanced
from biasfree.networks._span import Span, in_span
from biasfree.networks._structured import low_rank, rank_one

__all__ = [
    "Network",
    "Span",
    "balanced",
    "gaussian",
    "in_span",
    "lambda_balanced",
    "low_rank",
    "opposite",
    "rank_one",
    "rebalanced",
    "xavier",
]
