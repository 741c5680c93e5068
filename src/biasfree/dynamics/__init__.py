"""How it learns, simulated: gradient flow, also through ReLU kinks, gradient descent, and its sharpness."""

from biasfree.dynamics.curvature import sharpness
from biasfree.dynamics.descent import DivergenceError, gradient_descent
from biasfree.dynamics.flow import gradient_flow
from biasfree.dynamics.integrate import UnfinishedError

__all__ = ["DivergenceError", "UnfinishedError", "gradient_descent", "gradient_flow", "sharpness"]
