"""Samples from files: `.csv` with a column of labels, `.npz`, and folders of images."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from biasfree.arrays import affordable
from biasfree.data import read_columns
from biasfree.files import existing_file, load_npz

#: Images with two values or a palette are converted; those of other kinds hold other numbers than 0 to 255.
_CONVERTED = {"1": "L", "P": "RGB", "PA": "RGBA"}
_LARGEST = {**dict.fromkeys(("L", "LA", "RGB", "RGBA", "CMYK"), 255), "I;16": 65535}
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")


def read(path: Path, target: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a file or a folder; `target` names the column y of a `.csv` file, by default the last."""
    if target is not None and not isinstance(target, str):
        raise ValueError(f"y must be the name of a column of {path}, got a {type(target).__name__}.")
    if path.is_dir():
        return _folder(path)
    path = existing_file(path)
    kind = path.suffix.lower()
    if kind not in (".npz", ".csv"):
        raise ValueError(f"cannot read {path}: it must be a .npz or a .csv file, or a folder of images.")
    if kind == ".csv":
        return read_columns(path, target)
    if target is not None:
        raise ValueError(f"a target names a column of a .csv file, but {path} is a .npz file; leave it out.")
    arrays = load_npz(path, needs=("x", "y"))
    return arrays["x"], arrays["y"]


def _folder(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images in one folder per class, as numbers from 0 to 1, and the names of their folders."""
    files = sorted(
        file for folder in path.iterdir() if folder.is_dir() for file in folder.iterdir()
        if file.suffix.lower() in _IMAGES
    )  # fmt: skip
    if not files:
        raise ValueError(
            f"{path} has no images in folders, one per class; put them into {path}/CLASS/NAME.png."
        )
    images = [_pixels(files[0])]
    affordable(f"the {len(files)} images of {path}", len(files) * images[0].size)
    for file in files[1:]:
        images.append(_pixels(file))
        if images[-1].shape != images[0].shape:
            raise ValueError(
                f"all images must have one size, got {images[0].shape} for {files[0]} and "
                f"{images[-1].shape} for {file}; resize them."
            )
    x = np.stack(images)
    channels_first = np.moveaxis(x, -1, 1) if x.ndim == 4 else x[:, None]
    return channels_first, np.array([file.parent.name for file in files])


def _pixels(file: Path) -> np.ndarray:
    """An image as numbers from 0 to 1: (rows, columns), with colors (rows, columns, channels)."""
    try:
        from PIL import Image
    except ImportError:
        raise ValueError(f"reading {file} needs Pillow; install it with pip install pillow.") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as opened:
                image = opened.convert(_CONVERTED[opened.mode]) if opened.mode in _CONVERTED else opened
                pixels = np.asarray(image)
    except Exception as error:  # Pillow raises anything for damaged files, and for too many pixels
        reason = str(error).rstrip(".")
        raise ValueError(f"{file} is no image that can be read: {reason}; replace or remove it.") from None
    if image.mode not in _LARGEST:
        raise ValueError(f"{file} is an image of mode {image.mode}; save it as gray, RGB or RGBA.")
    return pixels / _LARGEST[image.mode]
