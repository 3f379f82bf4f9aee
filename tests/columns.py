"""Plain columns of numbers, cut as the features of a database are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.activation.discretisation import mdl_cuts, repartition_cuts

Floats = NDArray[np.float64]


def mdl_cut_points(
    values: ArrayLike, classes: ArrayLike, masses: ArrayLike | None = None, n: int | None = None
) -> Floats:
    """Fayyad and Irani's cut points; NaN and masses of 0 are left out. The masses are scaled to `n` examples."""
    distinct, table, count = _tabulated(values, classes, masses)
    return mdl_cuts(distinct, table, count if n is None else n)


def repartition(
    values: ArrayLike, classes: ArrayLike, weights: ArrayLike, n: int | None = None, depth: int = 2
) -> Floats:
    """The cut points of `repartition_cuts`; `n` is by default the number of values with weight."""
    distinct, table, count = _tabulated(values, classes, weights)
    return repartition_cuts(distinct, table, count if n is None else n, depth)


def _tabulated(values: ArrayLike, classes: ArrayLike, masses: ArrayLike | None) -> tuple[Floats, Floats, int]:
    """The distinct values, the masses by class and distinct value, and how many values have mass."""
    numbers, labels = np.asarray(values, dtype=np.float64), np.asarray(classes).astype(np.int64)
    mass = np.ones(len(numbers)) if masses is None else np.asarray(masses, dtype=np.float64)
    used = ~np.isnan(numbers) & (mass > 0.0)
    distinct, ranks = np.unique(numbers[used], return_inverse=True)
    table = np.zeros((max(2, int(labels.max(initial=0)) + 1), len(distinct)))
    np.add.at(table, (labels[used], ranks), mass[used])
    return distinct, table, int(used.sum())
