"""Conditions on aggregates in clauses: as text, by a naive interpreter, and in the SQL of three databases."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive
from hornboost import Clause
from hornboost.aggregates.meaning import Paths
from hornboost.aggregates.paths import find_paths
from hornboost.data.built import Target
from hornboost.data.describe import type_name
from hornboost.engine import Coverage
from hornboost.errors import ClauseError
from hornboost.logic import canonical
from hornboost.logic.aggregate import FUNCTIONS, ROWS, SPREAD, Aggregate, KeyStep, Route, TableStep
from hornboost.logic.clause import Head, Literal, Op
from hornboost.logic.clause import Test as Condition
from hornboost.logic.duration import duration_text
from hornboost.logic.text import parse_aggregate, print_path
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.sql import ensemble_to_sql
from hornboost.sql.columns import ColumnType
from hornboost.sql.dialects import DIALECTS
from postgres import start_postgres
from random_databases import RandomCase, RandomColumn, random_case
from test_oracles import as_sqlite, numbered, quoted

CLAUSES = 8


def databases(count: int) -> settings:
    return settings(
        max_examples=count, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    )


names = st.one_of(
    st.sampled_from(["trans", "is", "where", "a.b", 'q"', "mean", "2nd", "Ünï"]), st.text(min_size=1, max_size=5)
)
keys = st.none() | st.tuples(names, names)
lengths = st.one_of(st.integers(0, 2**53).map(duration_text), st.floats(allow_nan=False, allow_infinity=False))
windows = st.none() | st.tuples(names, lengths)
paths = st.lists(st.builds(TableStep, names, keys), min_size=1, max_size=3).map(tuple)


@st.composite
def aggregates(draw: st.DrawFn) -> Aggregate:
    function = draw(st.sampled_from(FUNCTIONS))
    where = None if function in SPREAD else draw(st.none() | st.tuples(names, st.text(max_size=4)))
    within = draw(st.tuples(names, lengths) if function == "share" and where is None else windows)
    return Aggregate(function, draw(paths), None if function in ROWS else draw(names), where, within)


@given(st.lists(aggregates(), min_size=1, max_size=3))
def test_a_clause_with_aggregates_reads_back_from_its_text(found: list[Aggregate]) -> None:
    tests = [Condition(found[0], "missing"), *(Condition(one, ">=", 0.25) for one in found[1:])]
    tests += [Condition(found[0], "<=", "1998-01-01"), Condition(found[-1], "=", "x"), Condition("mean(a.b)", "=", "y")]
    clause = Clause(Head("y", "1"), (Literal("a", (("id", "K"),), tuple(tests)), Literal("b", (("a", "K"),))))
    assert Clause.parse(str(clause)) == clause
    assert Clause.parse(str(canonical(clause))) == canonical(clause)
    assert canonical(clause) == canonical(
        replace(clause, body=(replace(clause.root, tests=tuple(tests[::-1])), clause.body[1]))
    )
    assert [parse_aggregate(str(one)) for one in found] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count(trans where age<=90)", None),
        ('count(trans where age<=90d, type="in")', None),
        ("count(trans where age>=90d)", "expected '=' after a column, or '<=' after the age"),
        ("count(trans where age<=90d, age<=7d)", "one value and one age at most"),
        ('count(trans where type="in", kind="x")', "one value and one age at most"),
        ('count(trans where age<="90d")', "expected a length of time such as 90d, or a number"),
        ('count(trans where type="in" where age<=90d)', r"expected '\)' after the aggregate"),
        ("count(trans, age<=90d)", r"expected '\)' after the aggregate"),
        ("share(trans)", "'share' needs a condition"),
        ('mode(trans.type where type="in")', "'mode' takes no condition on a value"),
    ],
)
def test_a_condition_names_a_value_an_age_or_both(text: str, message: str | None) -> None:
    if message is None:
        assert parse_aggregate(str(parse_aggregate(text))) == parse_aggregate(text)
    else:
        with pytest.raises(ClauseError, match=message):
            parse_aggregate(text)


@dataclass(frozen=True)
class AggregateCase:
    """A random database, clauses with tests on aggregates, and the routes of these."""

    case: RandomCase
    clauses: tuple[Clause, ...]
    routes: dict[str, Route]

    def expected(self, rows: list[dict[str, Any]]) -> list[list[bool]]:
        found = {aggregate for clause in self.clauses for aggregate in clause.aggregates}
        wide = [
            row
            | {one: naive.aggregated(self.case.rows(), one, self.routes[print_path(one.path)], row) for one in found}
            for row in rows
        ]
        return [naive.covers(self.case.rows(), clause, "target", wide) for clause in self.clauses]


def aggregate_cases() -> st.SearchStrategy[AggregateCase]:
    return st.builds(
        lambda rng, n_tables, n_rows: with_aggregates(random_case(rng, n_tables, n_rows, 2, CLAUSES), rng),
        st.randoms(use_true_random=True),
        st.sampled_from([1, 2, 3, 3]),
        st.sampled_from([3, 6, 9, 9]),
    )


def with_aggregates(case: RandomCase, rng: Random) -> AggregateCase:
    database = case.database()
    found = find_paths(database.tables, database.links, "target", 2)
    named = Paths.of(database)
    tables = {table.name: table for table in case.tables}
    routes: dict[str, Route] = {}
    clauses = []
    for clause in case.clauses:
        tests = []
        for _ in range(rng.choice([1, 1, 2]) if found else 0):
            path = rng.choice(found)
            steps = named.name(path.steps)
            route = tuple(KeyStep(hop.column, hop.to_table, hop.to_column) for hop in path.steps)
            routes[print_path(steps)] = route
            one = random_aggregate(rng, steps, tables[path.table].columns)
            values = [naive.aggregated(case.rows(), one, route, row) for row in case.target.rows]
            tests.append(random_test(rng, one, [value for value in values if value is not None]))
        rooted = clause.rooted("target")
        root = replace(rooted.root, tests=(*rooted.root.tests[:1], *tests))
        clauses.append(replace(rooted, body=(root, *rooted.body[1 : rng.choice([1, 2])]), unequal=()))
    return AggregateCase(case, tuple(clauses), routes)


def random_aggregate(rng: Random, steps: tuple[TableStep, ...], columns: tuple[RandomColumn, ...]) -> Aggregate:
    nominal = [column for column in columns if column.kind == "nominal"]
    where = None
    if nominal and rng.random() < 0.4:
        chosen = rng.choice(nominal)
        where = (chosen.name, str(rng.choice([*chosen.values, "8"])))
    column = rng.choice(columns)
    if column.kind == "nominal":
        # databases have another text for floats
        function = rng.choice(["distinct"] if column.storage == "float" else ["distinct", "mode", "mode_share"])
    elif column.kind == "key":
        function = "distinct"
    else:
        function = rng.choice(["min", "max"] if column.kind == "date" else ["mean", "sum", "min", "max", "std"])
    if rng.random() < 0.3:
        return Aggregate("count" if where is None else rng.choice(["count", "share"]), steps, None, where)
    return Aggregate(function, steps, column.name, None if function in SPREAD else where)


def random_test(rng: Random, aggregate: Aggregate, values: list[Any]) -> Condition:
    if rng.random() < 0.1 or not values:
        return Condition(aggregate, "missing")
    value = rng.choice(values)
    if isinstance(value, str) and aggregate.function == "mode":
        return Condition(aggregate, "=", value)
    op: Op = rng.choice([">=", "<="])
    return Condition(aggregate, op, value if isinstance(value, str) else float(value))


@databases(60)
@given(aggregate_cases())
def test_the_engine_agrees_with_the_naive_interpreter(found: AggregateCase) -> None:
    database = found.case.database()
    for rows in (found.case.target, found.case.new_examples):
        examples = database.encode(rows.arrow())
        covered = Coverage.of(database, found.clauses).covered(examples)
        assert covered.T.tolist() == found.expected(rows.rows)


def statement(found: AggregateCase, dialect: str) -> str:
    """A score whose bits tell which clauses cover a row."""
    tables = found.case.database().tables.values()
    columns = [(table.name, column) for table in tables for column in table.columns.values()]
    types = {(table, column.name): ColumnType(type_name(column), column.stored) for table, column in columns}
    rules = tuple(Rule(clause, (float(2**k),)) for k, clause in enumerate(found.clauses))
    model = Ensemble(("0", "1"), rules, (0.0,))
    target = Target("target", ("row",), positive="1")
    return ensemble_to_sql(model, target, dialect, types=types, routes=found.routes, probability=False)


def check(rows: list[tuple[Any, ...]], found: AggregateCase) -> None:
    scores = [int(score) for _, score, _ in sorted(rows)]
    assert [[bool(score >> k & 1) for score in scores] for k in range(CLAUSES)] == found.expected(
        found.case.target.rows
    )


@databases(40)
@given(aggregate_cases())
def test_duckdb_agrees_with_python(found: AggregateCase) -> None:
    with duckdb.connect() as duck:
        for table in found.case.tables:
            duck.register(table.name, numbered(table))
        check(duck.execute(statement(found, "duckdb")).fetchall(), found)


@databases(30)
@given(aggregate_cases())
def test_sqlite_agrees_with_python(found: AggregateCase) -> None:
    connection = sqlite3.connect(":memory:")
    for table in found.case.tables:
        columns = [quoted(name) for name in ["row", *(column.name for column in table.columns)]]
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)})")
        rows = [
            [position, *(as_sqlite(column, row[column.name]) for column in table.columns)]
            for position, row in enumerate(table.rows)
        ]
        connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({', '.join('?' * len(columns))})", rows)
    check(connection.execute(statement(found, "sqlite")).fetchall(), found)
    connection.close()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pgserver  # noqa: F401
    from adbc_driver_postgresql import dbapi

    server = start_postgres(tmp_path_factory.mktemp("postgres"))
    with dbapi.connect(server.get_uri()) as connection:
        yield connection
    server.cleanup()


@databases(25)
@given(aggregate_cases())
def test_postgresql_agrees_with_python(postgres: Any, found: AggregateCase) -> None:
    with postgres.cursor() as cursor:
        for table in found.case.tables:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(table.name)}")
            cursor.adbc_ingest(table.name, numbered(table), mode="create")
        cursor.execute(statement(found, "postgres"))
        rows = cursor.fetchall()
    postgres.rollback()
    check(rows, found)


@databases(8)
@given(aggregate_cases())
def test_every_dialect_reads_its_own_statement(found: AggregateCase) -> None:
    import sqlglot

    for dialect in DIALECTS:
        sqlglot.parse_one(statement(found, dialect), dialect=dialect)
