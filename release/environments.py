"""Clean environments: the Pythons of this machine, the versions of packages in each, and commands inside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from itertools import chain
from pathlib import Path
from typing import Self

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
KINDS = ("newest", "lowest")
#: Seconds after which a command is taken to hang: compiling everything on a busy machine takes a tenth of it.
LIMIT = 3000


class Failed(Exception):
    """A command of an environment failed; the message is the last line that it printed."""


def interpreters() -> dict[str, str]:
    """Version → Python of this machine, from the oldest supported one on, each minor version once."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [
        *(f"python3.{minor}" for minor in range(OLDEST[1], 30)),
        *map(str, sorted(pyenv.glob("*/bin/python"))),
        sys.executable,
    ]
    found: dict[tuple[int, ...], tuple[str, str]] = {}
    for name in filter(None, map(shutil.which, names)):
        asked = [name, "-c", "import sys, ensurepip; print(*sys.version_info[:3], sep='.')"]
        ended = subprocess.run(asked, capture_output=True, text=True, check=False)
        if ended.returncode == 0:  # a Python without ensurepip makes no environments
            version = tuple(map(int, ended.stdout.split(".")))
            if version >= OLDEST:
                found.setdefault(version[:2], (ended.stdout.strip(), name))
    return dict(found[minor] for minor in sorted(found))


def constraints(kind: str) -> list[str]:
    """What an environment restricts: the lowest declared versions, or PyTorch alone as it is pinned."""
    if kind == "newest":
        return [
            pin for pin in (ROOT / "constraints.txt").read_text().splitlines() if pin.startswith("torch==")
        ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = chain(project["dependencies"], *project["optional-dependencies"].values())
    return [f"{one.name}=={lowest(one)}" for one in map(Requirement, declared)]


def lowest(requirement: Requirement) -> str:
    """The version of `name>=version`."""
    (bound,) = [one.version for one in requirement.specifier if one.operator == ">="]
    return bound


class Environment:
    """A virtual environment in a temporary folder; everything that runs inside is written to a log."""

    def __init__(self, python: str, kind: str, built: list[Path], logs: Path):
        version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout
        self.log = logs / f"{version.split()[1]}-{kind}.log"
        self.log.unlink(missing_ok=True)
        self._python, self._kind = python, kind
        self._wheels = {path.name.partition("-")[0]: path for path in built if path.suffix == ".whl"}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="biasfree-release-")
        self.folder = Path(self._folder.name).resolve()
        try:
            self.run(self._python, "-m", "venv", str(self.folder / "env"))
        except BaseException:
            self._folder.cleanup()
            raise
        (self.folder / "constraints.txt").write_text("\n".join(constraints(self._kind)))
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def install(self, extra: str | None = None) -> None:
        """Install both packages, or what an extra of the library adds."""
        wanted = [f"{self._wheels['biasfree']}[{extra}]"] if extra else map(str, self._wheels.values())
        self.run("pip", "install", "--constraint", str(self.folder / "constraints.txt"), *wanted)

    def run(self, *command: str) -> str:
        """The output of a command, found in the environment first; raises Failed if it fails."""
        program = self.folder / "env" / "bin" / command[0]
        command = (str(program) if program.exists() else command[0], *command[1:])
        with self.log.open("a") as log:
            log.write(f"\n$ {' '.join(command)}\n")
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                capture_output=True,
                text=True,
                env=self._variables(),
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"{Path(command[0]).name} did not end within {LIMIT} seconds") from None
        with self.log.open("a") as log:
            log.write(f"{ended.stdout}\n{ended.stderr}\nended with {ended.returncode}\n")
        if ended.returncode:
            said = (ended.stderr.strip() or ended.stdout.strip() or "it printed nothing").splitlines()[-1]
            raise Failed(f"{Path(command[0]).name} ended with {ended.returncode}: {said}")
        return ended.stdout

    def _variables(self) -> dict[str, str]:
        """The variables of this process, without those that lead to other packages and to old caches."""
        others = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "JAX_COMPILATION_CACHE_DIR")
        kept = {name: value for name, value in os.environ.items() if name not in others}
        own = str(self.folder / "env" / "bin")
        own_cache = {"JAX_COMPILATION_CACHE_DIR": str(self.folder / "cache"), "MPLBACKEND": "agg"}
        return kept | own_cache | {"PATH": f"{own}{os.pathsep}{kept['PATH']}"}

    def versions(self) -> dict[str, str]:
        """The versions of what the packages declare, as far as they are installed."""
        try:
            listed = json.loads(self.run("pip", "list", "--format", "json"))
        except Failed:
            return {}
        installed = {one["name"].lower(): one["version"] for one in listed}
        declared = [Requirement(pin).name.lower() for pin in constraints("lowest")]
        return {name: installed[name] for name in declared if name in installed}
