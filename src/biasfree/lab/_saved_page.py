"""The saved page: one HTML file that replays a run without Python and without a network."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "page"
#: The modules of the player, each after those it uses; their names must differ, since they become one script.
MODULES = ("numbers", "drawing", "store", "plane", "loss", "clock", "function", "weights", "words", "replay")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
#: Panels of the live page that the replay has not.
_LIVE = re.compile(r'<section class="panel settings".*?</section>|<dialog.*?</dialog>', re.DOTALL)
_TOOLS = re.compile(r'<label class="preset">.*?</label>|<div class="tools".*?</div>', re.DOTALL)
#: The two columns of a page without settings.
_STYLE = """
.desk { grid-template-areas: "plane loss loss loss" "plane function weights words"; }
@media (max-width: 1100px) {
  .desk { grid-template-areas: "plane loss loss" "words function weights"; grid-template-rows: 1fr 1fr; }
  .weights { display: flex; }
}
@media (min-width: 540px) and (max-width: 800px) {
  body { display: grid; overflow: hidden; }
  .desk {
    grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) minmax(0, 1fr);
    grid-template-areas: "plane loss" "function words";
  }
  .weights, .plane small { display: none; }
}
"""


def saved_page(answers: Sequence[dict[str, Any]], *, title: str) -> str:
    """The page with these answers in it; nothing in them can end their element."""
    page = _TOOLS.sub("", _LIVE.sub("", (PAGE / "index.html").read_text(encoding="utf-8")))
    style = (PAGE / "lab.css").read_text(encoding="utf-8") + _STYLE
    data = json.dumps(list(answers), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    head = (
        f"<style>{style}</style>\n"
        "<meta http-equiv='Content-Security-Policy' "
        "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
    )
    script = (
        f"<script id='answers' type='application/json'>{data}</script>\n"
        f"<script type='module'>{_script()}</script>"
    )
    page = re.sub(r'<link rel="(icon|stylesheet)".*?>\n', "", page)
    page = re.sub(r'<script type="module".*?</script>', lambda _: head, page)
    page = page.replace("<title>biasfree lab</title>", f"<title>biasfree: {html.escape(title)}</title>")
    page = re.sub(r'(id="about"[^>]*>)', lambda found: found[1] + html.escape(title), page)
    page = re.sub(r'(id="status"[^>]*>)starting', r"\1replay", page)
    return page.replace("</body>", f"{script}\n</body>")


def _script() -> str:
    """The modules of the player as one, without their imports and exports."""
    texts = [(PAGE / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts) + "\nstartReplay();\n"
