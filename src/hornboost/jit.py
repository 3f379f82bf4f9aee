"""How kernels are compiled: on first use, without the interpreter lock, off the clock, kept on disk, and logged."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

from hornboost.stopping import off_the_clock

Function = TypeVar("Function", bound=Callable[..., Any])
_COMMON: dict[str, Any] = {"nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}
# a call would hand over a dozen numbers for each array: made part of its caller, a function in a loop is several times
# as fast
_INNER: dict[str, Any] = {**_COMMON, "no_cpython_wrapper": True, "forceinline": True}


def jit(function: Function) -> Function:
    """Compile a kernel on first use and keep the machine code on disk; the first compilation of a process is logged.

    No entry for calls from C is made: nobody calls, and it is a tenth of the time of compiling.
    """
    return _kept(function, _COMMON)


def scalar(function: Function) -> Function:
    """Compile a function of numbers that Python calls in loops, and kernels of several files.

    Giving the interpreter lock away would cost more than the function.
    """
    found = _kept(function, {**_COMMON, "nogil": False})
    _shared[id(found)] = _files(function)
    return found


def _kept(function: Function, options: dict[str, Any]) -> Function:
    kernel = numba.njit(**options, cache=True)(function)
    if hasattr(kernel, "_cache"):  # not where NUMBA_DISABLE_JIT leaves the function as it is
        kernel._cache = _Cache(function)
        kernel.compile = off_the_clock()(kernel.compile)
    return cast(Function, kernel)


def inner(function: Function) -> Function:
    """Compile a function that only kernels of the same file call.

    It needs no entry from Python, and is kept with its callers.
    """
    return cast(Function, numba.njit(**_INNER)(function))


def shared(function: Function) -> Function:
    """Compile a function that kernels of several files call."""
    found = inner(function)
    _shared[id(found)] = _files(function)
    return found


_shared: dict[int, frozenset[str]] = {}
"""The files of each function that kernels of other files call: its own, and those of the functions that it shares."""


def _files(function: Any) -> frozenset[str]:
    shared_ones = [_shared[id(value)] for value in function.__globals__.values() if id(value) in _shared]
    return frozenset({function.__code__.co_filename}).union(*shared_ones)


class _Cache(FunctionCache):
    """Machine code on disk that is made anew where it cannot be read,
    and where the file of a function that it shares has changed.

    Numba reads the index of a kernel before it looks whether it is fresh. One that another version left may name types
    that are gone, and one that was cut short ends too early. Whether it is fresh, numba asks of the kernel's own file
    alone.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        stats = [os.stat(file) for file in sorted(_files(function) - {function.__code__.co_filename})]
        if stats and hasattr(self._cache_file, "_source_stamp"):
            self._cache_file._source_stamp = (
                self._cache_file._source_stamp,
                *((stat.st_mtime, stat.st_size) for stat in stats),
            )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except (AttributeError, EOFError, ImportError, IndexError, KeyError, TypeError, ValueError, UnpicklingError):
            self.flush()  # type: ignore[no-untyped-call]
            found = None
        if found is None:
            _log_once(
                "compiling what is used for the first time, which no time limit counts; later runs load it from disk"
            )
        return found


_logged: set[str] = set()
_logging = threading.Lock()


def _log_once(message: str) -> None:
    """A library prints nothing: the command line shows what is logged.

    Threads compile at the same time, and one of them tells of it.
    """
    with _logging:
        is_new = message not in _logged
        _logged.add(message)
    if is_new:
        logging.getLogger("hornboost").info(message)
