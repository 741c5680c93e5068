"""Build the site: prepare its pages from the Markdown of the repository, execute their Python, call Sphinx.

    python docs/website/build.py OUT/site

Results are those of the figures in OUT.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import equations  # noqa: E402 - found in the folders above
import reference  # noqa: E402
import replays  # noqa: E402
import results  # noqa: E402
from pages import downloadable, notebook, page  # noqa: E402
from theory_map import theory_map  # noqa: E402
from uses import footer  # noqa: E402

#: Pages outside docs/ → their places in the site.
ELSEWHERE = {
    "README.md": "index.md",  # links to the README lead to the first page, which takes its place
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changes.md",
    "papers/README.md": "project/papers.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
#: Pages whose Python is the text of files, and not a session.
FILES = ("add_a_paper",)
#: Pages that are also offered as a notebook, with the folder of the files that they write.
TUTORIALS = {
    "tutorial": "",
    "tutorial_diagnose": "",
    "sweeps": "",
    "tutorial_lab": "",
    "add_a_paper": "three",
}
#: Settings of the kernel that runs the cells: its remark on transport without encryption is not for a build.
KERNEL = "c = get_config()\nc.IPKernelApp.log_level = 40\n"


def places() -> dict[PurePosixPath, str]:
    """Files of the repository → their places in the site."""
    found = {PurePosixPath(path): place for path, place in ELSEWHERE.items()}
    for path in sorted((ROOT / "src").rglob("README.md")):
        found[_within(path)] = f"project/rooms/{path.parent.name}.md"
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".png", ".svg") and HERE not in path.parents and path.stem != "findings":
            place = path.relative_to(ROOT / "docs")
            found[_within(path)] = str(place.with_stem("index") if path.stem == "README" else place)
    return found


def prepare(source: Path, out: Path) -> None:
    """Write the pages of the site, ready for Sphinx, into an empty folder; `out` has the figures."""
    records = results.load(out)
    shutil.rmtree(source, ignore_errors=True)
    repository = places()
    written = {**own_pages(), "results.md": results.page(records), "equations.md": equations.table()}
    made_here = (*written, "theory/map.md", "reference/index.md")
    known = repository | {PurePosixPath("docs") / name: name for name in made_here}
    for path, place in repository.items():
        target = source / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copyfile(ROOT / path, target)
        elif place != "index.md":
            text = results.reported((ROOT / path).read_text(), records)
            runs = path.parts[0] == "docs" and path.stem not in FILES
            made = page(text, path, known, reference.known, runs=runs)
            if path.parent.name == "theory" and path.parts[0] == "docs":
                made += _contents(text) if path.stem == "README" else footer(path.stem)
            target.write_text(_download(made, place, source, text))
    for name, text in written.items():
        shown = PurePosixPath("docs") / name
        (source / name).parent.mkdir(exist_ok=True)
        made = page(text, shown, known, reference.known, runs=True)
        (source / name).write_text(_download(made, name, source, text))
    (source / "reference").mkdir()
    for name, text in reference.pages().items():
        (source / "reference" / f"{name}.md").write_text(text)
    (source / "theory" / "map.md").write_text(theory_map())
    replays.write(source / "_extra" / "replays")


def own_pages() -> dict[str, str]:
    """The pages that only the site has, by name; each section of plots.md is a page of its own."""
    found = {path.name: path.read_text() for path in sorted(HERE.glob("*.md"))}
    quiet = re.sub(r"(```python\n.*?)(\n```)", r"\1;\2", found.pop("plots.md"), flags=re.DOTALL)  # no values
    head, *sections = quiet.split("\n## ")
    titles = [section.partition("\n")[0] for section in sections]
    tree = "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(titles) + "\n```\n"
    found |= {f"plots/{title}.md": f"# {text}\n" for title, text in zip(titles, sections, strict=True)}
    return {**found, "plots/index.md": f"{head}\n\n{tree}"}


def _contents(text: str) -> str:
    """The pages of the theory in the order of the table that links to them, after the map."""
    names = dict.fromkeys(re.findall(r"^\| \[\w+\]\((\w+)\.md\)", text, re.MULTILINE))
    return "\n\n```{toctree}\n:hidden:\n\nmap\n" + "\n".join(names) + "\n```\n"


def _download(made: str, place: str, source: Path, text: str) -> str:
    """The page with a link to its notebook, if it is a tutorial."""
    name = place.removesuffix(".md")
    if name not in TUTORIALS:
        return made
    folder = source / "_extra" / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ipynb").write_text(notebook(downloadable(text, folder=TUTORIALS[name])))
    head, title, rest = re.split(r"(^# .*\n)", made, maxsplit=1, flags=re.MULTILINE)
    link = f'Download as <a href="downloads/{name}.ipynb">notebook</a>.'
    return f"{head}{title}\n{link}\n{rest}"


def _within(path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(ROOT))


def main() -> int:
    """Prepare and build; the exit code is Sphinx's, and a warning is an error."""
    site = Path(sys.argv[1]).resolve()
    source, kept = site.with_name(f"{site.name}-source"), site.with_name(f"{site.name}-cache")
    prepare(source, site.parent)
    options = ["-W", "--keep-going", "-q", "-c", str(HERE), "-d", str(kept / "doctrees")]
    cells = ["-D", f"nb_execution_cache_path={kept / 'cells'}", "-D", f"html_extra_path={source / '_extra'}"]
    command = [sys.executable, "-m", "sphinx", "-b", "html", *options, *cells, str(source), str(site)]
    settings = kept / "ipython" / "profile_default" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(KERNEL)
    quiet = {"PYTHONWARNINGS": "ignore", "IPYTHONDIR": str(kept / "ipython")}
    return subprocess.run(command, check=False, env={**os.environ, **quiet}).returncode


if __name__ == "__main__":
    sys.exit(main())
