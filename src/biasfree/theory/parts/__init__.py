"""Building blocks that results share: integration, the loss of a linear map, networks in reduced form."""

from biasfree.theory.parts._hyperplanes import on_hyperplanes
from biasfree.theory.parts._integration import integrated
from biasfree.theory.parts._linear_loss import linear_loss
from biasfree.theory.parts._linear_network import negative_gradient

__all__ = ["integrated", "linear_loss", "negative_gradient", "on_hyperplanes"]
