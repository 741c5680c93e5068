"""What is tried in each environment, as a user would: commands, the quickstart, and a script per extra."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from release.environments import ROOT, Environment, Failed

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Trial:
    """A use of the packages that must succeed, after the `extra` of the library is installed."""

    name: str
    use: Callable[[Environment], None]
    extra: str | None = None


def tried(trial: Trial, environment: Environment) -> str:
    """The error of a trial, or nothing where it succeeds."""
    try:
        if trial.extra is not None:
            environment.install(trial.extra)
        trial.use(environment)
    except Failed as error:
        return str(error)
    return ""


def script(name: str, *arguments: str) -> Callable[[Environment], None]:
    """A file of scripts/, run without its folder among those that are searched for modules."""
    return lambda environment: void(environment.run("python", "-P", str(SCRIPTS / name), *arguments))


def void(_: object) -> None:
    """Nothing: the output of a command that only has to succeed."""


def install(environment: Environment) -> None:
    """Both packages alone; nothing that they need is missing or in conflict."""
    environment.install()
    environment.run("pip", "check")


def commands(environment: Environment) -> None:
    """The version is printed, the doctor finds nothing wrong, a missing extra is named."""
    printed = environment.run("biasfree", "--version").strip()
    if printed != (version := environment.run("python", str(SCRIPTS / "alone.py")).strip()):
        raise Failed(f"biasfree --version prints {printed!r}, but the version is {version!r}")
    environment.run("biasfree", "doctor")
    try:
        environment.run("biasfree", "lab", "--no-browser")
    except Failed as error:
        if "pip install 'biasfree[lab]'" not in str(error):
            raise
    else:
        raise Failed("biasfree lab runs without Tornado: the environment is not clean")


def quickstart(environment: Environment) -> None:
    """The quickstart of the README prints what the README says."""
    section = (ROOT / "README.md").read_text().partition("## Quickstart")[2]
    found = re.search(r"```python\n(.*?)```.*?```output\n(.*?)```", section, re.DOTALL)
    assert found is not None
    code, output = found.groups()
    if (printed := environment.run("python", "-c", code)) != output:
        raise Failed(f"the quickstart prints {printed!r} instead of {output!r}")


def figure(environment: Environment) -> None:
    """A small figure of the papers is made, and the report on it."""
    out = environment.folder / "out"
    environment.run("biasfree", "run", "fig6", "--small", "--out", str(out))
    for made in ("report.html", "claims.json"):
        if not (out / "small" / made).exists():
            raise Failed(f"biasfree run writes no {made}")


def whole(environment: Environment) -> None:
    """With all extras installed, nothing is missing or in conflict."""
    environment.run("pip", "check")


#: In this order: `lab` before `cluster`, which also brings Tornado.
TRIALS = (
    Trial("install", install),
    Trial("commands", commands),
    Trial("quickstart", quickstart),
    Trial("figure", figure),
    Trial("pages", script("pages.py")),
    Trial("[torch]", script("diagnose_model.py"), "torch"),
    Trial("[lab]", script("ask_lab.py"), "lab"),
    Trial("[cluster]", script("two_workers.py"), "cluster"),
    Trial("[docs]", script("one_page.py", str(ROOT / "docs" / "website")), "docs"),
    Trial("all extras", whole),
)
