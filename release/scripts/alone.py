"""Both packages are imported from this environment and have one version, which is printed."""

import sys

import biasfree
import biasfree_papers

for package in (biasfree, biasfree_papers):
    assert str(package.__file__).startswith(sys.prefix), f"{package.__file__} is not in {sys.prefix}"
assert biasfree.__version__ == biasfree_papers.__version__
print(biasfree.__version__)
