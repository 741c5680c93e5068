"""Claims and tables of Fig. 8."""

from biasfree_papers.shared.xor.claims import claims

__all__ = ["claims"]
