"""Settings of the site for Sphinx; `build.py` prepares the pages and calls it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import biasfree

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

logging.getLogger("traitlets").setLevel(logging.WARNING)  # one line per page that is run

project = "biasfree"
author = "The biasfree developers"
release = version = biasfree.__version__
language = "en"

extensions = ["myst_nb", "mathml"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
add_module_names = False
nitpicky = True  # a name that leads nowhere fails the build

nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True

html_theme = "furo"
html_title = "biasfree"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_extra_path: list[str] = []  # build.py names the folder of downloads
exclude_patterns = ["_extra"]
html_search_scorer = str(HERE / "scorer.js")
html_show_search_summary = False  # it would fetch pages, which browsers refuse from a disk
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
