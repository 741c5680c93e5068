"""Datasets survive saving and loading, and bad files raise one-sentence errors."""

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers
from sklearn.datasets import load_digits

import biasfree as bf
from refusals import invalid

finite = floats(allow_nan=False, allow_infinity=False)
tables = integers(1, 6).flatmap(lambda p: arrays(float, (p, 4), elements=finite))
per_example = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(table=tables)
@per_example
def test_npz_round_trip(table, tmp_path):
    for data in (bf.Dataset(table[:, :3], table[:, 3]), bf.Dataset(table[:, :2], table[:, 2:])):
        data.save(tmp_path / "data.npz")
        again = bf.data.load(tmp_path / "data.npz")
        assert np.array_equal(again.x, data.x)
        assert np.array_equal(again.y, data.y)


@given(table=tables, column=integers(0, 3))
@per_example
def test_csv_holds_the_numbers_and_the_target_named(table, column, tmp_path):
    lines = [",".join("abcd"), *(",".join(repr(float(v)) for v in row) for row in table)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    data = bf.data.load(path, target="abcd"[column])
    assert np.array_equal(data.y, table[:, column])
    assert np.array_equal(data.x, np.delete(table, column, axis=1))
    assert np.array_equal(bf.data.load(path).y, table[:, 3])


def test_csv_as_spreadsheets_write_it(tmp_path):
    path = tmp_path / "Data.CSV"
    path.write_bytes('\ufeff"a", b ,y\r\n1, 2,3\r\n\r\n"4",5,6\r\n'.encode())
    data = bf.data.load(str(path), target="a")
    assert data.x.tolist() == [[2, 3], [5, 6]]
    assert data.y.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names of at least two columns"),
        ("a\n1\n", r"names of at least two columns, separated by commas, got \['a'\]"),
        ("a;y\n1;2\n", "separated by commas"),
        ("1,2\n3,4\n", "line of column names, got the numbers 1, 2"),
        (",a,y\n0,1,2\n", "index=False"),
        ("a,a,y\n0,1,2\n", "a distinct name"),
        ("a,y\n", "no rows"),
        ("a,y\n1,2\n3\n", "line 3 .* has 1 cells, but there are 2 columns"),
        ("a,y\n1,2,3\n", "line 2 .* has 3 cells"),
        ("a,y\n1,2\nx,3\n", "line 3, column 'a' .* is 'x', which is not a finite number"),
        ("a,y\n1,\n", "line 2, column 'y' .* is ''"),
        ("a,y\nnan,1\n", "line 2, column 'a' .* is 'nan'"),
        ("a,y\n1,-inf\n", "column 'y' .* is '-inf'"),
        ('a,y\n"1,2\n', "not a readable .csv file"),
    ],
)
def test_bad_csv_files_are_refused(text, message, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    invalid(message, bf.data.load, tmp_path / "bad.csv")


def test_a_csv_file_of_bytes_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.full(9, np.pi))
    (tmp_path / "x.npy").rename(tmp_path / "x.csv")
    invalid(r"not a readable \.csv file in UTF-8", bf.data.load, tmp_path / "x.csv")


def test_an_unknown_target_lists_the_columns(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,3\n")
    invalid("no column 'z'; its columns are a, b, y", bf.data.load, tmp_path / "a.csv", target="z")


def test_a_target_is_refused_for_npz(tmp_path):
    bf.data.xor().save(tmp_path / "a.npz")
    invalid(r"target='y' names a column of a \.csv file", bf.data.load, tmp_path / "a.npz", target="y")


@pytest.mark.parametrize("name", ["absent.npz", "absent.csv", "."])
def test_files_that_do_not_exist(name, tmp_path):
    invalid("no file", bf.data.load, tmp_path / name)


def test_other_kinds_of_files(tmp_path):
    (tmp_path / "a.txt").write_text("a,y\n1,2\n")
    invalid(r"a\.txt: it must be a \.npz or a \.csv file", bf.data.load, tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.ones((2, 1))}, "lacks y; it contains x and needs x, y"),
        ({"x": np.ones((2, 1)), "y": np.ones(3)}, "does not contain a dataset: .* 2 and 3 samples"),
        ({"x": np.full((2, 1), np.nan), "y": np.ones(2)}, "does not contain a dataset: x must be finite"),
        ({"x": np.array([["a"]]), "y": np.ones(1)}, "x must hold real numbers, got an array of dtype <U1"),
        ({"x": np.ones((0, 1)), "y": np.ones(0)}, "the dataset is empty"),
    ],
)
def test_npz_files_without_a_dataset(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    invalid(message, bf.data.load, tmp_path / "a.npz")


def test_digits_are_those_of_scikit_learn_to_the_last_bit():
    x, y = load_digits(return_X_y=True)
    pair = (y == 3) | (y == 5)
    data = bf.data.digits()
    assert np.array_equal(data.x, x[pair] / 16)
    assert np.array_equal(data.y, np.where(y[pair] == 3, 1.0, -1.0))


def test_the_file_names_its_source_and_licence():
    first = (files("biasfree.data") / "digits_3_5.csv").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert all(word in first for word in ("Optical Recognition of Handwritten Digits", "UCI", "CC BY 4.0"))
