"""Functions with the same bits on every processor, for whatever decides what is learned or is saved with a model.

Safe without them are numpy's and Python's + - * / and square roots (IEEE 754 fixes them), `np.sum`, `np.cumsum` and
`np.bincount` (which add in one order everywhere), and sums of integers. Not safe are `np.log`, `math.log`, `exp`,
`log1p`, `**` with a broken exponent, and matrix products, `np.dot`, `np.einsum` and `np.linalg`, whose order of
summation is that of the processor's own code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.exact.scalars import exp, log, log1p

__all__ = [
    "exp",
    "exps",
    "log",
    "log1p",
    "log1ps",
    "logs",
    "sigmoids",
    "softmax",
    "softpluses",
    "total",
    "x_log_x",
]

Floats = NDArray[np.float64]


def total(values: NDArray[Any] | Iterable[float]) -> float:
    """The sum of all numbers, rounded once, so that their order does not matter.

    >>> total(np.array([1e16, 1.0, -1e16]))
    1.0
    """
    if not isinstance(values, np.ndarray):
        return math.fsum(values)
    if values.dtype == np.float64 and values.size >= _MANY:
        kernels = _compiled()
        out = np.zeros(kernels.PLACES, np.int64)
        if kernels.places(values.ravel(), out):
            return _rounded(out)
    return math.fsum(values.ravel().tolist())


_MANY = 200
"""So many numbers are added faster by the kernel."""


def _rounded(places: NDArray[np.int64]) -> float:
    """Σ places[k]·2^(32k − 1075), which Python divides as whole numbers of any length, rounding once."""
    used = np.flatnonzero(places)
    if not used.size:
        return 0.0
    first = int(used[0])
    digits = sum(int(places[k]) << (32 * (k - first)) for k in used.tolist())
    exponent = 32 * first - 1075
    try:
        return digits / (1 << -exponent) if exponent < 0 else float(digits << exponent)
    except OverflowError:
        return math.inf if digits > 0 else -math.inf


def logs(x: ArrayLike) -> Floats:
    """The natural logarithm of each number; -inf at 0.

    >>> logs([1.0, 0.0])
    array([  0., -inf])
    """
    return _mapped(_compiled().logs, x)


def log1ps(x: ArrayLike) -> Floats:
    """ln(1 + x) of each number.

    >>> log1ps([0.0, -1.0])
    array([  0., -inf])
    """
    return _mapped(_compiled().log1ps, x)


def exps(x: ArrayLike) -> Floats:
    """The exponential of each number.

    >>> exps([[0.0, -1000.0]])
    array([[1., 0.]])
    """
    return _mapped(_compiled().exps, x)


def x_log_x(x: ArrayLike) -> Floats:
    """The products x ln x, with their limit 0 at x = 0.

    >>> x_log_x([0.0, 1.0])
    array([0., 0.])
    """
    numbers = np.asarray(x, dtype=np.float64)
    return np.asarray(numbers * logs(np.where(numbers > 0.0, numbers, 1.0)))


def sigmoids(x: ArrayLike) -> Floats:
    """1/(1 + exp(-x)) of each number.

    >>> sigmoids([0.0, 1000.0])
    array([0.5, 1. ])
    """
    return np.asarray(1.0 / (1.0 + exps(-np.minimum(np.maximum(x, -700.0), 700.0))))


def softpluses(x: ArrayLike) -> Floats:
    """ln(1 + exp(x)) of each number, the loss of a score against its class.

    >>> softpluses([1000.0, -1000.0])
    array([1000.,    0.])
    """
    numbers = np.asarray(x, dtype=np.float64)
    return np.asarray(np.maximum(numbers, 0.0) + log1ps(exps(-np.abs(numbers))))


def softmax(scores: Floats) -> Floats:
    """Probabilities in proportion to exp(score), a row an example.

    >>> softmax(np.array([[0.0, 0.0], [0.0, -1000.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    odds = exps(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _mapped(kernel: Any, x: ArrayLike) -> Floats:
    numbers = np.asarray(x, dtype=np.float64, order="C")
    out = np.empty(numbers.shape)
    kernel(numbers.ravel(), out.ravel())  # views, as both are contiguous
    return out


@cache
def _compiled() -> Any:
    """The kernels, imported when they are first called: numba takes a while."""
    from hornboost.exact import compiled

    return compiled
