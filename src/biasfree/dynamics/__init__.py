"""Simulators of learning: gradient flow, gradient descent, logistic descent to huge times, and sharpness.

README.md beside this file says how they are built and why.
"""

from biasfree.arguments import public
from biasfree.dynamics.descent._calls import DivergenceError
from biasfree.dynamics.descent._gradient_descent import gradient_descent
from biasfree.dynamics.descent._long_descent import long_descent
from biasfree.dynamics.descent._sharpness import sharpness
from biasfree.dynamics.flow._driver import UnfinishedError
from biasfree.dynamics.flow._gradient_flow import gradient_flow

__all__ = [
    "DivergenceError",
    "UnfinishedError",
    "gradient_descent",
    "gradient_flow",
    "long_descent",
    "sharpness",
]

public(__all__, globals())
