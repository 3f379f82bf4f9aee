"""Random small databases with times, clauses over them, and what each example may see of them, by filtered copies.

Few moments, so that rows fall on cutoffs and on the bounds of ages; times that are missing; columns that are filled in
later; several cutoffs of one entity; times stored in different ways.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa

import naive
from hornboost import Database
from hornboost.logic.clause import Clause, Literal
from hornboost.logic.clause import Test as Condition
from random_databases import RandomColumn, RandomTable, random_clause, random_columns, random_row

EPOCH = dt.datetime(1970, 1, 1)
SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000
START = (dt.datetime(1998, 2, 27) - EPOCH) // dt.timedelta(microseconds=1)
DAYS = [START + k * DAY for k in range(5)]
MOMENTS = [*DAYS, *DAYS, DAYS[1] + 1, DAYS[1] - 1, DAYS[2] + 12 * HOUR, DAYS[2] + 12 * HOUR + 1500, DAYS[3] - 250_000]
NUMBERS = [0.0, 1.0, 1.5, 2.0, 0.1, 0.30000000000000004, -2.0]
LENGTHS = {"0d": 0, "1d": DAY, "2d": 2 * DAY, "12h": 12 * HOUR, "90min": 90 * 60 * SECOND, "0.000001s": 1}
LENGTHS |= {"1.5s": 1_500_000, "3d": 3 * DAY, "36h": 36 * HOUR, "-1d": -DAY}
ARROW = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "text": pa.string(),
    "zoned text": pa.string(),
    "integer": pa.int64(),
    "double": pa.float64(),
}


@dataclass(frozen=True)
class TimeColumn:
    """A column of times; in plain rows a time is its count of microseconds, or the number that it is."""

    name: str
    storage: str

    def draw(self, rng: Random) -> float | None:
        if rng.random() < 0.15:
            return float("nan") if self.storage == "double" and rng.random() < 0.5 else None
        return self.draw_time(rng)

    def draw_time(self, rng: Random) -> float:
        if self.storage in ("integer", "double"):
            return rng.choice([0.0, 1.0, 2.0, 3.0, -2.0] if self.storage == "integer" else NUMBERS)
        return float(rng.choice(DAYS if self.storage == "date" else MOMENTS))

    def stored(self, cell: float | None) -> Any:
        """The cell as a value of the storage type."""
        if cell is None or self.storage == "double":
            return cell
        if self.storage == "integer":
            return int(cell)
        moment = EPOCH + dt.timedelta(microseconds=int(cell))
        if self.storage == "text":
            return str(moment.date()) if int(cell) % DAY == 0 else moment.isoformat()
        if self.storage == "zoned text":
            return moment.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=-3))).isoformat()
        if self.storage == "timestamptz":
            return moment.replace(tzinfo=dt.UTC)
        return moment.date() if self.storage == "date" else moment

    def in_sqlite(self, cell: float | None) -> Any:
        """A number, or a text of one of the forms that SQLite knows."""
        value = self.stored(cell)
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(dt.timezone(dt.timedelta(hours=2))).isoformat(" ")
        return str(value) if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class DatedTable:
    """A table whose rows have a time, or none, and whose columns `late` are known from the time in `dating` on."""

    plain: RandomTable
    time: TimeColumn | None = None
    dating: TimeColumn | None = None
    late: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.plain.name

    @property
    def columns(self) -> list[RandomColumn | TimeColumn]:
        return [*self.plain.columns, *(column for column in (self.time, self.dating) if column is not None)]

    @property
    def age(self) -> str:
        return "row_age" if "age" in [column.name for column in self.columns] else "age"

    def arrow(self) -> pa.Table:
        cells = {column.name: [column.stored(row[column.name]) for row in self.plain.rows] for column in self.columns}
        kinds = {column.name: ARROW[column.storage] for column in (self.time, self.dating) if column is not None}
        table = self.plain.arrow()
        for name, kind in kinds.items():
            table = table.append_column(name, pa.array(cells[name], kind, from_pandas=False))
        return table

    def seen(self, row: dict[str, Any], cutoff: float) -> dict[str, Any]:
        """A row as an example with this cutoff sees it."""
        if self.dating is None or before(row[self.dating.name], cutoff):
            return row
        return row | dict.fromkeys((*self.late, self.dating.name))

    def visible(self, cutoff: float) -> list[dict[str, Any]]:
        """The rows that count for an example, with their age."""
        if self.time is None:
            return [self.seen(row, cutoff) for row in self.plain.rows]
        rows = [row for row in self.plain.rows if before(row[self.time.name], cutoff)]
        return [self.seen(row, cutoff) | {self.age: cutoff - row[self.time.name]} for row in rows]


def before(time: float | None, cutoff: float) -> bool:
    """Whether a time is there and strictly before a cutoff."""
    return time is not None and time < cutoff


@dataclass(frozen=True)
class DatedCase:
    """A database whose first table is the target, each of its rows an example with a cutoff."""

    tables: tuple[DatedTable, ...]
    clauses: tuple[Clause, ...] = ()

    @property
    def target(self) -> DatedTable:
        return self.tables[0]

    @property
    def cutoffs(self) -> list[float]:
        assert self.target.time is not None
        return [row[self.target.time.name] for row in self.target.plain.rows]

    @cached_property
    def views(self) -> dict[float, dict[str, list[dict[str, Any]]]]:
        """The rows that count at each cutoff, by table."""
        return {cutoff: {table.name: table.visible(cutoff) for table in self.tables} for cutoff in set(self.cutoffs)}

    def covers(self, clause: Clause, as_of: float | None = None) -> list[bool]:
        """Which examples a clause covers, at their own cutoffs or all at one."""
        clause = with_numbers(clause, self.tables)
        found = []
        for row, own in zip(self.target.plain.rows, self.cutoffs, strict=True):
            cutoff = own if as_of is None else as_of
            view = self.views.get(cutoff) or {table.name: table.visible(cutoff) for table in self.tables}
            found += naive.covers(view, clause, self.target.name, [self.target.seen(row, cutoff)])
        return found

    @cached_property
    def database(self) -> Database:
        columns = [(table.name, column) for table in self.tables for column in table.plain.columns]
        known_later = {
            table.name: {table.dating.name: list(table.late)} for table in self.tables if table.dating is not None
        }
        datings = {f"{table.name}.{table.dating.name}": table.dating for table in self.tables if table.dating}
        return Database.from_frames(
            {table.name: table.arrow() for table in self.tables},
            target=self.target.name,
            keys={
                table.name: {column.name: column.domain for column in table.plain.columns if column.domain is not None}
                for table in self.tables
            },
            types={f"{table}.{column.name}": column.kind for table, column in columns if column.kind != "key"}
            | {name: "numeric" if is_number(column) else "date" for name, column in datings.items()},
            foreign_keys=[],
            times={table.name: table.time.name for table in self.tables if table.time is not None},
            known_later=known_later,
        )


def is_number(column: TimeColumn) -> bool:
    return column.storage in ("integer", "double")


def with_numbers(clause: Clause, tables: Sequence[DatedTable]) -> Clause:
    """The clause with the bounds of ages and of dating columns as numbers, as plain rows have them."""
    datings = {(table.name, table.dating.name) for table in tables if table.dating is not None}

    def translated(literal: Literal, test: Condition) -> Condition:
        if isinstance(test.value, str) and test.op != "=" and test.value in LENGTHS:
            return replace(test, value=float(LENGTHS[test.value]))
        if isinstance(test.value, str) and (literal.table, test.column) in datings:
            moment = dt.datetime.fromisoformat(test.value)
            return replace(test, value=float((moment - EPOCH) // dt.timedelta(microseconds=1)))
        return test

    body = [
        replace(literal, tests=tuple(translated(literal, test) for test in literal.tests)) for literal in clause.body
    ]
    return replace(clause, body=tuple(body))


def seeded_case(seed: int, n_clauses: int = 6) -> DatedCase:
    """A target and one to three other tables, with clauses, some of them that close on each other."""
    rng = Random(seed)
    return dated_case(
        rng, rng.choice([1, 2, 3, 3]), rng.choice([1, 3, 6, 9, 9]), rng.choice([1, 1, 2, 3, 4]), n_clauses
    )


def dated_case(rng: Random, n_tables: int, max_rows: int, max_literals: int, n_clauses: int) -> DatedCase:
    numbers = rng.random() < 0.25
    entity = RandomColumn("id", "key", "int", "t")
    columns = (entity, *random_columns(rng, 0, 2))
    rows = [random_row(rng, columns) for _ in range(1 + max_rows)]
    for row in rows:
        row["id"] = rng.choice([1, 2, 3, None])
    tables = [random_times(rng, RandomTable("target", columns, rows), numbers, is_target=True)]
    for name in ["r", "my table", "select"][:n_tables]:
        columns = random_columns(rng, 1, 3)
        if rng.random() < 0.2:
            columns = (*columns, RandomColumn("age", "numeric", "float"))
        n_rows = rng.choice([0, *range(max_rows + 1), *(4 * [max_rows])])
        table = RandomTable(name, columns, [random_row(rng, columns) for _ in range(n_rows)])
        tables.append(random_times(rng, table, numbers, is_target=False))
    case = DatedCase(tuple(tables))
    return replace(case, clauses=tuple(telling_clause(rng, case, max_literals) for _ in range(n_clauses)))


def random_times(rng: Random, table: RandomTable, numbers: bool, *, is_target: bool) -> DatedTable:
    """The table with times, of which an example always has one."""
    storages = ["integer", "double"] if numbers else ["date", "timestamp", "timestamptz", "text", "zoned text"]
    time = TimeColumn("at", rng.choice(storages)) if is_target or rng.random() < 0.8 else None
    dating = TimeColumn("known on", rng.choice(storages)) if rng.random() < 0.4 else None
    attributes = [column.name for column in table.columns if column.domain is None]
    late = tuple(rng.sample(attributes, rng.randint(0, len(attributes)))) if dating is not None else ()
    rows = []
    for row in table.rows:
        dated = dict(row)
        if time is not None:
            dated[time.name] = max(time.draw_time(rng), time.draw_time(rng)) if is_target else time.draw(rng)
        if dating is not None:
            dated[dating.name] = dating.draw(rng)
        rows.append(dated)
    if time is not None and all(row[time.name] is None for row in rows) and not numbers:
        time = replace(time, storage="timestamp")  # nothing tells texts of no value from numbers
    return DatedTable(replace(table, rows=rows), time, dating, late)


def telling_clause(rng: Random, case: DatedCase, max_literals: int) -> Clause:
    """The first of some random clauses that covers a part of the examples, or else the last."""
    n_literals = rng.randint(max_literals // 2, max_literals)
    plain = tuple(table.plain for table in case.tables)
    for _ in range(12):
        clause = random_clause(rng, plain, n_literals).rooted(case.target.name)
        body = [
            with_random_times(rng, literal, case, is_root=position == 0) for position, literal in enumerate(clause.body)
        ]
        clause = replace(clause, body=tuple(body))
        if len(set(case.covers(clause))) > 1:
            break
    return clause


def with_random_times(rng: Random, literal: Literal, case: DatedCase, *, is_root: bool) -> Literal:
    """A literal, at times with tests of its row's age and of the column that dates others."""
    table = next(table for table in case.tables if table.name == literal.table)
    tests = list(literal.tests)
    numbers = table.time is not None and is_number(table.time)
    if table.time is not None and not is_root and rng.random() < 0.5:
        bounds: list[Any] = [0.5, 1.0, 0.1, 1.4, 2.0, 0.0] if numbers else list(LENGTHS)
        tests += [
            Condition(table.age, rng.choice([">=", "<="]), rng.choice(bounds)) for _ in range(rng.choice([1, 1, 2]))
        ]
    if table.dating is not None and rng.random() < 0.3:
        if rng.random() < 0.3:
            tests.append(Condition(table.dating.name, "missing"))
        else:
            given = table.dating.draw_time(rng)
            moment = (
                (EPOCH + dt.timedelta(microseconds=int(given))).isoformat() if not is_number(table.dating) else given
            )
            tests.append(Condition(table.dating.name, rng.choice([">=", "<="]), moment))
    return replace(literal, tests=tuple(tests))
