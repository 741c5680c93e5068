"""The data that people have: frames, files, images, datasets and loaders, more than fits in memory."""

import struct
import zlib

import numpy as np
import pytest

import biasfree as bf
from biasfree.diagnostics.advice._samples import samples_of
from refusals import invalid

RNG = np.random.default_rng(2)
X = RNG.normal(size=(40, 3))
Y = X @ np.array([1.0, -1.0, 2.0])


def model(x):
    return x.reshape(len(x), -1)[:, 0]


def test_pairs_and_three_arguments_give_the_same():
    reports = [
        bf.diagnose(model, *data, flips=20) for data in ((X, Y), ((X, Y),), (bf.Dataset(X, Y),), ([X, Y],))
    ]
    assert len({report.to_json() for report in reports}) == 1
    invalid("y was given twice", bf.diagnose, model, bf.Dataset(X, Y), Y)
    invalid("targets are missing: pass them as y", bf.diagnose, model, X)
    invalid("x and y must have the same length, got 40 and 3", bf.diagnose, model, X, Y[:3])


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc")).assign(
        y=Y, kind=pandas.Categorical(np.where(Y > 0, "u", "v"))
    )
    found = samples_of(frame.drop(columns="kind"), "y")
    assert np.array_equal(found.x, X)
    assert np.array_equal(found.y, Y)
    assert found.columns == ("a", "b", "c")
    labels = samples_of(frame.drop(columns="y"), "kind")
    assert labels.y.tolist() == np.where(Y > 0, "u", "v").tolist()
    assert np.array_equal(samples_of(frame[list("abc")], frame["y"]).y, Y)
    for y, message in (
        ("z", "no column 'z'; its columns are a, b, c, y, kind"),
        (None, "pass the name of their column as y, one of a, b, c, y, kind"),
        ("y", "columns kind of the data frame do not hold numbers; encode them"),
    ):
        invalid(message, samples_of, frame, y)


def test_files(tmp_path):
    rows = [f"{a},{b},{c},{'cat' if y > 0 else 'dog'}" for (a, b, c), y in zip(X.tolist(), Y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,kind", *rows]))
    found = samples_of(str(tmp_path / "a.csv"))
    assert np.array_equal(found.x, X)
    assert set(found.y) == {"cat", "dog"}
    assert samples_of(tmp_path / "a.csv", "kind").y.tolist() == found.y.tolist()
    with pytest.raises(ValueError, match=r"column 'kind' of .* is '(cat|dog)', which is not a finite number"):
        samples_of(tmp_path / "a.csv", "b")
    np.savez(tmp_path / "a.npz", x=X, y=np.where(Y > 0, "cat", "dog"))
    assert samples_of(tmp_path / "a.npz").y.tolist() == found.y.tolist()
    for name, y, message in (
        ("a.npz", "kind", "a target names a column of a .csv file"),
        ("a.txt", None, "must be a .npz or a .csv file, or a folder of images"),
        ("a.csv", 3, "must be the name of a column"),
    ):
        (tmp_path / "a.txt").touch()
        invalid(message, samples_of, tmp_path / name, y)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["1.5", "", "2.5"], "line 3, column 'y' of .* is '', which is not a finite number"),
        (["1", "NA", "2"], "line 3, column 'y' of .* is 'NA', which is not a finite number"),
        (["1.5", "2.5.3", "2"], r"line 3, column 'y' of .* is '2\.5\.3', which is not a finite number"),
        (["cat", "", "dog"], "line 3, column 'y' of .* is empty; remove this sample"),
    ],
)
def test_a_missing_target_does_not_make_numbers_labels(targets, message, tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *(f"{i},{y}" for i, y in enumerate(targets))]))
    invalid(message, samples_of, tmp_path / "a.csv")


def test_labels_may_be_whole_numbers_and_words(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0,1\n1,2\n2,3 or more\n")
    assert samples_of(tmp_path / "a.csv").y.tolist() == ["1", "2", "3 or more"]


def test_a_folder_of_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, kind in enumerate(("cat", "dog", "cat")):
        (tmp_path / kind).mkdir(exist_ok=True)
        image.fromarray(np.full((2, 3), 85 * i, np.uint8)).save(tmp_path / kind / f"{i}.png")
    found = samples_of(tmp_path)
    assert found.y.tolist() == ["cat", "cat", "dog"]
    assert found.shape == (1, 2, 3)
    assert found.x[:, 0].tolist() == [0, 170 / 255, 85 / 255]
    image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "dog" / "9.png")
    invalid(r"all images must have one size, got \(2, 3\) for .* and \(4, 4\)", samples_of, tmp_path)
    (tmp_path / "empty").mkdir()
    invalid("has no images in folders, one per class", samples_of, tmp_path / "empty")


@pytest.mark.parametrize(
    ("mode", "values"),
    [("1", [0, 1]), ("L", [0, 1]), ("P", [0, 0, 0, 1, 1, 1]), ("RGB", [0, 0, 0, 1, 1, 1]), ("I;16", [0, 1])],
)
def test_images_of_any_kind_are_numbers_from_0_to_1(mode, values, tmp_path):
    """Black beside white: bits, a palette, and 16 bits per pixel are not taken for gray values up to 255."""
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "cat").mkdir()
    plain = image.fromarray(np.array([[0, 255]], np.uint8))
    wide = image.fromarray(np.array([[0, 65535]], np.uint16))
    (wide if mode == "I;16" else plain.convert(mode)).save(tmp_path / "cat" / "0.png")
    found = samples_of(tmp_path)
    assert np.moveaxis(found.x.reshape(found.shape), 0, -1).ravel().tolist() == values


def pixels(width, height):
    """A .png file of that size, cut before its pixels."""
    header = struct.pack(">4sIIBBBBB", b"IHDR", width, height, 8, 0, 0, 0, 0)
    checked = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return b"\x89PNG\r\n\x1a\n" + checked + struct.pack(">I4s", 99, b"IDAT")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            pixels(25_000, 25_000),
            r"0\.png is no image that can be read: .*625000000 pixels.*; replace or remove",
        ),
        (pixels(10_000, 10_000), "is no image that can be read: .*100000000 pixels"),
        (pixels(10, 10), "is no image that can be read"),
        (b"not an image", "is no image that can be read: cannot identify"),
        (b"", "is no image that can be read: cannot identify"),
    ],
    ids=["625 megapixels", "100 megapixels", "cut", "text", "empty"],
)
def test_images_that_cannot_be_read_are_named(content, message, tmp_path):
    pytest.importorskip("PIL.Image")
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "0.png").write_bytes(content)
    invalid(message, samples_of, tmp_path)


def test_datasets_and_loaders_of_pytorch_are_sampled_by_seed():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=7, shuffle=True)
    state = torch.get_rng_state()
    for source in (data, loader):
        whole = samples_of(source)
        assert np.array_equal(whole.x, X)
        assert whole.notes == ()
        some, again, other = (samples_of(source, numbers=30, seed=seed) for seed in (3, 3, 4))
        assert len(some) == 10
        assert np.array_equal(some.x, again.x)
        assert not np.array_equal(some.x, other.x)
        assert some.notes == ("10 of the 40 samples of the dataset are used, chosen at random (seed 3).",)
        assert all(np.any(np.all(row == X, axis=1)) for row in some.x)
    assert torch.equal(torch.get_rng_state(), state)
    report = bf.diagnose(lambda x: x[:, 0], loader, flips=20)
    assert report.to_json() == bf.diagnose(lambda x: x[:, 0], X, Y, flips=20).to_json()


def test_streams_keep_a_sample_in_which_every_row_is_as_likely():
    def batches(n):
        for i in range(n):
            yield np.full((5, 1), 5.0 * i) + np.arange(5.0)[:, None], np.arange(5.0)

    whole = samples_of(batches(4))
    assert whole.x[:, 0].tolist() == list(range(20))
    kept = np.concatenate([samples_of(batches(12), numbers=10, seed=seed).x[:, 0] for seed in range(60)])
    counts = np.bincount(kept.astype(int), minlength=60)
    assert len(kept) == 600
    # 60 independent choices of 10 from 60: mean 10, variance 60·(1/6)(5/6) = 8.3; six deviations of 60 rows
    assert np.all(np.abs(counts - 10) < 6 * np.sqrt(60 * 5 / 36))
    endless = samples_of(batches(10**9), numbers=10)
    assert "of the first 100 samples of the loader are used" in endless.notes[0]


def test_arrays_larger_than_memory_are_sampled(tmp_path):
    big = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1000, 3))
    big[:] = RNG.normal(size=big.shape)
    found = samples_of(big, np.arange(1000), numbers=300)
    assert len(found) == 100
    assert np.array_equal(found.x, big[found.y].astype(float))
    assert "100 of the 1,000 samples, chosen at random (seed 0), are used" in found.notes[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (iter([]), "the iterable of batches .* is empty"),
        (iter([{"x": 1, "y": 2}]), "a dict with the keys x, y; pass items"),
        (iter([X]), "must be a pair"),
        ({"x": X}, r"data must be a bf\.Dataset or a pair .* got a dict"),
    ],
)
def test_other_data_are_refused(data, message):
    invalid(message, samples_of, data)
