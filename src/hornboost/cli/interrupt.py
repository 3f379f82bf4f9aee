"""Ctrl-C on the command line: it ends the command, whatever it interrupts and whatever that makes of it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

AGAIN = 0.05
"""Seconds after which a Ctrl-C is raised again that came where nothing can be raised."""


@dataclass(eq=False)
class CtrlC:
    """Whether Ctrl-C was pressed: then any error is one of the work that it broke off."""

    pressed: bool = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        raise KeyboardInterrupt

    def handle_unraisable(self, lost: Any) -> None:
        """Called for an error in a destructor or a callback from compiled code, which is dropped; Ctrl-C must not be."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            threading.Timer(AGAIN, signal.raise_signal, [signal.SIGINT]).start()
        elif not self.pressed:
            sys.__unraisablehook__(lost)


@contextmanager
def ctrl_c() -> Iterator[CtrlC]:
    """Watch Ctrl-C, unless the process was started to ignore it."""
    watched = CtrlC()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield watched
        return
    before = sys.unraisablehook
    signal.signal(signal.SIGINT, watched.handle)
    sys.unraisablehook = watched.handle_unraisable
    try:
        yield watched
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = before
