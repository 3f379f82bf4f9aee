"""Aggregates look at what was known before the cutoff: against a naive interpreter over copies of the tables."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import pytest

import hornboost as hb
import naive
from dated import DAY, EPOCH, LENGTHS, DatedCase, DatedTable, TimeColumn, dated_case, is_number
from hornboost.aggregates.attach import computed
from hornboost.aggregates.meaning import Paths
from hornboost.aggregates.paths import find_paths
from hornboost.data.built import Target
from hornboost.data.describe import type_name
from hornboost.data.table import Column
from hornboost.engine import Coverage
from hornboost.errors import HornBoostError
from hornboost.logic.aggregate import SPREAD, Aggregate, KeyStep, Route, TableStep
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.clause import Test as Condition
from hornboost.logic.duration import duration_text
from hornboost.logic.moment import moment_text
from hornboost.logic.text import print_path
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.sql import ensemble_to_sql
from hornboost.sql.columns import ColumnType
from hornboost.sql.dialects import DIALECTS
from hornboost.sql.times import AsOf, TableTimes
from postgres import start_postgres
from random_databases import RandomColumn
from test_oracles import quoted
from test_sql_times import in_sqlite, numbered

N_AGGREGATES = 25


@dataclass(frozen=True)
class DatedAggregates:
    """A random database with times, aggregates, tests on them, and the joins that they follow."""

    case: DatedCase
    aggregates: tuple[Aggregate, ...]
    routes: Mapping[str, Route]
    values: list[list[Any]]
    """For each aggregate its value for each example."""

    of_first: list[list[Any]]
    """The same at the cutoff of the first example."""

    tests: tuple[tuple[Condition, int, float], ...] = ()
    """Tests, each with the number of its aggregate and its bound as a number."""

    @property
    def clauses(self) -> list[Clause]:
        return [Clause(Head("y", "1"), (Literal("target", (), (test,)),)) for test, _, _ in self.tests]

    def covered(self, *, at_first: bool = False) -> list[list[bool]]:
        """Which examples pass each test, at their own cutoffs or all at the first one's."""
        return [
            [naive.holds(test if isinstance(value, str) else Condition("x", test.op, bound), value) for value in values]
            for test, number, bound in self.tests
            for values in [self.of_first[number] if at_first else self.values[number]]
        ]


def dated_aggregates(seed: int) -> DatedAggregates:
    rng = Random(seed)
    case = dated_case(rng, rng.choice([1, 2, 3]), rng.choice([3, 6, 9, 15]), 1, 0)
    database = case.database
    tables = {table.name: table for table in case.tables}
    routes: dict[str, Route] = {}
    found = []
    paths = find_paths(database.tables, database.links, "target", 2)
    for _ in range(N_AGGREGATES if paths else 0):
        path = rng.choice(paths)
        steps = Paths.of(database).name(path.steps)
        routes[print_path(steps)] = tuple(KeyStep(hop.column, hop.to_table, hop.to_column) for hop in path.steps)
        found.append(random_aggregate(rng, tables[path.table], steps))
    aggregates = tuple(dict.fromkeys(found))
    own, first = case.cutoffs, [case.cutoffs[0]] * len(case.cutoffs)
    values, of_first = (
        [[value_of(case, one, routes, number, cutoff) for number, cutoff in enumerate(cutoffs)] for one in aggregates]
        for cutoffs in (own, first)
    )
    tests = [random_test(rng, case, one, number, values[number]) for number, one in enumerate(aggregates)]
    return DatedAggregates(case, aggregates, routes, values, of_first, tuple(tests))


def value_of(case: DatedCase, one: Aggregate, routes: Mapping[str, Route], number: int, cutoff: float) -> Any:
    """An aggregate of an example, by the rows and values that it may know."""
    table = next(table for table in case.tables if table.name == one.table)
    example = case.target.seen(case.target.plain.rows[number], cutoff)
    time = "" if table.time is None else table.time.name
    found = naive.aggregated(case.views[cutoff], one, routes[print_path(one.path)], example, time)
    column = next((column for column in table.plain.columns if column.name == one.column), None)
    if isinstance(found, str) and column is not None and column.kind == "date":
        return float((dt.datetime.fromisoformat(found) - EPOCH) // dt.timedelta(microseconds=1))
    return found


def random_aggregate(rng: Random, table: DatedTable, steps: tuple[TableStep, ...]) -> Aggregate:
    columns: list[RandomColumn | TimeColumn] = [column for column in table.columns if column != table.time]
    nominal = [column for column in table.plain.columns if column.kind == "nominal"]
    where = within = None
    if nominal and rng.random() < 0.4:
        chosen = rng.choice(nominal)
        where = (chosen.name, str(rng.choice([*chosen.values, "8"])))
    if table.time is not None and rng.random() < 0.5:
        lengths: list[Any] = [0.1, 0.5, 1.0, 2.0, 4.0] if is_number(table.time) else list(LENGTHS)
        within = (table.age, rng.choice(lengths))
    kind = rng.random()
    if kind < 0.25 or not columns:
        function = "count" if where is None and within is None else rng.choice(["count", "share"])
        return Aggregate(function, steps, None, where, within)
    if kind < 0.4 and table.time is not None:
        return Aggregate(rng.choice(["min", "max"]), steps, table.age, where, within)
    column = rng.choice(columns)
    function = rng.choice(functions_of(column, table.time is not None))
    return Aggregate(function, steps, column.name, None if function in SPREAD else where, within)


def functions_of(column: RandomColumn | TimeColumn, has_time: bool) -> list[str]:
    last = ["last", "last"] if has_time else []
    if isinstance(column, TimeColumn):
        return ["min", "max", *last]
    if column.kind == "key":
        return ["distinct"]
    if column.kind == "nominal":
        # databases have another text for floats
        return ["distinct"] if column.storage == "float" else ["distinct", "mode", "mode_share", *last]
    return ["min", "max", *last] if column.kind == "date" else ["mean", "sum", "min", "max", "std", *last]


def random_test(
    rng: Random, case: DatedCase, one: Aggregate, number: int, values: list[Any]
) -> tuple[Condition, int, float]:
    """A test whose bound is one of the values, or next to it."""
    present = [value for value in values if value is not None]
    if not present or rng.random() < 0.1:
        return Condition(one, "missing"), number, math.nan
    value = rng.choice(present)
    if isinstance(value, str):
        return Condition(one, "=", value), number, math.nan
    table = next(table for table in case.tables if table.name == one.table)
    is_date = type_of(table, one) == "date"
    bound = float(value) + (rng.choice([0, 0, 0, 1, -1]) if is_date else 0)
    shown: str | float = bound
    if is_date:
        shown = duration_text(bound) if one.column == table.age else moment_text(bound)
    return Condition(one, rng.choice([">=", "<="]), shown), number, bound


def type_of(table: DatedTable, one: Aggregate) -> str:
    """Whether an aggregate is a date or an age of dates."""
    if one.function not in ("min", "max", "last"):
        return "numeric"
    if table.time is not None and one.column == table.age and one.column not in {c.name for c in table.plain.columns}:
        return "numeric" if is_number(table.time) else "date"
    column = next(column for column in table.columns if column.name == one.column)
    if isinstance(column, TimeColumn):
        return "numeric" if is_number(column) else "date"
    return column.kind


def cells(column: Column) -> list[Any]:
    """The values of an aggregate as the naive interpreter has them."""
    if column.kind == "nominal":
        assert column.categories is not None
        return [None if code < 0 else column.categories[code] for code in column.codes]
    return [None if math.isnan(value) else value for value in column.numbers]


@pytest.mark.parametrize("seed", range(250))
def test_aggregates_are_those_of_what_each_example_may_know(seed: int) -> None:
    found = dated_aggregates(seed)
    database = found.case.database
    examples = database.encode(found.case.target.arrow())
    columns = computed(database, examples, found.aggregates)
    for one, column, expected in zip(found.aggregates, columns, found.values, strict=True):
        assert cells(column) == expected, str(one)
    assert Coverage.of(database, found.clauses).covered(examples).T.tolist() == found.covered()


def statement(found: DatedAggregates, dialect: str, as_of: AsOf | None = None, key: tuple[str, ...] = ("row",)) -> str:
    """A score whose bits tell which tests a row passes."""
    database = found.case.database
    columns = [(table.name, column) for table in database.tables.values() for column in table.columns.values()]
    columns += [(table.name, table.times) for table in database.tables.values() if table.times is not None]
    rules = tuple(Rule(clause, (float(2**k),)) for k, clause in enumerate(found.clauses))
    return ensemble_to_sql(
        Ensemble(("0", "1"), rules, (0.0,)),
        Target("target", key, positive="1"),
        dialect,
        probability=False,
        columns=[column.name for column in found.case.target.columns],
        types={(table, column.name): ColumnType(type_name(column), column.stored) for table, column in columns},
        routes=found.routes,
        times={
            name: TableTimes(None if table.times is None else table.times.name, table.age, table.late)
            for name, table in database.tables.items()
            if table.times is not None or table.late
        },
        as_of=as_of,
    )


def check(rows: list[dict[str, Any]], found: DatedAggregates, *, at_first: bool = False) -> None:
    scores = [int(row["score_of_1"]) for row in sorted(rows, key=lambda row: int(row["row"]))]
    for k, expected in enumerate(found.covered(at_first=at_first)):
        assert [bool(score >> k & 1) for score in scores] == expected, str(found.tests[k][0])


def first_cutoff(found: DatedAggregates) -> AsOf:
    cutoff, time = found.case.cutoffs[0], found.case.target.time
    assert time is not None
    return cutoff if is_number(time) else moment_text(cutoff)


@pytest.mark.parametrize("seed", range(1000, 1150))
def test_duckdb_agrees_with_the_naive_interpreter(seed: int) -> None:
    found = dated_aggregates(seed)
    with duckdb.connect(config={"threads": 1}) as connection:
        for table in found.case.tables:
            connection.register(table.name, numbered(table))

        def run(text: str) -> list[dict[str, Any]]:
            return connection.sql(f'SELECT "row", "score_of_1" FROM ({text})').to_arrow_table().to_pylist()

        check(run(statement(found, "duckdb")), found)
        check(run(statement(found, "duckdb", key=())), found)
        check(run(statement(found, "duckdb", first_cutoff(found))), found, at_first=True)


@pytest.mark.parametrize("seed", range(2000, 2150))
def test_sqlite_agrees_with_the_naive_interpreter(seed: int) -> None:
    found = dated_aggregates(seed)
    connection = in_sqlite(found.case)
    connection.row_factory = sqlite3.Row
    check(connection.execute(statement(found, "sqlite")).fetchall(), found)
    check(connection.execute(statement(found, "sqlite", first_cutoff(found))).fetchall(), found, at_first=True)
    connection.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        from adbc_driver_postgresql import dbapi

        server = start_postgres(Path(tmp_path_factory.mktemp("postgres")))
        with dbapi.connect(server.get_uri()) as connection:
            yield connection
        server.cleanup()


@pytest.mark.parametrize("seed", range(3000, 3100))
def test_postgresql_agrees_with_the_naive_interpreter(postgres: Any, seed: int) -> None:
    found = dated_aggregates(seed)
    with postgres.cursor() as cursor:
        for table in found.case.tables:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(table.name)}")
            cursor.adbc_ingest(table.name, numbered(table), mode="create")
        results = []
        for as_of in (None, first_cutoff(found)):
            cursor.execute(f'SELECT "row", "score_of_1" FROM ({statement(found, "postgres", as_of)}) AS s')
            results.append([{"row": row[0], "score_of_1": row[1]} for row in cursor.fetchall()])
    postgres.rollback()
    check(results[0], found)
    check(results[1], found, at_first=True)


@pytest.mark.parametrize("seed", range(4000, 4020))
def test_every_dialect_reads_its_own_statement(seed: int) -> None:
    import sqlglot

    found = dated_aggregates(seed)
    stored = {column.storage for table in found.case.tables for column in (table.time, table.dating) if column}
    for dialect in DIALECTS:
        if dialect == "spark" and "timestamptz" in stored and stored != {"timestamptz"}:
            continue  # which counts other times in the zone of the session, and is refused
        assert len(sqlglot.parse(statement(found, dialect), dialect=dialect)) == 1


@pytest.mark.parametrize("seed", range(5000, 5060))
def test_the_columns_of_the_transformer_are_aggregates_of_what_each_example_may_know(seed: int) -> None:
    rng = Random(seed)
    case = dated_case(rng, rng.choice([1, 2, 3]), rng.choice([6, 9, 15]), 1, 0)
    database = case.database
    transformer = hb.RelationalAggregates(database, where=2, windows=2).fit(case.target.arrow())
    found = transformer.transform(case.target.arrow())
    views = {cutoff: in_days(case, cutoff) for cutoff in set(case.cutoffs)}
    unit = 1.0 if is_number(case.tables[0].time) else float(DAY)
    for column in transformer.aggregates_:
        table = next(table for table in case.tables if table.name == column.path.table)
        route = [(hop.column, hop.to_table, hop.to_column) for hop in column.path.steps]
        within = None if column.within is None else (table.age, column.within / unit)
        one = Aggregate(column.function, (TableStep(table.name),), column.column, column.where, within)
        time = "" if table.time is None else table.time.name
        for number, value in enumerate(found[column.name].to_pylist()):
            cutoff = case.cutoffs[number]
            example = case.target.seen(case.target.plain.rows[number], cutoff)
            expected = naive.aggregated(views[cutoff], one, route, example, time)
            value = None if value is None or value != value else value
            digits = 1e-3 if one.function == "std" else 1e-8  # of squares of large numbers
            same = expected if isinstance(expected, str | None) else pytest.approx(expected, abs=digits)
            assert value == same, column.name


def in_days(case: DatedCase, cutoff: float) -> dict[str, list[dict[str, Any]]]:
    """What an example sees, as columns show it: ages in days, dates as days before the cutoff, no infinite numbers."""
    views = {}
    for table in case.tables:
        dates = {column.name for column in table.plain.columns if column.kind == "date"}
        dates |= {column.name for column in [table.dating] if column is not None and not is_number(column)}
        ages = {table.age} if table.time is not None and not is_number(table.time) else set()
        views[table.name] = [
            {name: shown(cell, cutoff, name in dates, name in ages) for name, cell in row.items()}
            for row in table.visible(cutoff)
        ]
    return views


def shown(cell: Any, cutoff: float, is_date: bool, is_age: bool) -> Any:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if isinstance(cell, str) and is_date:
        cell = float((dt.datetime.fromisoformat(cell) - EPOCH) // dt.timedelta(microseconds=1))
    return (cutoff - cell) / DAY if is_date else cell / DAY if is_age else cell


def shop() -> hb.Database:
    """Two customers, asked about at two times each."""
    customer = pd.DataFrame({"customer": [1, 1, 2, 2], "asked": pd.to_datetime(["2024-03-01", "2024-06-01"] * 2)})
    customer["good"] = ["yes", "no", "yes", "no"]
    days = pd.to_datetime(["2024-02-20", "2024-03-01", "2024-05-30", "2024-06-01", None, "2024-01-01"])
    paid = pd.DataFrame({"customer": [1, 1, 1, 1, 1, 2], "day": days, "amount": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]})
    paid["way"] = ["cash", "card", "cash", "card", "card", None]
    return hb.Database.from_frames(
        {"customer": customer, "paid": paid, "card": paid[["customer", "amount"]]},
        target="customer",
        label="good",
        positive="yes",
        keys={"customer": {"customer": "c"}, "paid": {"customer": "c"}, "card": {"customer": "c"}},
        foreign_keys=[],
        times={"customer": "asked", "paid": "day"},
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("count(paid)>=1", [True, True, True, True]),
        ("count(paid)>=3", [False, True, False, False]),
        ("count(paid where age<=10d)>=1", [True, True, False, False]),
        ("count(paid where age<=9d)>=1", [False, True, False, False]),
        ("sum(paid.amount where age<=100d)>=6", [False, True, True, False]),
        ('sum(paid.amount where way="cash", age<=100d)>=4', [False, True, False, False]),
        ("share(paid where age<=30d)>=0.3", [True, True, False, False]),
        ('share(paid where way="cash", age<=30d)>=1', [True, True, False, False]),
        ("last(paid.amount)>=4", [False, True, True, True]),
        ('last(paid.way)="cash"', [True, True, False, False]),
        ("last(paid.way) is missing", [False, False, True, True]),
        ("min(paid.age)<=10d", [True, True, False, False]),
        ("max(paid.age)>=60d", [False, True, True, True]),
        ("sum(card.amount)>=31", [True, True, True, True]),
    ],
)
def test_conditions_look_at_each_example_s_own_past(condition: str, expected: list[bool]) -> None:
    clause = hb.Clause.parse(f'good="yes" :- customer(customer=C, {condition}).')
    assert shop().covers(clause).tolist() == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("count(card where age<=9d)>=1", "table 'card' has no time, so its rows have no age; declare one"),
        ("last(card.amount)>=1", "table 'card' has no time, so none of its rows is the last; declare one"),
        ("min(card.age)<=9d", "no column 'age'"),
        ("min(paid.day)<=9d", "no column 'day'"),
        ("count(paid where amount<=9d)>=1", "is limited by the age of rows, which is 'age' here"),
        ("count(paid where age<=9)>=1", "the times of 'paid' are dates; write a length of time such as 90d"),
        ("mean(paid.age)<=9d", "there is no mean of a column that is an age"),
        ("min(paid.age)<=9", "is an age, so it is compared with a length of time such as 90d"),
        ("min(paid.amount)<=9d", "is no age of dates"),
        ('last(paid.customer)="1"', "there is no last of a column that is a key"),
    ],
)
def test_what_cannot_be_is_told(condition: str, message: str) -> None:
    with pytest.raises(HornBoostError, match=message):
        shop().covers(hb.Clause.parse(f'good="yes" :- customer(customer=C, {condition}).'))
