"""Example weights in fixed point, so that every sum is exact whatever its order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import WEIGHT, WEIGHT_ONE


def fixed_point(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Weights as integers, one unit being 2**-52 of the total; a positive weight is never below one unit.

    >>> fixed_point(np.array([1.0, 3.0, 0.0])) / 2**52
    array([0.25, 0.75, 0.  ])
    """
    import math

    weights = np.asarray(weights, np.float64)
    total = math.fsum(weights)
    if not total > 0:
        raise ValueError("the weights must have a positive sum")
    units = np.rint(weights * (WEIGHT_ONE / total)).astype(WEIGHT)
    return np.where(weights > 0, np.maximum(units, 1), 0).astype(WEIGHT)
