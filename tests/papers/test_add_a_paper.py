"""docs/add_a_paper.md, followed to the letter: a figure outside the repository, found by its entry point."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "add_a_paper.md"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The files of the page in a folder, with the metadata that pip would write beside them."""
    folder = tmp_path_factory.mktemp("three")
    files = re.findall(r"\*\*`(.+?)`\*\*\n\n```\w+\n(.*?)```\n", PAGE.read_text(), flags=re.DOTALL)
    for name, content in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / f"{project['name']}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["biasfree.figures"]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("[biasfree.figures]\n" + "\n".join(lines) + "\n")
    return folder


def biasfree(folder, *arguments):
    path = f"import sys; sys.path.insert(0, {str(folder)!r}); from biasfree.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", path, *arguments], cwd=folder, capture_output=True, text=True
    )


def test_the_example_is_found_run_and_reported(package):
    made = biasfree(package, "run", "three_inputs", "--small")
    assert made.returncode == 0, made.stderr
    record = json.loads((package / "out" / "small" / "three_inputs" / "claims.json").read_text())
    assert record["section"] == "Three inputs"
    assert [claim["verdict"] for claim in record["claims"]] == ["holds"] * 3
    assert "Three inputs" in (package / "out" / "small" / "report.html").read_text()


def test_it_is_listed_with_its_settings(package):
    listed = biasfree(package, "list").stdout
    assert "three_inputs [rebuilt]: Three inputs on which two-layer networks end at least squares" in listed
    assert "scales = 0.0001,1.0: two initial norms of a layer" in listed
