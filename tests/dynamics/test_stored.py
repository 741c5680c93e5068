"""Native functions stored on disk: right whatever became of their files."""

import importlib
import resource
import sys
import warnings
from pathlib import Path

import pytest
from numba.core.caching import CacheImpl

SOURCE = """
from biasfree.dynamics.network._compiled import native

@native
def f(x): return x + 1

@native
def g(x): return x + 2
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Imports a module of two stored functions anew, as another process would."""
    (tmp_path / "engine_of_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    def load():
        sys.modules.pop("engine_of_test", None)
        return importlib.import_module("engine_of_test")

    yield load
    sys.modules.pop("engine_of_test", None)


def file_of(function, kind):
    (found,) = Path(function.stats.cache_path).glob(f"{function.__module__}.{function.__name__}-*.{kind}")
    return found


def hits(function):
    return sum(function.stats.cache_hits.values())


def cut(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


DAMAGE = {
    "cut": lambda path, _: cut(path, 0.5),
    "empty": lambda path, _: cut(path, 0.0),
    "garbage": lambda path, _: path.write_bytes(b"nonsense " * 100),
    "a flipped bit": lambda path, _: flip(path),
    "a folder": lambda path, _: replace_by_folder(path),
    "another function": lambda path, other: path.write_bytes(other.read_bytes()),
}


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_costs_a_compilation(engine, damage, kind):
    first = engine()
    assert (first.f(1), first.g(1)) == (2, 3)
    damage(file_of(first.f, kind), file_of(first.g, kind))
    second = engine()
    with warnings.catch_warnings():  # damage that Numba itself takes for a missing file is no reason to warn
        warnings.filterwarnings("ignore", "compiled functions in .* cannot be used .* compiled anew")
        assert (second.f(1), second.g(1)) == (2, 3)
    assert hits(second.g) == 1
    assert engine().f(1) == 2  # a folder in place of code is found when code is stored, and removed
    last = engine().f
    assert (last(1), hits(last)) == (2, 1)


def test_a_folder_with_something_in_it_stays(engine):
    first = engine()
    first.f(1)
    path = file_of(first.f, "nbi")
    replace_by_folder(path)
    (path / "of the user").touch()
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        assert engine().f(1) == 2
    assert (path / "of the user").exists()


def test_a_full_disk_stores_nothing(engine):
    """A limit of zero bytes per file: writing fails, also for root."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    found = engine().f
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder that you can write"):
            answer = found(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert answer == 2
    again = engine().f
    assert (again(1), hits(again)) == (2, 0)


def test_without_a_folder_nothing_is_stored(engine, monkeypatch):
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    found = engine().f
    assert (found(1), found.stats.cache_path) == (2, None)
