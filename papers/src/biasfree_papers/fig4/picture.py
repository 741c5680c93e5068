"""The picture of Fig. 4."""

from biasfree_papers.shared.xor.picture import draw

__all__ = ["draw"]
