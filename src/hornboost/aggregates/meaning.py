"""What an aggregate of a clause means in a database: its path of foreign keys, and the column that it looks at."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hornboost.aggregates import plan
from hornboost.aggregates.paths import Hop, TablePath, hops
from hornboost.aggregates.view import cutoffs_are_dates
from hornboost.data.table import Table
from hornboost.errors import ClauseError, DataError
from hornboost.logic.aggregate import LAST, MOMENTS, Aggregate, TableStep
from hornboost.logic.duration import microseconds_of
from hornboost.logic.text import print_path

if TYPE_CHECKING:
    from hornboost.data import Database

SHOWN = 5
"""Paths of equal length that are told apart, and named in errors."""

DECLARE = "declare one (times=)"


class Paths:
    """The paths from the target of a database by their names."""

    def __init__(self, database: Database) -> None:
        self.tables = database.tables
        self.target = database.target.table
        self._hops: dict[str, list[Hop]] = {}
        for hop in hops(database.tables, database.links, database.given_facts):
            self._hops.setdefault(hop.table, []).append(hop)
        self._shortest = self._walked()

    @staticmethod
    def of(database: Database) -> Paths:
        """Those of a database, which live as long as it does."""
        with _lock:
            if database not in _known:
                _known[database] = Paths(database)
            return _known[database]

    def meant(self, names: Sequence[TableStep]) -> TablePath:
        """The path of this name, or an error that says why there is none."""
        for step in names:
            if step.table not in self.tables:
                raise DataError.unknown_table(step.table, self.tables)
        if len(names) == 1 and names[0].keys is None:
            found = self._shortest.get(names[0].table, [])
            if len(found) != 1:
                raise self._refusal(names, found)
            return TablePath(found[0], print_path(names))
        steps: list[Hop] = []
        for number, step in enumerate(names):
            found = [(*steps, hop) for hop in self._between(steps, step)]
            if len(found) != 1:
                raise self._refusal(names[: number + 1], found)
            steps = list(found[0])
        return TablePath(tuple(steps), print_path(names))

    def name(self, steps: Sequence[Hop]) -> tuple[TableStep, ...]:
        """The shortest name of a path: its table, or all tables on the way, with keys where these are needed."""
        if self._shortest.get(steps[-1].to_table) == [tuple(steps)]:
            return (TableStep(steps[-1].to_table),)
        return tuple(
            TableStep(hop.to_table, None if self._is_only(hop) else (hop.column, hop.to_column)) for hop in steps
        )

    def _is_only(self, hop: Hop) -> bool:
        return [other for other in self._hops[hop.table] if other.to_table == hop.to_table] == [hop]

    def _between(self, before: Sequence[Hop], step: TableStep) -> list[Hop]:
        start = before[-1].to_table if before else self.target
        return [
            hop
            for hop in self._hops.get(start, [])
            if hop.to_table == step.table and step.keys in (None, (hop.column, hop.to_column))
        ]

    def _walked(self) -> dict[str, list[tuple[Hop, ...]]]:
        """The shortest paths to each table other than the target."""
        found: dict[str, list[tuple[Hop, ...]]] = {}
        ends: dict[str, list[tuple[Hop, ...]]] = {self.target: [()]}
        while ends:
            further: dict[str, list[tuple[Hop, ...]]] = {}
            for table, paths in ends.items():
                for hop in self._hops.get(table, []):
                    if hop.to_table != self.target and hop.to_table not in found:
                        further.setdefault(hop.to_table, []).extend((*path, hop) for path in paths)
            ends = {table: paths[:SHOWN] for table, paths in further.items()}
            found |= ends
        return found

    def _refusal(self, names: Sequence[TableStep], found: Sequence[Sequence[Hop]]) -> ClauseError:
        shown = f"'{print_path(names)}' of an aggregate"
        if not found:
            return ClauseError(
                f"the path {shown} leads nowhere from table '{self.target}'; "
                "name tables that foreign keys join, from there on"
            )
        others = " or ".join(print_path(self.name(path)) for path in found)
        return ClauseError(f"the path {shown} may mean several; write {others}")


def meaning(database: Database, aggregate: Aggregate) -> plan.AggregateColumn:
    """What is to be computed, or an error that names what does not fit."""
    path = Paths.of(database).meant(aggregate.path)
    table = database.tables[path.table]
    if aggregate.column is not None:
        _check_kind(aggregate, table)
    if aggregate.where is not None:
        column = table.columns.get(aggregate.where[0])
        if column is None:
            raise DataError.unknown_column(path.table, aggregate.where[0], table.columns)
        if column.kind != "nominal":
            raise ClauseError(f"the condition of '{aggregate}' looks at a {column.kind} column; name a nominal one")
    if aggregate.function == LAST and table.times is None:
        raise ClauseError(
            f"'{aggregate}': table '{path.table}' has no time, so none of its rows is the last; {DECLARE}"
        )
    # also one row at most is aggregated, not taken as it is
    steps = tuple(replace(hop, single=False) for hop in path.steps)
    return plan.AggregateColumn(
        str(aggregate),
        aggregate.function,
        replace(path, steps=steps),
        aggregate.column,
        aggregate.where,
        _length(aggregate, table, cutoffs_are_dates(database)),
    )


def _length(aggregate: Aggregate, table: Table, in_dates: bool) -> float | None:
    """How old rows are at most, in microseconds or in the numbers of their times."""
    if aggregate.within is None:
        return None
    name, length = aggregate.within
    if table.times is None:
        raise ClauseError(f"'{aggregate}': table '{table.name}' has no time, so its rows have no age; {DECLARE}")
    if name != table.age:
        raise ClauseError(f"'{aggregate}': an aggregate is limited by the age of rows, which is '{table.age}' here")
    if isinstance(length, str) != in_dates:
        way = "dates; write a length of time such as 90d" if in_dates else "numbers; write a number"
        raise ClauseError(f"'{aggregate}': the times of '{table.name}' are {way}")
    return microseconds_of(length) if isinstance(length, str) else float(length)


def _check_kind(aggregate: Aggregate, table: Table) -> None:
    column = table.columns.get(str(aggregate.column))
    if column is None and aggregate.column != table.age:
        raise DataError.unknown_column(table.name, str(aggregate.column), table.columns)
    if not fits(aggregate.function, "age" if column is None else column.kind, column is not None and column.is_date):
        words = {"key": "a key"}
        kind = "an age" if column is None else "a date" if column.is_date else words.get(column.kind, column.kind)
        raise ClauseError(f"'{aggregate}': there is no {aggregate.function} of a column that is {kind}; choose another")


def fits(function: str, kind: str, is_date: bool) -> bool:
    """Whether there is such a function of a column of this kind, or of ages."""
    if function in MOMENTS:
        return kind == "numeric" and not is_date
    kinds: dict[str, tuple[str, ...]] = {
        "min": ("numeric", "age"),
        "max": ("numeric", "age"),
        "distinct": ("nominal", "key"),
        "mode": ("nominal",),
        "mode_share": ("nominal",),
        LAST: ("numeric", "nominal"),
    }
    return kind in kinds[function]


_known: WeakKeyDictionary[Database, Paths] = WeakKeyDictionary()
_lock = threading.Lock()
