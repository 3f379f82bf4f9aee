"""The scalar functions compiled, for other kernels to call, and loops over arrays of them.

A kernel that calls these is compiled again when its own file changes, not when `scalars` does: who edits that file
empties numba's cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from hornboost.exact import scalars

Floats = NDArray[np.float64]

_COMMON: dict[str, Any] = {"nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_COMMON, "no_cpython_wrapper": True}
_LOOP: dict[str, Any] = {**_COMMON, "cache": True}
_inner, _loop = numba.njit(**_INNER), numba.njit(**_LOOP)

log = _inner(scalars.log)
exp = _inner(scalars.exp)
_one_plus = _inner(scalars.one_plus)


@_inner
def log1p(x: float) -> Any:
    """ln(1 + x)."""
    u, lost = _one_plus(x)
    return log(u) + lost


@_loop
def logs(x: Floats, out: Floats) -> None:
    """The logarithm of each number."""
    for i in range(x.size):
        out[i] = log(x[i])


@_loop
def log1ps(x: Floats, out: Floats) -> None:
    """ln(1 + x) of each number."""
    for i in range(x.size):
        out[i] = log1p(x[i])


@_loop
def exps(x: Floats, out: Floats) -> None:
    """The exponential of each number."""
    for i in range(x.size):
        out[i] = exp(x[i])
