"""Fingerprints of stored results: hashes of all that a result depends on, which decide on its reuse.

They cover the sources of a function (its module and all modules that this one imports, directly or not, as
`reproduction.sources` finds them), the settings, the versions of packages and the platform.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from typing import Any

from biasfree.tables import plain
from biasfree.versions import versions
from biasfree_papers.experiment import Experiment
from biasfree_papers.reproduction.sources import sources_of


def numbers_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of numbers: settings, the modules that `run` uses, and versions."""
    return _digest(experiment.name, settings, {experiment.run.__module__})


def figure_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of claims and pictures too: every module that the figure uses, and its texts."""
    functions = (experiment.run, experiment.claims, experiment.tables, experiment.draw)
    texts = {
        "title": experiment.title,
        "caption": experiment.caption,
        "rebuilt": experiment.rebuilt,
        "deviations": experiment.deviations,
        "section": experiment.section,
    }
    roots = {function.__module__ for function in functions} | {f"{__package__}.making"}
    return _digest(experiment.name, settings, roots, **texts)


def _digest(name: str, settings: Mapping[str, Any], roots: set[str], **texts: Any) -> str:
    used = {package: version for package, version in versions().items() if package != "torch"}
    machine = {"system": platform.system(), "machine": platform.machine()}
    stated = {"name": name, "settings": plain(settings), "uses": used, **machine, **plain(texts)}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for module, content in sorted(sources_of(roots).items()):
        digest.update(f"\0{module}\0".encode())
        digest.update(content)
    return digest.hexdigest()
