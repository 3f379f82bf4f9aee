"""Random small databases with times: rows at the very cutoff, ties, rows without a time, values that are known later,
several examples of one entity.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

from hornboost import Database
from naive import TIME
from random_databases import RandomCase, RandomColumn, RandomTable, random_case

DAYS = ["1999-12-25", "1999-12-31", "2000-01-01", "2000-01-02", "2000-03-31"]
MOMENTS = ["1999-12-31 23:59:59.999999", "2000-01-01 00:00:00", "2000-01-01 12:30:00.5", "2000-02-01 00:00:00"]
NUMBERS = {"int": [1.0, 2.0, 3.0, 8.0], "float": [0.5, 1.0, 1.25, 4.0]}
WHEN, CLOSED = "when", "closed on"


@dataclass(frozen=True)
class TimeColumn(RandomColumn):
    """A column of times: few, so that many are equal."""

    @property
    def values(self) -> list[Any]:
        return {"date": DAYS, "timestamp": MOMENTS}.get(self.storage) or NUMBERS[self.storage]

    def number(self, cell: Any) -> float | None:
        """A time in microseconds, or as the number that it is."""
        if cell is None or cell != cell:
            return None
        if self.kind != "date":
            return float(cell)
        passed = dt.datetime.fromisoformat(cell) - dt.datetime(1970, 1, 1)
        return float(passed // dt.timedelta(microseconds=1))


@dataclass(frozen=True)
class DatedCase:
    """A random case whose target, and some of whose other tables, have times; `late` columns are known later."""

    case: RandomCase
    times: Mapping[str, str]
    late: Mapping[str, tuple[str, ...]]

    @property
    def is_date(self) -> bool:
        return self.column("target", WHEN).kind == "date"

    def table(self, name: str) -> RandomTable:
        return next(table for table in self.case.tables if table.name == name)

    def column(self, table: str, name: str) -> TimeColumn:
        found = next(column for column in self.table(table).columns if column.name == name)
        assert isinstance(found, TimeColumn)
        return found

    def database(self) -> Database:
        columns = [(table.name, column) for table in self.case.tables for column in table.columns]
        return Database.from_frames(
            {table.name: table.arrow() for table in self.case.tables},
            target="target",
            key=list(self.case.key),
            keys={
                table.name: {column.name: column.domain for column in table.columns if column.domain is not None}
                for table in self.case.tables
            },
            types={f"{table}.{column.name}": column.kind for table, column in columns if column.kind != "key"},
            foreign_keys=[],
            times=self.times,
            known_later={table: {CLOSED: list(columns)} for table, columns in self.late.items()},
        )

    def seen(self, example: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
        """Copies of the tables with what an example may know: rows, values, and the age of each row."""
        cutoff = self.column("target", WHEN).number(example[WHEN])
        assert cutoff is not None
        return {table.name: self._seen(table, cutoff) for table in self.case.tables}

    def _seen(self, table: RandomTable, cutoff: float) -> list[dict[str, Any]]:
        found = []
        for row in table.rows:
            known = self.as_known(table.name, row, cutoff)
            if table.name in self.times:
                time = self.column(table.name, WHEN).number(row[WHEN])
                if time is None or not time < cutoff:
                    continue
                known |= {"age": cutoff - time, TIME: time}
            found.append(known)
        return found

    def as_known(self, table: str, row: Mapping[str, Any], cutoff: float) -> dict[str, Any]:
        """A row without the values that are known later."""
        if table not in self.late:
            return dict(row)
        when = self.column(table, CLOSED).number(row[CLOSED])
        hidden = () if when is not None and when < cutoff else (CLOSED, *self.late[table])
        return {name: None if name in hidden else cell for name, cell in row.items()}

    def example(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """An example without the values that are known later."""
        cutoff = self.column("target", WHEN).number(row[WHEN])
        assert cutoff is not None
        return self.as_known("target", row, cutoff)


def dated_case(rng: Random, n_tables: int, max_rows: int) -> DatedCase:
    """A random case with times; new examples are entities of the database at other times, and strange ones."""
    case = random_case(rng, n_tables, max_rows, 1, 0)
    kind, storages = rng.choice(
        [("date", ["date"]), ("date", ["timestamp"]), ("date", ["date", "timestamp"]), ("numeric", ["int", "float"])]
    )
    times, late, tables = {}, {}, []
    for table in case.tables:
        is_target = table.name == "target"
        columns, rows = table.columns, [dict(row) for row in table.rows]
        if is_target or rng.random() < 0.75:
            times[table.name] = WHEN
            columns = with_times(
                rng, columns, rows, TimeColumn(WHEN, kind, rng.choice(storages)), 0 if is_target else 0.15
            )
        others = [column.name for column in table.columns if column.kind != "key"]
        if rng.random() < 0.4:
            late[table.name] = tuple(rng.sample(others, rng.randint(0, len(others))))
            columns = with_times(rng, columns, rows, TimeColumn(CLOSED, kind, rng.choice(storages)), 0.2)
        tables.append(RandomTable(table.name, columns, rows))
    new = [dict(rng.choice(tables[0].rows)) for _ in range(max_rows)]
    for row in new:
        row[WHEN] = rng.choice(next(column for column in tables[0].columns if column.name == WHEN).values)
        if rng.random() < 0.2:
            row[case.key[0]] = 11
    return DatedCase(replace(case, tables=tuple(tables), new_examples=replace(tables[0], rows=new)), times, late)


def with_times(
    rng: Random, columns: tuple[RandomColumn, ...], rows: list[dict[str, Any]], column: TimeColumn, missing: float
) -> tuple[RandomColumn, ...]:
    """Columns with one of times, which the rows are given."""
    for row in rows:
        row[column.name] = rng.choice(column.missing if rng.random() < missing else column.values)
    return (*columns, column)


def arrow_with_rows(table: RandomTable) -> pa.Table:
    """A table with the numbers of its rows in the column "row"."""
    return table.arrow().append_column("row", pa.array(range(len(table.rows)), pa.int64()))
