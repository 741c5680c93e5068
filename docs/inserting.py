"""Parts of a page that a script writes: the text between two comments that name it."""

import re
from pathlib import Path


def insert(page: Path, name: str, text: str) -> None:
    """Write the text between `<!-- name: by a script -->` and `<!-- end of name -->` of the page."""
    page.write_text(inserted(page.read_text(), name, text))


def inserted(page: str, name: str, text: str) -> str:
    """The page with this text between the comments."""
    marks = rf"(<!-- {re.escape(name)}: by [^\n]* -->\n).*?(<!-- end of {re.escape(name)} -->)"
    if len(re.findall(marks, page, re.DOTALL)) != 1:
        raise ValueError(f"the page must have one part <!-- {name}: by … --> … <!-- end of {name} -->.")
    return re.sub(marks, lambda found: f"{found[1]}{text.strip()}\n{found[2]}", page, flags=re.DOTALL)
