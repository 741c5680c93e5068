"""The version of biasfree, in a module that needs no other: one that records it depends on nothing else."""

__version__ = "0.3.0"
