"""What a ranking booster's weak learner maximises: functions of points in recall-precision space (seed 003, sections 2 to 4).

A point is the weight of the true and of the false positives of a clause; the positives weigh 1 together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.metrics import area_between

Floats = NDArray[np.float64]


class Point(NamedTuple):
    """Weight of the true positives and of the false positives of a clause."""

    tp: float
    fp: float


Objective = Callable[[Floats, Floats, Sequence[Point]], Floats]
"""True and false positives of the candidates, and the path that they refine (the empty clause first) → scores."""


def auroc_gain(tp: ArrayLike, fp: ArrayLike, path: Sequence[Point]) -> Floats:
    """r of RankBoost.B: 2·AUROC − 1 of a ranking with two levels, under weights that sum to 1 in each class.

    >>> auroc_gain([0.5, 0.5], [30.0, 0.0], [Point(1.0, 150.0)])
    array([0.3, 0.5])
    """
    return np.asarray(np.asarray(tp) / path[0].tp - np.asarray(fp) / path[0].fp)


def clause_area(tp: ArrayLike, fp: ArrayLike, path: Sequence[Point]) -> Floats:
    """AURPC of one clause: horizontal to recall 0, and by the most general clause to recall 1.

    >>> clause_area([1.0, 0.5], [3.0, 0.0], [Point(1.0, 3.0)]).round(6)
    array([0.25    , 0.698741])
    """
    return _to_zero_recall(tp, fp) + area_between(tp, fp, path[0].tp, path[0].fp)


def path_area(tp: ArrayLike, fp: ArrayLike, path: Sequence[Point]) -> Floats:
    """AURPC of the path to each candidate: only the part left of the clause that it refines is new.

    >>> bool(path_area([0.5], [0.0], [Point(1.0, 3.0)]) == clause_area([0.5], [0.0], [Point(1.0, 3.0)]))
    True
    """
    last = path[-1]
    fixed = sum(areas(path))
    return _to_zero_recall(tp, fp) + area_between(tp, fp, last.tp, last.fp) + fixed


def areas(path: Sequence[Point]) -> list[float]:
    """The area between each clause of a path and the one before it, which is more general."""
    return [float(area_between(b.tp, b.fp, a.tp, a.fp)) for a, b in pairwise(path)]


def levels(path: Sequence[Point], excess: bool) -> list[float]:
    """h of an example by how many clauses of the path cover it, from 0 clauses (h = 0) to all of them (h = 1).

    With i of the m clauses after the empty one, it is the share of the area right of the next clause's recall (seed 003, Figure 1).
    With `excess` the area above the precision of the empty clause counts instead of the total.

    >>> [round(h, 4) for h in levels([Point(1.0, 3.0), Point(0.75, 1.0), Point(0.5, 0.0)], excess=False)]
    [0.0, 0.3142, 1.0]
    """
    first, last = path[0], path[-1]
    base = first.tp / (first.tp + first.fp) if excess else 0.0
    pieces = [area - base * (a.tp - b.tp) for area, a, b in zip(areas(path), path, path[1:], strict=False)]
    total = sum(pieces) + float(_to_zero_recall(last.tp, last.fp)) - base * last.tp
    shares = np.cumsum(pieces)[1:] / total if total > 0 else np.zeros(len(path) - 2)
    inner = np.maximum.accumulate(np.clip(shares, 0.0, 1.0)) if len(path) > 2 else shares
    return [0.0, *inner.tolist(), 1.0]


def _to_zero_recall(tp: ArrayLike, fp: ArrayLike) -> Floats:
    """`area_between` from (0, 0): true positives times precision."""
    found = np.asarray(tp, dtype=np.float64)
    total = found + np.asarray(fp, dtype=np.float64)
    return np.asarray(found * np.divide(found, total, out=np.zeros_like(total), where=total > 0))
