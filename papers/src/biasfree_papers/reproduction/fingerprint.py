"""Fingerprints of stored results: hashes of all that a result depends on, which decide on its reuse.

They cover the files of `biasfree`, of the figure's own folder and of what its package shares; the settings;
the versions of packages and the platform. A figure may use nothing of another figure.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import biasfree
import biasfree_papers
from biasfree.tables import as_json
from biasfree.versions import versions
from biasfree_papers.experiment import Experiment

#: Folders that no figure uses, those that no numbers depend on, and files of a figure that read its numbers.
_UNUSED = frozenset({"__pycache__", "cli", "lab", "advice", "commands", "report"})
_DRAWING = frozenset({"plots", "reproduction"})
_READING = frozenset({"claims.py", "picture.py"})


def numbers_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of numbers: settings, versions, and the files that `run` may use."""
    return _digest({"name": experiment.name, **_machine()}, settings, _files(experiment, numbers=True))


def figure_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of claims and pictures too: every file that the figure may use, and its texts."""
    return _digest({**_texts(experiment), **_machine()}, settings, _files(experiment, numbers=False))


def sources_fingerprint(experiment: Experiment) -> str:
    """The fingerprint of sources, texts and default settings, the same on every machine."""
    return _digest(_texts(experiment), experiment.settle(), _files(experiment, numbers=False))


def _files(experiment: Experiment, *, numbers: bool) -> Iterator[str]:
    """Hashes of the files that a figure may use, or its numbers alone."""
    skipped = _UNUSED | _DRAWING if numbers else _UNUSED
    modules = {name: Path(str(sys.modules[name].__file__)) for name in sorted(experiment.modules)}
    packages = {name.partition(".")[0] for name in modules} - {"biasfree_papers"}
    shared = [Path(str(sys.modules[name].__file__)).parent for name in sorted(packages)]
    for folder in (Path(biasfree.__file__).parent, Path(biasfree_papers.__file__).parent, *shared):
        yield _shared(folder, skipped)
    inside = {path for file in modules.values() for path in file.parent.rglob("*.*")}
    for path in sorted(path for path in inside if "__pycache__" not in path.parts):
        if path.suffix != ".md" and not (numbers and path.name in _READING):
            yield f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


@cache
def _shared(folder: Path, skipped: frozenset[str]) -> str:
    """The hash of a package without its figures, which are the folders NAME with a file NAME.md."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        figure = (folder / inside.parts[0] / f"{inside.parts[0]}.md").exists()
        if path.is_file() and not figure and skipped.isdisjoint(inside.parts):
            digest.update(f"\0{inside.as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _texts(experiment: Experiment) -> dict[str, Any]:
    names = ("name", "title", "caption", "rebuilt", "deviations", "section")
    return {name: getattr(experiment, name) for name in names}


def _machine() -> dict[str, Any]:
    used = {package: version for package, version in versions().items() if package != "torch"}
    return {"uses": used, "system": platform.system(), "machine": platform.machine()}


def _digest(stated: Mapping[str, Any], settings: Mapping[str, Any], files: Iterator[str]) -> str:
    stated = as_json({**stated, "settings": dict(settings), "files": list(files)})
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
