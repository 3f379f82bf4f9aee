"""How many rows a path of joins reaches, from counts of keys alone: told before anything is joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table

if TYPE_CHECKING:
    from hornboost.aggregates.paths import Hop


def rows_reached(examples: Table, tables: Mapping[str, Table], steps: Sequence[Hop]) -> int:
    """The rows at the end of a path, each as often as examples reach it."""
    return int(rows_reached_by_each(examples, tables, steps).sum())


def rows_reached_by_each(examples: Table, tables: Mapping[str, Table], steps: Sequence[Hop]) -> NDArray[np.float64]:
    """The number of rows at the end of a path that each example reaches.

    From the last table back, each row's number is the sum of those that its key leads to. Beyond 2⁵³ the number is
    rounded, which no limit notices.
    """
    each = np.ones(tables[steps[-1].to_table].n_rows)
    for position in range(len(steps) - 1, -1, -1):
        step = steps[position]
        codes = tables[step.to_table].columns[step.to_column].codes
        by_key = np.bincount(codes[codes >= 0], weights=each[codes >= 0])
        start = (examples if position == 0 else tables[step.table]).columns[step.column].codes
        known = (start >= 0) & (start < by_key.size)
        each = np.zeros(start.size)
        each[known] = by_key[start[known]]
    return each
