"""Random small databases whose rows have times, and the view that one example has of them.

Times are few, so that rows fall on cutoffs and on each other; some are missing. Columns may be filled in later.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

import naive
from hornboost import Database
from hornboost.logic.clause import Clause, Literal
from hornboost.logic.clause import Test as Condition
from random_databases import ARROW, RandomCase, RandomColumn, RandomTable, random_case

MOMENTS = ["2024-01-01", "2024-01-02T12:00:00", "2024-01-03", "2024-01-03T00:00:01", "2024-03-01", "2024-03-02"]
NUMBERS = [0.0, 1.0, 1.5, 2.0, 3.0, 10.25]
UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000}
WHEN, FILLED = "when", "filled"
"""The column with the time of a row, and the one with the time at which others of it are filled in."""

Row = dict[str, Any]


@dataclass(frozen=True)
class TimeColumn(RandomColumn):
    """Moments as ISO text, or numbers."""

    @property
    def values(self) -> list[Any]:
        return MOMENTS if self.kind == "date" else NUMBERS

    def stored(self, cell: Any) -> Any:
        return dt.datetime.fromisoformat(cell) if isinstance(cell, str) else cell


def as_number(time: Any) -> float | None:
    """A time as a number; None where there is none."""
    if isinstance(time, str):
        return float((dt.datetime.fromisoformat(time) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
    return None if time is None or time != time else float(time)


@dataclass(frozen=True)
class DatedCase:
    """Tables with the time of each row under `WHEN`, apart from the columns; `late` has the columns filled in later."""

    case: RandomCase
    is_date: bool
    timed: frozenset[str]
    late: dict[str, tuple[str, ...]]
    rows: list[Row]
    """The examples: rows like the target's, some of one entity at several times."""

    @property
    def target(self) -> RandomTable:
        return self.case.target

    def database(self) -> Database:
        tables = self.case.tables
        attributes = [(table.name, column) for table in tables for column in table.columns if column.domain is None]
        return Database.from_frames(
            {table.name: self.arrow(table) for table in tables},
            target=self.target.name,
            key=[],
            keys={
                table.name: {column.name: column.domain for column in table.columns if column.domain is not None}
                for table in tables
            },
            types={f"{table}.{column.name}": column.kind for table, column in attributes},
            foreign_keys=[],
            times=dict.fromkeys(self.timed, WHEN),
            known_later={name: {FILLED: list(columns)} for name, columns in self.late.items()},
        )

    def arrow(self, table: RandomTable) -> pa.Table:
        kind = pa.timestamp("us") if self.is_date else pa.float64()
        columns = list(table.columns)
        if table.name in self.timed:
            columns.append(time_column(WHEN, self.is_date))
        return pa.table(
            {
                column.name: pa.array(
                    [column.stored(row[column.name]) for row in table.rows],
                    kind if isinstance(column, TimeColumn) else ARROW[column.storage],
                    from_pandas=isinstance(column, TimeColumn),
                )
                for column in columns
            }
        )

    def examples(self) -> pa.Table:
        return self.arrow(replace(self.target, rows=self.rows))

    def view(self, example: Row) -> dict[str, list[Row]]:
        """Copies of the tables with nothing but what an example may see, and the ages of rows."""
        cutoff = as_number(example[WHEN])
        assert cutoff is not None
        seen: dict[str, list[Row]] = {}
        for table in self.case.tables:
            rows = [self.known(table.name, row, cutoff) for row in table.rows]
            if table.name in self.timed:
                dated = [(row, as_number(row[WHEN])) for row in rows]
                rows = [{**row, "age": cutoff - time} for row, time in dated if time is not None and time < cutoff]
            seen[table.name] = rows
        return seen

    def known(self, table: str, row: Row, cutoff: float) -> Row:
        """A row without the values that are filled in at the cutoff or later."""
        filled = as_number(row.get(FILLED))
        if table not in self.late or (filled is not None and filled < cutoff):
            return dict(row)
        return {**row, FILLED: None, **dict.fromkeys(self.late[table])}

    def covered(self, clause: Clause, rows: Sequence[Row] | None = None) -> list[bool]:
        """Which examples a clause covers, each one asked about its own view of the tables."""
        clause = in_numbers(clause.rooted("target"))
        others = replace(clause, body=(replace(clause.body[0], table="the example"), *clause.body[1:]))
        found = []
        for example in self.rows if rows is None else rows:
            cutoff = as_number(example[WHEN])
            assert cutoff is not None
            view = {**self.view(example), "the example": [self.known("target", example, cutoff)]}
            found += naive.covers(view, others, "the example")
        return found


def in_numbers(clause: Clause) -> Clause:
    """The same clause with lengths of time in microseconds."""

    def plain(condition: Condition) -> Condition:
        if condition.column != "age" or not isinstance(condition.value, str):
            return condition
        unit = next(unit for unit in ("min", "d", "h", "s") if condition.value.endswith(unit))
        return replace(condition, value=float(condition.value.removesuffix(unit)) * UNITS[unit])

    def literal(one: Literal) -> Literal:
        return replace(one, tests=tuple(plain(condition) for condition in one.tests))

    return replace(clause, body=tuple(literal(one) for one in clause.body))


def time_column(name: str, is_date: bool) -> TimeColumn:
    return TimeColumn(name, "date", "date") if is_date else TimeColumn(name, "numeric", "float")


def dated_case(rng: Random, n_clauses: int = 0) -> DatedCase:
    """A random database with times of some tables, the target's always among them."""
    plain = random_case(rng, rng.choice([1, 2, 3]), rng.choice([3, 6, 8]), 3, n_clauses)
    is_date = rng.random() < 0.5
    filled = time_column(FILLED, is_date)

    def time() -> Any:
        return (
            rng.choice(filled.values)
            if rng.random() < 0.9
            else rng.choice([None, float("nan")] * (not is_date) or [None])
        )

    tables, late = [], {}
    timed = {"target", *(table.name for table in plain.tables if rng.random() < 0.7)}
    for table in plain.tables:
        columns, rows = table.columns, [dict(row) for row in table.rows]
        attributes = [column.name for column in columns if column.domain is None]
        if rng.random() < 0.4:
            late[table.name] = tuple(name for name in attributes if rng.random() < 0.7)
            columns = (*columns, filled)
        rows = [{**row, FILLED: time(), WHEN: time()} for row in rows]
        if table.name == "target":
            rows[0][WHEN] = rng.choice(filled.values)
        tables.append(RandomTable(table.name, columns, rows))
    examples = [
        {**rng.choice([*tables[0].rows, *({**row, FILLED: time()} for row in plain.new_examples.rows)]), WHEN: moment}
        for moment in rng.choices(filled.values, k=rng.choice([1, 4, 8]))
    ]
    case = replace(plain, tables=tuple(tables))
    return DatedCase(case, is_date, frozenset(timed), late, examples)


def with_ages(rng: Random, case: DatedCase, clause: Clause) -> Clause:
    """The clause with tests on ages, and on columns that are filled in later, of some of its literals."""

    def more(position: int, literal: Literal) -> Literal:
        tests = list(literal.tests)
        if position > 0 and literal.table in case.timed and rng.random() < 0.6:
            value = rng.choice(["1d", "36h", "1s", "59d", "60d"] if case.is_date else [0.5, 1.0, 2.0, 8.25])
            tests.append(rng.choice([Condition("age", rng.choice([">=", "<="]), value), Condition("age", "missing")]))
        if literal.table in case.late and rng.random() < 0.3:
            value = rng.choice(MOMENTS if case.is_date else NUMBERS)
            tests.append(rng.choice([Condition(FILLED, rng.choice([">=", "<="]), value), Condition(FILLED, "missing")]))
        return replace(literal, tests=tuple(tests))

    clause = clause.rooted("target")
    return replace(clause, body=tuple(more(k, literal) for k, literal in enumerate(clause.body)))
