"""Files of the store: whole, checked, read by NumPy; claims of the living hold, those of the dead do not."""

import io
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from biasfree.sweeps import _claims, _npz
from biasfree.sweeps._claims import Owner, at_work, tidy
from biasfree.sweeps._store import Damaged, Store

ARRAYS = st.dictionaries(
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.one_of(
        arrays.arrays(np.float64, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
        arrays.arrays(np.int32, (2, 3)).map(np.asfortranarray),
        st.text(max_size=9).map(np.array),
        st.booleans().map(np.array),
        st.complex_numbers().map(np.array),
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=60)
@given(content=ARRAYS)
def test_files_are_read_as_numpy_reads_them(content):
    written = _npz.write(content)
    assert _npz.write(content) == written
    found = _npz.read(written)
    with np.load(io.BytesIO(written), allow_pickle=False) as read:
        assert {*read.files} == {*found} == {*content}
        for name, array in content.items():
            assert found[name].dtype == array.dtype == read[name].dtype
            assert found[name].tobytes() == array.tobytes() == read[name].tobytes()
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **content)
        assert all(_npz.read(buffer.getvalue())[n].tobytes() == a.tobytes() for n, a in content.items())


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_damage_is_noticed(data):
    """Any byte of the arrays changed, or any end cut off."""
    content = _npz.write({"a": np.arange(20.0), "b": np.array("text")})
    end = content.index(b"PK\x01\x02")  # the directory, which only `zipfile` needs
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, end))]
    else:
        at = data.draw(st.integers(0, end - 1))
        content = content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :]
    try:
        found = _npz.read(content)
    except ValueError:
        return
    # names, times and sizes of entries are not under the check sum: what is read is then under another name
    assert all(
        array.tobytes() in (np.arange(20.0).tobytes(), np.array("text").tobytes()) for array in found.values()
    )


def test_pickles_are_never_loaded():
    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        _npz.read(buffer.getvalue())


def test_a_file_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.prepare()
    store.put("ab12", b"old")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="No space"):
        store.put("ab12", b"new")
    assert store.file("ab12").read_bytes() == b"old"
    assert list((tmp_path / "partial").iterdir()) == []
    assert (store.names(), store.has("ab12"), store.has("ab13")) == ({"ab12"}, True, False)
    with pytest.raises(Damaged, match=r"ab12.npz cannot be read .*; delete it and run the sweep again"):
        store.get("ab12")


def owner(folder, run):
    store = Store(folder)
    store.prepare()
    return Owner(folder, run)


def test_one_of_two_gets_a_claim_and_gives_it_back(tmp_path):
    first, second = owner(tmp_path, "a"), owner(tmp_path, "b")
    assert first.claim("x")
    assert len(os.readlink(tmp_path / "claims" / "x")) < 60  # kept beside its name on disk
    assert not second.claim("x")
    assert second.claim("y")
    assert at_work(tmp_path) == 2
    first.release("x")
    assert second.claim("x")
    for one in (first, second):
        one.end()
    assert os.listdir(tmp_path / "owners") == []


DYING = """
import os, signal, sys
from pathlib import Path
from biasfree.sweeps._claims import Owner
owner = Owner(Path(sys.argv[1]), "dying")
assert owner.claim("x")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_claim_of_a_killed_process_is_void_at_once(tmp_path):
    living = owner(tmp_path, "a")
    subprocess.run([sys.executable, "-c", DYING, str(tmp_path)], check=False)
    assert at_work(tmp_path) == 0
    assert living.claim("x")
    assert at_work(tmp_path) == 1
    living.end()
    tidy(tmp_path)
    assert os.listdir(tmp_path / "claims") == []


def test_a_claim_of_another_machine_holds_while_it_gives_signs_of_life(tmp_path):
    """By the time stamp of its owner: locks do not reach other machines everywhere."""
    ours, theirs = owner(tmp_path, "a"), owner(tmp_path, "b")
    theirs._file.write_text("another machine")
    assert theirs.claim("x")
    assert not ours.claim("x")
    old = time.time() - _claims.LEASE - 60
    os.utime(theirs._file, (old, old))
    assert ours.claim("x")
    ours.end()
    theirs.end()


def test_a_run_takes_its_own_calls_back_from_a_process_that_it_has_lost(tmp_path):
    """The scheduler of a cluster says that a worker is lost before its lease ends."""
    lost, next_one = owner(tmp_path, "same"), owner(tmp_path, "same")
    assert lost.claim("x")
    assert next_one.claim("x")
    lost.end()
    next_one.end()


def test_file_systems_without_links_compute_without_claims(tmp_path, monkeypatch):
    one = owner(tmp_path, "a")

    def refused(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "symlink", refused)
    assert one.claim("x")
    monkeypatch.setattr(os, "symlink", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        one.claim("y")
    one.end()


def test_what_the_dead_left_is_removed(tmp_path):
    Store(tmp_path).prepare()
    old = time.time() - _claims.LEASE - 60
    for name in ("owners/1-dead", "partial/1-left"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (old, old))
    (tmp_path / "partial" / "2-new").touch()
    os.symlink("1-gone run", tmp_path / "claims" / "x")
    tidy(tmp_path)
    assert [p.name for folder in ("owners", "claims", "partial") for p in (tmp_path / folder).iterdir()] == [
        "2-new"
    ]


def test_tasks_that_begin_at_once_agree_on_the_name_of_a_new_store(tmp_path):
    """Workers whose run has another name would think that they do not see the store."""
    at_once = threading.Barrier(4)

    def identity(folder):
        at_once.wait()
        Store(folder).prepare()
        return Store(folder).identity

    with ThreadPoolExecutor(4) as pool:
        for i in range(20):
            found = [pool.submit(identity, tmp_path / str(i)) for _ in range(4)]
            assert len({one.result(timeout=10) for one in found}) == 1
            assert not list((tmp_path / str(i) / "partial").iterdir())
