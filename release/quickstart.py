"""The README's quickstart, with both packages as they are installed in the environment of this Python.

python release/quickstart.py
"""

import contextlib
import io
import re
import sys
from pathlib import Path

import biasfree
import biasfree_papers


def main() -> str | None:
    """What is wrong, or nothing."""
    for package in (biasfree, biasfree_papers):
        if not str(package.__file__).startswith(sys.prefix):
            return f"{package.__file__} is not in {sys.prefix}: install both there, unset PYTHONPATH."
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## Quickstart")[2]
    found = re.search(r"```python\n(.*?)```.*?```output\n(.*?)```", section, re.DOTALL)
    assert found is not None, "the README has no quickstart with its output"
    code, expected = found.groups()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    if printed.getvalue() != expected:
        return f"the quickstart prints\n{printed.getvalue()}instead of\n{expected}"
    print(f"Python {sys.version.split()[0]}: the quickstart prints what the README says")
    return None


if __name__ == "__main__":
    sys.exit(main())
