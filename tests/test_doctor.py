"""`biasfree doctor`: right on a right installation, and it notices a wrong one."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import biasfree as bf
import oracles
from biasfree.cli import _examinations as examinations
from biasfree.cli import app
from biasfree.dynamics import KNOWN_WRONG, refuse_wrong_release


def examined():
    result = CliRunner().invoke(app, ["doctor"])
    return result.exit_code, result.output


def test_a_right_installation():
    code, output = examined()
    assert code == 0, output
    assert "WRONG" not in output
    assert f"biasfree    {bf.__version__}" in output
    titles = examinations.EXAMINATIONS.keys() - {"cache", "native"}  # where they are is up to the machine
    assert all(f"\n{title:<12}ok: " in output for title in titles)


def alone(monkeypatch, title, examine):
    """What the doctor prints where it makes one examination."""
    monkeypatch.setattr(examinations, "EXAMINATIONS", {title: examine})
    code, output = examined()
    return code, next(line for line in output.splitlines() if line.startswith(title)), output


def test_a_missing_package_comes_with_the_command_that_installs_it(monkeypatch):
    def without(name):
        def examine():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        return examine

    def unknown_release():
        raise PackageNotFoundError("jaxlib")

    code, line, output = alone(monkeypatch, "flow", without("numba.core"))
    assert (code, line) == (1, "flow        WRONG: numba is not installed; run `pip install 'numba>=0.61'`")
    assert "1 of 1 examinations found something wrong." in output
    code, line, _ = alone(monkeypatch, "release", unknown_release)
    assert code == 1
    assert line.startswith("release     WRONG: jaxlib is not installed; run `pip install 'jax")
    assert "!=0.10.2" in line


@pytest.mark.parametrize("folder", [None, "file/inside"])
def test_a_cache_that_cannot_be_written_is_slow_and_not_wrong(monkeypatch, tmp_path, folder):
    (tmp_path / "file").touch()
    if folder is None:
        monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    else:
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / folder))
    code, line, output = alone(monkeypatch, "cache", examinations.EXAMINATIONS["cache"])
    assert code == 0
    assert line.startswith("cache       slow: ")
    assert line.endswith("set JAX_COMPILATION_CACHE_DIR to a folder that you can write")
    assert "runs are right but take longer" in output
    assert folder is None or "Not a directory" in line


def test_native_code_that_is_not_kept_is_slow(monkeypatch):
    monkeypatch.setattr("biasfree.dynamics.flow_cache", lambda: None)
    code, line, _ = alone(monkeypatch, "native", examinations.EXAMINATIONS["native"])
    assert code == 0
    assert line.endswith("set NUMBA_CACHE_DIR to a folder that you can write")


def test_a_wrong_release_is_named(monkeypatch):
    installed = version("jaxlib")
    monkeypatch.setitem(KNOWN_WRONG, installed, "compiles some batched products wrongly")
    refuse_wrong_release.cache_clear()
    code, output = examined()
    assert code == 1
    assert f"release     WRONG: jaxlib {installed} compiles some batched products wrongly" in output


@pytest.mark.parametrize("wrong", [2e-7, np.nan])
def test_a_flow_unlike_the_stored_one_is_noticed(monkeypatch, wrong):
    monkeypatch.setitem(examinations.STORED, 10.0, examinations.STORED[10.0] + wrong)
    found, verdict = examinations.EXAMINATIONS["flow"]()
    assert verdict == examinations.Verdict.WRONG
    assert "report it with the lines above" in found


def test_a_wrong_gradient_is_noticed(monkeypatch):
    # 1e-9 is the size of one wrong sample in 16 385 that is off by 0.002 %
    monkeypatch.setitem(examinations._SLOPES, "square", lambda f, y: (f - y) * (1 + 1e-9))
    assert examinations.EXAMINATIONS["descent"]()[1] == examinations.Verdict.WRONG


def test_the_stored_flow_is_the_limit_of_rounded_kinks():
    """Losses of kinks rounded over ε are off by O(ε): two widths extrapolate to ε = 0."""
    network, data = examinations.stored_problem()
    ts = np.array([0.0, *examinations.STORED])
    far, near = (
        np.array([oracles.loss(bf.Network(tuple(w[i] for w in weights)), data) for i in range(1, len(ts))])
        for weights in (
            oracles.kinked_flow(network, data, ts, rounding=rounding, most=50_000)  # it takes 10 000
            for rounding in (1e-6, 1e-7)
        )
    )
    limit = near + (near - far) / 9
    # what is left is O(ε²) and the tolerance of the implicit integrator
    assert_allclose(list(examinations.STORED.values()), limit, rtol=0, atol=1e-8)
