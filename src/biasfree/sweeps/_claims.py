"""Claims: which process is computing a call, so that no two do the same work.

A process that computes has a file in owners/, locked and touched every few seconds while it lives. A claim is
a symbolic link in claims/, which is made in one step; its target names the owner, in less than 60 characters:
longer ones need a block on disk, and milliseconds to be removed. It is void once its owner is dead: on the
same machine as soon as the lock is free, elsewhere when the file has not been touched for `LEASE` seconds, by
the clock of the file system. A void claim that is taken over twice wastes time and corrupts nothing: results
are the same, and files are replaced whole.
"""

from __future__ import annotations

import errno
import os
import platform
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from biasfree.files import try_lock

#: Seconds between two signs of life, and without one until the claims of another machine are void.
BEAT, LEASE = 10.0, 120.0
#: Errors of file systems without symbolic links, on which calls cannot be claimed.
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@dataclass(frozen=True)
class Claim:
    """The process that computes a call, and the run that it works for."""

    owner: str
    run: str


class Owner:
    """This process as one that computes calls of a store; `run` names the run it works for."""

    def __init__(self, folder: Path, run: str):
        self._folder, self._run = folder, run
        self._id = f"{os.getpid()}-{uuid.uuid4().hex[:16]}"
        self._file = folder / "owners" / self._id
        self._handle = os.open(self._file, os.O_CREAT | os.O_RDWR, 0o666)
        try_lock(self._handle)
        os.write(self._handle, machine().encode())
        self._ended = threading.Event()
        threading.Thread(target=self._live, daemon=True).start()

    def claim(self, name: str) -> bool:
        """Claim a call; False if another living process has it."""
        path = self._folder / "claims" / name
        for _ in range(2):
            try:
                os.symlink(f"{self._id} {self._run}", path)
            except FileExistsError:
                if not self._is_void(path):
                    return False
                self._remove(path)
            except OSError as error:
                return error.errno in _NO_LINKS or _raised(error)
            else:
                return True
        return False

    def release(self, name: str) -> None:
        """Give a claim back."""
        (self._folder / "claims" / name).unlink(missing_ok=True)

    def end(self) -> None:
        """Stop living."""
        self._ended.set()
        self._file.unlink(missing_ok=True)
        os.close(self._handle)

    def _live(self) -> None:
        while not self._ended.wait(BEAT):
            with suppress(OSError):
                os.utime(self._file)

    def _is_void(self, path: Path) -> bool:
        claim = _read(path)
        if claim is None:  # just released
            return False
        if claim.run == self._run and claim.owner != self._id:
            return True  # a run computes a call in one process at a time, so the other one has died
        return is_dead(self._folder, claim, now=_now(self._folder))

    def _remove(self, path: Path) -> None:
        """Remove a void claim: of several processes that try, one moves it away."""
        aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        with suppress(FileNotFoundError):
            os.rename(path, aside)
            aside.unlink(missing_ok=True)


def is_dead(folder: Path, claim: Claim, *, now: float) -> bool:
    """Whether the owner of a claim has ended."""
    path = folder / "owners" / claim.owner
    try:
        if path.read_text() == machine():
            free = _is_free(path)
            if free is not None:
                return free
        return now - path.stat().st_mtime > LEASE
    except FileNotFoundError:
        return True


def claims(folder: Path) -> dict[str, Claim]:
    """The claims in a store by the name of the call, of the living and the dead."""
    place = folder / "claims"
    found = {name: _read(place / name) for name in (os.listdir(place) if place.is_dir() else ())}
    return {name: claim for name, claim in found.items() if claim is not None}


def at_work(folder: Path) -> int:
    """The number of living processes that compute calls of a store."""
    found = {claim.owner: claim for claim in claims(folder).values()}
    return sum(not is_dead(folder, claim, now=time.time()) for claim in found.values())


def tidy(folder: Path) -> None:
    """Remove what dead processes of this machine left: claims, owners and unfinished files."""
    now = _now(folder)
    for name, claim in claims(folder).items():
        if is_dead(folder, claim, now=now):
            (folder / "claims" / name).unlink(missing_ok=True)
    for path in (folder / "owners").glob("*"):
        with suppress(FileNotFoundError):
            if now - path.stat().st_mtime > LEASE and _is_free(path) is not False:
                path.unlink(missing_ok=True)
    for path in (folder / "partial").glob("*"):
        with suppress(FileNotFoundError):
            if now - path.stat().st_mtime > LEASE:
                path.unlink(missing_ok=True)


@cache
def machine() -> str:
    """A name of this machine that no other one has, until it is started again."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{platform.node()} {boot.read_text().strip() if boot.exists() else uuid.getnode()}"


def _is_free(path: Path) -> bool | None:
    """Whether nobody holds the lock of a file; None if locks are not supported."""
    try:
        handle = os.open(path, os.O_RDWR)  # some network file systems lock only what is open for writing
    except FileNotFoundError:
        raise
    except OSError:  # not ours, or read-only
        handle = os.open(path, os.O_RDONLY)
    try:
        return try_lock(handle)
    finally:
        os.close(handle)


def _read(path: Path) -> Claim | None:
    try:
        owner, _, run = os.readlink(path).partition(" ")
    except OSError:  # released meanwhile
        return None
    return Claim(owner, run)


def _raised(error: OSError) -> bool:
    raise error


def _now(folder: Path) -> float:
    """The time by the clock of the file system, which machines share."""
    probe = folder / "partial" / f"now-{os.getpid()}-{threading.get_ident()}"
    probe.touch()
    now = probe.stat().st_mtime
    probe.unlink(missing_ok=True)
    return now
