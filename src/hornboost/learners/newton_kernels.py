"""Numba kernels of second-order boosting: derivatives as integers, and the gain of every candidate in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import inner, jit

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@jit
def channels(
    slope: Floats, curvature: Floats, weights: Floats, slope_scale: float, curve_scale: float, square_scale: float
) -> tuple[Longs, Longs, Longs]:
    """Slopes and then curvatures of the examples in fixed point, those of one example times its weight; their sums.

    And the sums of the squared slopes.
    """
    n, n_outputs = slope.shape
    out = np.empty((n, 2 * n_outputs), np.int64)
    total = np.zeros(2 * n_outputs, np.int64)
    squares = np.zeros(n_outputs, np.int64)
    for i in range(n):
        for k in range(n_outputs):
            out[i, k] = np.int64(np.rint(weights[i] * np.rint(slope[i, k] * slope_scale)))
            out[i, n_outputs + k] = np.int64(np.rint(weights[i] * np.rint(curvature[i, k] * curve_scale)))
            total[k] += out[i, k]
            total[n_outputs + k] += out[i, n_outputs + k]
            squares[k] += np.int64(np.rint(weights[i] * np.rint(slope[i, k] * slope[i, k] * square_scale)))
    return out, total, squares


@jit
def covered_sums(channels: Longs, covered: NDArray[np.bool_]) -> Longs:
    """The sums over the covered examples, a number a channel."""
    out = np.zeros(channels.shape[1], np.int64)
    for i in range(channels.shape[0]):
        if covered[i]:
            for k in range(channels.shape[1]):
                out[k] += channels[i, k]
    return out


@inner
def _value(gradient: float, hessian: float, l2: float) -> float:
    weight = hessian + l2
    return gradient * gradient / weight if weight > 0.0 else 0.0


@jit
def gains(sums: Longs, total: Longs, slope_unit: float, curve_unit: float, l2: float) -> Floats:
    """G₁²/(H₁+λ) + G₀²/(H₀+λ) − G²/(H+λ) of each candidate, added over the outputs; 0 where a cell is empty.

    The units are what 1 stands for in fixed point.
    """
    n_outputs = sums.shape[1] // 2
    out = np.zeros(sums.shape[0])
    whole = 0.0
    for k in range(n_outputs):
        whole += _value(total[k] * slope_unit, total[n_outputs + k] * curve_unit, l2)
    if n_outputs == 1:
        _gains_of_one(sums, total, slope_unit, curve_unit, l2, whole, out)
        return out
    for i in range(sums.shape[0]):
        inside = np.int64(0)
        outside = np.int64(0)
        for k in range(n_outputs, 2 * n_outputs):
            inside |= sums[i, k]
            outside |= total[k] - sums[i, k]
        if inside > 0 and outside > 0:
            gain = 0.0
            for k in range(n_outputs):
                g, h = sums[i, k], sums[i, n_outputs + k]
                gain += _value(g * slope_unit, h * curve_unit, l2)
                gain += _value((total[k] - g) * slope_unit, (total[n_outputs + k] - h) * curve_unit, l2)
            out[i] = gain - whole
    return out


@inner
def _gains_of_one(
    sums: Longs, total: Longs, slope_unit: float, curve_unit: float, l2: float, whole: float, out: Floats
) -> None:
    """The gains where there is one output: the two fractions are brought to one denominator, to divide once."""
    all_g, all_h = total[0], total[1]
    for i in range(sums.shape[0]):
        g, h = sums[i, 0], sums[i, 1]
        g1, h1 = g * slope_unit, h * curve_unit + l2
        g0, h0 = (all_g - g) * slope_unit, (all_h - h) * curve_unit + l2
        divides = h > 0 and h < all_h
        gain = (g1 * g1 * h0 + g0 * g0 * h1) / (h1 * h0 if divides else 1.0) - whole
        out[i] = gain if divides else 0.0
