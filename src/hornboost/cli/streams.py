"""The standard streams as a user may have left them: closed, or in an encoding that lacks characters."""

from __future__ import annotations

import errno
import io
import os
import sys


class _Closed(io.TextIOBase):
    """A standard output that was closed: what must be printed is an error, since nobody would see it."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed; open it or write a file with --output", "standard output")
        return 0


def prepare() -> None:
    """Make every stream one that can be written to, and its encoding one that never raises."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, so that no file of ours becomes a standard stream
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 — for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
