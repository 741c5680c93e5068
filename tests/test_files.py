"""Files are written atomically, nothing is unpickled, and damaged files raise one-sentence errors."""

import io
import os
import subprocess
import sys
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans, floats, integers, lists

import biasfree as bf
from biasfree import files
from biasfree.files import existing_file, load_npz, locked_folder, remove_partial, replacing, save_npz
from refusals import invalid


@given(
    sizes=lists(integers(1, 6), min_size=2, max_size=12),
    leak=floats(0, 1),
    biased=booleans(),
    seed=integers(0, 99),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_network_round_trip(sizes, leak, biased, seed, tmp_path):
    network = bf.networks.gaussian(sizes, scale=1.0, seed=seed)
    biases = tuple(np.arange(n) + 0.1 for n in sizes[1:]) if biased else None
    network = bf.Network(network.weights, leak=leak, biases=biases)
    network.save(tmp_path / "a.npz")
    again = bf.Network.load(tmp_path / "a.npz")
    assert again.leak == leak
    assert all(np.array_equal(a, b) for a, b in zip(again.weights, network.weights, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(again.biases or (), biases or (), strict=True))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def interrupted():
        with replacing(tmp_path / "a.txt") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_partial_files_of_killed_processes_are_removed_but_not_of_living_ones(tmp_path):
    left, other = tmp_path / ".a[1].txt.0a1b2c3d.partial", tmp_path / ".b.txt.0a1b2c3d.partial"
    for path in (left, other, tmp_path / ".a[1].txt.notes"):
        path.touch()
    with replacing(tmp_path / "a[1].txt") as file:
        assert (left.exists(), other.exists()) == (False, True)
        remove_partial(tmp_path)
        with replacing(tmp_path / "a[1].txt") as second:
            second.write(b"second")
        file.write(b"first")
    assert {path.name for path in tmp_path.iterdir()} == {"a[1].txt", ".a[1].txt.notes"}
    assert (tmp_path / "a[1].txt").read_text() == "first"


def test_a_partial_file_taken_for_a_dead_ones_is_begun_again(tmp_path, monkeypatch):
    """Another process may remove a file between its creation and its lock."""
    lock = files.try_lock
    locked: list[int] = []

    def removed(handle):
        if not locked:
            next(tmp_path.glob(".a.txt.*")).unlink()
        locked.append(handle)
        return lock(handle)

    monkeypatch.setattr(files, "try_lock", removed)
    with replacing(tmp_path / "a.txt") as file:
        file.write(b"whole")
    assert (len(locked), (tmp_path / "a.txt").read_text()) == (2, "whole")


def test_a_folder_is_for_one_process_at_a_time(tmp_path):
    with locked_folder(tmp_path):
        code = (
            "import pathlib, sys, biasfree.files as f\nwith f.locked_folder(pathlib.Path(sys.argv[1])): pass"
        )
        ended = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
        assert f"another process is using the folder {tmp_path}; wait until it ends" in ended.stderr
    with locked_folder(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_disk_that_is_full_is_named_and_nothing_stays(tmp_path):
    """A limit on the size of files makes a write fail halfway, as on a full disk."""
    code = (
        "import resource, sys, numpy as np, biasfree.files as f\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))\n"
        "for size in (640, 100_000):\n"
        "    try: f.save_npz(sys.argv[1], {'x': np.random.default_rng(0).normal(size=size)})\n"
        "    except OSError as error: print(f.error_text(error))\n"
    )
    path = tmp_path / "a.npz"
    said = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True).stdout
    assert said == f"cannot write {path}: File too large; free space or choose another folder\n" * 2
    assert os.listdir(tmp_path) == []


def test_a_finished_write_replaces_the_old_file_with_ordinary_permissions(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with replacing(tmp_path / "a.txt") as file:
        file.write(b"new")
    (tmp_path / "b.txt").touch()
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/a.npz", "the folder .* does not exist; create it first"),
        ("a.txt", r"the name must end in \.npz"),
    ],
)
def test_names_that_cannot_be_written(name, message, tmp_path):
    invalid(message, bf.data.xor().save, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_overwritten(tmp_path):
    (tmp_path / "a.npz").mkdir()
    invalid("it is a folder", bf.data.xor().save, tmp_path / "a.npz")


def test_links_stay_and_what_is_no_file_is_written_into(tmp_path):
    """A rename would put a file in the place of a device, a pipe or a link."""
    target, link, dangling = tmp_path / "target.npz", tmp_path / "link.npz", tmp_path / "dangling.npz"
    (tmp_path / "folder").mkdir()
    target.touch()
    link.symlink_to(target)
    dangling.symlink_to("folder/new.npz")
    for path in (link, dangling):
        bf.data.xor().save(path)
        assert (path.is_symlink(), len(bf.data.load(path))) == (True, 4)
    os.mkfifo(tmp_path / "pipe.npz")
    with ThreadPoolExecutor(1) as pool:
        content = pool.submit((tmp_path / "pipe.npz").read_bytes)
        bf.data.xor().save(tmp_path / "pipe.npz")
        assert (tmp_path / "pipe.npz").is_fifo()
        assert set(np.load(io.BytesIO(content.result(10)))) == {"x", "y"}
    (tmp_path / "to_folder").symlink_to("folder")
    with pytest.raises(ValueError, match="it is a folder"), replacing(tmp_path / "to_folder"):
        pass
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.skipif(not os.path.exists("/dev/fd/1"), reason="the output of a process has no name here")
@pytest.mark.parametrize("name", ["/dev/fd/1", "link"])
@pytest.mark.parametrize("output", ["file", "pipe"])
def test_the_output_of_the_process_is_written_into(name, output, tmp_path):
    """What was printed before stays, in its order, also where the output is a regular file.

    `link` is in a folder of the test what /dev/stdout is in /dev, where root could replace it.
    """
    (tmp_path / "link").symlink_to("/dev/fd/1")
    code = (
        "import sys\nfrom biasfree.files import replacing\nprint('before')\n"
        "with replacing(sys.argv[1]) as file: file.write(b'within\\n')\nprint('after')"
    )
    with (tmp_path / "out.txt").open("wb") as file:
        to = file if output == "file" else subprocess.PIPE
        ended = subprocess.run([sys.executable, "-c", code, name], stdout=to, cwd=tmp_path, check=True)
    said = (tmp_path / "out.txt").read_bytes() if output == "file" else ended.stdout
    assert said == b"before\nwithin\nafter\n"
    assert (tmp_path / "link").is_symlink()


def test_objects_are_not_saved(tmp_path):
    with pytest.raises(ValueError, match="cannot save 'a': it is not an array of numbers or strings"):
        save_npz(tmp_path / "a.npz", {"a": [{}]})
    assert os.listdir(tmp_path) == []


def test_only_the_arrays_given_are_saved(tmp_path):
    save_npz(tmp_path / "a.npz", {"x": 1.0, "name": "text"})
    arrays = load_npz(tmp_path / "a.npz", needs=("x",))
    assert {name: value.item() for name, value in arrays.items()} == {"x": 1.0, "name": "text"}


def text(path):
    path.write_text("not an archive")


def empty(path):
    path.write_bytes(b"")


def bare_array(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def truncated(path):
    np.savez(path, W1=np.ones((9, 9)), leak=0.0)
    path.write_bytes(path.read_bytes()[:-40])


def damaged(path):
    np.savez_compressed(path, W1=np.random.default_rng(0).normal(size=(99, 9)), leak=0.0)
    content = bytearray(path.read_bytes())
    content[200:1200] = bytes(1000)
    path.write_bytes(bytes(content))


def foreign_entry(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W1", "text")


class Bomb:
    """Unpickling this raises another error than the one expected."""

    def __reduce__(self):
        return (exec, ("raise RuntimeError('unpickled')",))


def pickled(path):
    bombs = np.array([Bomb()], dtype=object)
    np.savez(path, W1=bombs, x=bombs, ts=bombs, leak=0.0)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (text, "is not a .npz file of numeric arrays, or contains pickled objects, which are never loaded"),
        (pickled, "contains pickled objects, which are never loaded; save numeric arrays"),
        (empty, "is not a readable .npz file"),
        (bare_array, "is not a readable .npz file: it contains one array written by np.save"),
        (truncated, "is not a readable .npz file"),
        (damaged, "is not a readable .npz file"),
        (foreign_entry, "is not a readable .npz file: its entry W1 is not an array"),
    ],
)
def test_files_with_wrong_contents(write, message, tmp_path):
    write(tmp_path / "a.npz")
    for load in (bf.Network.load, bf.Trajectory.load, bf.data.load):
        invalid(message, load, tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "lacks leak, W1; it contains nothing"),
        ({"W1": np.ones((1, 1))}, "lacks leak; it contains W1 and needs leak, W1"),
        ({"leak": 0.0, "W1": np.ones((1, 1)), "W3": np.ones((1, 1))}, "must contain W1, W2, got W1, W3"),
        (
            {"leak": np.zeros(2), "W1": np.ones((1, 1))},
            r"leak in .* must be a single value, got shape \(2,\)",
        ),
        ({"leak": 0.0, "W1": np.ones((1, 1)), "b2": np.ones(1)}, "must contain b1, got b2"),
        ({"leak": "a", "W1": np.ones((1, 1))}, "leak must be a number, got 'a'"),
        ({"leak": 0.0, "W1": np.full((1, 1), np.nan)}, "W_1 must be finite"),
    ],
)
def test_archives_that_do_not_hold_a_network(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    invalid(message, bf.Network.load, tmp_path / "a.npz")


def test_arrays_of_other_names_are_passed_over(tmp_path):
    np.savez(tmp_path / "a.npz", leak=0.5, W1=np.ones((1, 2)), Width=3, beta=1.0)
    assert repr(bf.Network.load(tmp_path / "a.npz")) == "Network(2→1, leak=0.5)"


@pytest.mark.parametrize("load", [bf.Network.load, bf.Trajectory.load, bf.data.load, existing_file])
def test_files_that_do_not_exist(load, tmp_path):
    invalid(r"no file .*absent\.npz; check the path", load, tmp_path / "absent.npz")


def test_a_small_file_cannot_fill_the_memory(tmp_path, monkeypatch):
    """The archive lists the sizes of its arrays, so nothing is unpacked."""
    monkeypatch.setattr(files, "_ALWAYS_READ", 10**6)
    zeros = np.zeros((5 * 10**5, 1))
    np.savez_compressed(tmp_path / "a.npz", x=zeros, y=zeros, W1=zeros)
    tracemalloc.start()
    try:
        for load in (bf.Network.load, bf.Trajectory.load, bf.data.load):
            invalid("needs 12,000,384 in memory, more than 100 times", load, tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_an_array_must_have_the_size_of_its_header(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1), }\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    invalid(r"its entry x\.npy does not have the size given in its header", bf.data.load, tmp_path / "a.npz")


def test_constant_arrays_are_read_back_however_well_they_compress(tmp_path):
    bf.Dataset(np.zeros((10**5, 5)), np.zeros(10**5)).save(tmp_path / "a.npz")
    assert (tmp_path / "a.npz").stat().st_size * 100 < 8 * 5 * 10**5
    assert len(bf.data.load(tmp_path / "a.npz")) == 10**5
