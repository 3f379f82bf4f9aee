"""Entropy, mutual information and conditional mutual information of mass tables, in natural logarithms.

Masses need not sum to 1: every function normalises what it is given, and a table without mass carries no information.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.exact import x_log_x

__all__ = ["coverage_information", "entropy", "mutual_information"]


def entropy(masses: ArrayLike) -> float:
    """E(C) of a vector (or table) of masses.

    >>> round(entropy([3, 3]), 6)  # ln 2
    0.693147
    """
    mass = np.asarray(masses, dtype=np.float64)
    total = mass.sum()
    if not total > 0.0:
        return 0.0
    return max(0.0, -float(x_log_x(mass / total).sum()))


def mutual_information(joint: ArrayLike) -> float:
    """MI(C, F) = E(C) − E(C|F) of a table of joint masses, class × value (Hoche and Wrobel 2002, equation (2)).

    >>> round(mutual_information([[2, 0], [0, 2]]), 6)  # the value tells the class: ln 2
    0.693147
    >>> mutual_information([[1, 1], [2, 2]])
    0.0
    """
    table = np.asarray(joint, dtype=np.float64)
    return max(0.0, entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table))


def coverage_information(
    w_plus: ArrayLike, w_minus: ArrayLike, total_plus: float, total_minus: float
) -> NDArray[np.float64]:
    """MI between the class and each of many tests, from the weights of the positives and negatives that a test covers.

    >>> coverage_information([2.0, 1.0], [0.0, 1.0], 2.0, 2.0).round(6)
    array([0.693147, 0.      ])
    """
    total = float(total_plus) + float(total_minus)
    covered_plus, covered_minus = np.asarray(w_plus, dtype=np.float64), np.asarray(w_minus, dtype=np.float64)
    if not total > 0.0:
        return np.zeros_like(covered_plus)
    plus, minus = covered_plus / total, covered_minus / total
    rest_plus = np.maximum(total_plus / total - plus, 0.0)
    rest_minus = np.maximum(total_minus / total - minus, 0.0)
    joint = x_log_x(plus) + x_log_x(minus) + x_log_x(rest_plus) + x_log_x(rest_minus)
    covered = x_log_x(plus + minus) + x_log_x(rest_plus + rest_minus)
    return np.maximum(joint - covered + entropy([total_plus, total_minus]), 0.0)
