"""Fig. 8 in small: the orthogonal pair with the logistic loss."""

import numpy as np
import pytest

from biasfree_papers import fig8
from biasfree_papers.experiment import silent

SMALL = {"sets": (2,), "width": 12, "scale": 1e-4, "step": 0.02, "times": 161, "seeds": 2, "span": 3}


@pytest.fixture(scope="module")
def numbers():
    return fig8.EXPERIMENT.run(fig8.EXPERIMENT.settle(SMALL), silent)


def test_numbers(numbers):
    assert str(numbers["loss"]) == "logistic"
    assert all(np.isfinite(value).all() for name, value in numbers.items() if name != "loss")
    np.testing.assert_allclose(numbers["rates_2"], np.sqrt([1.25, 5]) / 4)


def test_outputs_grow_like_the_logarithm_of_time(numbers):
    """ż = 4κz/(1 + e^z) between saved times: ln z + Ei(z) grows by 4κΔt."""
    from scipy.special import expi

    late, ts = numbers["simulated_outputs_2"][0, -20:], numbers["ts_2"][-20:]
    clock = np.log(late) + expi(late)
    # outputs are good to 1e-6, and the clock moves e^z/z ≤ 1e4 times as fast
    np.testing.assert_allclose(
        np.diff(clock, axis=0), 4 * numbers["rates_2"] * np.diff(ts)[:, None], atol=1e-2
    )


def test_our_claims_hold(numbers):
    claims = fig8.EXPERIMENT.claims(numbers)
    assert all(claim.holds for claim in claims if claim.kind == "ours")
    assert all("Fig. 8" in claim.source for claim in claims)


@pytest.mark.parametrize(("spoilt", "falls"), [("simulated_outputs_2", {0}), ("solved_times_2", {1})])
def test_claims_fail_where_the_numbers_are_wrong(numbers, spoilt, falls):
    ours = fig8.EXPERIMENT.claims({**numbers, spoilt: 1.05 * numbers[spoilt]})[:4]
    assert {i for i, claim in enumerate(ours) if not claim.holds} == falls


def test_picture(numbers):
    figure = fig8.EXPERIMENT.draw(numbers)
    assert len(figure.axes) == 6
    assert fig8.SETTINGS["step"].default == 0.004
