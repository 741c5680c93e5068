"""The samples of a diagnosis, read from arrays, data frames, files, and PyTorch datasets and loaders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from biasfree.arrays import as_array, real
from biasfree.data import Dataset

if TYPE_CHECKING:
    from jaxtyping import Float, Shaped

NUMBERS = 2**24  # numbers in the inputs that are kept in memory: 134 MB
_STREAMED = 10  # times as many samples as are kept are read from a stream
_LARGEST = 1e100
_FORMS = (
    "a bf.Dataset, a pair (x, y), x and y as two arguments, a data frame and the name of its target column, "
    "a PyTorch Dataset or DataLoader, or the name of a .csv or .npz file or of a folder of images"
)


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs as rows, targets or labels as they were given, and the shape of one sample, None if flat."""

    x: Float[np.ndarray, "P D"]
    y: Shaped[np.ndarray, "P *_"]
    shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    """The names of the columns of a data frame."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.x)


def samples_of(data: Any, y: Any = None, *, seed: int = 0, numbers: int = NUMBERS) -> Samples:
    """The samples for data in any of the forms that `bf.diagnose` takes.

    Where the inputs have more than `numbers` numbers, rows chosen at random are kept, and a note says so.
    """
    if isinstance(data, str | Path):
        from biasfree.diagnostics.advice._files import read

        x, y = read(Path(data), y)
        return _of_arrays(x, y, seed, numbers)
    if isinstance(data, Dataset):
        if y is not None:
            raise ValueError("y was given twice: a bf.Dataset has its own targets; leave y out.")
        return _of_arrays(data.x, data.y, seed, numbers)
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):  # of pandas, which need not be installed
        return _of_frame(data, y, seed, numbers)
    if y is not None:
        return _of_arrays(data, y, seed, numbers)
    if isinstance(data, Sequence) and len(data) == 2:
        return samples_of(data[0], data[1], seed=seed, numbers=numbers)
    if hasattr(data, "dataset") and hasattr(data, "batch_size"):
        return _of_loader(data, seed, numbers)
    if isinstance(data, np.ndarray) or hasattr(data, "__array__"):
        raise ValueError("the targets are missing: pass them as y, diagnose(model, x, y), or pass (x, y).")
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, Sequence | dict):
        return _of_items(data, _stacked, seed, numbers)
    if isinstance(data, Iterable) and not isinstance(data, Sequence | dict | set):
        return _of_stream(iter(data), seed, numbers)
    raise ValueError(
        f"data must be a bf.Dataset or a pair (x, y), got a {type(data).__name__}; allowed are {_FORMS}."
    )


def _of_frame(frame: Any, y: Any, seed: int, numbers: int) -> Samples:
    names = [str(name) for name in frame.columns]
    if y is None:
        raise ValueError(
            f"the targets are missing: pass the name of their column as y, one of {', '.join(names)}."
        )
    if isinstance(y, str):
        if y not in names:
            raise ValueError(f"the data frame has no column {y!r}; its columns are {', '.join(names)}.")
        names.remove(y)
        y, frame = frame[y], frame[[name for name in frame.columns if str(name) in names]]
    if text := [str(name) for name in frame.select_dtypes(exclude=["number", "bool"]).columns]:
        raise ValueError(
            f"the columns {', '.join(text)} of the data frame do not hold numbers; encode them, as "
            "pandas.get_dummies does, or leave them out."
        )
    return replace(_of_arrays(frame.to_numpy(), y, seed, numbers), columns=tuple(names))


def _of_arrays(x: Any, y: Any, seed: int, numbers: int) -> Samples:
    x, y = _thin(x), labels_or_numbers(y)
    if x.ndim > 0 and y.ndim > 0 and len(x) != len(y):
        raise ValueError(f"x and y must have the same length, got {len(x)} and {len(y)} samples.")
    if x.ndim < 2 or y.ndim == 0 or 0 in x.shape or 0 in y.shape:
        Dataset(real("x", x), np.zeros(len(x) if x.ndim else 1) if y.dtype.kind not in "fiub" else y)
        raise ValueError(
            f"x must have one row per sample, got shape {x.shape}, and y one target, got {y.shape}."
        )
    total = len(x)
    notes: tuple[str, ...] = ()
    kept = max(1, numbers // max(1, x[0].size))
    if total > kept:
        chosen = _chosen(total, kept, seed)
        x, y = x[chosen], y[chosen]
        notes = (
            f"{kept:,} of the {total:,} samples, chosen at random (seed {seed}), are used: more do not fit.",
        )
    x = real("x", x)
    numeric = y if y.dtype.kind == "f" else np.zeros(1)
    for name, part in (("x", x), ("y", real("y", numeric))):
        largest = float(np.abs(part).max())
        if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
            side = "over" if largest > 1 else "under"
            raise ValueError(f"{name} has entries up to {largest:g}, whose squares {side}flow; rescale them.")
    shape = x.shape[1:] if x.ndim > 2 else None
    return Samples(x.reshape(len(x), -1), y, shape, notes=notes)


def _chosen(total: int, kept: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng([seed, 4]).choice(total, kept, replace=False))


def _thin(x: Any) -> np.ndarray:
    """The inputs as an array that may still be a file on disk or of another precision."""
    array = as_array("x", x)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"x must hold real numbers, got an array of dtype {array.dtype}; encode text as numbers."
        )
    return array


def labels_or_numbers(y: Any) -> np.ndarray:
    """Targets as an array of numbers, booleans or strings; objects and categories become strings."""
    array = np.asarray(y) if hasattr(y, "cat") or hasattr(y, "categories") else as_array("y", y)
    if array.dtype.kind == "O" and array.ndim > 0:
        plain = array.tolist()
        if any(item is None or item != item for item in plain):
            raise ValueError(
                "y must hold real numbers or labels, got missing values; remove these samples first."
            )
        text = any(isinstance(item, str) for item in plain)
        array = np.array([str(item) for item in plain] if text else plain)
    if array.dtype.kind in "ST" or str(array.dtype).startswith("Str"):
        array = array.astype(str)
    if array.dtype.kind not in "fiubU":
        raise ValueError(f"y must hold real numbers or labels, got an array of dtype {array.dtype}.")
    return array if array.dtype.kind != "f" else real("y", array)


def _of_loader(loader: Any, seed: int, numbers: int) -> Samples:
    """Samples of a PyTorch DataLoader: items of its dataset by index, else of the stream of its batches."""
    source = loader.dataset
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return _of_items(source, getattr(loader, "collate_fn", _stacked), seed, numbers)
    return _of_stream(iter(loader), seed, numbers)


def _of_items(source: Any, collate: Callable[[list[Any]], Any], seed: int, numbers: int) -> Samples:
    """Samples of a dataset whose items are pairs, chosen by index; its random state is left as it was."""
    total = len(source)
    if total == 0:
        raise ValueError("the dataset is empty.")
    with _random_state_kept():
        first, _ = _pair(collate([source[0]]))
        size = max(1, as_array("x", first).size)
        kept = min(total, max(1, numbers // size))
        order = _chosen(total, kept, seed) if kept < total else np.arange(total)
        batches = (order[i : i + 256] for i in range(0, kept, 256))
        xs, ys = zip(*(_arrays(collate([source[int(i)] for i in batch])) for batch in batches), strict=True)
    found = _of_arrays(np.concatenate(xs), np.concatenate(ys), seed, numbers)
    said = f"{kept:,} of the {total:,} samples of the dataset are used"
    return found if kept == total else replace(found, notes=(f"{said}, chosen at random (seed {seed}).",))


def _of_stream(batches: Iterator[Any], seed: int, numbers: int) -> Samples:
    """Samples of an iterable of batches (x, y): all of them, or a random choice of those that were read."""
    rng, begun = np.random.default_rng([seed, 4]), next(batches, None)
    if begun is None:
        raise ValueError("the iterable of batches (x, y) is empty.")
    x, y = _arrays(begun)
    kept = max(1, numbers // max(1, x[0].size))
    keys = rng.random(len(x))
    read = len(x)
    ended = True
    for batch in batches:
        more_x, more_y = _arrays(batch)
        x, y = np.concatenate([x, more_x]), np.concatenate([y, more_y])
        keys, read = np.concatenate([keys, rng.random(len(more_x))]), read + len(more_x)
        if len(x) > 2 * kept:
            x, y, keys = _smallest(kept, keys, x, y)
        if read >= _STREAMED * kept:
            ended = False
            break
    if len(x) > kept:
        x, y, keys = _smallest(kept, keys, x, y)
    found = _of_arrays(x, y, seed, numbers)
    if len(x) == read and ended:
        return found
    said = f"{len(x):,} of the {'' if ended else 'first '}{read:,} samples of the loader are used"
    return replace(found, notes=(f"{said}, chosen at random (seed {seed}).",))


def _smallest(kept: int, keys: np.ndarray, *arrays: np.ndarray) -> Any:
    """The rows with the smallest keys: a sample of the stream in which every row is as likely."""
    chosen = np.sort(np.argpartition(keys, kept - 1)[:kept])
    return (*(array[chosen] for array in arrays), keys[chosen])


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, dict):
        raise ValueError(
            f"an item of the data is a dict with the keys {', '.join(map(str, item))}; pass items (x, y)."
        )
    if not isinstance(item, Sequence | tuple) or isinstance(item, str) or len(item) != 2:
        raise ValueError(f"an item of the data must be a pair (x, y), got a {type(item).__name__}.")
    return item[0], item[1]


def _arrays(batch: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = _pair(batch)
    return _thin(x), labels_or_numbers(y)


def _stacked(items: list[Any]) -> tuple[Any, Any]:
    """A batch of items (x, y) without a loader that would make it."""
    pairs = [_pair(item) for item in items]
    xs = [as_array("x", x) for x, _ in pairs]
    return np.stack(xs), [y.item() if getattr(y, "ndim", 1) == 0 else y for _, y in pairs]


@contextmanager
def _random_state_kept() -> Iterator[None]:
    """A context in which the random generators of PyTorch and NumPy may be used, and are then as before."""
    torch = sys.modules.get("torch")
    state = np.random.get_state()  # noqa: NPY002 - the dataset's transformations may use it
    try:
        with nullcontext() if torch is None else torch.random.fork_rng():
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
