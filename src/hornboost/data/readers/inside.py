"""Files that a file names.

They stay inside the source's folder, so that data from others cannot have any file of the machine read.
"""

from __future__ import annotations

from pathlib import Path

from hornboost.errors import DataError


def inside(folder: Path, name: str, place: str, allow_outside: bool = False) -> Path:
    """The file that `place` names, relative to a folder; links are followed before it is asked where it lies."""
    try:
        path = folder / name
        path.exists()  # raises for a name that is too long
        found, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError):
        raise DataError(f"{place}: {name[:80]!r} is no name of a file; correct it") from None
    if not name or found == root:
        raise DataError(f"{place}: {name!r} names the folder itself; name a file in it")
    if not allow_outside and not found.is_relative_to(root):
        way_out = "move it there, or allow it with allow_outside=True (--allow-outside)"
        raise DataError(f"{place}: '{name}' lies outside the folder '{folder.name}'; {way_out}")
    return path
