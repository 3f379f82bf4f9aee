"""How much memory a process may use: what the user says, or a share of what the machine or its container has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from hornboost.errors import DataError

SHARE = 0.8
"""The part of the memory at hand that a fit may use where nothing else is said."""

PYTHON = 500 << 20
"""Bytes that a process takes with all that it imports and compiles."""

UNITS = {"B": 1} | {
    f"{prefix}{unit}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for unit, base in (("B", 1000), ("iB", 1024))
}

_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?i?B?)\s*", re.IGNORECASE)
ROOT = Path("/sys/fs/cgroup")


def bytes_of(limit: int | str | None, name: str = "memory_limit") -> int:
    """A limit in bytes; None is a share of the memory at hand.

    >>> bytes_of("4GB"), bytes_of("512 MiB"), bytes_of(1000), bytes_of("0.5 gb")
    (4000000000, 536870912, 1000, 500000000)
    """
    if limit is None:
        return _usual()
    if isinstance(limit, str):
        found = _TEXT.fullmatch(limit)
        unit = "" if found is None else found[2].upper().removesuffix("B").replace("I", "i") + "B"
        if found is None or unit not in UNITS:
            raise DataError(f"{name}: '{limit}' is no amount of memory; write for example 4GB, 512MiB, or bytes")
        limit = int(float(found[1]) * UNITS[unit])
    if limit < 1:
        raise DataError(f"{name}: there is no work without memory; give more than {limit} bytes")
    return int(limit)


@cache
def _usual() -> int:
    """A share of the memory at hand, which is looked up once a process."""
    return int(SHARE * memory_at_hand())


def memory_at_hand() -> int:
    """The bytes that the machine has, or the container that the process runs in; very many where nobody knows."""
    found = [1 << 62]
    with suppress(AttributeError, OSError, ValueError):  # there is none on Windows
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for place in _control_groups():
        try:
            text = place.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():  # "max" is no limit
            found.append(int(text))
    return min(found)


def _control_groups() -> Iterator[Path]:
    """The files that may limit the process's memory: those of its groups and of all groups above them."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            root, file = (ROOT, "memory.max") if not controllers else (ROOT / "memory", "memory.limit_in_bytes")
            inner = PurePosixPath(path.lstrip("/"))
            yield from (root / group / file for group in (inner, *inner.parents))


def bytes_text(count: float) -> str:
    """An amount of memory as people say it.

    >>> bytes_text(999), bytes_text(5_600_000_000), bytes_text(123_000)
    ('999 B', '5.6 GB', '123.0 KB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
