"""A release says the same everywhere: versions, bounds, files of the packages, workflow, citation."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import biasfree
import biasfree_papers
from biasfree.dynamics import KNOWN_WRONG

ROOT = Path(__file__).parents[1]
FOLDERS = {"biasfree": ROOT, "biasfree_papers": ROOT / "papers"}
#: Modules whose package has another name, and those that come with a package that is declared.
PROVIDED = {
    "PIL": "matplotlib",
    "pandas": "xarray",
    "jaxlib": "jax",
    "distributed": "dask",
    "dask_jobqueue": "dask-jobqueue",
}
#: Not by syntax trees, which take seconds.
IMPORT = re.compile(r"^ *(?:import (\w+)(?: as \w+|[.\w]*)?$|from (\w+)[.\w]* import )", re.MULTILINE)


def project(name):
    return tomllib.loads((FOLDERS[name] / "pyproject.toml").read_text())["project"]


def needs(name, *, extras=True):
    found = [*project(name)["dependencies"]]
    for more in project(name).get("optional-dependencies", {}).values() if extras else ():
        found += more
    return {one.name: one for one in map(Requirement, found)}


def test_sources_and_wrong_releases_are_declared():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert [one for one in built["sdist"]["only-include"] if not (ROOT / one).exists()] == []
    assert [one for one in KNOWN_WRONG if one in needs("biasfree")["jax"].specifier] == []


@pytest.mark.parametrize("name", FOLDERS)
def test_every_package_that_is_imported_is_declared(name):
    used = set()
    for path in (FOLDERS[name] / "src").rglob("*.py"):
        used |= {one or two for one, two in IMPORT.findall(path.read_text())}
    used -= {*sys.stdlib_module_names, name, "jaxtyping"}  # for type checkers only: test_without_jax.py
    assert {PROVIDED.get(one, one) for one in used} - needs(name).keys() == set()


def test_both_packages_have_the_same_bounds():
    library, papers = needs("biasfree"), needs("biasfree_papers")
    assert papers.pop("biasfree").specifier.contains(biasfree.__version__)
    assert {one: bound for one, bound in papers.items() if bound.specifier != library[one].specifier} == {}


def test_pinned_versions_lie_within_the_bounds():
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    pins = dict(line.lower().split("==") for line in lines)
    bounds = {one: bound.specifier for one, bound in needs("biasfree").items()}
    assert [f"{one} {pins[one]}" for one, bound in bounds.items() if pins[one] not in bound] == []


def test_the_workflow_runs_what_ci_runs_on_every_supported_python():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    job = workflow["jobs"]["test"]
    assert "bash .ci/run" in [step.get("run") for step in job["steps"]]
    prefix = "Programming Language :: Python :: 3."
    for name in FOLDERS:
        named = [one.rpartition(" ")[2] for one in project(name)["classifiers"] if one.startswith(prefix)]
        assert named == job["strategy"]["matrix"]["python"]
        assert project(name)["requires-python"] == f">={named[0]}"


@pytest.mark.parametrize("name", ["proposal", "wrong_result"])
def test_an_issue_template_says_what_it_is_for(name):
    _, head, text = (ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head).keys() == {"name", "about"}
    assert text.strip()


def test_the_citation_is_complete():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()  # those that the format requires
    assert (cited["cff-version"], cited["type"], cited["version"]) == (
        "1.2.0",
        "software",
        biasfree.__version__,
    )
    assert cited["license"] == project("biasfree")["license"] == project("biasfree_papers")["license"]
    paper = cited["preferred-citation"]
    assert {"type", "title", "authors", "year", "journal"} <= paper.keys()
    assert all({"family-names", "given-names"} == author.keys() for author in paper["authors"])


def test_the_changelog_goes_back_version_by_version():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    versions = [tuple(map(int, heading.split("."))) for heading in headings]
    assert versions == sorted(set(versions), reverse=True)
    assert headings[0] == biasfree.__version__ == biasfree_papers.__version__


def test_both_packages_carry_the_license():
    assert (ROOT / "papers" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
