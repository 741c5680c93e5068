"""The monitor of a model in training."""

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnostics._monitor import LinearityMonitor

DATA = bf.data.odd_sine(n=30, d=3, seed=0)


def test_readings_are_the_nonlinear_share_and_the_residual():
    network = bf.networks.gaussian((3, 6, 1), scale=1.0, seed=0)
    reading = LinearityMonitor(network, DATA.x, DATA.y)(7)
    f = network(DATA.x)
    fitted = DATA.x @ np.linalg.lstsq(DATA.x, f, rcond=None)[0]
    assert reading.step == 7
    assert reading.nonlinear == pytest.approx(np.sum((f - fitted) ** 2) / np.sum(f**2), rel=1e-12)
    assert reading.residual == pytest.approx(np.sum((DATA.y - f) ** 2) / np.sum(DATA.y**2), rel=1e-12)


def test_it_records_when_the_model_ceases_to_be_linear():
    bend = {"now": 0.0}
    monitor = LinearityMonitor(lambda x: x[:, 0] + bend["now"] * np.abs(x[:, 1]), DATA.x, DATA.y)
    assert repr(monitor) == "LinearityMonitor(not called yet)"
    for step in range(5):
        bend["now"] = 0.0 if step < 3 else 1.0
        monitor(step)
    assert monitor.left_at == 3
    assert "no longer effectively linear since step 3; at step 4" in repr(monitor)
    bend["now"] = 0.0
    monitor(5)
    assert monitor.left_at is None
    assert "effectively linear up to step 5" in repr(monitor)
    assert monitor.history[0].nonlinear < 1e-25


def test_an_initially_nonlinear_model_has_not_ceased_to_be_linear():
    monitor = LinearityMonitor(lambda x: np.abs(x[:, 0]), DATA.x, DATA.y)
    monitor(0)
    assert monitor.left_at is None
    assert "not effectively linear yet" in repr(monitor)


@pytest.mark.parametrize("calls", [1, 9, 10, 11, 50, 1001])
def test_history_stays_short_even_and_ends_with_the_last(calls):
    monitor = LinearityMonitor(lambda x: x[:, 0], DATA.x, DATA.y, kept=10)
    for step in range(calls):
        monitor(step)
    steps = [reading.step for reading in monitor.history]
    assert len(steps) <= 10
    assert (steps[0], steps[-1]) == (0, calls - 1)
    assert len(set(np.diff(steps[:-1]))) <= 1
    assert len(steps) >= min(calls, 5)


def test_zero_outputs_several_outputs_and_subsamples():
    several = LinearityMonitor(lambda x: np.stack([x[:, 0], x[:, 0] ** 2], axis=1), DATA.x, np.ones((60, 2)))
    assert several(0).nonlinear > 0.5  # the worst output
    assert LinearityMonitor(lambda x: 0 * x[:, 0], DATA.x, DATA.y)(0).nonlinear == 0
    seen = []
    LinearityMonitor(lambda x: (seen.append(len(x)), x[:, 0])[1], DATA.x, DATA.y, samples=10)(0)
    assert seen == [10]


def test_torch_models_are_read_as_they_train_and_left_as_found():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(8, 1)
    )
    monitor = LinearityMonitor(model, torch.from_numpy(DATA.x.copy()), torch.from_numpy(DATA.y.copy()))
    state = torch.get_rng_state()
    first = monitor(0)
    assert model.training
    assert all(p.grad is None and p.dtype == torch.float32 for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    assert monitor(1)[1:] == first[1:]  # dropout is off
    with torch.no_grad():
        model[3].weight.zero_()
        model[3].bias.zero_()
    assert monitor(2).nonlinear == 0


def test_refusals():
    with pytest.raises(ValueError, match="x and y must have one row per sample"):
        LinearityMonitor(lambda x: x, DATA.x, DATA.y[:3])
    with pytest.raises(ValueError, match=r"torch\.nn\.Module or a function"):
        LinearityMonitor(3, DATA.x, DATA.y)
    with pytest.raises(ValueError, match="has 3 outputs, but y has 1"):
        LinearityMonitor(lambda x: x, DATA.x, DATA.y)(0)
    with pytest.raises(ValueError, match="must be finite"):
        LinearityMonitor(lambda x: np.full(len(x), np.nan), DATA.x, DATA.y)(0)
