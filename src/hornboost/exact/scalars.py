"""Logarithms and exponentials from additions, multiplications and divisions alone.

The C library and numpy choose other code on other processors (with or without fused multiplication, with short or long
vectors), and that code differs in the last bit. IEEE 754 fixes every operation used here, and neither Python nor numba
(without `fastmath`) fuses or reorders them, so these functions have one result, interpreted or compiled. `exp` and
`log` are less than one unit in the last place from the true value, `log1p` less than two (tests/test_exact.py measures
it).

Mantissa and exponent come from `math` here and from the bits of the number in `compiled`, whichever is faster there.
"""

from __future__ import annotations

import math

_LN2_HIGH = float.fromhex("0x1.62e42fefa2p-1")
"""The first 40 bits of ln 2: its product with an exponent is exact."""
_LN2_LOW = float.fromhex("0x1.9ef35793c7673p-41")
PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
SQRT_HALF = math.sqrt(0.5)
"""Mantissas are taken from [√½, √2)."""

_LOG_1, _LOG_2, _LOG_3, _LOG_4, _LOG_5, _LOG_6, _LOG_7, _LOG_8, _LOG_9, _LOG_10 = (
    2.0 / (2 * n + 1) for n in range(1, 11)
)
"""Taylor coefficients of 2·artanh(s)/s in s²; s² is at most 0.0295."""
_EXP_2, _EXP_3, _EXP_4, _EXP_5, _EXP_6, _EXP_7, _EXP_8, _EXP_9, _EXP_10, _EXP_11, _EXP_12, _EXP_13 = (
    1.0 / math.factorial(n) for n in range(2, 14)
)
EXP_OVERFLOWS, EXP_VANISHES = 709.782712893384, -745.1332191019412


def log(x: float) -> float:
    """The natural logarithm; -inf at 0, NaN below it.

    >>> log(1.0), round(log(10.0), 12)
    (0.0, 2.302585092994)
    """
    if not 0.0 < x < math.inf:
        return -math.inf if x == 0.0 else math.nan if x < 0.0 else x
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    return log_of_parts(mantissa - 1.0, float(exponent))


def log_of_parts(f: float, k: float) -> float:
    """ln(1 + f) + k ln 2, for 1 + f between √½ and √2.

    >>> log_of_parts(0.0, 0.0)
    0.0
    """
    s = f / (2.0 + f)
    w = s * s
    tail = _LOG_7 + w * (_LOG_8 + w * (_LOG_9 + w * _LOG_10))
    series = w * (_LOG_1 + w * (_LOG_2 + w * (_LOG_3 + w * (_LOG_4 + w * (_LOG_5 + w * (_LOG_6 + w * tail))))))
    # ln(1 + f) = f − (f²/2 − s·(f²/2 + series)): the rounding of s touches only the small part
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + series) + k * _LN2_LOW)) - f)


def exp(x: float) -> float:
    """e to the power of x.

    >>> exp(0.0), exp(-1000.0), round(exp(1.0), 12)
    (1.0, 0.0, 2.718281828459)
    """
    if not EXP_VANISHES <= x <= EXP_OVERFLOWS:
        return math.inf if x > 0.0 else 0.0 if x < 0.0 else x
    k = round(x * PER_LN2)
    if -1000 < k < 1000:
        return math.ldexp(exp_without(x, k), k)
    first = k >> 1  # in two steps, since 2^k itself may lie beyond the normal numbers
    return exp_without(x, k) * math.ldexp(1.0, first) * math.ldexp(1.0, k - first)


def exp_without(x: float, k: float) -> float:
    """e^x / 2^k, where k is the whole number nearest to x / ln 2.

    >>> exp_without(0.0, 0.0)
    1.0
    """
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    lost = (high - r) - low
    tail = _EXP_8 + r * (_EXP_9 + r * (_EXP_10 + r * (_EXP_11 + r * (_EXP_12 + r * _EXP_13))))
    series = _EXP_2 + r * (_EXP_3 + r * (_EXP_4 + r * (_EXP_5 + r * (_EXP_6 + r * (_EXP_7 + r * tail)))))
    return 1.0 + (r + (r * r * series + lost))


def log1p(x: float) -> float:
    """ln(1 + x), also for an x that is small beside 1.

    >>> log1p(0.0), log1p(1e-20)
    (0.0, 1e-20)
    """
    u, lost = one_plus(x)
    return log(u) + lost


def one_plus(x: float) -> tuple[float, float]:
    """1 + x as rounded, and what its logarithm lacks of ln(1 + x) by that.

    >>> one_plus(1e-20)
    (1.0, 1e-20)
    """
    u = 1.0 + x
    if not 0.0 < u < math.inf:
        return u, 0.0
    lost = 1.0 - (u - x) if x > 1.0 else x - (u - 1.0)
    return u, lost / u
