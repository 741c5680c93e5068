"""Fig. 8 in small: the orthogonal pair with the logistic loss."""

import numpy as np

from biasfree_papers.fig8 import EXPERIMENT


def test_numbers(numbers):
    assert str(numbers["loss"]) == "logistic"
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


def test_it_is_fig_8_with_its_printed_step(numbers):
    assert all("Fig. 8" in claim.source for claim in EXPERIMENT.claims(numbers))
    assert EXPERIMENT.settings["step"].default == 0.004
