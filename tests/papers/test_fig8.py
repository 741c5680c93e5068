"""Fig. 8 in small: the orthogonal pair with the logistic loss."""

import numpy as np


def test_numbers(numbers):
    assert numbers.objective == "logistic"
    np.testing.assert_allclose(numbers.rate.sel(set=2), np.sqrt([1.25, 5]) / 4)


def test_outputs_grow_like_the_logarithm_of_time(numbers):
    """ż = 4κz/(1 + e^z) between saved times: ln z + Ei(z) grows by 4κΔt."""
    from scipy.special import expi

    late = numbers.sel(set=2, kind="flow").isel(seed=0, time=slice(-20, None))
    clock = np.log(late.outputs) + expi(late.outputs)
    # outputs are good to 1e-6, and the clock moves e^z/z ≤ 1e4 times as fast
    np.testing.assert_allclose(clock.diff("time"), 4 * late.t.diff("time") * late.rate, atol=1e-2)


def test_it_is_fig_8_with_its_printed_step(experiment, numbers):
    assert all("Fig. 8" in claim.source for claim in experiment.claims(numbers))
    assert experiment.settings().step == 0.004
