"""How it learns, simulated: flow, also through ReLU kinks, descent, also to huge times, and its sharpness."""

from biasfree.arguments import public
from biasfree.dynamics.curvature import sharpness
from biasfree.dynamics.descent import gradient_descent
from biasfree.dynamics.flow import gradient_flow
from biasfree.dynamics.growing import long_descent
from biasfree.dynamics.integrate import UnfinishedError
from biasfree.dynamics.tiles import DivergenceError

__all__ = [
    "DivergenceError",
    "UnfinishedError",
    "gradient_descent",
    "gradient_flow",
    "long_descent",
    "sharpness",
]

public(__all__, globals())
