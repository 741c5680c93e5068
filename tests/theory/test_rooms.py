"""The folders of the theory import each other in one direction only, and say what they hold."""

import ast
from pathlib import Path

import biasfree.theory

ROOT = Path(str(biasfree.theory.__file__)).parent


def test_no_two_folders_need_each_other():
    """Taking away folders that need none of the others leaves nothing."""
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    graph = {room: (needed_by(room) & rooms) - {room} for room in rooms}
    while free := [room for room, others in graph.items() if not others & graph.keys()]:
        for room in free:
            del graph[room]
    assert not graph


def needed_by(room):
    """What lies directly in biasfree.theory and is imported by a file of the folder."""
    nodes = [node for path in (ROOT / room).glob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = [f"{node.module}.{alias.name}" for node in imports for alias in node.names]
    return {name.split(".")[2] for name in names if name.startswith("biasfree.theory.")}


def test_every_folder_says_what_it_holds():
    for path in ROOT.glob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path
