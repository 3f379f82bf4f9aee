"""Areas under recall-precision curves, compiled: see `metrics.area_between`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hornboost.exact.compiled import log1p
from hornboost.jit import jit, scalar, shared

Floats = NDArray[np.float64]

_SERIES_BELOW = 0.05
_SERIES = np.array([1.0 / (k + 1) for k in range(15)])


@shared
def _alternating_series(q: float, first: int) -> float:
    """1/first - q/(first + 1) + q²/(first + 2) - ..., 14 terms by Horner's rule.

    Exact to the last digits below `_SERIES_BELOW`.
    """
    total = 0.0
    for k in range(12 + first, first - 2, -1):
        total = _SERIES[k] - q * total
    return total


@scalar
def area(tp_a: float, fp_a: float, tp_b: float, fp_b: float) -> float:
    """The integral of precision over true positives from A to B."""
    d = tp_b - tp_a
    if not d > 0.0:
        return 0.0
    growth, n_a, n_b = d + (fp_b - fp_a), tp_a + fp_a, tp_b + fp_b
    q = growth / n_a if n_a != 0.0 else math.inf
    if not math.isfinite(q):
        return tp_b * (tp_b / n_b) if n_b != 0.0 else math.nan
    if q < _SERIES_BELOW:
        return d / n_a * (tp_a * _alternating_series(q, 1) + d * _alternating_series(q, 2))
    # q·φ₁ and q·φ₂ instead of φ₁ and φ₂, so that a tiny n_a does not overflow
    log_q = log1p(q)
    return float(d / growth * (tp_a * log_q + d * (1.0 - log_q / q)))


@jit
def areas(tp_a: Floats, fp_a: Floats, tp_b: Floats, fp_b: Floats, out: Floats) -> None:
    """`area` for each of several pairs of points; an array of one number stands for the same in all of them."""
    for i in range(out.size):
        out[i] = area(
            tp_a[min(i, tp_a.size - 1)],
            fp_a[min(i, fp_a.size - 1)],
            tp_b[min(i, tp_b.size - 1)],
            fp_b[min(i, fp_b.size - 1)],
        )


@jit
def areas_of_paths(tp: Floats, fp: Floats, tp_b: float, fp_b: float, fixed: float) -> Floats:
    """The area from recall 0, horizontally to each point and on to B, and one that is fixed."""
    out = np.empty(tp.size)
    for i in range(tp.size):
        total = tp[i] + fp[i]
        precision = tp[i] / total if total > 0.0 else 0.0
        out[i] = tp[i] * precision + area(tp[i], fp[i], tp_b, fp_b) + fixed
    return out
