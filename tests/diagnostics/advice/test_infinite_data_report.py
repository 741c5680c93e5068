"""Diagnoses of a run, and on infinite data."""

from typing import Any

import numpy as np

import biasfree as bf


def test_a_run_is_its_last_network_and_tells_how_lazy_training_was():
    data = bf.data.odd_sine(n=20, d=3, seed=0)
    network = bf.networks.gaussian((3, 6, 1), scale=0.01, seed=1)
    run = bf.gradient_flow(network, data, [0.0, 30.0])
    report, last = bf.diagnose(run, data), bf.diagnose(run[-1], data)
    assert (report.answer, report.verdict) == (last.answer, last.verdict)
    assert report.notes == (str(bf.diagnostics.laziness(run, data)), *last.notes)
    assert report.notes[0].startswith("Training was rich: ")


def test_infinite_data_have_exact_means_beside_the_scores_of_samples():
    law = bf.data.Population.odd_sine(3, seed=0)
    network = bf.networks.gaussian((3, 6, 1), scale=1.0, seed=1)
    report = bf.diagnose(network, law)
    exact: Any = dict(report.tables["infinite data"].rows)  # type: ignore[arg-type]
    many = law.sample(200_000, seed=5)
    f = network(many.x).ravel()
    shares = {
        "R² of this model": 1 - np.mean((many.y - f) ** 2) / np.mean(many.y**2),
        "R² of the best linear map": 1 - np.mean((many.y - many.x @ bf.theory.least_squares(many)) ** 2)
        / np.mean(many.y**2),
        "N, the share of its outputs that no linear map explains": bf.diagnostics.nonlinear_share(
            network, many.x
        )[0],
    }  # fmt: skip
    # shares of 2·10⁵ samples have standard errors of about 0.003
    np.testing.assert_allclose([exact[name] for name in shares], list(shares.values()), atol=0.015)
    assert "2,000 of its samples (seed 0)" in report.notes[0]


def test_infinite_data_without_formulas_are_sampled_and_say_so():
    law = bf.data.Population.odd_sine(3, seed=0)
    deep = bf.networks.gaussian((3, 4, 4, 1), scale=1.0, seed=1)
    for report in (bf.diagnose(deep, law), bf.diagnose(None, law)):
        assert "infinite data" not in report.tables
        assert report.notes[0] == "the data are infinite: scores and tests use 2,000 of its samples (seed 0)."
