"""Imports point down, from the command line to the data; theory and simulator know nothing of each other."""

import ast
from pathlib import Path

import pytest

import biasfree

ROOT = Path(biasfree.__file__).parent
STAGES = {
    "arrays": 0, "arguments": 1, "files": 0, "tables": 0, "stopping": 0, "threads": 0, "versions": 0,
    "pages": 1,
    "data": 2,
    "networks": 3,
    "losses": 4, "trajectory": 4,
    "dynamics": 5, "theory": 5,
    "diagnostics": 6,
    "plots": 7,
    "diagnosis": 8,
    "experiments": 9,
    "reproduction": 10,
    "cli": 11,
}  # fmt: skip
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def stage_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path):
    """Every module that a file imports, inside functions too; `from biasfree import x` is biasfree.x."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import; write it out."
            names = [node.module] if node.module != "biasfree" else [f"biasfree.{a.name}" for a in node.names]
            yield from names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    own = stage_of(path)
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "biasfree" and len(parts) > 1 and parts[1] != own:
            assert STAGES[parts[1]] < STAGES[own], f"{own} must not import {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_dynamics_compiles(path):
    engines = {"jax", "jaxlib", "diffrax", "equinox", "optimistix"}
    if stage_of(path) != "dynamics":
        assert not engines & {module.split(".")[0] for module in imports(path)}


def test_theory_and_simulator_share_no_code():
    """Their agreement is evidence only while neither knows the other."""
    for path in MODULES:
        others = {"theory": "biasfree.dynamics", "dynamics": "biasfree.theory"}
        if (other := others.get(stage_of(path))) is not None:
            assert not [module for module in imports(path) if module.startswith(other)], path


WIRING = {"__init__.py", "experiment.py"}  # name what shows, and compute nothing
COMPUTING = [
    path
    for path in sorted((ROOT / "experiments").rglob("*.py"))
    if path.name not in WIRING and not {"sentences", "picture"} & {*path.stem.split("_")}
]


@pytest.mark.parametrize("path", COMPUTING, ids=lambda path: str(path.relative_to(ROOT / "experiments")))
def test_numbers_of_an_experiment_depend_on_nothing_that_shows(path):
    """What fingerprints leave out: pictures, claims and other experiments."""
    for module in imports(path):
        parts = module.split(".")
        assert parts[0] != "matplotlib"
        if parts[0] == "biasfree" and len(parts) > 1:
            assert parts[1] not in {"plots", "diagnosis", "reproduction", "cli", "pages", "tables"}, module
            inside = ROOT / "experiments" / parts[2] if parts[1] == "experiments" and len(parts) > 2 else path
            assert not inside.is_dir() or inside == path.parent, module
            assert not {"sentences", "picture"} & {*parts[-1].split("_")}, module


@pytest.mark.parametrize("path", COMPUTING, ids=lambda path: str(path.relative_to(ROOT / "experiments")))
def test_numbers_take_nothing_from_the_files_that_name_them(path):
    """Captions, settings' defaults and the registry may change without running anything again."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("biasfree.experiments"):
            folder = ROOT.joinpath(*node.module.split(".")[1:])
            if folder.is_dir():
                assert all((folder / f"{alias.name}.py").is_file() for alias in node.names), node.module
            if node.module == "biasfree.experiments.experiment":
                assert {alias.name for alias in node.names} <= {"Numbers", "Report"}
