"""How many rows a path of joins reaches: told before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates.view import View
from hornboost.data.table import Table
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.aggregates.paths import Hop
    from hornboost.data import Database

BLOCK = 1 << 20
"""Rows that are looked at together: some tenths of a second at most, so that Ctrl-C and time limits need not wait."""

FOLLOWED = 1 << 28
"""Rows on the way that are followed to count those at the end; of more, rows are counted whenever they are from."""


def rows_reached(database: Database, examples: Table, steps: Sequence[Hop]) -> int:
    """The rows at the end of a path, each as often as examples reach it and see it."""
    database.check_here(steps[-1].to_table)
    at_most = int(rows_reached_by_each(examples, database.tables, steps).sum())
    if at_most == 0 or all(database.tables[step.to_table].times is None for step in steps):
        return at_most
    on_the_way = steps[:-1]
    if on_the_way and rows_reached_by_each(examples, database.tables, on_the_way).sum() > FOLLOWED:
        return at_most
    view = View(database, examples)
    return sum(view.count(steps, start, stop) for start, stop in blocks(examples, database.tables, steps))


def blocks(examples: Table, tables: Mapping[str, Table], steps: Sequence[Hop]) -> Iterator[tuple[int, int]]:
    """Ranges of examples that reach about as many rows as are looked at together."""
    if examples.n_rows == 0:
        return
    block = (np.cumsum(rows_reached_by_each(examples, tables, steps)) // BLOCK).astype(np.int64)
    starts = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    for start, stop in zip(starts, np.append(starts[1:], block.size), strict=True):
        check()
        yield int(start), int(stop)


def rows_reached_by_each(examples: Table, tables: Mapping[str, Table], steps: Sequence[Hop]) -> NDArray[np.float64]:
    """The number of rows at the end of a path that each example reaches, whenever these are from.

    From the last table back, each row's number is the sum of those that its key leads to. Beyond 2⁵³ the number is
    rounded, which no limit notices.
    """
    each = np.ones(tables[steps[-1].to_table].n_rows)
    for position in range(len(steps) - 1, -1, -1):
        step = steps[position]
        table = tables[step.to_table]
        codes = table.columns[step.to_column].codes
        counts = codes >= 0 if table.times is None else (codes >= 0) & ~table.times.missing
        by_key = np.bincount(codes[counts], weights=each[counts])
        start = (examples if position == 0 else tables[step.table]).columns[step.column].codes
        known = (start >= 0) & (start < by_key.size)
        each = np.zeros(start.size)
        each[known] = by_key[start[known]]
    return each
