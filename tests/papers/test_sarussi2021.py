"""Sarussi et al. in small: few inputs, samples and neurons, short times."""

from dataclasses import replace

import numpy as np
import pytest

import biasfree as bf
from biasfree.files import load_npz, save_npz
from biasfree_papers import sarussi2021
from biasfree_papers.experiment import silent
from biasfree_papers.sarussi2021.boundary import Boundary
from biasfree_papers.sarussi2021.teacher import start, task

SMALL = {
    "dimensions": 3,
    "samples": (2, 4, 8),  # as many runs as leaks and widths make: one shape
    "scales": (1e-3, 1.0),
    "leaks": (0.0, 0.5),
    "leak": 0.5,
    "widths": (4,),
    "horizon": 200.0,
    "seeds": 2,
}
OURS = 3


@pytest.fixture(scope="module")
def settings():
    return sarussi2021.EXPERIMENT.settle(SMALL)


@pytest.fixture(scope="module")
def numbers(settings):
    """With theory for the simulated flow, which takes longer to compile than all the rest.

    That the two agree is for tests/theory/neighbors/test_fixed_readout.py, and for the run of the full size.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("biasfree.dynamics.gradient_flow", solved)
        return sarussi2021.EXPERIMENT.run(settings, silent)


def solved(network, data, ts, *, loss, rtol, **_):
    run = bf.theory.neighbors.fixed_readout_flow(network, data, ts, loss=loss, rtol=rtol)
    return replace(run, stats=replace(run.stats, error=1e3 * rtol))


def test_numbers(numbers):
    assert all(np.isfinite(value).all() for value in numbers.values())
    assert numbers["scale0_differ"].shape == (2, 3, 2)  # early and late, samples, seeds
    assert numbers["leak_differ"].shape == (2, 2, 2)
    assert numbers["exact_gap"].shape == (2, 2)  # losses, leaks
    ts = numbers["scale0_ts"]
    assert 100.0 in ts  # the early time, exactly
    assert ts[-1] == 200.0
    assert (np.diff(ts) > 0).all()


def test_mirrored_data_make_a_linear_model(numbers):
    """|W₁ − W₂ᵀvᵀ|/|W₁| is about the initial scale over the final one."""
    assert (numbers["mirrored_gap"][0] < 3e-3).all()
    assert (numbers["mirrored_directions"][0] == 2).all()
    assert (numbers["mirrored_differ"][0] <= 1e-3).all()


def test_tasks_and_starts(settings):
    one = task(settings, 4, 0)
    assert len(one.data) == 4
    assert len(one.repeated) == 8
    np.testing.assert_allclose(one.repeated.beta, one.data.beta)
    network = start({**settings, "widths": (2, 6)}, scale=0.1, seed=0, width=2)
    assert network.sizes == (3, 6, 1)
    np.testing.assert_allclose(network.weights[1], [[2**-0.5, -(2**-0.5), 0, 0, 0, 0]])
    with pytest.raises(ValueError, match="samples must divide the largest"):
        task(settings, 3, 0)
    with pytest.raises(ValueError, match="widths must be even"):
        sarussi2021.EXPERIMENT.settle({"widths": (3,)})
    with pytest.raises(ValueError, match="horizon must be more than 100, got 100"):
        sarussi2021.EXPERIMENT.settle({"horizon": 100.0})


def test_boundary_of_known_networks():
    """|x₁| + ℓ with ℓ = x₂/2, and a linear one."""
    x = np.random.default_rng(0).normal(size=(500, 2))
    bent = bf.Network((np.array([[1.0, 0], [-1, 0], [0, 1]]), np.array([[1.0, 1, 1]])), leak=0.0)
    found = Boundary.of(bent, x)
    even = np.abs(x[:, 0]) + np.abs(x[:, 1]) / 2
    assert found.beaten == np.mean(even > np.abs(x[:, 1]) / 2)
    assert found.differ == pytest.approx(found.beaten / 2)
    assert Boundary.of(bf.networks.gaussian((2, 3, 1), scale=1.0, leak=1.0), x).differ == 0
    zero = bf.Network((np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 1]])), leak=0.0)  # f = 0 where x < 0
    assert Boundary.of(zero, np.abs(x)) == Boundary(0.0, 0.0)


def test_signs_are_those_of_the_network_itself(monkeypatch):
    """Parts that are not those of the network tell: the count of signs does not read the even part."""
    x = np.random.default_rng(0).normal(size=(500, 3))
    network = bf.networks.gaussian((3, 5, 1), scale=1.0, leak=0.2)
    found = Boundary.of(network, x)
    assert found.differ == pytest.approx(found.beaten / 2)
    assert found.differ == np.mean(
        [np.sign(network(s * x)) != np.sign(s * x @ bf.theory.linear_part(network)[0]) for s in (1, -1)]
    )
    even = bf.theory.even_part
    monkeypatch.setattr(bf.theory, "even_part", lambda net, x: 1.2 * even(net, x))
    spoilt = Boundary.of(network, x)
    assert spoilt.differ == found.differ
    assert abs(spoilt.differ - spoilt.beaten / 2) > 1e-3


def test_our_claims_hold(numbers):
    claims = sarussi2021.EXPERIMENT.claims(numbers)
    assert [claim.kind for claim in claims] == ["ours"] * OURS + ["paper"] + ["observed"] * 6
    assert [claim.holds for claim in claims[:OURS]] == [True] * OURS


@pytest.mark.parametrize(
    ("spoilt", "change", "falls"),
    [("exact_gap", 1e-4, 0), ("descent_gap", 1e-8, 1), ("leak_differ", 1e-3, 2), ("square_beaten", 1e-3, 2)],
)
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, change, falls):
    ours = sarussi2021.EXPERIMENT.claims({**numbers, spoilt: numbers[spoilt] + change})[:OURS]
    assert [claim.holds for claim in ours] == [i != falls for i in range(OURS)]


def test_tables(numbers):
    (table,) = sarussi2021.EXPERIMENT.tables(numbers)
    assert len(table.rows) == 3 + 2 + 2 + 1 + 2


def test_picture(numbers, tmp_path):
    save_npz(tmp_path / "numbers.npz", numbers)
    figure = sarussi2021.EXPERIMENT.draw(load_npz(tmp_path / "numbers.npz", needs=()))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"({letter})" for letter in "abcdef"]
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
