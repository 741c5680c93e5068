"""`biasfree doctor`: right on a right installation, and it notices a wrong one."""

import numpy as np
import pytest
from typer.testing import CliRunner

import biasfree as bf
import oracles
from biasfree.cli import _examinations as examinations
from biasfree.cli._command import app
from biasfree.dynamics import _releases as releases


def examined():
    result = CliRunner().invoke(app, ["doctor"])
    return result.exit_code, result.output


def test_a_right_installation():
    code, output = examined()
    assert code == 0, output
    assert "WRONG" not in output
    assert f"biasfree    {bf.__version__}" in output
    assert all(f"\n{title:<12}ok: " in output for title in examinations.EXAMINATIONS)


def test_a_wrong_release_is_named(monkeypatch):
    monkeypatch.setattr(releases, "version", lambda _: "0.10.2")
    releases.refuse_wrong_release.cache_clear()
    code, output = examined()
    assert code == 1
    assert "release     WRONG: jaxlib 0.10.2 compiles some batched products wrongly" in output


@pytest.mark.parametrize("wrong", [2e-7, np.nan])
def test_a_flow_unlike_the_stored_one_is_noticed(monkeypatch, wrong):
    monkeypatch.setitem(examinations.STORED, 10.0, examinations.STORED[10.0] + wrong)
    found, right = examinations.EXAMINATIONS["flow"]()
    assert not right
    assert "report it with the lines above" in found


def test_a_wrong_gradient_is_noticed(monkeypatch):
    # 1e-9 is the size of one wrong sample in 16 385 that is off by 0.002 %
    monkeypatch.setitem(examinations._SLOPES, "square", lambda f, y: (f - y) * (1 + 1e-9))
    assert not examinations.EXAMINATIONS["descent"]()[1]


def test_the_stored_flow_is_the_limit_of_rounded_kinks():
    """Losses of kinks rounded over ε are off by O(ε): two widths extrapolate to ε = 0."""
    network, data = examinations.stored_problem()
    ts = np.array([0.0, *examinations.STORED])
    far, near = (
        np.array([oracles.loss(bf.Network(tuple(w[i] for w in weights)), data) for i in range(1, len(ts))])
        for weights in (
            oracles.kinked_flow(network, data, ts, kind="square", rounding=rounding)
            for rounding in (1e-6, 1e-7)
        )
    )
    limit = near + (near - far) / 9
    # what is left is O(ε²) and the tolerance of the implicit integrator
    np.testing.assert_allclose(list(examinations.STORED.values()), limit, rtol=0, atol=1e-8)
