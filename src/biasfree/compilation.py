"""Cache of compiled programs on disk: the next process need not compile them again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Seconds of compilation from which on a program is worth a file, of about ten kilobytes.
_SECONDS = 0.2


def cache_compilation(folder: str | os.PathLike[str] | None = None) -> Path:
    """Store JAX's compiled programs in `folder` and load them, in this process and those it starts.

    The default is the folder that JAX_COMPILATION_CACHE_DIR names, or `biasfree` in the user's cache folder.
    JAX has one such folder per process, which a caller's own JAX programs would share, so the package never
    sets it by itself; the command `biasfree` does. Only `optimize` compiles with JAX; flows and descents are
    native programs that Numba stores. Returns the folder.
    """
    chosen = folder or os.environ.get("JAX_COMPILATION_CACHE_DIR") or _default()
    path = Path(chosen).expanduser().resolve()
    path.mkdir(parents=True, exist_ok=True)
    settings = {
        "jax_compilation_cache_dir": str(path),
        "jax_persistent_cache_min_compile_time_secs": _SECONDS,
        "jax_persistent_cache_min_entry_size_bytes": 0,
    }
    os.environ.update({name.upper(): str(value) for name, value in settings.items()})
    # XLA lists preferences of its compiler among the features of a CPU, and logs for every program loaded
    # from disk that the host lacks them. Real failures are raised all the same.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "jax" in sys.modules:  # JAX has read its environment already
        for name, value in settings.items():
            sys.modules["jax"].config.update(name, value)
    return path


def _default() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "biasfree"
