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

from biasfree.tables import as_json
from biasfree.versions import versions
from biasfree_papers.experiment import Experiment
from biasfree_papers.reproduction.sources import sources_of


def numbers_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of numbers: settings, the modules that `run` uses, and versions."""
    return _digest({"name": experiment.name, **_machine()}, settings, {experiment.run.__module__})


def figure_fingerprint(experiment: Experiment, settings: Mapping[str, Any]) -> str:
    """The fingerprint of claims and pictures too: every module that the figure uses, and its texts."""
    return _digest({**_texts(experiment), **_machine()}, settings, _modules(experiment))


def sources_fingerprint(experiment: Experiment) -> str:
    """The fingerprint of sources, texts and default settings, the same on every machine."""
    return _digest(_texts(experiment), experiment.settle(), _modules(experiment))


def _modules(experiment: Experiment) -> set[str]:
    return {*experiment.modules, f"{__package__}.making"}


def _texts(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "caption": experiment.caption,
        "rebuilt": experiment.rebuilt,
        "deviations": experiment.deviations,
        "section": experiment.section,
    }


def _machine() -> dict[str, Any]:
    used = {package: version for package, version in versions().items() if package != "torch"}
    return {"uses": used, "system": platform.system(), "machine": platform.machine()}


def _digest(stated: Mapping[str, Any], settings: Mapping[str, Any], roots: set[str]) -> str:
    stated = as_json({**stated, "settings": dict(settings)})
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for module, content in sorted(sources_of(roots).items()):
        digest.update(f"\0{module}\0".encode())
        digest.update(content)
    return digest.hexdigest()
