"""What a clause is worth as a partition of the examples into covered and not covered: WRAcc and its kin, and squared error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]

RESOLUTION = 2.0**40
"""Qualities are compared in steps of 2**-40, so that conditions that divide the examples alike are ties."""


def wracc(stats: Weights, totals: Weights, label: int) -> Floats:
    """WRAcc of each candidate for a class: Pr(covered, y) - Pr(covered)·Pr(y) (seed 004, section 4).

    `stats` holds the covered weight by candidate and class, `totals` the weight of each class.

    >>> wracc(np.array([[30, 10], [50, 50]]), np.array([50, 50]), 0)
    array([0.1, 0. ])
    """
    total = float(totals.sum())
    return np.asarray(stats[:, label] / total - _covered(stats) * (totals[label] / (total * total)))


def largest_wracc(stats: Weights, totals: Weights) -> Floats:
    """The largest |WRAcc| for any class, what a classifier's clause is chosen by; that of two classes differs in sign only."""
    n_classes = stats.shape[1]
    best = np.zeros(len(stats))
    for label in range(n_classes if n_classes > 2 else 1):
        np.maximum(best, np.abs(wracc(stats, totals, label)), out=best)
    return comparable(best)


def target_wracc(stats: Weights, totals: Weights) -> Floats:
    """WRAcc for class 1, what a subgroup is chosen by."""
    return comparable(wracc(stats, totals, 1))


def target_binomial(stats: Weights, totals: Weights) -> Floats:
    """√Pr(covered)·(Pr(y | covered) - Pr(y)) for class 1: smaller and purer subgroups than WRAcc (Klösgen 1996).

    >>> scores = target_binomial(np.array([[0, 9], [0, 0]]), np.array([50, 50])) / 2**40
    >>> scores.round(3)
    array([0.15, 0.  ])
    """
    root = np.sqrt(_covered(stats) / float(totals.sum()))
    gain = wracc(stats, totals, 1)
    return comparable(np.divide(gain, root, out=np.zeros_like(gain), where=root > 0))


QUALITIES: dict[str, Callable[[Weights, Weights], Floats]] = {"wracc": target_wracc, "binomial": target_binomial}


def explained_squares(weight: Floats, response: Floats, total_weight: float, total_response: float) -> Floats:
    """By how much two means instead of one lower the weighted squared error; `weight` and `response` are sums over the covered examples.

    >>> explained_squares(np.array([0.5, 0.0]), np.array([1.0, 0.0]), 1.0, 0.0)
    array([4., 0.])
    """
    outside, apart = total_weight - weight, total_response - response
    inner = np.divide(response**2, weight, out=np.zeros_like(response), where=weight > 0)
    outer = np.divide(apart**2, outside, out=np.zeros_like(apart), where=outside > 0)
    gain = inner + outer - total_response * total_response / total_weight
    return np.asarray(np.where((weight > 0) & (outside > 0), gain, 0.0))


def comparable(values: Floats) -> Floats:
    """Values in steps of 2**-40."""
    return np.asarray(np.rint(values * RESOLUTION))


def _covered(stats: Weights) -> Weights:
    """The covered weight of each candidate; adding columns is faster than numpy's sum of short rows."""
    covered = stats[:, 0].copy()
    for label in range(1, stats.shape[1]):
        covered += stats[:, label]
    return covered
