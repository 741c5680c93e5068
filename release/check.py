"""Check a release: both packages are built, installed alone in clean environments, and tried.

    python release/check.py out/release

Every Python of this machine from 3.11 on gets the newest versions of what the packages need; the oldest
Python also gets the lowest versions that pyproject.toml declares. An environment passes if the quickstart of
the README prints what it should, `biasfree doctor` finds nothing wrong, and a small figure is made.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"biasfree": ROOT, "biasfree-papers": ROOT / "papers"}
OLDEST = (3, 11)


def main() -> int:
    """Build, then try every environment; returns the number of those that fail."""
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    wheels = build(out)
    pythons = interpreters()
    cases = [(python, "newest") for python in pythons] + [(pythons[0], "lowest")]
    failed = 0
    for python, kind in cases:
        name = f"{version_of(python)}, {kind} versions"
        print(f"{name}: installing", flush=True)
        try:
            tried = attempt(python, wheels, kind)
        except subprocess.CalledProcessError as error:
            failed += 1
            print(f"{name}: FAILED\n{error.stdout}\n{error.stderr}", flush=True)
        else:
            print(f"{name}: ok; {tried}", flush=True)
    print(f"{len(cases) - failed} of {len(cases)} environments pass; packages in {out}")
    return failed


def build(out: Path) -> list[Path]:
    """The wheel of each package, built from its source distribution, so that both are complete."""
    for old in [*out.glob("*.whl"), *out.glob("*.tar.gz")]:
        old.unlink()
    made = []
    for name, folder in PACKAGES.items():
        run(sys.executable, "-m", "build", "--outdir", str(out), str(folder))  # the wheel, from the sdist
        (wheel,) = out.glob(f"{name.replace('-', '_')}-*.whl")
        made.append(wheel)
    return made


def interpreters() -> list[str]:
    """The Pythons of this machine from the oldest supported one on, each version once, the oldest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [
        sys.executable,
        *(f"python3.{minor}" for minor in range(OLDEST[1], 30)),
        *map(str, pyenv.glob("*/bin/python")),
    ]
    found: dict[tuple[int, ...], str] = {}
    for name in filter(None, map(shutil.which, names)):
        ended = subprocess.run(
            [name, "-c", "import sys; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode == 0 and (version := tuple(map(int, ended.stdout.split()))) >= OLDEST:
            found.setdefault(version, name)
    return [found[version] for version in sorted(found)]


def attempt(python: str, wheels: list[Path], kind: str) -> str:
    """Install the wheels in an environment of their own and try them; the versions that were used."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        here = Path(folder) / "bin"
        bounds = lowest() if kind == "lowest" else []
        run(str(here / "pip"), "install", "--quiet", *map(str, wheels), *bounds)
        run(
            str(here / "python"),
            "-c",
            f"import biasfree_papers, biasfree; assert biasfree.__file__.startswith({folder!r})",
            cwd=Path(folder),
        )
        shown = run(str(here / "python"), "-c", quickstart()[0], cwd=Path(folder))
        if shown != quickstart()[1]:
            raise subprocess.CalledProcessError(
                1, "quickstart", shown, "the quickstart prints something else"
            )
        examined = run(str(here / "biasfree"), "doctor", cwd=Path(folder))
        run(
            str(here / "biasfree"),
            "run",
            "fig6",
            "--small",
            "--out",
            str(Path(folder) / "out"),
            cwd=Path(folder),
        )
        return ", ".join(
            " ".join(line.split()) for line in examined.splitlines() if re.match("numpy|jax |numba", line)
        )


def lowest() -> list[str]:
    """The lowest versions that pyproject.toml declares, as requirements."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [re.sub(r"^([\w-]+)>=([\d.]+).*", r"\1==\2.*", requirement) for requirement in declared]


def quickstart() -> tuple[str, str]:
    """The quickstart of the README, and what it prints."""
    section = (ROOT / "README.md").read_text().partition("## Quickstart")[2]
    code, output = re.search(r"```python\n(.*?)```.*?```output\n(.*?)```", section, re.DOTALL).groups()  # type: ignore[union-attr]
    return code, output


def version_of(python: str) -> str:
    """`Python 3.12.1` for an interpreter."""
    return run(python, "--version").strip()


def run(*command: str, cwd: Path | None = None) -> str:
    """The output of a command; an error with all it printed if it fails."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return subprocess.run(
        command, cwd=cwd, check=True, capture_output=True, text=True, env=environment
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
