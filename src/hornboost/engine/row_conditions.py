"""The features that a plan asks of the rows of one table, in the arrays that `join_kernels` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import MISSING
from hornboost.engine import join_kernels as kernels
from hornboost.engine.facts import Facts
from hornboost.engine.fit_check import check_test
from hornboost.engine.intervals import interval
from hornboost.engine.plan import JoinGroup
from hornboost.errors import DataError
from hornboost.logic.aggregate import Operand

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class RowConditions:
    """The conditions of all features of a group, in the order of the features."""

    first: Longs
    what: Longs
    bounds: Floats

    @property
    def arrays(self) -> tuple[Longs, Longs, Floats]:
        return self.first, self.what, self.bounds

    @classmethod
    def of(cls, group: JoinGroup, table: Table, places: Mapping[Operand, int], facts: Facts) -> RowConditions:
        """Those of a group over its table; `places` are the columns of the matrix of doubles."""
        below = [0, *accumulate(len(below.features) for below in group.groups)]
        first = [0]
        what: list[tuple[int, int, int]] = []
        bounds: list[tuple[float, float]] = []
        for feature in group.features:
            for test in feature.tests:
                column = column_of(table, test.column)
                check_test(table.name, column, test)
                is_missing = test.op == "missing"
                what.append((kernels.MISSING if is_missing else kernels.INTERVAL, places[test.column], 0))
                bounds.append((0.0, 0.0) if is_missing else interval(column, test, facts))
            what += [(kernels.SAME, places[one], places[other]) for one, other in feature.same]
            what += [(kernels.DIFFER, places[one], places[other]) for one, other in feature.differ]
            what += [(kernels.NEEDS, below[at] + number, 0) for at, number in feature.needs]
            bounds += [(0.0, 0.0)] * (len(what) - len(bounds))
            first.append(len(what))
        return cls(
            np.array(first, np.int64),
            np.array(what, np.int64).reshape(-1, 3),
            np.array(bounds, np.float64).reshape(-1, 2),
        )


NO_CONDITIONS = (
    np.empty((0, 0), np.float64),
    np.zeros(1, np.int64),
    np.empty((0, 3), np.int64),
    np.empty((0, 2), np.float64),
)
"""A matrix without columns and no features: nothing is asked of a row."""


def number_columns(group: JoinGroup, places: dict[Operand, int]) -> None:
    """Add the columns that the features of a group look at."""
    for feature in group.features:
        pairs = (*feature.same, *feature.differ)
        operands: list[Operand] = [test.column for test in feature.tests]
        for name in [*operands, *(name for pair in pairs for name in pair)]:
            places.setdefault(name, len(places))


def matrix_of(table: Table, places: Mapping[Operand, int]) -> Floats:
    """Columns of a table side by side as doubles, NaN for missing."""
    matrix = np.empty((table.n_rows, len(places)), np.float64)
    for name, place in places.items():
        column = column_of(table, name)
        matrix[:, place] = column.values
        if column.kind != "numeric":
            matrix[column.values == MISSING, place] = np.nan
    return matrix


def column_of(table: Table, operand: Operand) -> Column:
    """A column of a table, or an error that names it."""
    found = table.column(operand)
    if found is None:
        raise DataError.unknown_column(table.name, str(operand), table.columns)
    return found
