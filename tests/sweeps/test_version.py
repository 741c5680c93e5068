"""The version of a function: its text, the values it closes over, packages, and `version=`; or a refusal."""

import functools
import linecache
import threading

import numpy as np
import pytest

import biasfree as bf
from biasfree.sweeps import _version
from biasfree.sweeps._version import version_of
from biasfree.versions import versions
from refusals import invalid


def digest(function, given=None):
    return version_of(function, given).digest


def make(value, other=1):
    def inner(x, y=other):
        return value, x, y

    return inner


def cell(text, scope, number):
    """A function of a notebook: a cell is known to `linecache` and is no file."""
    name = f"/tmp/ipykernel_1/{number}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 2), (1, 1.0), ("a", "b"), ([1], [2]), ({"a": 1}, {"a": 2}), (np.ones(2), np.zeros(2)), ({1}, {2}),
     (bf.data.six_points(0.1), bf.data.six_points(0.2)), (make(1), make(2)),
     (functools.partial(make, 1), functools.partial(make, 2)), ([make(1)], [make(2)])],
)  # fmt: skip
def test_values_that_it_closes_over_count(one, other):
    assert digest(make(one)) != digest(make(other))
    assert digest(make(one)) == digest(make(one))


def test_defaults_packages_and_the_given_version_count(monkeypatch):
    before = digest(make(1))
    assert len({before, digest(make(1, other=2)), digest(make(1), "2"), digest(make(1), "3")}) == 4
    monkeypatch.setattr(_version, "versions", lambda: {**versions(), "scipy": "0"})
    assert digest(make(1)) != before
    assert version_of(make(1), None).parts["scipy"] == "0"


def test_the_text_of_its_module_counts(tmp_path, monkeypatch):
    """Any text of it: a helper above it, too. An edit of equal length within a second is seen."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "module_of_a_version.py"
    path.write_text("def helper(x): return 1 * x\ndef f(x): return helper(x)\n")
    import module_of_a_version as module  # type: ignore[import-not-found]

    sweep = bf.sweep(module.f, over={"x": [1]}, store=tmp_path / "store").run(progress=False)
    assert sweep.dataset["value"].item() == 1
    before = digest(module.f)
    path.write_text("def helper(x): return 2 * x\ndef f(x): return helper(x)\n")
    assert digest(module.f) != before
    assert sweep.plan().stale == 1
    path.unlink()
    invalid(r"f has no source.*; pass version=|No module named", sweep.run, progress=False)


def test_a_cell_counts_with_what_it_reads_from_others():
    scope = {"__name__": "__main__", "RATE": 1.0, "np": np}
    cell("def helper(x):\n    return x\n", scope, 1)
    cell("def f(x):\n    return RATE * helper(np.abs(x))\n", scope, 2)
    before = digest(scope["f"])
    assert digest(scope["f"]) == before
    scope["RATE"] = 2.0
    assert digest(scope["f"]) != before
    scope["RATE"] = 1.0
    cell("def helper(x):\n    return -x\n", scope, 3)
    assert digest(scope["f"]) != before


def test_what_has_no_version_is_refused_in_one_sentence_unless_it_is_given():
    for function, message in (
        (eval("lambda x: x"), "<lambda> has no version .*<lambda> has no source.*; pass version="),
        (make(threading.Lock()), "inner has no version .*lock.*; pass version="),
    ):
        invalid(message, version_of, function, None)
        assert digest(function, "1") != digest(function, "2")


def test_a_changed_function_says_which_points_are_stale(tmp_path, capfd):
    def times(rate, values):
        return bf.sweep(lambda x: rate * x, over={"x": values}, store=tmp_path / "store")

    times(1.0, [1, 2]).run(progress=False)
    changed = times(2.0, [1, 2, 3])
    assert "0 done, 0 failed, 3 missing\n2 points are stale (its values changed); a run" in str(
        changed.plan()
    )
    np.testing.assert_array_equal(changed.run().dataset["value"], [2, 4, 6])
    assert "2 points are stale, such as x=1, and computed again" in capfd.readouterr().err
    assert changed.plan().stale == 0
    np.testing.assert_array_equal(times(1.0, [1, 2]).dataset["value"], [1, 2])
