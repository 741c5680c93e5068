"""The laboratory: a live page on this machine, and replays of runs in the plane.

README.md beside this file says how it is built. `serve` needs the extra `lab`, which installs Tornado.
"""

from biasfree.lab._animate import animate
from biasfree.lab._serve import serve

__all__ = ["animate", "serve"]
