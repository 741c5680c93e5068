"""Check a release: both packages are built, examined, installed alone in clean environments, and used.

    python -m release.check out/release
    python -m release.check out/release --python 3.12 --versions lowest

Every Python of this machine from 3.11 on gets two environments: one with the newest versions of what the
packages need, PyTorch as constraints.txt pins it, and one with the lowest versions that pyproject.toml
declares. `trials.py` lists what is tried in each. One line per environment tells the result; its log is
beside the packages. An environment that passed with the same packages is not tried again, unless --again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from release.environments import KINDS, Environment, interpreters
from release.packages import build, digest, faults
from release.trials import TRIALS, tried


def main() -> int:
    """Build, then try the environments that were asked for; returns the number of those that fail."""
    options = _options()
    out = options.out.resolve()
    (out / "logs").mkdir(parents=True, exist_ok=True)
    built = build(out)
    if wrong := faults(built):
        print("\n".join(["The packages are not as they should be:", *wrong]))
        return 1
    print(f"{', '.join(path.name for path in built)}: contents and metadata ok", flush=True)
    pythons = {version: path for version, path in interpreters().items() if _wanted(version, options.python)}
    if not pythons:
        print(f"There is no Python {options.python} here; found: {', '.join(interpreters())}.")
        return 1
    kinds = options.versions or KINDS
    results = Results(out / "results.json", digest(built), again=options.again)
    for version, python in pythons.items():
        for kind in kinds:
            results.add(f"{version}, {kind}", lambda: _tried(python, kind, built, out / "logs"))  # noqa: B023
    results.show()
    return results.failed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder for the packages, the logs and the results")
    parser.add_argument("--python", help="only this Python, such as 3.12 (default: every one)")
    parser.add_argument("--versions", choices=KINDS, action="append", help="only these versions of packages")
    parser.add_argument("--again", action="store_true", help="also what passed with the same packages")
    return parser.parse_args()


def _wanted(version: str, asked: str | None) -> bool:
    return asked is None or f"{version}.".startswith(f"{asked}.")


def _tried(python: str, kind: str, built: list[Path], logs: Path) -> dict[str, Any]:
    """What was tried in an environment of this Python, which versions it has, and what failed."""
    begun = time.monotonic()
    with Environment(python, kind, built, logs) as environment:
        found = {trial.name: tried(trial, environment) for trial in TRIALS}
        return {
            "trials": found,
            "versions": environment.versions(),
            "seconds": round(time.monotonic() - begun),
            "log": str(environment.log),
        }


class Results:
    """The results of environments, kept in a file; those of other packages are not used."""

    def __init__(self, path: Path, packages: str, *, again: bool):
        self._path, self._packages, self._again = path, packages, again
        stored = json.loads(path.read_text()) if path.exists() else {}
        self._known = stored["environments"] if stored.get("packages") == packages else {}
        self._asked: list[str] = []

    def add(self, name: str, attempt: Callable[[], dict[str, Any]]) -> None:
        """The stored result of an environment that passed, or a new one; prints its line."""
        self._asked.append(name)
        if self._again or name not in self._known or _wrong(self._known[name]):
            self._known[name] = attempt()
            self._path.write_text(
                json.dumps({"packages": self._packages, "environments": self._known}, indent=1)
            )
        print(line(name, self._known[name]), flush=True)

    @property
    def failed(self) -> int:
        """The number of environments with a trial that failed."""
        return sum(bool(_wrong(self._known[name])) for name in self._asked)

    def show(self) -> None:
        """Print how many environments pass."""
        passed = len(self._asked) - self.failed
        print(f"{passed} of {len(self._asked)} environments pass; packages and logs in {self._path.parent}")


def line(name: str, result: dict[str, Any]) -> str:
    """One line on an environment: ok or the errors, what was tried, the versions."""
    wrong = _wrong(result)
    good = [trial for trial, error in result["trials"].items() if not error]
    versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items())
    verdict = f"FAILED at {'; '.join(wrong)}; log: {result['log']}" if wrong else "ok"
    return f"Python {name}: {verdict} | tried: {', '.join(good)} | {versions} | {result['seconds']} s"


def _wrong(result: dict[str, Any]) -> list[str]:
    return [f"{trial}: {error}" for trial, error in result["trials"].items() if error]


if __name__ == "__main__":
    sys.exit(main())
