"""Files that are written whole or not at all, and places that can be written."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hornboost.errors import ModelError
from hornboost.stopping import holding

if sys.platform != "win32":
    import fcntl

_SUFFIX = ".tmp"


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one; devices and pipes are written directly."""
    place = Path(os.path.realpath(path))
    try:
        if _is_device(place):
            with place.open("wb") as device:
                device.write(content)
        else:
            with holding():
                _replace(place, content)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def check_writable(path: str | Path) -> None:
    """Refuse a place that `write_whole` could not write, before the work that leads to it begins."""
    place = Path(os.path.realpath(path))
    try:
        if place.is_dir():
            raise ModelError(f"{path}: this is a folder; name the file to write")
        if not place.parent.is_dir():
            raise ModelError(f"{path}: there is no folder '{place.parent}'; make it first")
        if _is_device(place):
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            tempfile.TemporaryFile(dir=place.parent).close()
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise _unwritable(path, error) from None


def _is_device(place: Path) -> bool:
    return place.exists() and not stat.S_ISREG(place.stat().st_mode)


def _replace(place: Path, content: bytes) -> None:
    _sweep(place)
    handle, temporary = _temporary(place)
    file = os.fdopen(handle, "wb")
    try:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if sys.platform == "win32":
            file.close()  # open, it cannot be renamed; elsewhere it stays locked until it has its own name
        os.chmod(temporary, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        file.close()
        os.unlink(temporary)
        raise
    file.close()
    _keep_names(place.parent)


def _temporary(place: Path) -> tuple[int, str]:
    """A new file beside a place, with a lock that ends with this process, however that ends."""
    while True:
        handle, temporary = tempfile.mkstemp(prefix=_prefix(place), suffix=_SUFFIX, dir=place.parent)
        _lock(handle)
        if os.path.exists(temporary):  # or another process found it before it was locked, and took it for a stray one
            return handle, temporary
        os.close(handle)


def _sweep(place: Path) -> None:
    """Remove what processes that were killed while they wrote to this place have left beside it."""
    for name in os.listdir(place.parent):
        if not (name.startswith(_prefix(place)) and name.endswith(_SUFFIX)):
            continue
        stray = place.parent / name
        try:
            handle = os.open(stray, os.O_RDWR)
        except OSError:
            continue  # gone by now, or another user's
        try:
            if _lock(handle):
                os.unlink(stray)
        finally:
            os.close(handle)


def _prefix(place: Path) -> str:
    return f".{place.name[:100]}."


def _lock(handle: int) -> bool:
    """Take the lock of a file, if there are locks here and nobody has it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _keep_names(folder: Path) -> None:
    """Have a folder's names on the disk, where it can be, so that the new file is there if the machine goes down."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritable(path: str | Path, error: Exception) -> ModelError:
    reason = getattr(error, "strerror", None) or error
    return ModelError(f"{path}: the file cannot be written ({reason}); choose another place")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
