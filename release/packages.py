"""The packages of a release: built, and examined for what is missing, stray or wrong in them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"biasfree": ROOT, "biasfree_papers": ROOT / "papers"}
#: What a package consists of: code, texts, small data, and the page of the laboratory.
KINDS = {".py", ".md", ".css", ".csv", ".html", ".js", ".svg", ".typed"}
#: No file of a package or of a source distribution is larger, in bytes.
LARGEST = 200_000
#: Parts of names of files that belong to a working folder only.
STRAY = ("__pycache__", ".venv", ".git", ".pytest_cache", ".ruff_cache", ".hypothesis", "out", "dist")

#: What the builder adds to a source distribution by itself.
ADDED = {"PKG-INFO", ".gitignore"}


def build(out: Path) -> list[Path]:
    """The source distribution of each package and the wheel built from it, so that both are complete."""
    for old in [*out.glob("*.whl"), *out.glob("*.tar.gz")]:
        old.unlink()
    for folder in PACKAGES.values():
        command = [sys.executable, "-m", "build", "--outdir", str(out), str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SystemExit(f"{folder} cannot be built:\n{ended.stdout}\n{ended.stderr}")
    return sorted([*out.glob("*.whl"), *out.glob("*.tar.gz")])


def digest(built: list[Path]) -> str:
    """A hash of the wheels and of what is tried with them."""
    found = hashlib.sha256()
    tried = [*sorted(Path(__file__).parent.rglob("*.py")), ROOT / "README.md", ROOT / "constraints.txt"]
    for path in [*(path for path in built if path.suffix == ".whl"), *tried]:
        found.update(path.read_bytes())
    return found.hexdigest()


def faults(built: list[Path]) -> list[str]:
    """Everything that is wrong with built packages, a sentence each."""
    found = []
    for path in built:
        name = path.name.partition("-")[0]
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                found += [f"{path.name} {fault}" for fault in wheel_faults(wheel, name, PACKAGES[name])]
        else:
            with tarfile.open(path) as sources:
                sizes = {member.name: member.size for member in sources if member.isfile()}
            found += [f"{path.name} {fault}" for fault in source_faults(sizes, PACKAGES[name])]
    return found


def wheel_faults(wheel: zipfile.ZipFile, name: str, folder: Path) -> list[str]:
    """What a wheel lacks of its package's folder, what it has beside it, and what its metadata lack."""
    sizes = {one.filename: one.file_size for one in wheel.infolist()}
    inside = {file for file in sizes if file.startswith(f"{name}/")}
    package = folder / "src" / name
    files = {path.relative_to(package.parent) for path in package.rglob("*") if path.is_file()}
    wanted = {file.as_posix() for file in files if "__pycache__" not in file.parts}
    about = [file for file in sizes if ".dist-info/" in file]
    return [
        *(f"lacks {file}" for file in sorted({*wanted, f"{name}/py.typed"} - inside)),
        *(f"has {file}, which the folder has not" for file in sorted(sizes.keys() - wanted - {*about})),
        *(f"has the stray file {file}" for file in sorted(inside) if PurePosixPath(file).suffix not in KINDS),
        *(_large(sizes)),
        *([] if any(file.endswith("licenses/LICENSE") for file in about) else ["has no license"]),
        *_metadata_faults(_metadata(wheel), folder),
    ]


def source_faults(sizes: dict[str, int], folder: Path) -> list[str]:
    """What a source distribution has that it should not, and what it lacks of the names it declares."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    declared = {*project["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]}
    inside = {PurePosixPath(file).relative_to(PurePosixPath(file).parts[0]) for file in sizes}
    first = {file.parts[0] for file in inside}
    stray = [file for file in inside if {*file.parts} & {*STRAY} or file.suffix == ".pyc"]
    return [
        *(f"lacks {one}" for one in sorted(declared - first)),
        *(
            f"has {one}, which is not declared"
            for one in sorted(first - declared - {"PKG-INFO", ".gitignore"})
        ),
        *(f"has the stray file {file}" for file in sorted(stray)),
        *_large(sizes),
    ]


def _large(sizes: dict[str, int]) -> list[str]:
    return [f"has {file} with {size} bytes" for file, size in sizes.items() if size > LARGEST]


def _metadata(wheel: zipfile.ZipFile) -> Message:
    (file,) = [one for one in wheel.namelist() if one.endswith(".dist-info/METADATA")]
    return message_from_bytes(wheel.read(file))


def _metadata_faults(metadata: Message, folder: Path) -> list[str]:
    """Requirements, extras and the oldest Python are those that pyproject.toml declares, word for word."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    stated = {_plain(one) for one in metadata.get_all("Requires-Dist", [])}
    wanted = {_plain(one) for one in project["dependencies"]}
    for extra, needs in project.get("optional-dependencies", {}).items():
        wanted |= {_plain(f"{one}; extra == '{extra}'") for one in needs}
    pythons = [one for one in metadata.get_all("Classifier", []) if one.startswith("Programming Language")]
    return [
        *(f"does not require {one}" for one in sorted(wanted - stated)),
        *(f"requires {one}, which is not declared" for one in sorted(stated - wanted)),
        *(
            []
            if metadata["Requires-Python"] == project["requires-python"]
            else ["names another oldest Python"]
        ),
        *([] if len(pythons) >= 3 else ["names no Pythons in its classifiers"]),
        *([] if metadata.get_payload() else ["has no description"]),
    ]


def _plain(requirement: str) -> str:
    """A requirement in the form that does not depend on quotes, spaces and order."""
    return str(Requirement(requirement))
