"""Imports point down, from the command line to the data; theory and simulator know nothing of each other."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import biasfree
import biasfree.theory
import biasfree_papers

ROOT, PAPERS = (Path(str(package.__file__)).parent for package in (biasfree, biasfree_papers))
DOCS = Path(__file__).parents[1] / "docs"
STAGES = {
    "_version": 0, "arrays": 0, "caching": 0, "files": 0, "markup": 0, "stopping": 0, "ties": 0,
    "tables": 0, "threads": 0,
    "arguments": 1, "cards": 1, "pages": 1, "versions": 1,
    "data": 2,
    "networks": 3,
    "losses": 4, "trajectory": 4,
    "dynamics": 5, "theory": 5,
    "plots": 6,
    "diagnostics": 7,
    "lab": 8, "sweeps": 8,
    "cli": 9,
}  # fmt: skip
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
BUILT_ON_IT = sorted([*PAPERS.rglob("*.py"), *DOCS.rglob("*.py")])


def stage_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path, *, inside_functions=True):
    """(module, name) of everything that a file imports; `from biasfree import x` has the module biasfree."""
    for node in ast.walk(_tree(path)) if inside_functions else _executed(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import; write it out."
            assert node.module
            yield from ((node.module, alias.name) for alias in node.names)


@cache
def _tree(path):
    return ast.parse(path.read_text())


def _executed(tree):
    """The statements that importing a file executes: none inside functions or for type checkers only."""
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node


def dotted(path):
    return [f"{module}.{name}" if module == "biasfree" and name else module for module, name in imports(path)]


def test_imports_point_down():
    for path in MODULES:
        own = stage_of(path)
        for module in dotted(path):
            parts = module.split(".")
            assert parts[0] != "biasfree_papers", f"{path} must not need the papers"
            if parts[0] == "biasfree" and len(parts) > 1 and parts[1] != own:
                assert STAGES[parts[1]] < STAGES[own], f"{path} must not import {module}"


#: The rooms of the simulator: each imports those before it, and files outside rooms import none of them.
ROOMS = ["network", "evaluate", "kinks", "steps", "events", "population", "flow", "descent"]


def test_rooms_of_the_simulator_import_one_way():
    home = ROOT / "dynamics"
    assert sorted(path.name for path in home.iterdir() if (path / "__init__.py").exists()) == sorted(ROOMS)
    for path in sorted(home.rglob("*.py")):
        own = path.relative_to(home).parts[0]
        if own in ("__init__.py", "__main__.py"):
            continue
        before = ROOMS[: ROOMS.index(own)] if own in ROOMS else []
        for module in dotted(path):
            package, *rooms = module.removeprefix("biasfree.").split(".")
            if package == "dynamics" and rooms and rooms[0] in ROOMS and rooms[0] != own:
                assert rooms[0] in before, f"{path} must not import {module}"


def test_only_dynamics_compiles():
    engines = {"jax", "jaxlib", "numba", "diffrax", "equinox", "optimistix"}
    for path in MODULES:
        if stage_of(path) != "dynamics":
            assert not engines & {module.split(".")[0] for module in dotted(path)}, path


def test_scipy_comes_before_a_call_or_by_load():
    """BLAS that an import statement loads inside a call would have all its threads there."""
    for path in MODULES:
        inside = set(imports(path)) - set(imports(path, inside_functions=False))
        late = [module for module, _ in inside if module.split(".")[0] == "scipy"]
        assert not late, f"{path} imports {late} inside a function; use threads.load"


def test_theory_and_simulator_share_no_code():
    """Their agreement is evidence only while neither knows the other."""
    for path in MODULES:
        others = {"theory": "biasfree.dynamics", "dynamics": "biasfree.theory"}
        if (other := others.get(stage_of(path))) is not None:
            assert not [module for module in dotted(path) if module.startswith(other)], path


def test_modules_of_a_folder_are_private():
    """A folder exports its names in `__init__.py`; the modules that hold them begin with an underscore."""
    assert [path for path in MODULES if path.parent != ROOT and not path.name.startswith("_")] == []


#: Files that still enter another room by a window.
WINDOWS = {"cli/_sweep.py"}


def test_a_room_is_entered_by_its_door():
    """What a room has for others is exported by its `__init__`; no module imports another's private one."""
    for path in MODULES:
        if path.relative_to(ROOT).as_posix() in WINDOWS:
            continue
        for module in dotted(path):
            package, *parts = module.split(".")
            if package == "biasfree" and parts and parts[0] not in (stage_of(path), "_version"):
                assert not [part for part in parts if part.startswith("_")], f"{path} climbs into {module}"


def test_papers_and_documents_use_public_names():
    for path in BUILT_ON_IT:
        for module, name in imports(path):
            if module.split(".")[0] == "biasfree":
                private = [part for part in [*module.split("."), name] if part.startswith("_")]
                assert not private, f"{path.name} takes {name} from the private module {module}"


def _graph(root, package):
    """Which modules each module imports when it is imported itself."""
    paths = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join([package, *(part for part in parts if part != "__init__")])] = path
    graph = {}
    for own, path in paths.items():
        found = imports(path, inside_functions=False)
        named = {f"{module}.{name}" if f"{module}.{name}" in paths else module for module, name in found}
        graph[own] = {module for module in named if module in paths and paths[module].name != "__init__.py"}
    return graph


@pytest.mark.parametrize(
    ("root", "package"), [(ROOT, "biasfree"), (PAPERS, "biasfree_papers")], ids=["biasfree", "papers"]
)
def test_no_module_needs_itself(root, package):
    TopologicalSorter(_graph(root, package)).prepare()  # raises CycleError, which names them


def test_folders_of_the_theory_say_what_they_hold_and_do_not_need_each_other():
    graph = {}
    for path in (ROOT / "theory").glob("*/__init__.py"):
        assert ast.get_docstring(_tree(path)), path
        found = [one for file in path.parent.glob("*.py") for one in imports(file)]
        parts = [f"{module}.{name}".split(".") for module, name in found]
        graph[path.parent.name] = {part[2] for part in parts if part[1:2] == ["theory"]} - {path.parent.name}
    assert len(graph) > 5
    TopologicalSorter(graph).prepare()
