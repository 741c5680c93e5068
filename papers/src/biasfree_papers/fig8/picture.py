"""The picture of Fig. 8."""

from biasfree_papers.shared.xor.picture import draw

__all__ = ["draw"]
