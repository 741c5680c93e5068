"""Networks, their initializations, and changes of coordinates that keep the function."""

from biasfree.networks._checkpoint_files import borrowed_weights as borrowed_weights
from biasfree.networks._checkpoint_files import checkpoint_files as checkpoint_files
from biasfree.networks._checkpoint_files import checkpoint_steps as checkpoint_steps
from biasfree.networks._checkpoint_files import put_weights_into as put_weights_into
from biasfree.networks._initializations import balanced, gaussian, lambda_balanced, opposite, xavier
from biasfree.networks._network import Network
from biasfree.networks._pytorch import function_of as function_of
from biasfree.networks._pytorch import is_module as is_module
from biasfree.networks._pytorch import network_of as network_of
from biasfree.networks._span import Span, in_span
from biasfree.networks._structured import low_rank, rank_one
from biasfree.networks._structured import low_rank_layers as low_rank_layers
from biasfree.networks._structured import neuron_frame as neuron_frame
from biasfree.networks._weight_files import load_network as load_network
from biasfree.networks._weight_files import load_state as load_state

__all__ = [
    "Network",
    "Span",
    "balanced",
    "gaussian",
    "in_span",
    "lambda_balanced",
    "low_rank",
    "opposite",
    "rank_one",
    "xavier",
]
