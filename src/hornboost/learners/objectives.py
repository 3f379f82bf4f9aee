"""Objectives: what searches maximise, as vectorised functions of the weight that candidates cover.

Confidence-rated boosting asks for √w₊ − √w₋, knowledge-based sampling for WRAcc, ranking for areas in recall-precision
space, regression for the squared error that two means explain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.exact.areas import area, areas_of_paths
from hornboost.exact.compiled import exp, log
from hornboost.learners import objective_kernels as kernels

Floats = NDArray[np.float64]
Weights = NDArray[np.int64]

RESOLUTION = 2.0**40
"""Qualities are compared in steps of 2**-40, so that conditions that divide the examples alike are ties."""


def z_tilde(stats: Weights) -> Floats:
    """√w₊ − √w₋, what a clause is grown by (Hoche and Wrobel 2002, Table 1, function 4).

    `stats` holds the covered weight by candidate and class, the negative one first.

    >>> z_tilde(np.array([[4, 25], [9, 0]]))
    array([ 3., -3.])
    """
    return kernels.z_tilde(stats)


def z(w_plus: float, w_minus: float) -> float:
    """(√w₊ − √w₋)², which compares a clause with the default clause (Hoche and Wrobel 2002, Table 1, function 6)."""
    root = math.sqrt(w_plus) - math.sqrt(w_minus)
    return root * root


def confidence(w_plus: float, w_minus: float, n: float) -> float:
    """½ ln((w₊ + 1/2N) / (w₋ + 1/2N)), the vote of a clause (Hoche and Wrobel 2002, Table 1, function 3).

    >>> round(confidence(0.5, 0.0, 10), 6)
    1.198948
    """
    return 0.5 * log((w_plus + 0.5 / n) / (w_minus + 0.5 / n))


def votes_for(w_plus: float, w_minus: float, n: float) -> bool:
    """Whether the confidence of a clause is positive.

    >>> votes_for(0.5, 0.0, 10), votes_for(0.2, 0.2, 10)
    (True, False)
    """
    return (w_plus + 0.5 / n) / (w_minus + 0.5 / n) > 1.0


def loss(w_plus: float, w_minus: float, vote: float) -> float:
    """The weight left on the pruning set by a clause that votes `vote` (Hoche and Wrobel 2002, Table 1, function 5)."""
    return (1.0 - (w_plus + w_minus)) + w_plus * exp(-vote) + w_minus * exp(vote)


def wracc(stats: Weights, totals: Weights, label: int) -> Floats:
    """WRAcc of each candidate for a class: Pr(covered, y) - Pr(covered)·Pr(y) (Scholz 2005, section 4).

    `stats` holds the covered weight by candidate and class, `totals` the weight of each class.

    >>> wracc(np.array([[30, 10], [50, 50]]), np.array([50, 50]), 0)
    array([0.1, 0. ])
    """
    total = float(totals.sum())
    return np.asarray(stats[:, label] / total - _covered(stats) * (totals[label] / (total * total)))


def largest_wracc(stats: Weights, totals: Weights) -> Floats:
    """The largest |WRAcc| for any class, what a classifier's clause is chosen by.

    That of two classes differs in sign only.
    """
    return kernels.largest_wracc(stats, totals, RESOLUTION)


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
    """By how much two means instead of one lower the weighted squared error.

    `weight` and `response` are sums over the covered examples.

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


class CurvePoint(NamedTuple):
    """Weight of the true positives and of the false positives of a clause."""

    tp: float
    fp: float


RankObjective = Callable[[Floats, Floats, Sequence[CurvePoint]], Floats]
"""True and false positives of the candidates, and the path that they refine (the empty clause first) → scores."""


def auroc_gain(tp: ArrayLike, fp: ArrayLike, path: Sequence[CurvePoint]) -> Floats:
    """r of RankBoost.B: 2·AUROC − 1 of a ranking with two levels, under weights that sum to 1 in each class.

    >>> auroc_gain([0.5, 0.5], [30.0, 0.0], [CurvePoint(1.0, 150.0)])
    array([0.3, 0.5])
    """
    return np.asarray(np.asarray(tp) / path[0].tp - np.asarray(fp) / path[0].fp)


def clause_area(tp: ArrayLike, fp: ArrayLike, path: Sequence[CurvePoint]) -> Floats:
    """AURPC of one clause: horizontal to recall 0, and by the most general clause to recall 1.

    >>> clause_area([1.0, 0.5], [3.0, 0.0], [CurvePoint(1.0, 3.0)]).round(6)
    array([0.25    , 0.698741])
    """
    return _areas(tp, fp, path[0], 0.0)


def path_area(tp: ArrayLike, fp: ArrayLike, path: Sequence[CurvePoint]) -> Floats:
    """AURPC of the path to each candidate: only the part left of the clause that it refines is new.

    >>> bool(path_area([0.5], [0.0], [CurvePoint(1.0, 3.0)]) == clause_area([0.5], [0.0], [CurvePoint(1.0, 3.0)]))
    True
    """
    return _areas(tp, fp, path[-1], float(sum(areas(path))))


def _areas(tp: ArrayLike, fp: ArrayLike, end: CurvePoint, fixed: float) -> Floats:
    found = areas_of_paths(np.ascontiguousarray(tp, np.float64), np.ascontiguousarray(fp, np.float64), *end, fixed)
    return found.reshape(np.shape(tp))


def areas(path: Sequence[CurvePoint]) -> list[float]:
    """The area between each clause of a path and the one before it, which is more general."""
    return [area(b.tp, b.fp, a.tp, a.fp) for a, b in pairwise(path)]


def levels(path: Sequence[CurvePoint], excess: bool) -> list[float]:
    """h of an example by how many clauses of the path cover it, from 0 clauses (h = 0) to all of them (h = 1).

    With i of the m clauses after the empty one, it is the share of the area right of the next clause's recall
    (Oliphant, Burnside and Shavlik 2009, Figure 1). With `excess` the area above the precision of the empty clause
    counts instead of the total.

    >>> [round(h, 4) for h in levels([CurvePoint(1.0, 3.0), CurvePoint(0.75, 1.0), CurvePoint(0.5, 0.0)], excess=False)]
    [0.0, 0.3142, 1.0]
    """
    first, last = path[0], path[-1]
    base = first.tp / (first.tp + first.fp) if excess else 0.0
    pieces = [area - base * (a.tp - b.tp) for area, a, b in zip(areas(path), path, path[1:], strict=False)]
    precision = last.tp / (last.tp + last.fp) if last.tp + last.fp > 0 else 0.0
    total = sum(pieces) + last.tp * precision - base * last.tp
    shares = np.cumsum(pieces)[1:] / total if total > 0 else np.zeros(len(path) - 2)
    inner = np.maximum.accumulate(np.clip(shares, 0.0, 1.0)) if len(path) > 2 else shares
    return [0.0, *inner.tolist(), 1.0]
