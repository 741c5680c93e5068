"""What a stored result depends on, as a hash: only what would come out the same is reused."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import biasfree
from biasfree.tables import plain
from biasfree.versions import versions

#: Sources that show numbers and make none.
_SHOWING = {"plots", "diagnosis", "reproduction", "cli", "pages.py", "tables.py", "stopping.py"}
#: Inside experiments: what they are called, claim and look like. Their settings enter as values.
_WIRING = {"__init__.py", "experiment.py"}


def numbers_fingerprint(name: str, settings: Mapping[str, Any]) -> str:
    """Of the numbers of an experiment: its settings, the sources that make them, and the versions in use."""
    return _digest(name, settings, [path for path in _sources() if _makes_numbers(path, name)])


def figure_fingerprint(name: str, settings: Mapping[str, Any]) -> str:
    """Of its claims and pictures too: the settings, all sources of the package, and the versions in use."""
    return _digest(name, settings, list(_sources()))


def _sources() -> Iterator[Path]:
    """Every file of the package, relative to it, in order."""
    root = Path(biasfree.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            yield path.relative_to(root)


def _makes_numbers(path: Path, name: str) -> bool:
    """Whether the numbers of experiment `name` may depend on this source.

    All do but those that show, the folders of other experiments, and the claims, pictures and captions of
    its own.
    """
    if path.parts[0] in _SHOWING:
        return False
    if path.parts[0] != "experiments":
        return True
    if path.name in _WIRING:
        return False
    shared = len(path.parts) == 2
    return (shared or path.parts[1] == name) and not {"sentences", "picture"} & {*path.stem.split("_")}


def _digest(name: str, settings: Mapping[str, Any], sources: list[Path]) -> str:
    used = {package: version for package, version in versions().items() if package != "torch"}
    machine = {"system": platform.system(), "machine": platform.machine()}
    stated = {"name": name, "settings": plain(settings), "uses": used, **machine}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for source in sources:
        digest.update(f"\0{source.as_posix()}\0".encode())
        digest.update((Path(biasfree.__file__).parent / source).read_bytes())
    return digest.hexdigest()
