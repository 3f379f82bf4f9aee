"""What examples reach along paths, summed up: sums of integers, which do not depend on the order of rows.

All else is made of them by the operations that `sql.sums` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates import plan
from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.reach import rows_reached_by_each
from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE, MISSING
from hornboost.logic.aggregate import MOMENTS
from hornboost.sql import sums
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Where = tuple[str, str] | None
Part = tuple[Where, str, str]
"""The condition on rows, a column, and what is summed up of it."""

COUNT = ""
"""Stands for the rows themselves among the columns of a path."""

SMALL, SQUARES = " that may be squared", " of squares"

BLOCK = 1 << 22
"""Rows that are looked at together."""

DENSE = 1 << 22
"""Pairs of an example and a value that are counted in an array."""


@dataclass(eq=False)
class RowsReached:
    """The examples, and what is known so far of the rows that they reach."""

    database: Database
    examples: Table
    _sums: dict[tuple[TablePath, Where, str, str], NDArray[Any]] = field(default_factory=dict)
    _values: dict[tuple[TablePath, str], tuple[Longs, Longs, Longs]] = field(default_factory=dict)

    def look(self, aggregates: Iterable[plan.AggregateColumn]) -> None:
        """Follow the paths of aggregates and add up what these need, as far as that has not been done."""
        wanted: dict[TablePath, tuple[dict[Part, None], dict[str, None]]] = {}
        for found in aggregates:
            parts, columns = wanted.setdefault(found.path, ({}, {}))
            if self._is_by_value(found):
                column = found.where[0] if found.where is not None else str(found.column)
                columns.update({} if (found.path, column) in self._values else {column: None})
            parts.update({part: None for part in self._parts(found) if (found.path, *part) not in self._sums})
        for path, (parts, columns) in wanted.items():
            if parts or columns:
                self._follow(path, list(parts), list(columns))

    def _follow(self, path: TablePath, parts: list[Part], columns: list[str]) -> None:
        table, n = self.database.tables[path.table], self.examples.n_rows
        for where, column, part in parts:
            self._sums[path, where, column, part] = np.full(n, np.nan) if part in EXTREMES else np.zeros(n, np.int64)
        counts: dict[str, list[tuple[Longs, Longs, Longs]]] = {column: [] for column in columns}
        for example, rows in self._blocks(path):
            selected = {where: self._selected(path, where, example, rows) for where in {part[0] for part in parts}}
            for where, column, part in parts:
                check()
                chosen, at = selected[where]
                if not chosen.size:
                    continue
                starts = np.flatnonzero(np.append(True, chosen[1:] != chosen[:-1]))
                values = None if column == COUNT else table.columns[column].values[at]
                self._sums[path, where, column, part][chosen[starts]] = _summed(part, values, chosen, starts)
            for column in columns:
                check()
                codes = table.columns[column].codes[rows]
                counts[column].append(_counted(example[codes >= 0], codes[codes >= 0]))
        for column, found in counts.items():
            nothing = (np.empty(0, np.int64),) * 3
            one, two, three = (np.concatenate(some) for some in zip(nothing, *found, strict=True))
            self._values[path, column] = one, two, three

    def _blocks(self, path: TablePath) -> Iterator[tuple[Longs, NDArray[np.int32]]]:
        """The rows at the end of a path and the examples that reach them, sorted by example, some at a time."""
        each = rows_reached_by_each(self.examples, self.database.tables, path.steps)
        block = (np.cumsum(each) // BLOCK).astype(np.int64)
        starts = np.flatnonzero(np.append(True, block[1:] != block[:-1])) if block.size else block
        for start, stop in zip(starts, np.append(starts[1:], block.size), strict=True):
            check()
            yield self._walked(path, int(start), int(stop))

    def _walked(self, path: TablePath, start: int, stop: int) -> tuple[Longs, NDArray[np.int32]]:
        example, rows = np.arange(start, stop), np.arange(start, stop, dtype=np.int32)
        table = self.examples
        for hop in path.steps:
            index = self.database.index(hop.to_table, hop.to_column)
            codes = table.columns[hop.column].codes[rows]
            known = (codes >= 0) & (codes < index.size)
            example, codes = example[known], codes[known]
            first = index.offsets[codes]
            lengths = index.offsets[codes + 1] - first
            before = np.cumsum(lengths) - lengths
            rows = index.rows[np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))]
            example, table = np.repeat(example, lengths), self.database.tables[hop.to_table]
        return example, rows

    def _selected(
        self, path: TablePath, where: Where, example: Longs, rows: NDArray[np.int32]
    ) -> tuple[Longs, NDArray[np.int32]]:
        if where is None:
            return example, rows
        passes = self.database.tables[path.table].columns[where[0]].codes[rows] == self._code(path, *where)
        return example[passes], rows[passes]

    def column(self, found: plan.AggregateColumn) -> Column:
        """An aggregate as a column of the examples."""
        own = None if found.column is None else self.database.tables[found.path.table].columns[found.column]
        values = self._value_of(found)
        if found.function == "mode":
            assert own is not None
            return Column(found.name, "nominal", values, categories=own.categories)
        is_date = own is not None and own.is_date and found.function in ("min", "max")
        return Column(found.name, "numeric", values.astype(np.float64), is_date=is_date)

    def frequent(self, path: TablePath, column: str, limit: int) -> list[str]:
        """The values of a nominal column that most examples reach, in that order and then by value.

        Examples with the same keys count once, as one of twice the weight does.
        """
        keys = np.column_stack([key.codes for key in self.examples.keys])
        counts_once = np.zeros(self.examples.n_rows, np.bool_)
        counts_once[np.unique(keys, axis=0, return_index=True)[1]] = True
        example, code, _ = self._values[path, column]
        categories = self.database.tables[path.table].columns[column].categories
        assert categories is not None
        times = np.bincount(code[counts_once[example]], minlength=len(categories))
        order = np.argsort(-times, kind="stable")[:limit]
        return [str(categories[k]) for k in order[times[order] > 0]]

    def _is_by_value(self, found: plan.AggregateColumn) -> bool:
        """Whether the counts of a column's values tell it; those of keys are too many."""
        if found.function in ("count", "share"):
            return found.where is not None
        return found.function in ("mode", "mode_share") or (
            found.function == "distinct" and not self._is_of_keys(found)
        )

    def _is_of_keys(self, found: plan.AggregateColumn) -> bool:
        return self.database.tables[found.path.table].columns[str(found.column)].kind == "key"

    def _parts(self, found: plan.AggregateColumn) -> list[tuple[Where, str, str]]:
        """The sums that an aggregate is made of: the condition, the column, and what of it."""
        if found.column is None:
            is_by_value = self._is_by_value(found)
            return [] if is_by_value and found.function == "count" else [(None, COUNT, "count")]
        if self._is_by_value(found):
            return []
        parts: tuple[str, ...] = ("present", "whole", "units")
        if found.function == "std":
            parts = (*(part + SMALL for part in parts), "whole" + SQUARES, "units" + SQUARES)
        elif found.function not in MOMENTS:
            parts = (found.function,)
        return [(found.where, found.column, part) for part in parts]

    def _value_of(self, found: plan.AggregateColumn) -> NDArray[Any]:
        if self._is_by_value(found):
            return self._of_values(found)
        of = {part: self._sums[found.path, where, column, part] for where, column, part in self._parts(found)}
        if found.function not in MOMENTS:
            return of[found.function]
        small = SMALL if found.function == "std" else ""
        n = of["present" + small].astype(np.float64)
        total = _total(of["whole" + small], of["units" + small])
        with np.errstate(divide="ignore", invalid="ignore"):
            if found.function == "sum":
                return np.where(n > 0, total, np.nan)
            if found.function == "mean":
                return np.where(n > 0, total / n, np.nan)
            variance = (_total(of["whole" + SQUARES], of["units" + SQUARES]) - total * total / n) / (n - 1)
        return np.where(n > 1, np.sqrt(np.maximum(variance, 0.0)), np.nan)

    def _of_values(self, found: plan.AggregateColumn) -> NDArray[Any]:
        n = self.examples.n_rows
        example, code, times = self._values[found.path, found.where[0] if found.where else str(found.column)]
        if found.function == "distinct":
            return np.bincount(example, minlength=n)
        if found.where is not None:
            here = code == self._code(found.path, *found.where)
            some = np.zeros(n)
            some[example[here]] = times[here]
            if found.function == "count":
                return some
            every = self._sums[found.path, None, COUNT, "count"].astype(np.float64)
            return np.asarray(np.divide(some, every, out=np.full(n, np.nan), where=every > 0))
        order = np.lexsort((code, -times, example))
        example, code, times = example[order], code[order], times[order]
        first = np.flatnonzero(np.append(True, example[1:] != example[:-1])) if len(example) else example
        if found.function == "mode":
            mode = np.full(n, MISSING, CODE)
            mode[example[first]] = code[first]
            return mode
        share = np.full(n, np.nan)
        share[example[first]] = times[first] / np.bincount(example, times, minlength=n)[example[first]]
        return share

    def _code(self, path: TablePath, column: str, value: str) -> int:
        categories = self.database.tables[path.table].columns[column].categories
        assert categories is not None
        found = np.flatnonzero(categories == value)
        return int(found[0]) if len(found) else -1


def _summed(part: str, values: NDArray[Any] | None, example: Longs, starts: Longs) -> NDArray[Any]:
    """A sum over the rows of each example: of a column's numbers, or of those that may be squared."""
    if values is None:
        return np.diff(np.append(starts, example.size))
    if part in EXTREMES:
        return np.asarray(EXTREMES[part].reduceat(values, starts))
    if part == "distinct":
        whose = np.repeat(np.arange(starts.size), np.diff(np.append(starts, example.size)))
        return np.bincount(_counted(whose[values >= 0], values[values >= 0])[0], minlength=starts.size)
    squared = part.endswith((SMALL, SQUARES))
    with np.errstate(invalid="ignore"):
        counts = np.abs(values) <= (sums.LARGEST_SQUARED if squared else sums.LARGEST)
    numbers = np.where(counts, values, 0.0)
    if part.endswith(SQUARES):
        numbers = numbers * numbers
    kind = part.removesuffix(SMALL).removesuffix(SQUARES)
    if kind == "present":
        return np.add.reduceat(counts.astype(np.int64), starts)
    whole = np.floor(numbers)
    if kind == "units":
        whole = np.floor((numbers - whole) * sums.UNITS + 0.5)
    return np.add.reduceat(whole.astype(np.int64), starts)


EXTREMES = {"min": np.fmin, "max": np.fmax}


def _counted(example: Longs, codes: NDArray[np.int32]) -> tuple[Longs, Longs, Longs]:
    """Examples, which are sorted, the values that each has, and the number of rows with both."""
    if not example.size:
        return (np.empty(0, np.int64),) * 3
    first, size = int(example[0]), int(codes.max()) + 1
    pairs = (example - first) * size + codes
    if (int(example[-1]) - first + 1) * size <= DENSE:
        times = np.bincount(pairs)
        found = np.flatnonzero(times)
        times = times[found]
    else:
        found, times = np.unique(pairs, return_counts=True)
    return first + found // size, found % size, times.astype(np.int64)


def _total(whole: NDArray[Any], units: NDArray[Any]) -> Floats:
    return np.asarray(whole.astype(np.float64) + units.astype(np.float64) / sums.UNITS)
