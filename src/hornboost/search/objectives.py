"""Objectives of weighted coverage: vectorised functions of the weight covered in the positive and in the negative class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost import exact

Floats = NDArray[np.float64]


def z_tilde(w_plus: ArrayLike, w_minus: ArrayLike) -> Floats:
    """√w₊ − √w₋, what a clause is grown by (seed 000, Table 1, function 4).

    >>> z_tilde([0.25, 0.0], [0.04, 0.09])
    array([ 0.3, -0.3])
    """
    return np.asarray(np.sqrt(w_plus) - np.sqrt(w_minus))


def z(w_plus: float, w_minus: float) -> float:
    """(√w₊ − √w₋)², what a clause and the default clause are compared by (seed 000, Table 1, function 6)."""
    root = math.sqrt(w_plus) - math.sqrt(w_minus)
    return root * root


def confidence(w_plus: float, w_minus: float, n: float) -> float:
    """½ ln((w₊ + 1/2N) / (w₋ + 1/2N)), the vote of a clause (seed 000, Table 1, function 3).

    >>> round(confidence(0.5, 0.0, 10), 6)
    1.198948
    """
    return 0.5 * exact.log((w_plus + 0.5 / n) / (w_minus + 0.5 / n))


def loss(w_plus: float, w_minus: float, vote: float) -> float:
    """The weight left on the pruning set by a clause that votes `vote` (seed 000, Table 1, function 5)."""
    return (1.0 - (w_plus + w_minus)) + w_plus * exact.exp(-vote) + w_minus * exact.exp(vote)
