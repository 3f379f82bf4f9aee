"""Which aggregates a learner is given: every function over every path within reach, as long as that is affordable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hornboost.aggregates.meaning import Paths, meaning
from hornboost.aggregates.paths import TablePath, find_paths, key_is_unique
from hornboost.aggregates.reached import RowsReached
from hornboost.aggregates.windows import windows
from hornboost.data.table import Column, Table
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.aggregate import FUNCTIONS, LAST, MOMENTS, ROWS, SPREAD, Aggregate
from hornboost.logic.text import print_path
from hornboost.sql.sums import LARGEST, LARGEST_SQUARED

if TYPE_CHECKING:
    from hornboost.data import Database

Window = tuple[str, str | float]
"""The name of the rows' age, and how old they are at most."""

VALUES = 8
"""Values of a nominal column whose rows are counted apart: those that most examples reach."""

CONDITIONAL = ("mean", "sum")
"""Functions of a column that are also computed over the rows with each of these values."""

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

    def attached(self, reached: RowsReached) -> Table:
        """The examples with the aggregates that tell some of them apart, each once."""
        examples = reached.examples
        paths = self._affordable(reached)
        room = max(1, min(MOST_COLUMNS, MOST_CELLS // max(examples.n_rows, 1)))
        wanted = list(dict.fromkeys(self._plain(paths)))
        has_room = len(wanted) < room
        within = {path: windows(reached, path) for path in paths} if has_room and self._is_conditional else {}
        wanted += self._windowed(within)
        examined = self._examined(paths) if has_room else ()
        reached.look([meaning(self.database, one) for one in (*wanted[:room], *examined)])
        wanted += self._conditional(paths, reached, within) if has_room else ()
        reached.look([meaning(self.database, one) for one in wanted[:room]])
        unexamined = () if has_room else self._unexamined(paths)  # to name each would take a pass over their rows
        for one in (*wanted[room:], *unexamined):
            self.left_out[str(one)] = f"there are more than {room:,} aggregates of so many examples"
        seen: set[bytes] = set()
        kept = {}
        columns = reached.columns([meaning(self.database, aggregate) for aggregate in wanted[:room]])
        for aggregate, column in zip(wanted[:room], columns, strict=True):
            content = column.kind.encode() + column.values.tobytes()
            if column.is_age and np.isinf(column.numbers).any():
                self.left_out[str(aggregate)] = "some rows are infinitely old"
            elif content not in seen and _varies(column):
                kept[aggregate] = column
            seen.add(content)
        return replace(examples, aggregates=kept)

    def _affordable(self, reached: RowsReached) -> list[TablePath]:
        """The paths to several rows that reach no more of them than the limit."""
        database, names = self.database, Paths.of(self.database)
        found = []
        target, given = database.target.table, database.given_facts
        for path in find_paths(database.tables, database.links, target, self.max_depth, given):
            if path.single:
                continue  # a condition on the row itself says the same
            path = replace(path, label=print_path(names.name(path.steps)))
            count = reached.count(path)
            if count > self.max_entries:
                self.left_out[path.label] = f"it reaches {count:,} rows, more than max_entries={self.max_entries:,}"
            elif count > 0:
                found.append(path)
        return found

    def _plain(self, paths: Sequence[TablePath]) -> Iterator[Aggregate]:
        """Functions of all rows, the shortest paths first."""
        for path in paths:
            steps = Paths.of(self.database).name(path.steps)
            if "count" in self.functions:
                yield Aggregate("count", steps)
            for column in self.database.tables[path.table].columns.values():
                for function in self._of_column(path, column):
                    yield Aggregate(function, steps, column.name)
            age = self.database.tables[path.table].age
            yield from (Aggregate(name, steps, age) for name in ("min", "max") if age and name in self.functions)

    def _windowed(self, within: Mapping[TablePath, Sequence[Window]]) -> Iterator[Aggregate]:
        """Functions of the rows of each window: their number first, then their columns."""
        for path, lengths in within.items():
            steps = Paths.of(self.database).name(path.steps)
            for length in lengths:
                found = [name for name in ROWS if name in self.functions]
                yield from (Aggregate(name, steps, None, None, length) for name in found)
            for column in self.database.tables[path.table].attributes:
                functions = [name for name in CONDITIONAL if name in self._of_column(path, column)]
                yield from (Aggregate(name, steps, column.name, None, to) for to in lengths for name in functions)

    def _examined(self, paths: Sequence[TablePath]) -> Iterator[Aggregate]:
        """What tells which values of nominal columns are frequent, and how many rows have each."""
        for path, column in self._nominal(paths):
            yield Aggregate("mode", Paths.of(self.database).name(path.steps), column.name)
        if "share" in self.functions:
            yield from (Aggregate("count", Paths.of(self.database).name(path.steps)) for path in paths)

    def _unexamined(self, paths: Sequence[TablePath]) -> Iterator[str]:
        """Aggregates of some rows of a path, as a whole: of those with a value, and of those in a window."""
        yield from (f'{path.label} where {column.name}="…"' for path, column in self._nominal(paths))
        ages = [(path, self.database.tables[path.table].age) for path in paths if self._is_conditional]
        yield from (f"{path.label} where {age}<=…" for path, age in ages if age is not None)

    def _conditional(
        self, paths: Sequence[TablePath], reached: RowsReached, within: Mapping[TablePath, Sequence[Window]]
    ) -> Iterator[Aggregate]:
        """Functions of the rows with frequent values: their number, also in each window, then their columns."""
        found = []
        for path, column in self._nominal(paths):
            steps = Paths.of(self.database).name(path.steps)
            values = reached.frequent(meaning(self.database, Aggregate("mode", steps, column.name)), VALUES)
            found += [(path, steps, (column.name, value)) for value in values]
        for _, steps, where in found:
            yield from (Aggregate(function, steps, None, where) for function in ROWS if function in self.functions)
        for path, steps, where in found:
            for column in self.database.tables[path.table].attributes:
                functions = set(CONDITIONAL) & set(self._of_column(path, column))
                yield from (Aggregate(name, steps, column.name, where) for name in CONDITIONAL if name in functions)
        if "count" in self.functions:
            for path, steps, where in found:
                yield from (Aggregate("count", steps, None, where, length) for length in within.get(path, ()))

    @property
    def _is_conditional(self) -> bool:
        return bool({*ROWS, *CONDITIONAL} & set(self.functions))

    def _nominal(self, paths: Sequence[TablePath]) -> list[tuple[TablePath, Column]]:
        if not self._is_conditional:
            return []
        return [(path, c) for path in paths for c in self.database.tables[path.table].attributes if c.kind == "nominal"]

    def _of_column(self, path: TablePath, column: Column) -> list[str]:
        last = [] if self.database.tables[path.table].times is None else [LAST]
        if column.kind == "key":
            table, given = self.database.tables[path.table], self.database.given_facts
            repeats = column.name != path.steps[-1].to_column and not key_is_unique(table, column.name, given)
            found = ["distinct"] if repeats else []
        elif column.kind == "nominal":
            found = [*SPREAD, *last]
        elif column.is_date:
            found = ["min", "max"]
        else:
            found = ["mean", "sum", "min", "max", "std", *last]
        return [name for name in found if name in self.functions and self._is_exact(path, column, name)]

    def _is_exact(self, path: TablePath, column: Column, function: str) -> bool:
        """Whether nine digits behind the point, and 64 bits before it, hold sums of a column's numbers."""
        if function not in MOMENTS:
            return True
        known = column.numbers if column.levels is None else np.concatenate(column.levels)
        numbers = np.abs(known[np.isfinite(known)])
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


def _varies(column: Column) -> bool:
    missing = column.missing
    present = column.values[~missing]
    return bool(present.size) and (bool(missing.any()) or bool((present != present[0]).any()))
