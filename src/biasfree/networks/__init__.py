"""What learns: networks, their initializations, and the bridge to PyTorch."""

from biasfree.networks.initializations import balanced, gaussian, lambda_balanced, rank_one, xavier
from biasfree.networks.network import Network

__all__ = ["Network", "balanced", "gaussian", "lambda_balanced", "rank_one", "xavier"]
