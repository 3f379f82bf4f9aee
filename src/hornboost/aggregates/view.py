"""What an example sees of other rows: those from strictly before its cutoff, with the values that are known by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.dtypes import MISSING

if TYPE_CHECKING:
    from hornboost.aggregates.paths import Hop
    from hornboost.data import Database

Longs = NDArray[np.int64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float64]


def cutoffs_are_dates(database: Database) -> bool:
    """Whether the cutoffs of examples are dates; those of other tables may be nothing but missing."""
    times = database.tables[database.target.table].times
    return times is not None and times.is_date


@dataclass(eq=False)
class View:
    """The examples, and what they see of a database: rows go with the examples that look at them, one of each."""

    database: Database
    examples: Table

    @cached_property
    def cutoffs(self) -> Floats:
        """Up to when each example sees; without a cutoff it sees no row that has a time."""
        times = self.examples.times
        return np.full(self.examples.n_rows, np.nan) if times is None else times.numbers

    def walk(self, steps: Sequence[Hop], start: int, stop: int) -> tuple[Longs, Rows]:
        """The rows at the end of a path and the examples that reach them, for some examples, in their order."""
        example, rows, table = np.arange(start, stop), np.arange(start, stop, dtype=np.int32), self.examples
        for hop in steps:
            index = self.database.index(hop.to_table, hop.to_column)
            example, first, lengths = self._behind(hop, table, example, rows)
            before = np.cumsum(lengths) - lengths
            rows = index.rows[np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))]
            example, table = np.repeat(example, lengths), self.database.tables[hop.to_table]
        return example, rows

    def count(self, steps: Sequence[Hop], start: int, stop: int) -> int:
        """The number of rows at the end of a path that some examples reach."""
        *others, last = steps
        example, rows = self.walk(others, start, stop)
        table = self.database.tables[others[-1].to_table] if others else self.examples
        return int(self._behind(last, table, example, rows)[2].sum())

    def _behind(self, hop: Hop, table: Table, example: Longs, rows: Rows) -> tuple[Longs, Longs, Longs]:
        """The examples whose keys are known, and for each where in the index what it sees begins and how long it is."""
        index = self.database.index(hop.to_table, hop.to_column)
        codes = table.columns[hop.column].codes[rows]
        known = (codes >= 0) & (codes < index.size)
        example, codes = example[known], codes[known]
        first = index.offsets[codes]
        stops = index.offsets[codes + 1] if index.times is None else index.stops(codes, self.cutoffs[example])
        return example, first, stops - first

    def values(self, table: Table, column: str, example: Longs, rows: Rows) -> NDArray[Any]:
        """The values of rows in a column, missing up to when they are known."""
        found = table.columns[column].values[rows]
        if column not in table.late:
            return found
        missing = np.nan if table.columns[column].kind == "numeric" else MISSING
        is_known = table.columns[table.late[column]].numbers[rows] < self.cutoffs[example]
        return np.where(is_known, found, found.dtype.type(missing))

    def ages(self, table: Table, example: Longs, rows: Rows) -> Floats:
        """The times from rows, which are seen, to the cutoffs."""
        assert table.times is not None
        return np.asarray(self.cutoffs[example] - table.times.numbers[rows])
