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
from hornboost.engine.ages import age_interval
from hornboost.engine.facts import Facts
from hornboost.engine.fit_check import check_test
from hornboost.engine.intervals import interval
from hornboost.engine.plan import JoinGroup, RowFeature
from hornboost.engine.seen import is_about_age
from hornboost.engine.tree import Join
from hornboost.errors import DataError
from hornboost.logic.aggregate import Operand
from hornboost.logic.clause import Test

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Conditions = tuple[Floats, Longs, Longs, Floats]
"""A matrix of columns, and the arrays of conditions on it."""


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
        """Those of a group over its table; `places` are the columns of the matrix of doubles.

        Examples know all about themselves, what is known later left out; of other rows they see ages, and values that
        are known by then.
        """
        below = [0, *accumulate(len(below.features) for below in group.groups)]
        first = [0]
        what: list[tuple[int, int, int]] = []
        bounds: list[tuple[float, float]] = []
        for feature in group.features:
            for test in feature.tests:
                is_root = group.join is None
                kind, other, limits = _condition(table, test, places, facts, is_root=is_root)
                what.append((kind, places[test.column], other))
                bounds.append(limits)
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


def _condition(
    table: Table, test: Test, places: Mapping[Operand, int], facts: Facts, *, is_root: bool
) -> tuple[int, int, tuple[float, float]]:
    """The kind of a test, the column of the matrix that it looks at beside its own, and the ends of its interval."""
    if not is_root and is_about_age(table, test):
        return kernels.AGE, 0, age_interval(test)
    column = column_of(table, test.column)
    check_test(table.name, column, test)
    limits = (0.0, 0.0) if test.op == "missing" else interval(column, test, facts)
    kind, late_kind = _KINDS.get(test.op, (kernels.INTERVAL, kernels.LATE_INTERVAL))
    if not is_root and column.name in table.late:
        return late_kind, places[table.late[column.name]], limits
    return kind, 0, limits


_KINDS = {"missing": (kernels.MISSING, kernels.LATE_MISSING), "!=": (kernels.UNEQUAL, kernels.LATE_UNEQUAL)}
"""Tests that ask for no interval: their kinds, and those of values that are known later than their rows."""


NO_CONDITIONS: Conditions = (
    np.empty((0, 0), np.float64),
    np.zeros(1, np.int64),
    np.empty((0, 3), np.int64),
    np.empty((0, 2), np.float64),
)
"""A matrix without columns and no features: nothing is asked of a row."""


def conditions_of(table: Table, test: Test, facts: Facts) -> Conditions:
    """A single test on the rows of a table of the database, with the matrix of what it looks at."""
    group, places = JoinGroup(table.name, Join(table.name, "", None), [RowFeature((test,))]), dict[Operand, int]()
    number_columns(group, table, places)
    return matrix_of(table, places), *RowConditions.of(group, table, places, facts).arrays


def number_columns(group: JoinGroup, table: Table, places: dict[Operand, int]) -> None:
    """Add the columns that the features of a group look at, and those that say when their values are known."""
    for feature in group.features:
        pairs = (*feature.same, *feature.differ)
        operands: list[Operand] = [test.column for test in feature.tests]
        dating = [] if group.join is None else [table.late[str(name)] for name in operands if name in table.late]
        for name in [*operands, *(name for pair in pairs for name in pair), *dating]:
            places.setdefault(name, len(places))


def matrix_of(table: Table, places: Mapping[Operand, int]) -> Floats:
    """Columns of a table side by side as doubles, NaN for missing."""
    matrix = np.empty((table.n_rows, len(places)), np.float64)
    for name, place in places.items():
        is_age = name == table.age and table.column(name) is None
        column = table.times if is_age and table.times is not None else column_of(table, name)
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
