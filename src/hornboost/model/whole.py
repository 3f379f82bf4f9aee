"""Files that are written whole or not at all, and places that can be written."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from hornboost.errors import ModelError
from hornboost.stopping import holding


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
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name[:100]}.", suffix=".tmp", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise


def _unwritable(path: str | Path, error: Exception) -> ModelError:
    reason = getattr(error, "strerror", None) or error
    return ModelError(f"{path}: the file cannot be written ({reason}); choose another place")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
