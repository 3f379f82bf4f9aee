"""What examples reach along paths, summed up: sums of integers, which do not depend on the order of rows.

All else is made of them by the operations that `sql.sums` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates import plan
from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.plan import RowFilter
from hornboost.aggregates.reach import blocks, rows_reached
from hornboost.aggregates.view import View, cutoffs_are_dates
from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE, MISSING
from hornboost.logic.aggregate import LAST, MOMENTS
from hornboost.sql import sums
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database

Longs = NDArray[np.int64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float64]
Part = tuple[RowFilter, str, str]
"""Which rows, a column, and what is summed up of it."""

Values = tuple[str, float | None]
"""A column whose values are counted, in rows of some age at most."""

COUNT = ""
"""Stands for the rows themselves among the columns of a path."""

SMALL, SQUARES = " that may be squared", " of squares"

DENSE = 1 << 22
"""Pairs of an example and a value that are counted in an array."""


SHARED = 2
"""Examples that share a key on average, from which on what lies behind it is looked at once for all of them."""


class Lengths(NamedTuple):
    """How many rows, and of how many examples the youngest row, are of some age at most; and how many there are."""

    rows: Longs
    examples: Longs
    n_rows: int
    n_examples: int


@dataclass(eq=False)
class RowsReached:
    """The examples, and what is known so far of the rows that they reach."""

    database: Database
    examples: Table
    _sums: dict[tuple[TablePath, RowFilter, str, str], NDArray[Any]] = field(default_factory=dict)
    _values: dict[tuple[TablePath, str, float | None], tuple[Longs, Longs, Longs]] = field(default_factory=dict)
    _of_keys: dict[str, KeysReached | None] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The bytes of what is known."""
        own = sum(found.nbytes for known in (*self._values.values(), self._sums.values()) for found in known)
        return own + sum(keys.reached.nbytes + keys.key.nbytes for keys in self._of_keys.values() if keys is not None)

    def _keys(self, path: TablePath) -> KeysReached | None:
        """The keys of the examples that a path begins with, if many of these share one.

        What lies behind a key is then looked at once. Examples with cutoffs see different rows behind it.
        """
        column = path.steps[0].column
        if column not in self._of_keys:
            codes, found = self.examples.columns[column].codes, None
            if self.examples.times is None:
                distinct, key = np.unique(codes, return_inverse=True)
                if SHARED * distinct.size <= codes.size:
                    own = {column: self.examples.columns[column].holding(distinct)}
                    table = Table(self.examples.name, own, distinct.size)
                    found = KeysReached(RowsReached(self.database, table, _of_keys={column: None}), key.astype(CODE))
            self._of_keys[column] = found
        return self._of_keys[column]

    @cached_property
    def _view(self) -> View:
        return View(self.database, self.examples)

    def look(self, aggregates: Iterable[plan.AggregateColumn]) -> None:
        """Follow the paths of aggregates and add up what these need, as far as that has not been done."""
        wanted: dict[TablePath, tuple[dict[Part, None], dict[Values, None]]] = {}
        by_key: dict[str, list[plan.AggregateColumn]] = {}
        for found in aggregates:
            if self._keys(found.path) is not None:
                by_key.setdefault(found.path.steps[0].column, []).append(found)
                continue
            parts, columns = wanted.setdefault(found.path, ({}, {}))
            if self._is_by_value(found):
                values = self._counted_column(found), found.within
                columns.update({} if (found.path, *values) in self._values else {values: None})
            parts.update({part: None for part in self._parts(found) if (found.path, *part) not in self._sums})
        for path, (parts, columns) in wanted.items():
            if parts or columns:
                self._follow(path, list(parts), list(columns))
        for several in by_key.values():
            keys = self._keys(several[0].path)
            assert keys is not None
            keys.reached.look(several)

    def _follow(self, path: TablePath, parts: list[Part], columns: list[Values]) -> None:
        n = self.examples.n_rows
        for rows, column, part in parts:
            is_sum = part not in EXTREMES and part != LAST
            self._sums[path, rows, column, part] = np.zeros(n, np.int64) if is_sum else np.full(n, np.nan)
        counts: dict[Values, list[tuple[Longs, Longs, Longs]]] = {column: [] for column in columns}
        for start, stop in blocks(self.examples, self.database.tables, path.steps):
            block = _Block(self._view, self.database.tables[path.table], *self._view.walk(path.steps, start, stop))
            for which, column, part in parts:
                check()
                example, found = block.summed(which, column, part)
                self._sums[path, which, column, part][example] = found
            for column, within in columns:
                check()
                counts[column, within].append(block.counted(column, within))
        for values, blocks_of in counts.items():
            nothing = (np.empty(0, np.int64),) * 3
            one, two, three = (np.concatenate(some) for some in zip(nothing, *blocks_of, strict=True))
            self._values[path, *values] = one, two, three

    def lengths(self, path: TablePath, ages: Floats) -> Lengths:
        """How old the rows at the end of a path are, in comparison with some ages in rising order."""
        rows, examples, n_rows, n_examples = np.zeros(ages.size + 1, np.int64), np.zeros(ages.size + 1, np.int64), 0, 0
        table = self.database.tables[path.table]
        for start, stop in blocks(self.examples, self.database.tables, path.steps):
            example, found = self._view.walk(path.steps, start, stop)
            counts = self._counts_once[example]
            example, found = example[counts], found[counts]
            if not example.size:
                continue
            places = np.searchsorted(ages, self._view.ages(table, example, found))
            starts = _starts(example)
            rows += np.bincount(places, minlength=rows.size)
            examples += np.bincount(np.minimum.reduceat(places, starts), minlength=rows.size)
            n_rows, n_examples = n_rows + example.size, n_examples + starts.size
        return Lengths(np.cumsum(rows)[:-1], np.cumsum(examples)[:-1], n_rows, n_examples)

    @cached_property
    def _counts_once(self) -> NDArray[np.bool_]:
        """Examples with the same keys and the same cutoff count once, as one of twice the weight does."""
        parts: list[NDArray[Any]] = [key.codes for key in self.examples.keys]
        parts += [] if self.examples.times is None else [self.examples.times.numbers]
        found = np.zeros(self.examples.n_rows, np.bool_)
        found[np.unique(np.column_stack(parts), axis=0, return_index=True)[1]] = True
        return found

    def count(self, path: TablePath) -> int:
        """The rows at the end of a path, each as often as examples reach it and see it."""
        return rows_reached(self.database, self.examples, path.steps)

    def columns(self, aggregates: Iterable[plan.AggregateColumn]) -> Iterator[Column]:
        """Aggregates, which were looked at, as columns of the examples."""
        return map(self.column, aggregates)

    def column(self, found: plan.AggregateColumn) -> Column:
        """An aggregate as a column of the examples."""
        table = self.database.tables[found.path.table]
        return found.typed(table, self.value_of(found), is_dated=cutoffs_are_dates(self.database))

    def reaching(self, found: plan.AggregateColumn) -> Longs:
        """How many examples reach each value of a nominal column, which was looked at."""
        categories = self.database.tables[found.path.table].columns[str(found.column)].categories
        assert categories is not None
        keys = self._keys(found.path)
        if keys is not None:
            key, code, _ = keys.reached._values[found.path, str(found.column), None]
            times = np.bincount(keys.key[self._counts_once], minlength=keys.reached.examples.n_rows)
            found_by = np.zeros(len(categories), np.int64)
            np.add.at(found_by, code, times[key])
            return found_by
        example, code, _ = self._values[found.path, str(found.column), None]
        return np.bincount(code[self._counts_once[example]], minlength=len(categories))

    def frequent(self, found: plan.AggregateColumn, limit: int) -> list[str]:
        """The values of a nominal column that most examples reach, in that order and then by value."""
        times, table = self.reaching(found), self.database.tables[found.path.table]
        categories = table.columns[str(found.column)].categories
        assert categories is not None
        order = np.argsort(-times, kind="stable")[:limit]
        return [str(categories[k]) for k in order[times[order] > 0]]

    def _is_by_value(self, found: plan.AggregateColumn) -> bool:
        """Whether the counts of a column's values tell it; those of keys are too many."""
        if found.function in ("count", "share"):
            return found.where is not None
        return found.function in ("mode", "mode_share") or (found.function == "distinct" and self._kind(found) != "key")

    def _kind(self, found: plan.AggregateColumn) -> str:
        return self.database.tables[found.path.table].columns[str(found.column)].kind

    def _counted_column(self, found: plan.AggregateColumn) -> str:
        return found.where[0] if found.where is not None else str(found.column)

    def _parts(self, found: plan.AggregateColumn) -> list[Part]:
        """The sums that an aggregate is made of: which rows, the column, and what of it."""
        if found.column is None:
            every = RowFilter(None, found.within)
            if self._is_by_value(found):
                return [] if found.function == "count" else [(every, COUNT, "count")]
            parts = [(every, COUNT, "count")]
            return parts if found.function == "count" else [*parts, (RowFilter(), COUNT, "count")]
        if self._is_by_value(found):
            return []
        names: tuple[str, ...] = ("present", "whole", "units")
        if found.function == "std":
            names = (*(part + SMALL for part in names), "whole" + SQUARES, "units" + SQUARES)
        elif found.function not in MOMENTS:
            names = (found.function,)
        return [(found.rows, found.column, part) for part in names]

    def value_of(self, found: plan.AggregateColumn) -> NDArray[Any]:
        """The values of an aggregate, which was looked at."""
        keys = self._keys(found.path)
        if keys is not None:
            return keys.reached.value_of(found)[keys.key]
        if self._is_by_value(found):
            return self._of_values(found)
        if found.function == "share":
            some, every = (self._sums[found.path, *part] for part in self._parts(found))
            return _divided(some, every)
        of = {part: self._sums[found.path, rows, column, part] for rows, column, part in self._parts(found)}
        if found.function == LAST and self._kind(found) == "nominal":
            return np.where(np.isnan(of[LAST]), MISSING, np.nan_to_num(of[LAST])).astype(CODE)
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
        example, code, times = self._values[found.path, self._counted_column(found), found.within]
        if found.function == "distinct":
            return np.bincount(example, minlength=n)
        if found.where is not None:
            here = code == self._code(found.path, *found.where)
            some = np.zeros(n)
            some[example[here]] = times[here]
            if found.function == "count":
                return some
            return _divided(some, self._sums[found.path, RowFilter(None, found.within), COUNT, "count"])
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
        return code_of(self.database.tables[path.table], column, value)


class KeysReached(NamedTuple):
    """What the distinct keys of a column of the examples reach, and which of them each example has."""

    reached: RowsReached
    key: Rows


@dataclass(eq=False)
class _Block:
    """Rows at the end of a path, which are of `table`, and the examples that reach them, sorted by example."""

    view: View
    table: Table
    example: Longs
    rows: Rows
    _chosen: dict[RowFilter, tuple[Longs, Rows]] = field(default_factory=dict)

    def summed(self, which: RowFilter, column: str, part: str) -> tuple[Longs, NDArray[Any]]:
        """The examples that reach such rows, and what these sum up to."""
        example, rows = self.chosen(which)
        if not example.size:
            return example, np.empty(0)
        starts = _starts(example)
        if column == COUNT:
            return example[starts], np.diff(np.append(starts, example.size))
        if part == LAST:
            return example[starts], self._last(example, rows, column, starts)
        return example[starts], _summed(part, self._values(column, example, rows), example, starts)

    def counted(self, column: str, within: float | None) -> tuple[Longs, Longs, Longs]:
        """Examples, the values of a column that their rows have, and how often."""
        example, rows = self.chosen(RowFilter(None, within))
        codes = self._values(column, example, rows)
        return _counted(example[codes >= 0], codes[codes >= 0])

    def chosen(self, which: RowFilter) -> tuple[Longs, Rows]:
        """The rows with a value, and of some age at most, with their examples."""
        if which == RowFilter():
            return self.example, self.rows
        if which not in self._chosen:
            if which.where is not None and which.within is not None:
                example, rows = self.chosen(RowFilter(None, which.within))
            else:
                example, rows = self.example, self.rows
            passes = np.ones(rows.size, np.bool_)
            if which.where is not None:
                passes = self._values(which.where[0], example, rows) == code_of(self.table, *which.where)
            elif which.within is not None:
                passes = self.view.ages(self.table, example, rows) <= which.within
            self._chosen[which] = example[passes], rows[passes]
        return self._chosen[which]

    def _values(self, column: str, example: Longs, rows: Rows) -> NDArray[Any]:
        if column not in self.table.columns:
            return self.view.ages(self.table, example, rows)
        return self.view.values(self.table, column, example, rows)

    def _last(self, example: Longs, rows: Rows, column: str, starts: Longs) -> Floats:
        """The largest value in the rows of the latest time at which some row of an example has one."""
        assert self.table.times is not None
        values = self._values(column, example, rows)
        present = ~np.isnan(values) if values.dtype.kind == "f" else values != MISSING
        times = np.where(present, self.table.times.numbers[rows], np.nan)
        latest = np.repeat(np.fmax.reduceat(times, starts), np.diff(np.append(starts, example.size)))
        return np.asarray(np.fmax.reduceat(np.where(times == latest, values.astype(np.float64), np.nan), starts))


def code_of(table: Table, column: str, value: str) -> int:
    """The code of a value of a nominal column, or one that no row has."""
    categories = table.columns[column].categories
    assert categories is not None
    found = np.flatnonzero(categories == value)
    return int(found[0]) if len(found) else NO_CODE


NO_CODE = -2


def _starts(example: Longs) -> Longs:
    """Where the rows of each example begin."""
    return np.flatnonzero(np.append(True, example[1:] != example[:-1]))


def _divided(some: NDArray[Any], every: NDArray[Any]) -> Floats:
    some, every = some.astype(np.float64), every.astype(np.float64)
    return np.asarray(np.divide(some, every, out=np.full(every.size, np.nan), where=every > 0))


def _summed(part: str, values: NDArray[Any], example: Longs, starts: Longs) -> NDArray[Any]:
    """A sum over the rows of each example: of a column's numbers, or of those that may be squared."""
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
