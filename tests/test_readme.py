"""The README's Python runs as written."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_python_in_the_readme_runs(tmp_path, monkeypatch, capsys):
    """Every python block, in order, in one namespace, in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks, "the README shows no Python"
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {})
    assert "Trajectory(" in capsys.readouterr().out


def test_pictures_in_the_readme_exist_and_are_small():
    """No picture is missing or over 200 kB."""
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", (ROOT / "README.md").read_text())
    assert pictures, "the README shows no picture"
    assert all((ROOT / picture).stat().st_size <= 200_000 for picture in pictures)
