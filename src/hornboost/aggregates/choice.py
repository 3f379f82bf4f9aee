"""Which aggregates a learner is given: every function over every path within reach, as long as that is affordable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hornboost.aggregates.attach import with_aggregates
from hornboost.aggregates.compute import Aggregator
from hornboost.aggregates.meaning import Paths
from hornboost.aggregates.paths import TablePath, find_paths, is_unique
from hornboost.aggregates.reach import rows_reached
from hornboost.data.table import Column, Table
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.aggregate import FUNCTIONS, MOMENTS, ROWS, SPREAD, Aggregate
from hornboost.logic.text import print_path
from hornboost.sql.sums import LARGEST, LARGEST_SQUARED
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database

VALUES = 8
"""Values of a nominal column whose rows are counted apart: those that most examples reach."""

MOST_COLUMNS = 1_000
MOST_CELLS = 20_000_000
"""Aggregates times examples at most."""

SMALLEST = 1e-3
"""Nine digits behind the point are enough for columns with some number of this size."""


@dataclass(eq=False)
class AggregateChoice:
    """The aggregates that examples are given, and why others are left out."""

    database: Database
    functions: Sequence[str] = FUNCTIONS
    max_depth: int = 2
    max_entries: int = 50_000_000
    left_out: dict[str, str] = field(default_factory=dict)

    def attached(self, examples: Table) -> Table:
        """The examples with the aggregates that tell some of them apart, each once."""
        paths = self._affordable(examples)
        room = max(1, min(MOST_COLUMNS, MOST_CELLS // max(examples.n_rows, 1)))
        wanted = list(dict.fromkeys(self._wanted(examples, paths)))
        for aggregate in wanted[room:]:
            self.left_out[str(aggregate)] = f"there are more than {room:,} aggregates"
        check()
        full = with_aggregates(self.database, examples, wanted[:room])
        seen: set[bytes] = set()
        kept = {}
        for aggregate, column in full.aggregates.items():
            content = column.kind.encode() + column.values.tobytes()
            if content not in seen and _varies(column):
                kept[aggregate] = column
            seen.add(content)
        return replace(full, aggregates=kept)

    def _affordable(self, examples: Table) -> list[TablePath]:
        """The paths to several rows that reach no more of them than the limit."""
        tables, names = self.database.tables, Paths.of(self.database)
        found = []
        for path in find_paths(tables, self.database.links, self.database.target.table, self.max_depth):
            if path.single:
                continue  # a condition on the row itself says the same
            path = replace(path, label=print_path(names.name(path.steps)))
            count = rows_reached(examples, tables, path.steps)
            if count > self.max_entries:
                self.left_out[path.label] = f"it reaches {count:,} rows, more than max_entries={self.max_entries:,}"
            elif count > 0:
                found.append(path)
        return found

    def _wanted(self, examples: Table, paths: Sequence[TablePath]) -> Iterator[Aggregate]:
        """The shortest paths first, and conditions on rows last, so that a limit leaves out what matters least."""
        names = Paths.of(self.database)
        for path in paths:
            steps = names.name(path.steps)
            if "count" in self.functions:
                yield Aggregate("count", steps)
            for column in self.database.tables[path.table].columns.values():
                for function in self._of_column(path, column):
                    yield Aggregate(function, steps, column.name)
        functions = [function for function in ROWS if function in self.functions]
        if not functions:
            return
        check()
        aggregator = Aggregator(self.database.tables, self.database.target.table, {}, exact=True)
        for path, values in aggregator.frequent_values(_distinct(examples), paths, VALUES).items():
            for name, frequent in values.items():
                for value in frequent:
                    for function in functions:
                        yield Aggregate(function, names.name(path.steps), None, (name, value))

    def _of_column(self, path: TablePath, column: Column) -> list[str]:
        if column.kind == "key":
            repeats = column.name != path.steps[-1].to_column and not is_unique(column)
            found = ["distinct"] if repeats else []
        elif column.kind == "nominal":
            found = list(SPREAD)
        elif column.is_date:
            found = ["min", "max"]
        else:
            found = ["mean", "sum", "min", "max", "std"]
        return [name for name in found if name in self.functions and self._is_exact(path, column, name)]

    def _is_exact(self, path: TablePath, column: Column, function: str) -> bool:
        """Whether nine digits behind the point, and 64 bits before it, hold sums of a column's numbers."""
        if function not in MOMENTS:
            return True
        numbers = np.abs(column.numbers[np.isfinite(column.numbers)])
        largest = float(numbers.max(initial=0.0))
        reason = None
        if largest > (LARGEST_SQUARED if function == "std" else LARGEST):
            reason = f"numbers of '{column.name}' are too large to be added exactly"
        elif 0 < largest < SMALLEST:
            reason = f"numbers of '{column.name}' are too small to be added to nine digits"
        if reason is not None:
            self.left_out[str(Aggregate(function, Paths.of(self.database).name(path.steps), column.name))] = reason
        return reason is None


def checked_functions(functions: Sequence[str]) -> tuple[str, ...]:
    """Names of functions, or an error that names one that does not exist."""
    for function in functions:
        if function not in FUNCTIONS:
            raise DataError(f"there is no aggregate '{function}'{did_you_mean(str(function), FUNCTIONS)}")
    return tuple(functions)


def _distinct(examples: Table) -> Table:
    """Examples that differ in their keys: one that is repeated counts once, as one of twice the weight does."""
    keys = np.column_stack([column.codes for column in examples.keys])
    return examples.take(np.unique(keys, axis=0, return_index=True)[1])


def _varies(column: Column) -> bool:
    missing = column.missing
    present = column.values[~missing]
    return bool(present.size) and (bool(missing.any()) or bool((present != present[0]).any()))
