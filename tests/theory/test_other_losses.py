"""Results that hold for some losses refuse the others in one sentence, with what to do."""

import numpy as np
import pytest

import biasfree as bf
from refusals import invalid

T = bf.theory
DATA = bf.data.symmetrize(bf.data.odd_sine(n=10, d=3, seed=0))
SMALL = bf.networks.gaussian((3, 8, 1), scale=1e-6, seed=0)
POINTS = bf.data.orthogonal_pair()
TS = [0.0, 1.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: T.early_flow(SMALL, DATA, TS, loss="huber"),
        lambda: T.growth_rate(SMALL, DATA, loss="huber"),
        lambda: T.escape_time(SMALL, DATA, loss="huber"),
        lambda: T.two_neuron_flow(SMALL, DATA, TS, loss="huber"),
        lambda: T.independent_flow(
            bf.networks.gaussian((2, 8, 1), scale=1e-6, seed=0), POINTS, TS, loss="huber"
        ),
    ],
)
def test_two_losses_only(call):
    invalid(
        r'^this result holds for loss="square" or loss="logistic", got \'huber\'; choose one of these, or '
        r'simulate with bf\.gradient_flow\(…, loss="huber"\)\.$',
        call,
    )


@pytest.mark.parametrize("name", ["white_flow", "sigmoid_flow", "two_sigmoid_flow", "linear_flow"])
def test_closed_forms_of_the_square_loss(name):
    invalid(
        r"^this result holds for the square loss, got loss='huber'; leave loss= out, or use "
        r"bf\.theory\.reduced_flow or bf\.gradient_flow, which take other losses\.$",
        getattr(T, name), SMALL, DATA, TS, loss="huber",
    )  # fmt: skip


def test_infinite_data():
    network = bf.networks.rank_one([1.0, 0.5, 0.2], width=4, scale=0.1)
    population = bf.data.Population(3, linear=[1.0, 0.0, 0.0])
    invalid(
        r'needs loss="square"; for other losses use samples, population\.sample\(n, seed\)',
        T.reduced_flow, network, population, TS, loss="huber",
    )  # fmt: skip


def test_functions_without_a_loss_show_how_they_are_called():
    for call in (
        lambda: bf.long_descent(SMALL, DATA, horizon=1.0, loss="huber"),  # type: ignore[call-overload]
        lambda: T.max_margin(DATA, loss="huber"),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument 'loss'; call it as"):
            call()


def test_early_directions_hold_for_any_loss():
    """Neurons climb G with the residual at zero output, y/√(1 + y²): that of the square loss with these y."""
    ours = T.extremal_directions(DATA, loss="huber", starts=50)
    others = T.extremal_directions(bf.Dataset(DATA.x, DATA.y / np.sqrt(1 + DATA.y**2)), starts=50)
    np.testing.assert_allclose(ours.directions, others.directions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.rates, others.rates, rtol=1e-12)
