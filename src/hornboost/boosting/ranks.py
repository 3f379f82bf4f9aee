"""The two things that ranking boosters keep about the training examples.

Weights of the two classes, and cells of equal score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import WEIGHT, WEIGHT_ONE
from hornboost.errors import DataError
from hornboost.exact.compiled import exp
from hornboost.metrics import aurpc

Floats = NDArray[np.float64]


class PairWeights:
    """Weights of positives that sum to 1 and of negatives that sum to the skew, each class in fixed point of its own.

    Recall and precision under the first weights are those of the examples themselves (Oliphant et al. 2009, section 2).

    Examples
    --------
    >>> weights = PairWeights(np.array([1, 0, 0, 0, 1, 0], np.int32), np.ones(6))
    >>> weights.skew, weights.points(weights.units[None, [1, 0]])
    (2.0, (array([0.5]), array([0.5])))
    """

    def __init__(self, y: NDArray[np.int32], sample_weight: Floats) -> None:
        self.y = y
        self.positives = np.flatnonzero(y == 1)
        positive = y == 1
        if not positive.any():
            raise DataError(
                "there is no positive example, so there is nothing to rank first; give examples of both classes."
            )
        if positive.all():
            raise DataError(
                "there is no negative example, so any order ranks the positives first; give examples of both classes."
            )
        self.skew = math.fsum(sample_weight[~positive]) / math.fsum(sample_weight[positive])
        self.sample_weight = sample_weight
        totals = np.array([math.fsum(sample_weight[y == label]) for label in (0, 1)])
        self._set(np.maximum(np.rint(WEIGHT_ONE / totals), 1.0)[y])

    def points(self, table: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """True and false positives from the units covered by class (negatives first)."""
        return table[:, 1] / self.totals[1], self.skew * (table[:, 0] / self.totals[0])

    def update(self, covered: Sequence[NDArray[np.bool_]], gains: Sequence[float], alpha: float) -> NDArray[np.intp]:
        """w·exp(−αh) for positives and w·exp(αh) for negatives, rescaled to the sums.

        `covered` are nested clauses, `gains` what each adds to h. Each factor is computed once. Those of the negatives
        are divided by exp(α), which the rescaling takes out again, so that no weight grows. Returns how many of the
        clauses cover each example.
        """
        depth = np.zeros(self.units.size, np.intp)
        for clause in covered:
            depth += clause
        h = np.cumsum([0.0, *gains])
        factors = np.array([[exp(alpha * (value - 1.0)) for value in h], [exp(-alpha * value) for value in h]])
        self._set(np.rint(self.density * factors[self.y, depth]))
        scales = np.array([WEIGHT_ONE / max(total, 1) for total in self.totals])
        self._set(np.maximum(np.rint(self.density * scales[self.y]), 1.0))
        return depth

    def _set(self, density: Floats) -> None:
        """Units in proportion to a whole density, so that an example of weight 2 counts exactly as two of weight 1."""
        self.density = density
        self.units = np.maximum(np.rint(self.sample_weight * density), 1.0).astype(WEIGHT)
        positive = int(self.units[self.positives].sum())
        self.totals = (int(self.units.sum()) - positive, positive)


class ScoreCells:
    """Examples grouped by score, so that a new weak hypothesis touches only those that it covers.

    Examples
    --------
    >>> cells = ScoreCells(np.array([1, 0, 0], np.int32), np.ones(3))
    >>> cells.add(np.array([1, 1, 0]), [1.0], 0.5)
    >>> cells.score[cells.cell], cells.aurpc()
    (array([0.5, 0.5, 0. ]), 0.5)
    """

    def __init__(self, y: NDArray[np.int32], sample_weight: Floats) -> None:
        self.y = y
        self.sample_weight = sample_weight
        self.cell = np.zeros(y.size, np.intp)
        self.score = np.zeros(1)
        self.weight: Floats = np.bincount(y, weights=sample_weight, minlength=2).astype(np.float64)[:, None]

    def add(self, depth: NDArray[np.intp], gains: Sequence[float], alpha: float) -> None:
        """Raise the scores of examples that `depth` > 0 nested clauses cover by alpha times the sum of their gains."""
        h = np.cumsum([0.0, *gains])
        moved = np.flatnonzero(depth)
        key = self.cell[moved] * len(h) + depth[moved]
        size = self.score.size * len(h)
        occupied = np.bincount(key, minlength=size) > 0
        number = np.cumsum(occupied) - 1 + self.score.size
        old, levels = np.divmod(np.flatnonzero(occupied), len(h))
        mass = np.stack(
            [
                np.bincount(key, weights=self.sample_weight[moved] * (self.y[moved] == label), minlength=size)
                for label in (0, 1)
            ]
        )
        weight = np.concatenate([self.weight, mass[:, occupied]], axis=1)
        for label in (0, 1):
            np.subtract.at(weight[label], old, mass[label, occupied])
        self.cell[moved] = number[key]
        self.score = np.concatenate([self.score, self.score[old] + alpha * h[levels]])
        self.weight = weight
        self._drop_empty()

    def _drop_empty(self) -> None:
        kept = np.bincount(self.cell, minlength=self.score.size) > 0
        if kept.all():
            return
        number = np.cumsum(kept) - 1
        self.cell = number[self.cell]
        self.score, self.weight = self.score[kept], self.weight[:, kept]

    def masses(self) -> tuple[Floats, Floats]:
        """The scores that occur, and the weight of each class that has them; adding leaves these arrays as they are."""
        return self.score, self.weight

    def aurpc(self) -> float:
        """The area under the recall-precision curve of the scores so far."""
        y = np.repeat([0, 1], self.score.size)
        return aurpc(y, np.tile(self.score, 2), np.maximum(self.weight.ravel(), 0.0))
