"""When work ends before it is done.

Ctrl-C and time limits, both seen at safe points in Python and never inside a kernel.

A signal that raises while compiled code runs on the main thread breaks that call, so here it only leaves a note, which
waits for the next `check()` between two kernels. The `fit` of an estimator is one `fitting(time_limit)`, its search one
`learning()`:

    with fitting(time_limit):
        with learning() as ending:
            for t in range(rounds):
                check()
                ...
        ...  # make a model of what was learned; nothing stops this part

Within `learning()` a check that finds time run out or Ctrl-C pressed raises `Stopped`, which ends that block and
nothing else; `ending.reason` says why. `fitting` raises KeyboardInterrupt for a Ctrl-C only when it is left, with the
model in place.

The time that limits count stands still in `off_the_clock()`, which is there for the compiler: nothing can end its work.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

PATIENCE = 1.0
"""Seconds after which another Ctrl-C no longer waits for a safe point."""

INTERRUPTED = "interrupted"
OUT_OF_TIME = "the time limit was reached"
NONE_BETTER = "on held-out examples no rule was better than none"


class Stopped(BaseException):
    """Raised at a safe point. Not an `Exception`, so that nothing but `learning()` takes it for an error."""


class _CtrlC:
    """The handler of SIGINT while work is done that must not be broken off.

    There is one, as there is one main thread.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.pressed: float | None = None
        self.forced = False
        self.before: Any = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.pressed is None:
            self.pressed = now
        elif now - self.pressed > PATIENCE:
            self.forced = True
            raise KeyboardInterrupt

    def install(self) -> None:
        self.depth += 1
        if self.depth == 1:
            self.pressed, self.forced = None, False
            self.before = signal.getsignal(signal.SIGINT)
            if callable(self.before):  # a process that ignores Ctrl-C goes on ignoring it
                signal.signal(signal.SIGINT, self)

    def remove(self) -> None:
        self.depth -= 1
        if self.depth == 0 and callable(self.before):
            signal.signal(signal.SIGINT, self.before)

    def deliver(self) -> None:
        """Raise KeyboardInterrupt for a Ctrl-C that has waited; who had another handler installed hears of it first."""
        self.pressed = None
        if callable(self.before) and self.before is not signal.default_int_handler:
            self.before(signal.SIGINT, None)
        raise KeyboardInterrupt


_ctrl_c = _CtrlC()


@contextmanager
def holding() -> Iterator[None]:
    """Let Ctrl-C wait until this block is left, and the outermost of such blocks, and raise KeyboardInterrupt then.

    Outside of the main thread it does nothing.

    Pressed again a second later, Ctrl-C waits no longer; whatever a broken call makes of it comes out as
    KeyboardInterrupt too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _ctrl_c.install()
    try:
        yield
    except BaseException as error:
        if _ctrl_c.forced and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    finally:
        _ctrl_c.remove()
    if _ctrl_c.pressed is not None and _ctrl_c.depth == 0:
        _ctrl_c.deliver()


class _Clock:
    """The time that limits count: without what was done off the clock, in whichever thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth = 0
        self.stood_still_at = 0.0
        self.lost = 0.0

    def now(self) -> float:
        with self.lock:
            return (self.stood_still_at if self.depth else time.monotonic()) - self.lost

    def stop(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.stood_still_at = time.monotonic()

    def start(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.lost += time.monotonic() - self.stood_still_at


_clock = _Clock()


def now() -> float:
    """Seconds of the clock that limits count by."""
    return _clock.now()


@contextmanager
def off_the_clock() -> Iterator[None]:
    """Work that no time limit counts, because it is done once and cannot be ended: compiling and loading kernels."""
    _clock.stop()
    try:
        yield
    finally:
        _clock.start()


@dataclass(eq=False)
class Fit:
    """A fit under way: when its time ends, whether it was interrupted, and whether checks may end something now."""

    deadline: float
    hears_ctrl_c: bool
    interrupted: bool = False
    is_learning: bool = False
    is_timed: bool = True

    def reason(self) -> str | None:
        """Why the work should end now, if it should."""
        if self.interrupted or (self.hears_ctrl_c and _ctrl_c.pressed is not None):
            return INTERRUPTED
        if self.deadline == math.inf or not self.is_timed:
            return None
        return OUT_OF_TIME if now() >= self.deadline else None


@dataclass(eq=False)
class Ending:
    """How a search ended: `reason` is None where it ran to its end."""

    reason: str | None = None


_current: ContextVar[Fit | None] = ContextVar("fit", default=None)


@contextmanager
def fitting(time_limit: float | None = None) -> Iterator[None]:
    """A fit whose search ends after `time_limit` seconds or on Ctrl-C,
    which is raised as KeyboardInterrupt at the end of the fit.

    A fit within another one has no more time than that.
    """
    outer = _current.get()
    deadline = math.inf if time_limit is None else now() + time_limit
    if outer is not None and outer.is_timed:
        deadline = min(deadline, outer.deadline)
    fit = Fit(deadline, threading.current_thread() is threading.main_thread())
    with holding():
        token = _current.set(fit)
        try:
            yield
        finally:
            _current.reset(token)
    if fit.interrupted:
        raise KeyboardInterrupt


@contextmanager
def learning() -> Iterator[Ending]:
    """The part of a fit that may end early.

    `Stopped`, or a KeyboardInterrupt of a callback, ends this block and is told as its reason.
    """
    fit, ending = _current.get(), Ending()
    if fit is None:
        yield ending
        return
    was_learning, fit.is_learning = fit.is_learning, True
    try:
        yield ending
    except Stopped as stop:
        ending.reason = str(stop)
    except KeyboardInterrupt:
        if _ctrl_c.forced:
            raise
        ending.reason = INTERRUPTED
    finally:
        fit.is_learning = was_learning
    fit.interrupted |= ending.reason == INTERRUPTED


@contextmanager
def in_part_of_the_time(share: float) -> Iterator[None]:
    """Work that may take this share of the time that is left, because other work follows."""
    fit = _current.get()
    if fit is None or math.isinf(fit.deadline):
        yield
        return
    deadline, started = fit.deadline, now()
    fit.deadline = started + share * max(deadline - started, 0.0)
    try:
        yield
    finally:
        fit.deadline = deadline


@contextmanager
def untimed() -> Iterator[None]:
    """Work that is known to end soon and must be whole: only Ctrl-C ends it."""
    fit = _current.get()
    if fit is None:
        yield
        return
    was_timed, fit.is_timed = fit.is_timed, False
    try:
        yield
    finally:
        fit.is_timed = was_timed


@contextmanager
def unstopped() -> Iterator[None]:
    """The short part of a round that must not be done by half: nothing ends it."""
    fit = _current.get()
    if fit is None:
        yield
        return
    was_learning, fit.is_learning = fit.is_learning, False
    try:
        yield
    finally:
        fit.is_learning = was_learning


@contextmanager
def working() -> Iterator[None]:
    """Work that leaves nothing to keep: Ctrl-C waits for the next check and is raised as KeyboardInterrupt then."""
    if _current.get() is not None:
        yield
        return
    with fitting(), learning():
        yield


def check() -> None:
    """A safe point: raises `Stopped` where the search around it has to end, and does nothing elsewhere."""
    fit = _current.get()
    if fit is None or not fit.is_learning:
        return
    if fit.interrupted or fit.deadline < math.inf or _ctrl_c.pressed is not None:  # else there is nothing to ask
        reason = fit.reason()
        if reason is not None:
            raise Stopped(reason)


def is_due() -> bool:
    """Whether the search around has to end, for loops that end in their own way."""
    fit = _current.get()
    return fit is not None and fit.is_learning and fit.reason() is not None
