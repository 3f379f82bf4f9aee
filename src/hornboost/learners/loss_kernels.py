"""Numba kernels of the losses: slopes and curvatures of all examples in one pass, with the bits that `exact` has.

They write into arrays that are given: one that numba makes costs more than a pass over some hundred examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.exact.compiled import exp, log1p
from hornboost.jit import inner, jit

Floats = NDArray[np.float64]

SMALLEST = 1e-16
"""Curvatures are at least this, so that a step never divides by nothing."""


@inner
def _curvature(p: float) -> float:
    return max(p * (1.0 - p), SMALLEST)


@jit
def logistic(y: NDArray[Any], scores: Floats, slope: Floats, curvature: Floats) -> None:
    """Slope and curvature of the log-loss of two classes."""
    for i in range(scores.shape[0]):
        p = 1.0 / (1.0 + exp(-min(max(scores[i, 0], -700.0), 700.0)))
        slope[i, 0] = p - y[i]
        curvature[i, 0] = _curvature(p)


@jit
def logistic_losses(y: NDArray[Any], scores: Floats, out: Floats) -> None:
    """The log-loss of two classes of each example: ln(1 + exp(±score))."""
    for i in range(out.size):
        x = -scores[i, 0] if y[i] == 1 else scores[i, 0]
        out[i] = max(x, 0.0) + log1p(exp(-abs(x)))


@jit
def odds(scores: Floats, top: Floats, out: Floats) -> None:
    """The largest score of each example, and exp(score − largest) of all."""
    for i in range(scores.shape[0]):
        top[i] = scores[i].max()
        for k in range(scores.shape[1]):
            out[i, k] = exp(scores[i, k] - top[i])


@jit
def softmax(y: NDArray[Any], odds: Floats, total: Floats, slope: Floats, curvature: Floats) -> None:
    """Slope and curvature of the log-loss of several classes by their odds and the sums of these."""
    for i in range(odds.shape[0]):
        for k in range(odds.shape[1]):
            p = odds[i, k] / total[i]
            slope[i, k] = p - 1.0 if y[i] == k else p
            curvature[i, k] = _curvature(p)
