"""Numba kernels of the losses: slopes and curvatures of all examples in one pass, with the bits that `exact` has.

They write into arrays that are given: one that numba makes costs more than a pass over some hundred examples. What is
done to all numbers is a loop of its own, which takes several of them at a time; with more in it, it would not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.exact.compiled import exps, log1ps
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
    x, slopes, curvatures = scores.reshape(-1), slope.reshape(-1), curvature.reshape(-1)
    for i in range(x.size):
        slopes[i] = -min(max(x[i], -700.0), 700.0)
    exps(slopes, curvatures)
    for i in range(x.size):
        p = 1.0 / (1.0 + curvatures[i])
        slopes[i] = p - y[i]
        curvatures[i] = _curvature(p)


@jit
def logistic_losses(y: NDArray[Any], scores: Floats, out: Floats) -> None:
    """The log-loss of two classes of each example: ln(1 + exp(±score))."""
    small = np.empty(out.size)
    for i in range(out.size):
        small[i] = -abs(scores[i, 0])
    exps(small, out)
    log1ps(out, small)
    for i in range(out.size):
        out[i] = max(-scores[i, 0] if y[i] == 1 else scores[i, 0], 0.0) + small[i]


@jit
def odds(scores: Floats, top: Floats, out: Floats) -> None:
    """The largest score of each example, and exp(score − largest) of all."""
    for i in range(scores.shape[0]):
        top[i] = scores[i].max()
        for k in range(scores.shape[1]):
            out[i, k] = scores[i, k] - top[i]
    exps(out.reshape(-1), out.reshape(-1))


@jit
def softmax(y: NDArray[Any], odds: Floats, total: Floats, slope: Floats, curvature: Floats) -> None:
    """Slope and curvature of the log-loss of several classes by their odds and the sums of these."""
    for i in range(odds.shape[0]):
        for k in range(odds.shape[1]):
            p = odds[i, k] / total[i]
            slope[i, k] = p - 1.0 if y[i] == k else p
            curvature[i, k] = _curvature(p)
