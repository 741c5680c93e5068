"""A page of the site is built with the settings of docs/website: a cell that runs, a formula, a name."""

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sphinx.cmd.build import build_main

assert load_digits(return_X_y=True)[0].shape == (1797, 64)  # the data of a tutorial
source, site = Path("page"), Path("site")
source.mkdir()
(source / "index.md").write_text(
    """---
file_format: mystnb
kernelspec: {name: python3}
---
# A page

$$ f(x) = W_2 \\max(W_1 x, 0) $$

```{code-cell}
import biasfree as bf
print("samples:", len(bf.data.six_points(0.5).x) + 36)
```
"""
)
assert build_main(["-W", "-c", sys.argv[1], "-b", "html", str(source), str(site)]) == 0
page = (site / "index.html").read_text()
assert "samples: 42" in page, "the cell did not run"
assert "<math" in page, "the formula is not MathML"
