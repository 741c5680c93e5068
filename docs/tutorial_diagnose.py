"""What the blocks of docs/tutorial_diagnose.md print, written below them.

    python docs/tutorial_diagnose.py

Needs scikit-learn and PyTorch, which `make install` installs. Takes half a minute.
"""

import contextlib
import io
import os
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from inserting import insert

PAGE = Path(__file__).with_suffix(".md")


def main():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    space: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path.cwd()
        os.chdir(folder)
        try:
            outputs = [_printed(block, space) for block in blocks]
        finally:
            os.chdir(home)
    for i, text in enumerate(outputs, 1):
        insert(PAGE, f"output {i}", f"```text\n{text.strip()}\n```")


def _printed(block, space):
    """What a block prints, in lines of at most 120 characters; its names stay in `space`."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(block, space)
    print(printed.getvalue(), flush=True)
    lines = (line.rstrip() for line in printed.getvalue().split("\n"))
    return "\n".join(textwrap.fill(line, 120) if len(line) > 120 else line for line in lines)


if __name__ == "__main__":
    main()
