"""The monitor of a model in training."""

from typing import Any

import numpy as np
import pytest

import biasfree as bf
from refusals import invalid

LinearityMonitor: Any = bf.diagnostics.LinearityMonitor
DATA = bf.data.odd_sine(n=30, d=3, seed=0)


def monitor_of(model=lambda x: x[:, 0], **options):
    return LinearityMonitor(model, DATA.x, DATA.y, **options)


def test_readings_are_the_nonlinear_share_and_the_residual():
    network = bf.networks.gaussian((3, 6, 1), scale=1.0, seed=0)
    reading = monitor_of(network)(7)
    f = network(DATA.x)
    fitted = DATA.x @ np.linalg.lstsq(DATA.x, f, rcond=None)[0]
    assert reading.step == 7
    assert reading.nonlinear == pytest.approx(np.sum((f - fitted) ** 2) / np.sum(f**2), rel=1e-12)
    assert reading.residual == pytest.approx(np.sum((DATA.y - f) ** 2) / np.sum(DATA.y**2), rel=1e-12)


def test_it_records_when_the_model_ceases_to_be_linear():
    bend = {"now": 0.0}
    monitor = monitor_of(lambda x: x[:, 0] + bend["now"] * np.abs(x[:, 1]))
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
    monitor = monitor_of(lambda x: np.abs(x[:, 0]))
    monitor(0)
    assert monitor.left_at is None
    assert "not effectively linear yet" in repr(monitor)


def test_zero_outputs_several_outputs_and_subsamples():
    several = LinearityMonitor(lambda x: np.stack([x[:, 0], x[:, 0] ** 2], axis=1), DATA.x, np.ones((60, 2)))
    assert several(0).nonlinear > 0.5  # the worst output
    assert monitor_of(lambda x: 0 * x[:, 0])(0).nonlinear == 0
    seen = []

    def first(x):
        seen.append(len(x))
        return x[:, 0]

    monitor_of(first, samples=10)(0)
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
    invalid("x and y must have one row per sample", LinearityMonitor, lambda x: x, DATA.x, DATA.y[:3])
    invalid(r"torch\.nn\.Module or a function", LinearityMonitor, 3, DATA.x, DATA.y)
    with pytest.raises(ValueError, match=r"the 3 samples are linearly independent, .* pass more than 3"):
        LinearityMonitor(lambda x: x, DATA.x[:3], DATA.y[:3])
    with pytest.raises(ValueError, match=r"writer must have add_scalar\(name, value, step\).* got a int"):
        monitor_of(lambda x: x, writer=3)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda x: x, "ValueError: the model has 3 outputs, but y has 1"),
        (lambda x: np.full(len(x), np.nan), "ValueError: the model's outputs must be finite"),
        (lambda x: x.nothing, "AttributeError: .*nothing"),
    ],
)
def test_a_failed_measurement_is_one_warning_and_training_goes_on(model, reason):
    monitor = monitor_of(model)
    with pytest.warns(RuntimeWarning, match=rf"failed at step 3, and training goes on. {reason}") as warned:
        assert [monitor(step) for step in (3, 4)] == [None, None]
    assert len(warned) == 1
    assert (monitor.failures, monitor.history) == (2, [])


def test_interrupts_pass():
    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        monitor_of(interrupted)(0)


def test_labels_are_counted_and_what_softmax_does_not_see_is_not():
    labels = np.arange(60) % 3
    monitor = LinearityMonitor(lambda x: x[:, :1] * np.array([0, 1, 3]) + np.abs(x[:, 1:2]), DATA.x, labels)
    reading = monitor(0)
    assert reading.nonlinear < 1e-20
    assert reading.residual == pytest.approx(np.mean(np.where(DATA.x[:, 0] > 0, 2, 0) != labels))


def test_the_csv_file_has_whole_lines_and_is_continued(tmp_path):
    path = tmp_path / "log.csv"
    for step in (0, 10):
        monitor_of(csv=path)(step)
    with path.open("a") as file:
        file.write("20,0.5")  # the disk was full
    last = monitor_of(csv=path)(30)
    lines = path.read_text().split("\n")
    assert [line.split(",")[0] for line in lines] == ["step", "0", "10", "20", "30", ""]
    assert last == tuple(float(cell) for cell in lines[4].split(","))
    path.write_text("a,b\n")
    invalid(r"begins with 'a,b', not 'step,nonlinear,residual'; choose another", monitor_of, csv=path)
    invalid(r"folder .* does not exist", monitor_of, csv=tmp_path / "no" / "log.csv")


def test_a_log_that_cannot_be_written_loses_no_reading(tmp_path):
    monitor = monitor_of(csv=tmp_path / "log")
    (tmp_path / "log").mkdir()
    with pytest.warns(RuntimeWarning, match="IsADirectoryError"):
        assert monitor(0) == monitor.history[0]


class Writer:
    def __init__(self):
        self.scalars = []

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))


def test_a_writer_of_scalars_gets_every_reading():
    writer = Writer()
    reading = monitor_of(writer=writer)(5)
    assert reading is not None
    assert writer.scalars == [
        ("linearity/nonlinear", reading.nonlinear, 5),
        ("linearity/residual", reading.residual, 5),
    ]


class Trainer:
    """A stand-in for Lightning's: it calls every hook by name, with the trainer and the module first."""

    def __init__(self, callback, *, rank=0):
        self.callback, self.global_step, self.is_global_zero = callback, 0, rank == 0
        self.sanity_checking = False

    def call(self, hook, *args):
        getattr(self.callback, hook)(self, object(), *args)

    def fit(self, steps, validate):
        assert self.callback.state_key == "LinearityMonitor"
        self.call("setup", "fit")
        self.sanity_checking = True
        self.call("on_validation_end")
        self.sanity_checking = False
        assert self.callback.history == []
        self.call("on_fit_start")
        for batch in range(2 * steps):  # two batches per step of the optimizer
            self.call("on_before_zero_grad", None)
            self.global_step += batch % 2
            self.call("on_train_batch_end", {"loss": 0.0}, None, batch)
            if self.global_step in validate and batch % 2:
                self.call("on_validation_end")
        self.call("on_save_checkpoint", {"state": self.callback.state_dict()})
        self.callback.load_state_dict({})
        self.call("on_train_end")
        self.call("teardown", "fit")


def test_it_is_a_callback_of_a_trainer():
    monitor = monitor_of(every=4)
    Trainer(monitor).fit(10, validate=[8, 9])
    assert [reading.step for reading in monitor.history] == [0, 4, 8, 9, 10]
    other = monitor_of(every=4)
    Trainer(other, rank=1).fit(10, validate=[])
    assert other.history == []
    with pytest.raises(AttributeError, match="LinearityMonitor has no attribute 'fitted'"):
        monitor.fitted  # noqa: B018
