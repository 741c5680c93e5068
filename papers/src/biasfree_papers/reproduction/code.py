"""The code of a source file: its text without docstrings, comments and blank lines."""

from biasfree.code import code

__all__ = ["code"]
