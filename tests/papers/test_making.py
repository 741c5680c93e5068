"""Numbers are reused where nothing changed, made anew where anything did, and never mixed up."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import xarray

from biasfree_papers.experiment import silent
from biasfree_papers.reproduction import draw, is_current, make
from biasfree_papers.reproduction.storage import (
    Origin,
    content,
    finished_record,
    load_numbers,
    save_numbers,
    stored_numbers,
)
from refusals import invalid
from stubs import stub


class Counted:
    """A run that counts how often it is called."""

    def __init__(self, *answers):
        self.answers, self.calls = answers or ({"x": np.arange(2.0)},), 0

    def __call__(self, *_):
        self.calls += 1
        answer = self.answers[min(self.calls, len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def make_at(experiment, out, **changes):
    return make(experiment, experiment.settle(changes), out, silent)


def test_a_second_run_reuses_the_first_and_writes_nothing(tmp_path):
    run = Counted()
    first = make_at(stub(run=run), tmp_path)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "fig3").iterdir()}
    second = make_at(stub(run=run), tmp_path)
    assert (run.calls, first.reused, second.reused) == (1, False, True)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "fig3").iterdir()} == written
    assert second.origin == first.origin
    make(stub(run=run), stub().settle(), tmp_path, silent, anew=True)
    assert run.calls == 2


def test_a_change_of_looks_redraws_without_running(tmp_path):
    run = Counted()
    make_at(stub(run=run), tmp_path)
    record = tmp_path / "fig3" / "claims.json"
    before = json.loads(record.read_text())["fingerprint"]
    assert make_at(stub(run=run, title="new"), tmp_path).reused
    after = json.loads(record.read_text())
    assert (run.calls, after["title"], after["fingerprint"] != before) == (1, "new", True)


def test_an_interruption_between_numbers_and_pictures_mixes_nothing_up(tmp_path):
    """Numbers of other settings beside an old picture are never taken for the ones asked for."""
    run = Counted({"x": np.zeros(2)}, {"x": np.ones(2)})
    make_at(stub(run=run), tmp_path)

    def stopped(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_at(replace(stub(run=run), draw=stopped), tmp_path, width=7)
    numbers, origin = load_numbers(tmp_path / "fig3")
    assert (numbers["x"][0], origin.settings["width"]) == (1.0, 7)
    assert finished_record(tmp_path / "fig3") is None
    assert make_at(stub(run=run), tmp_path, width=7).reused
    assert not make_at(stub(run=run), tmp_path).reused


def test_a_record_beside_the_numbers_of_another_run_is_made_anew(tmp_path):
    """As a run leaves them that was stopped, and continued after one with other settings."""
    run = Counted({"x": np.zeros(2)}, {"x": np.ones(2)})
    make_at(stub(run=run), tmp_path / "a")
    make_at(stub(run=run), tmp_path / "b", width=7)
    whole = finished_record(tmp_path / "b" / "fig3")
    for name in ("claims.json", "fig3.png", "fig3.pdf"):
        shutil.copy(tmp_path / "a" / "fig3" / name, tmp_path / "b" / "fig3" / name)
    assert finished_record(tmp_path / "b" / "fig3") is None
    assert make_at(stub(run=run), tmp_path / "b", width=7).reused
    assert finished_record(tmp_path / "b" / "fig3") == whole


def test_a_record_of_another_figure_is_none(tmp_path):
    make_at(stub(), tmp_path)
    make_at(stub("fig9"), tmp_path)
    for name in ("claims.json", "numbers.npz"):
        shutil.copy(tmp_path / "fig9" / name, tmp_path / "fig3" / name)
    for kind in ("png", "pdf"):
        shutil.copy(tmp_path / "fig9" / f"fig9.{kind}", tmp_path / "fig3" / f"fig3.{kind}")
    assert finished_record(tmp_path / "fig9") is not None
    assert finished_record(tmp_path / "fig3") is None


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_picture_that_is_not_as_written_is_drawn_anew(tmp_path, kind):
    make_at(stub(), tmp_path)
    path = tmp_path / "fig3" / f"fig3.{kind}"
    whole = path.read_bytes()
    path.write_bytes(b"")
    assert make_at(stub(), tmp_path).reused
    assert path.read_bytes() == whole


def test_a_failing_run_leaves_what_was_there(tmp_path):
    make_at(stub(), tmp_path)
    before = load_numbers(tmp_path / "fig3")[1]
    with pytest.raises(RuntimeError):
        make_at(stub(run=Counted(RuntimeError())), tmp_path, width=7)
    assert load_numbers(tmp_path / "fig3")[1] == before
    assert make_at(stub(), tmp_path).reused


def test_settings_that_diverge_are_a_wrong_input(tmp_path):
    from biasfree.dynamics import DivergenceError

    with pytest.raises(ValueError, match="fig3 cannot be run with these settings: use a smaller step"):
        make_at(stub(run=Counted(DivergenceError("use a smaller step"))), tmp_path)


def test_a_device_that_jax_does_not_have_is_a_wrong_input(tmp_path):
    absent = RuntimeError("Unable to initialize backend 'bogus': set JAX_PLATFORMS=''")
    with pytest.raises(ValueError, match=r"JAX has no device to run fig3 on: .* set JAX_PLATFORMS"):
        make_at(stub(run=Counted(absent)), tmp_path)


def test_damaged_or_foreign_numbers_are_made_anew(tmp_path):
    make_at(stub(), tmp_path)
    (tmp_path / "fig3" / "numbers.npz").write_bytes(b"not an archive")
    assert stored_numbers(tmp_path / "fig3") is None
    assert not make_at(stub(), tmp_path).reused
    np.savez(tmp_path / "fig3" / "numbers.npz", x=np.ones(2))
    assert not make_at(stub(), tmp_path).reused


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"figure": "fig3", "claims": []}'])
def test_records_that_cannot_be_read_are_written_anew(tmp_path, content):
    """Damaged ones, and those of earlier versions."""
    make_at(stub(), tmp_path)
    record = tmp_path / "fig3" / "claims.json"
    whole = record.read_text()
    record.write_text(content)
    assert finished_record(tmp_path / "fig3") is None
    assert make_at(stub(), tmp_path).reused
    assert record.read_text() == whole


def test_numbers_of_an_earlier_form_are_made_again(tmp_path):
    """Their file does not say which axes arrays have."""
    make_at(stub(), tmp_path)
    file = tmp_path / "fig3" / "numbers.npz"
    with np.load(file) as stored:
        arrays = {name: stored[name] for name in stored if name != "axes"}
    np.savez(file, **arrays)
    assert finished_record(tmp_path / "fig3") is None
    assert not make_at(stub(), tmp_path).reused


def test_draw_takes_any_numbers_and_says_whether_they_are_current(tmp_path):
    make_at(stub(), tmp_path)
    assert is_current(draw(stub(), tmp_path))
    numbers, origin = load_numbers(tmp_path / "fig3")
    save_numbers(tmp_path / "fig3", numbers, replace(origin, fingerprint="0" * 64))
    assert not is_current(draw(stub(), tmp_path))
    invalid("has no numbers of fig9; make them with `biasfree run fig9`", draw, stub("fig9"), tmp_path)


def test_the_same_numbers_give_the_same_files(tmp_path):
    """Pictures carry no date."""
    for folder in ("one", "two"):
        make_at(stub(), tmp_path / folder)
    for kind in ("png", "pdf"):
        one, two = ((tmp_path / folder / "fig3" / f"fig3.{kind}").read_bytes() for folder in ("one", "two"))
        assert one == two


def labeled(**arrays):
    """Arrays with axes of their own."""
    parts = {name: (tuple(f"{name}_{i}" for i in range(a.ndim)), a) for name, a in arrays.items()}
    return xarray.Dataset(parts)


def test_numbers_say_where_they_come_from(tmp_path):
    written = labeled(x=np.ones(2), names=np.array(["a", "b"]))
    origin = Origin("fig3", {"leaks": (0.0, 1.0)}, "f", {"numpy": "2"}, 1.5, content(written))
    save_numbers(tmp_path, written, origin)
    numbers, found = load_numbers(tmp_path)
    assert set(numbers) == {"x", "names"}
    assert (found.settings, found.seconds) == ({"leaks": [0.0, 1.0]}, 1.5)
    invalid("that name is taken", save_numbers, tmp_path, labeled(origin=np.ones(1)), origin)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": np.ones(2)},
        {"x": np.ones(2), "y": np.zeros(3), "z": np.ones(1)},
        {"x": np.ones(2), "y": np.zeros(4)},
        {"x": np.ones(2), "y": np.zeros((3, 1))},
        {"x": np.ones(2), "y": np.zeros(3, dtype=int)},
        {"x": np.ones(2), "y": np.array([0.0, 0.0, 1e-300])},
        {"y": np.ones(2), "x": np.zeros(3)},
    ],
    ids=["lacks", "more", "longer", "shape", "type", "value", "names"],
)
def test_numbers_other_than_those_written_are_refused(tmp_path, changed):
    origin = Origin("fig3", {}, "f", {}, 1.5, content(labeled(x=np.ones(2), y=np.zeros(3))))
    save_numbers(tmp_path, labeled(**changed), origin)
    invalid(r"does not contain the numbers written to it.*make them again", load_numbers, tmp_path)
    assert stored_numbers(tmp_path) is None
