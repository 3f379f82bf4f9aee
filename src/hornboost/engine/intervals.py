"""What a test means: the interval of a column's values that pass it, or of `!=` the one that does not.

A missing value passes neither.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column
from hornboost.dtypes import MISSING
from hornboost.engine.facts import NO_VALUE, Facts
from hornboost.engine.reach import gathered
from hornboost.logic.clause import Test
from hornboost.logic.moment import moment_of


def interval(column: Column, test: Test, facts: Facts) -> tuple[float, float]:
    """The smallest and the largest value that pass a comparison, in the codes or numbers of the column.

    Of `!=` the value that does not pass it.
    """
    assert test.value is not None
    if test.op in ("=", "!="):
        value = float(test.value) if column.kind == "numeric" else float(_code(column, str(test.value), facts))
        return value, value
    bound = test.value if isinstance(test.value, float) else test.duration
    bound = moment_of(str(test.value)) if bound is None else bound
    return (bound, np.inf) if test.op == ">=" else (-np.inf, bound)


def satisfies(column: Column, test: Test, facts: Facts, rows: NDArray[np.int32] | None = None) -> NDArray[np.bool_]:
    """Which rows of a column, or which of some rows, pass a test."""
    values: NDArray[Any] = column.values if rows is None else gathered(column.values, rows)
    if test.op == "missing":
        return np.asarray(np.isnan(values) if column.kind == "numeric" else values == MISSING)
    low, high = interval(column, test, facts)
    if test.op == "=":
        return np.asarray(values == (low if column.kind == "numeric" else int(low)))
    if test.op == "!=":
        return np.asarray((values != int(low)) & (values != MISSING))
    return np.asarray(values >= low if test.op == ">=" else values <= high)


def _code(column: Column, value: str, facts: Facts) -> int:
    """The code of a constant, or one that no row has."""
    if column.kind == "key":
        return facts.constant(column.domain or "", value)
    assert column.categories is not None
    at = bisect_left(column.categories, value)
    known = at < len(column.categories) and column.categories[at] == value
    return at if known else NO_VALUE
