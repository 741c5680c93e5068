"""How it learns, simulated: flow, also through ReLU kinks, descent, also to huge times, and its sharpness."""

from biasfree.dynamics.curvature import sharpness
from biasfree.dynamics.descent import DivergenceError, gradient_descent
from biasfree.dynamics.flow import gradient_flow
from biasfree.dynamics.growing import long_descent
from biasfree.dynamics.integrate import UnfinishedError

__all__ = [
    "DivergenceError",
    "UnfinishedError",
    "gradient_descent",
    "gradient_flow",
    "long_descent",
    "sharpness",
]
