"""Ctrl-C and SIGTERM: they end a command, whatever they interrupt and whatever that makes of it."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

AGAIN = 0.05
"""Seconds after which a Ctrl-C is raised again that came where nothing can be raised."""


class _Interrupt:
    """Whether Ctrl-C was pressed: then any error is one of the work that it broke off."""

    def __init__(self) -> None:
        self.pressed = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        raise KeyboardInterrupt

    def handle_unraisable(self, lost: Any) -> None:
        """Called for an error in a destructor or a callback from compiled code,
        which is dropped; Ctrl-C must not be.
        """
        if isinstance(lost.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN, signal.raise_signal, [signal.SIGINT]).start()
        elif not self.pressed:
            sys.__unraisablehook__(lost)


_ctrl_c = _Interrupt()


def was_pressed() -> bool:
    """Whether Ctrl-C was pressed since the command began."""
    return _ctrl_c.pressed


@cache
def _ignore_at_exit() -> None:
    """Let a Ctrl-C that comes when the work is done change nothing: the interpreter would die of it while it closes."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Exit with 130 on Ctrl-C, unless the process was started to ignore it."""
    _ctrl_c.pressed = False
    is_ours = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
        and threading.current_thread() is threading.main_thread()
    )
    before = sys.unraisablehook
    if is_ours:
        _ignore_at_exit()
        signal.signal(signal.SIGINT, _ctrl_c.handle)
        sys.unraisablehook = _ctrl_c.handle_unraisable
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:
        if _ctrl_c.pressed:  # what a broken call made of it
            sys.exit(130)
        raise
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = before


@contextmanager
def tidy_on_sigterm() -> Iterator[None]:
    """Leave a block by an exit on SIGTERM, as batch systems send it, so that what it made for a while is removed."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    code = 128 + signal.SIGTERM
    was_sent = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal was_sent
        was_sent = True
        sys.exit(code)

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    except Exception:
        if was_sent:  # what a broken call made of it
            sys.exit(code)
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
