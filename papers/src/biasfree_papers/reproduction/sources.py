"""The modules of the library and of packages of figures that a module uses, as `biasfree.sources` finds them.

Other distributions enter the fingerprint by their versions.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from biasfree.sources import Sources
from biasfree.sources import exports as _exports
from biasfree.sources import module_path as _path
from biasfree_papers.registry import GROUP

__all__ = ["_exports", "_path", "sources_of"]


def sources_of(roots: set[str]) -> dict[str, bytes]:
    """The code of each module that the `roots` use, themselves included, and the data beside it."""
    return Sources(frozenset(_ours())).of(roots)


@cache
def _ours() -> frozenset[str]:
    """The packages whose sources are followed: biasfree, and those that have figures."""
    names = {package.value.partition(":")[0].partition(".")[0] for package in entry_points(group=GROUP)}
    return frozenset({"biasfree", "biasfree_papers"} | names)
