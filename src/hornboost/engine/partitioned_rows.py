"""What examples reach along paths where the rows lie in partitions: summed up there, a number an example given back."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.plan import AggregateColumn
from hornboost.aggregates.reached import Floats, Lengths, Longs, RowsReached
from hornboost.aggregates.view import cutoffs_are_dates
from hornboost.data.table import Column
from hornboost.engine.part import Part, Setup, new_token
from hornboost.engine.parts import Handle, PerPart
from hornboost.engine.placement import Placement


@dataclass(eq=False)
class PartitionedRows(RowsReached):
    """The examples, and what partitions tell of the rows that they reach."""

    def look(self, aggregates: Iterable[AggregateColumn]) -> None:
        self.database.parts.values(self.database.parts.each(_looked, self._setup, list(aggregates)))

    def count(self, path: TablePath) -> int:
        return int(self._total(operator.add, _count, path))

    def lengths(self, path: TablePath, ages: Floats) -> Lengths:
        found: Lengths = self._total(_added, _lengths, path, ages)
        return found

    def reaching(self, found: AggregateColumn) -> Longs:
        times: Longs = self._total(operator.add, _reaching, found)
        return times

    def columns(self, aggregates: Iterable[AggregateColumn]) -> Iterator[Column]:
        wanted, parts = list(aggregates), self.database.parts
        by_part = parts.values(parts.each(_values, self._setup, wanted))
        for found, values in zip(wanted, zip(*by_part, strict=True), strict=True):
            table = self.database.tables[found.path.table]
            yield found.typed(table, self._placement.in_order(values), is_dated=cutoffs_are_dates(self.database))

    def column(self, found: AggregateColumn) -> Column:
        return next(self.columns([found]))

    def _total(self, add: Any, work: Any, *arguments: Any) -> Any:
        parts = self.database.parts
        return parts.value(parts.total(add, work, self._setup, *arguments))

    @cached_property
    def _placement(self) -> Placement:
        return Placement.of(self.database, self.examples)

    @cached_property
    def _setup(self) -> Handle:
        """The keys and cutoffs of the examples, sent to their partitions."""
        keys = {column.name: column for column in self.examples.keys}
        bare, token = replace(self.examples, columns=keys, aggregates={}, late={}), new_token()
        setups = [Setup(token, *each, {}, 0, 1) for each in self._placement.examples(bare)]
        return self.database.parts.keep(PerPart(setups))


def _rows(part: Part, setup: Setup, aggregates: Iterable[AggregateColumn] = ()) -> RowsReached:
    """The rows that the examples of a partition reach, looked at for some aggregates."""
    key = ("rows", setup.token)
    known: RowsReached | None = part.cache.get(key)
    if known is None:
        known = RowsReached(part.database, part.examples(setup))
    known.look(aggregates)
    part.cache.put(key, known, known.nbytes)
    return known


def _looked(part: Part, setup: Setup, aggregates: list[AggregateColumn]) -> None:
    _rows(part, setup, aggregates)


def _count(part: Part, setup: Setup, path: TablePath) -> int:
    return _rows(part, setup).count(path)


def _lengths(part: Part, setup: Setup, path: TablePath, ages: Floats) -> Lengths:
    return _rows(part, setup).lengths(path, ages)


def _reaching(part: Part, setup: Setup, found: AggregateColumn) -> Longs:
    return _rows(part, setup, [found]).reaching(found)


def _values(part: Part, setup: Setup, aggregates: list[AggregateColumn]) -> list[Any]:
    reached = _rows(part, setup, aggregates)
    return [reached.value_of(found) for found in aggregates]


def _added(one: Lengths, other: Lengths) -> Lengths:
    rows, examples = one.rows + other.rows, one.examples + other.examples
    return Lengths(rows, examples, one.n_rows + other.n_rows, one.n_examples + other.n_examples)
