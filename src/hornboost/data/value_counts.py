"""How often the values of a column stand in it, and where first: of one in memory, or of one that comes in batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import factorize

if TYPE_CHECKING:
    import pyarrow as pa

MERGED = 1 << 18
"""Distinct values of batches that are put together at once."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values of a column, how many rows have each, and the first of them, by which they are in order.

    `missing` rows have none.
    """

    values: pa.Array
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    missing: int


def count_values(batches: Iterable[pa.ChunkedArray]) -> ValueCounts:
    """Count the values of a column, of which no more than the distinct ones are held.

    >>> import pyarrow as pa
    >>> found = count_values([pa.chunked_array([["b", None, "a"]]), pa.chunked_array([["b", "c"]])])
    >>> found.values.to_pylist(), found.counts.tolist(), found.first.tolist(), found.missing
    (['b', 'a', 'c'], [2, 1, 1], [0, 2, 4], 1)
    """
    found: list[pa.Table] = []
    start = size = merged = 0
    for values in batches:
        found.append(_counted(values, start))
        start += len(values)
        size += found[-1].num_rows
        if size > 2 * merged + MERGED:
            found = [_together(found)]
            size = merged = found[0].num_rows
    table = _together(found).sort_by("first")
    counts, first = (table.column(name).to_numpy() for name in ("count", "first"))
    return ValueCounts(table.column("value").combine_chunks(), counts, first, start - int(counts.sum()))


def first_values(batches: Iterable[pa.ChunkedArray], n: int) -> pa.ChunkedArray:
    """The values of the first rows of a column, n at most."""
    import pyarrow as pa

    found: list[pa.Array] = []
    kind, rest = pa.string(), n
    for values in batches:
        kind = values.type
        found += values.slice(0, rest).chunks
        rest -= min(rest, len(values))
        if rest == 0:
            break
    return pa.chunked_array(found, kind)


def _counted(values: pa.ChunkedArray, start: int) -> pa.Table:
    """The values of a batch whose first row has the number `start`."""
    import pyarrow as pa

    codes, distinct = factorize(values)
    rows = np.flatnonzero(codes >= 0)
    first = np.zeros(len(distinct), np.int64)
    first[codes[rows[::-1]]] = rows[::-1] + start
    counts = np.bincount(codes[rows], minlength=len(distinct))
    table = pa.table({"value": distinct, "count": counts, "first": first})
    return table if counts.all() else table.filter(pa.array(counts > 0))  # a dictionary may name what no row has


def _together(tables: list[pa.Table]) -> pa.Table:
    """The tables as one, in which each value stands once."""
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    grouped = pa.concat_tables(tables).group_by("value")
    return grouped.aggregate([("count", "sum"), ("first", "min")]).rename_columns(["value", "count", "first"])
