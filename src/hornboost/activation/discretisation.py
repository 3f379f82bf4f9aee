"""Cut points of numeric attributes under masses: Fayyad and Irani's MDL method, and the boosting objective's partition.

Both work on one table of masses, class × distinct value, so that values are sorted once and every later step is a
cumulative sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.activation import information_kernels as kernels

__all__ = ["interval_codes", "mdl_cuts", "merged", "repartition_cuts"]

Floats = NDArray[np.float64]
_TIE = 1e-12
"""Cuts whose scores differ by less (relative to the total mass) are equal;
the lowest is taken, whatever the rounding."""


class _CutPlaces(NamedTuple):
    """Cumulative class masses at the places where a cut may be best, and the cut point of each inner place."""

    masses: Floats
    cuts: Floats


def interval_codes(values: ArrayLike, cuts: Floats) -> NDArray[np.int32]:
    """The interval [d_i, d_i+1) in which each value lies, −1 for NaN (Hoche and Wrobel 2002, section 3.2).

    >>> interval_codes([0.5, 1.0, np.nan, 7.0], np.array([1.0, 2.0]))
    array([ 0,  1, -1,  2], dtype=int32)
    """
    numbers = np.asarray(values, dtype=np.float64)
    codes = np.searchsorted(cuts, numbers, side="right").astype(np.int32)
    codes[np.isnan(numbers)] = -1
    return codes


def merged(distinct: Floats, table: Floats, cuts: Floats) -> Floats:
    """The table class × interval of a table class × distinct value.

    >>> merged(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([2.5]))
    array([[2., 0.],
           [0., 1.]])
    """
    places = np.concatenate(([0], np.searchsorted(distinct, cuts, side="left"), [len(distinct)]))
    sums = np.concatenate((np.zeros((len(table), 1)), np.cumsum(table, axis=1)), axis=1)
    return np.diff(sums[:, places], axis=1)


def mdl_cuts(distinct: Floats, table: Floats, n: float) -> Floats:
    """Fayyad and Irani's cut points of masses by class and distinct value, scaled to `n` examples.

    >>> mdl_cuts(np.array([1.0, 2.0]), np.array([[4.0, 0.0], [0.0, 4.0]]), 8)
    array([1.5])
    """
    total = float(table.sum())
    if not total > 0.0:
        return np.empty(0)
    return _recursive_cuts(_steps(distinct, table * (n / total)), _mdl_place, depth=None)


def repartition_cuts(distinct: Floats, table: Floats, n: float, depth: int = 2) -> Floats:
    """Cut points that maximise Σ(√w₊ − √w₋)² over the intervals, each with a gain above 1/n.

    The weights are by class (0, 1) and distinct value, and scaled to sum 1; class 1 is positive. `depth` levels give up
    to 2**depth intervals.

    >>> repartition_cuts(np.array([1.0, 2.0]), np.array([[4.0, 0.0], [0.0, 4.0]]), 8)
    array([1.5])
    """
    total = float(table.sum())
    if not total > 0.0:
        return np.empty(0)

    def place(sums: Floats) -> int | None:
        return _objective_place(sums, 1.0 / n)

    return _recursive_cuts(_steps(distinct, table / total), place, depth)


def _steps(distinct: Floats, table: Floats) -> _CutPlaces:
    # A best cut never separates neighbours that hold one and the same class (Fayyad and Irani, theorem 1; the boosting
    # objective is convex in the mass moved, so it holds there too). Only the places between other neighbours are kept.
    used = table.any(axis=0)
    distinct, table = distinct[used], table[:, used]
    pure = np.where((table > 0.0).sum(axis=0) == 1, table.argmax(axis=0), -1)
    inner = np.flatnonzero((pure[:-1] != pure[1:]) | (pure[:-1] < 0)) + 1
    below, above = distinct[inner - 1], distinct[inner]
    middle = below + (above - below) / 2.0
    sums = np.concatenate((np.zeros((len(table), 1)), np.cumsum(table, axis=1)), axis=1)
    places = np.concatenate(([0], inner, [len(distinct)]))
    return _CutPlaces(sums[:, places], np.where((middle > below) & (middle < above), middle, above))


def _recursive_cuts(steps: _CutPlaces, best_place: Callable[[Floats], int | None], depth: int | None) -> Floats:
    found: list[int] = []
    waiting = [(0, steps.masses.shape[1] - 1, 0)]
    while waiting:
        first, last, level = waiting.pop()
        if last - first < 2 or level == depth:
            continue
        place = best_place(steps.masses[:, first : last + 1])
        if place is not None:
            found.append(first + place)
            waiting += [(first, first + place, level + 1), (first + place, last, level + 1)]
    return steps.cuts[np.sort(np.array(found, dtype=np.int64)) - 1]


def _mdl_place(sums: Floats) -> int | None:
    place = int(kernels.mdl_place(sums, _TIE))
    return place if place > 0 else None


def _objective_place(sums: Floats, threshold: float) -> int | None:
    score = _objective(sums[:, 1:-1] - sums[:, :1]) + _objective(sums[:, -1:] - sums[:, 1:-1])
    at = int(np.argmax(score >= score.max() - _TIE))
    return at + 1 if score[at] - float(_objective(sums[:, -1] - sums[:, 0])) > threshold else None


def _objective(masses: Floats) -> Floats:
    result: Floats = (np.sqrt(masses[1]) - np.sqrt(masses[0])) ** 2
    return result
