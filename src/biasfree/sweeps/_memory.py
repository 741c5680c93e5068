"""Memory of this machine and of processes, where the system tells: on Linux."""

from __future__ import annotations

import os
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_USED = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def available() -> int | None:
    """Bytes that processes can still take: of the machine, or of the container if that is less."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return None
    lines = dict(line.split(":", 1) for line in info.read_text().splitlines())
    found = int(lines["MemAvailable"].split()[0]) * 1024
    for limit, used in zip(_LIMITS, _USED, strict=True):
        if (most := _number(limit)) is not None and (now := _number(used)) is not None:
            found = min(found, max(most - now, 0))
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


def _number(path: str) -> int | None:
    try:
        text = Path(path).read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
