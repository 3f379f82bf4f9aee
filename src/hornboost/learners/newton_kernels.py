"""Numba kernels of second-order boosting: derivatives as integers, and the gain of every candidate in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import inner, jit

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


_MAGNITUDE = 2**63 - 1
"""All bits of a number but its sign."""


@jit
def channels(
    slope: Floats,
    curvature: Floats,
    weights: Floats,
    slope_scale: float,
    curve_scale: float,
    square_scale: float,
    out: Longs,
    sums: Longs,
) -> None:
    """Slopes and then curvatures of the examples in fixed point, those of one example times its weight; their sums.

    And the sums of the squared slopes, which come last.
    """
    n, n_outputs = slope.shape
    sums[:] = 0
    if n_outputs == 1:
        _channels_of_one(slope, curvature, weights, slope_scale, curve_scale, square_scale, out, sums)
        return
    for i in range(n):
        for k in range(n_outputs):
            out[i, k] = np.int64(np.rint(weights[i] * np.rint(slope[i, k] * slope_scale)))
            out[i, n_outputs + k] = np.int64(np.rint(weights[i] * np.rint(curvature[i, k] * curve_scale)))
            sums[k] += out[i, k]
            sums[n_outputs + k] += out[i, n_outputs + k]
            sums[2 * n_outputs + k] += np.int64(np.rint(weights[i] * np.rint(slope[i, k] * slope[i, k] * square_scale)))


@inner
def _channels_of_one(
    slope: Floats,
    curvature: Floats,
    weights: Floats,
    slope_scale: float,
    curve_scale: float,
    square_scale: float,
    out: Longs,
    sums: Longs,
) -> None:
    """The same where there is one output: the sums stay out of memory until they are done."""
    first, second, third = np.int64(0), np.int64(0), np.int64(0)
    for i in range(slope.shape[0]):
        weight, value = weights[i], slope[i, 0]
        g = np.int64(np.rint(weight * np.rint(value * slope_scale)))
        h = np.int64(np.rint(weight * np.rint(curvature[i, 0] * curve_scale)))
        out[i, 0], out[i, 1] = g, h
        first, second = first + g, second + h
        third += np.int64(np.rint(weight * np.rint(value * value * square_scale)))
    sums[0], sums[1], sums[2] = first, second, third


@inner
def _largest(values: Floats) -> float:
    """The largest number, whatever its sign: without it, the bits of numbers have their order."""
    bits = values.reshape(-1).view(np.int64)
    found = np.int64(0)
    for i in range(bits.size):
        found = max(found, bits[i] & np.int64(_MAGNITUDE))
    return float(np.int64(found).view(np.float64))


@jit
def largest(slope: Floats, curvature: Floats) -> tuple[float, float]:
    """The largest slope, whatever its sign, and the largest curvature."""
    return _largest(slope), _largest(curvature)


@jit
def cells(
    channels: Longs,
    covered: NDArray[np.bool_],
    total: Longs,
    slope_unit: float,
    curve_unit: float,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """The sums of the slopes and of the curvatures of the examples {not covered, covered}, a row a cell."""
    n_outputs = channels.shape[1] // 2
    sums = np.zeros(2 * n_outputs, np.int64)
    for i in range(channels.shape[0]):
        if covered[i]:
            for k in range(2 * n_outputs):
                sums[k] += channels[i, k]
    for k in range(n_outputs):
        gradient[0, k] = (total[k] - sums[k]) * slope_unit
        gradient[1, k] = sums[k] * slope_unit
        hessian[0, k] = (total[n_outputs + k] - sums[n_outputs + k]) * curve_unit
        hessian[1, k] = sums[n_outputs + k] * curve_unit


@jit
def newton(gradient: Floats, hessian: Floats, l2: float, out: Floats) -> None:
    """−G/(H+λ) of each cell and output; 0 where there is nothing to divide by."""
    for cell in range(gradient.shape[0]):
        for k in range(gradient.shape[1]):
            weight = hessian[cell, k] + l2
            out[cell, k] = -(gradient[cell, k] / weight) if weight > 0.0 else -0.0


@jit
def move(scores: Floats, table: Floats, covered: NDArray[np.bool_]) -> None:
    """Add the votes of the cells {not covered, covered} to the scores of the examples in them."""
    for i in range(scores.shape[0]):
        cell = np.int64(covered[i])
        for k in range(scores.shape[1]):
            scores[i, k] += table[cell, k]


@inner
def _value(gradient: float, hessian: float, l2: float) -> float:
    weight = hessian + l2
    return gradient * gradient / weight if weight > 0.0 else 0.0


@jit
def gains(sums: Longs, total: Longs, slope_unit: float, curve_unit: float, l2: float, out: Floats) -> None:
    """G₁²/(H₁+λ) + G₀²/(H₀+λ) − G²/(H+λ) of each candidate, added over the outputs; 0 where a cell is empty.

    The units are what 1 stands for in fixed point.
    """
    n_outputs = sums.shape[1] // 2
    whole = 0.0
    for k in range(n_outputs):
        whole += _value(total[k] * slope_unit, total[n_outputs + k] * curve_unit, l2)
    if n_outputs == 1:
        _gains_of_one(sums, total, slope_unit, curve_unit, l2, whole, out)
        return
    for i in range(sums.shape[0]):
        out[i] = 0.0
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
