"""The scalar functions compiled, for other kernels to call, and loops over arrays of them.

A kernel that calls these is compiled again when its own file changes, not when `scalars` does: who edits that file
empties numba's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from hornboost.exact import scalars
from hornboost.stopping import off_the_clock

Floats = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[[float], float])

_COMMON: dict[str, Any] = {"nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_COMMON, "no_cpython_wrapper": True}
_LOOP: dict[str, Any] = {**_COMMON, "cache": True}
_CALLED: dict[str, Any] = {"boundscheck": False, "no_cfunc_wrapper": True, "cache": True}
_inner = numba.njit(**_INNER)


def _loop(function: Any) -> Any:
    return _entered(numba.njit(**_LOOP)(function))


def _called(function: Function) -> Function:
    """A function of one number that Python calls in loops, too; giving the interpreter lock away would cost more than
    it.
    """
    return cast(Function, _entered(numba.njit(**_CALLED)(function)))


def _entered(kernel: Any) -> Any:
    if hasattr(kernel, "compile"):
        kernel.compile = off_the_clock()(kernel.compile)
    return kernel


_EXPONENT = 52
_BIAS = 1023
_BITS_OF_SQRT_HALF = int(np.float64(scalars.SQRT_HALF).view(np.int64))
_SMALLEST_NORMAL = 2.0**-1022
_NORMALISING = 54
_PER_LN2, _EXP_OVERFLOWS, _EXP_VANISHES = scalars.PER_LN2, scalars.EXP_OVERFLOWS, scalars.EXP_VANISHES

_log_of_parts: Callable[[float, float], float] = _inner(scalars.log_of_parts)
_exp_without: Callable[[float, Any], float] = _inner(scalars.exp_without)
_one_plus = _inner(scalars.one_plus)


@_called
def log(x: float) -> float:
    """The natural logarithm."""
    if not 0.0 < x < math.inf:
        return -math.inf if x == 0.0 else math.nan if x < 0.0 else x
    is_tiny = x < _SMALLEST_NORMAL
    bits = np.float64(x * 2.0**_NORMALISING if is_tiny else x).view(np.int64)
    exponent = (bits - _BITS_OF_SQRT_HALF) >> _EXPONENT
    f = np.int64(bits - (exponent << _EXPONENT)).view(np.float64) - 1.0
    return _log_of_parts(f, float(exponent - _NORMALISING if is_tiny else exponent))


@_called
def exp(x: float) -> float:
    """e to the power of x."""
    if not _EXP_VANISHES <= x <= _EXP_OVERFLOWS:
        return math.inf if x > 0.0 else 0.0 if x < 0.0 else x
    k = np.rint(x * _PER_LN2)
    exponent = np.int64(k)
    first = exponent >> 1
    power = np.int64((first + _BIAS) << _EXPONENT).view(np.float64)
    rest = np.int64((exponent - first + _BIAS) << _EXPONENT).view(np.float64)
    return _exp_without(x, k) * power * rest


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


_HALF = 32
_LOW = 2**_HALF - 1
_MANTISSA = 2**_EXPONENT - 1
_NOT_FINITE = 2047
PLACES = 68
_CARRY_AFTER = 512
"""So many numbers of 54 bits at most leave their sum within 64."""


@_loop
def places(x: Floats, out: NDArray[np.int64]) -> Any:
    """The exact sum of numbers as Σ out[k]·2^(32k − 1075), by integers alone; False where one is not finite."""
    for i in range(x.size):
        bits = np.float64(x[i]).view(np.int64)
        exponent = (bits >> _EXPONENT) & _NOT_FINITE
        if exponent == _NOT_FINITE:
            return False
        mantissa = bits & _MANTISSA
        if exponent > 0:
            mantissa |= 1 << _EXPONENT
        else:
            exponent = np.int64(1)
        if bits < 0:
            mantissa = -mantissa
        place, shift = exponent >> 5, exponent & 31
        left = _HALF - shift
        out[place] += (mantissa & ((1 << left) - 1)) << shift
        out[place + 1] += mantissa >> left
        if i % _CARRY_AFTER == _CARRY_AFTER - 1:
            for k in range(out.size - 1):
                out[k + 1] += out[k] >> _HALF
                out[k] &= _LOW
    return True
