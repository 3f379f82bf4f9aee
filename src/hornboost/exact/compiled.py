"""The scalar functions compiled, for other kernels to call, and loops over arrays of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.exact import scalars
from hornboost.jit import jit, scalar, shared

Floats = NDArray[np.float64]

_EXPONENT = 52
_BIAS = 1023
_BITS_OF_SQRT_HALF = int(np.float64(scalars.SQRT_HALF).view(np.int64))
_SMALLEST_NORMAL = 2.0**-1022
_NORMALISING = 54
_PER_LN2, _EXP_OVERFLOWS, _EXP_VANISHES = scalars.PER_LN2, scalars.EXP_OVERFLOWS, scalars.EXP_VANISHES

_log_of_parts: Callable[[float, float], float] = shared(scalars.log_of_parts)
_exp_without: Callable[[float, Any], float] = shared(scalars.exp_without)
_one_plus = shared(scalars.one_plus)


@scalar
def log(x: float) -> float:
    """The natural logarithm."""
    if not 0.0 < x < math.inf:
        return -math.inf if x == 0.0 else math.nan if x < 0.0 else x
    is_tiny = x < _SMALLEST_NORMAL
    bits = np.float64(x * 2.0**_NORMALISING if is_tiny else x).view(np.int64)
    exponent = (bits - _BITS_OF_SQRT_HALF) >> _EXPONENT
    f = np.int64(bits - (exponent << _EXPONENT)).view(np.float64) - 1.0
    return _log_of_parts(f, float(exponent - _NORMALISING if is_tiny else exponent))


@scalar
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


@shared
def log1p(x: float) -> Any:
    """ln(1 + x)."""
    u, lost = _one_plus(x)
    return log(u) + lost


@jit
def logs(x: Floats, out: Floats) -> None:
    """The logarithm of each number."""
    for i in range(x.size):
        out[i] = log(x[i])


@jit
def log1ps(x: Floats, out: Floats) -> None:
    """ln(1 + x) of each number."""
    for i in range(x.size):
        out[i] = log1p(x[i])


@jit
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


@jit
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
