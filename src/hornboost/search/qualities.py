"""What a clause is worth as a partition of the examples into covered and not covered: WRAcc and its kin, and squared error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]

_RESOLUTION = 2.0**40
"""Qualities are compared in steps of 2**-40, so that conditions that divide the examples alike are ties."""


def wracc(stats: Weights, totals: Weights) -> Floats:
    """WRAcc of each candidate for each class: Pr(covered, y) - Pr(covered)·Pr(y) (seed 004, section 4).

    `stats` holds the covered weight by candidate and class, `totals` the weight of each class.

    >>> wracc(np.array([[30, 10]]), np.array([50, 50]))
    array([[ 0.1, -0.1]])
    """
    total = float(totals.sum())
    share = stats / total
    return np.asarray(share - share.sum(axis=1, keepdims=True) * (totals / total))


def largest_wracc(stats: Weights, totals: Weights) -> Floats:
    """The largest |WRAcc| for any class, what a classifier's clause is chosen by."""
    return comparable(np.abs(wracc(stats, totals)).max(axis=1))


def target_wracc(stats: Weights, totals: Weights) -> Floats:
    """WRAcc for class 1, what a subgroup is chosen by."""
    return comparable(wracc(stats, totals)[:, 1])


def target_binomial(stats: Weights, totals: Weights) -> Floats:
    """√Pr(covered)·(Pr(y | covered) - Pr(y)) for class 1: smaller and purer subgroups than WRAcc (Klösgen 1996).

    >>> scores = target_binomial(np.array([[0, 9], [0, 0]]), np.array([50, 50])) / 2**40
    >>> scores.round(3)
    array([0.15, 0.  ])
    """
    covered = stats.sum(axis=1) / float(totals.sum())
    root = np.sqrt(covered)
    gain = wracc(stats, totals)[:, 1]
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
    gain = inner + outer - total_response**2 / total_weight
    return np.asarray(np.where((weight > 0) & (outside > 0), gain, 0.0))


def comparable(values: Floats) -> Floats:
    """Values in steps of 2**-40."""
    return np.asarray(np.rint(values * _RESOLUTION))
