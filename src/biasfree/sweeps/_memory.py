"""Memory of this machine and of processes, where the system tells: on Linux."""

from __future__ import annotations

import os
from pathlib import Path

_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: Files with the limit and the use of a group of processes, of version 2 and 1 of control groups.
_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def available() -> int | None:
    """Bytes that processes can still take: of the machine, or of the container or job if that is less."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return None
    lines = dict(line.split(":", 1) for line in info.read_text().splitlines())
    found = int(lines["MemAvailable"].split()[0]) * 1024
    for folder in _groups():
        for limit, used in _FILES:
            if (most := _number(folder / limit)) is not None and (now := _number(folder / used)) is not None:
                found = min(found, max(most - now, 0))
    return found


def _groups() -> list[Path]:
    """The control groups that this process is in, from its own to the outermost."""
    lines = _OWN.read_text().splitlines() if _OWN.exists() else []
    found = [_GROUPS, _GROUPS / "memory"]
    for line in lines:
        _, kinds, inside = line.split(":", 2)
        root = _GROUPS / "memory" if "memory" in kinds.split(",") else _GROUPS
        parts = Path(inside.lstrip("/")).parts
        found += [root.joinpath(*parts[:n]) for n in range(len(parts), 0, -1)]
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process has; 0 if the system does not tell or the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def shown(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
