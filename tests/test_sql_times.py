"""The SQL of a model with times covers what it covers in filtered copies of the tables, in three databases."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dated import EPOCH, DatedCase, DatedTable, is_number, seeded_case
from hornboost.data.built import Target
from hornboost.data.describe import type_name
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.sql import ensemble_to_sql
from hornboost.sql.columns import ColumnType
from hornboost.sql.dialects import DIALECTS
from hornboost.sql.times import AsOf, Parameter, TableTimes
from postgres import start_postgres
from test_oracles import as_sqlite, quoted


def statement(case: DatedCase, dialect: str, as_of: AsOf | None = None, key: tuple[str, ...] = ("row",)) -> str:
    """A statement whose score tells which of the clauses cover an example: the k-th adds 2 to the power of k."""
    database = case.database
    columns = [(table.name, column) for table in database.tables.values() for column in table.columns.values()]
    columns += [(table.name, table.times) for table in database.tables.values() if table.times is not None]
    rules = tuple(Rule(clause.rooted("target"), (2.0**k,)) for k, clause in enumerate(case.clauses))
    return ensemble_to_sql(
        Ensemble(("0", "1"), rules, (0.0,)),
        Target("target", key, positive="1"),
        dialect,
        probability=False,
        columns=[column.name for column in case.target.columns],
        types={(table, column.name): ColumnType(type_name(column), column.stored) for table, column in columns},
        times={
            name: TableTimes(None if table.times is None else table.times.name, table.age, table.late)
            for name, table in database.tables.items()
            if table.times is not None or table.late
        },
        as_of=as_of,
    )


def expected(case: DatedCase, as_of: float | None = None) -> list[int]:
    covered = [case.covers(clause, as_of) for clause in case.clauses]
    return [sum(2**k for k, of_clause in enumerate(covered) if of_clause[e]) for e in range(len(case.cutoffs))]


def check(rows: list[dict[str, Any]], case: DatedCase, as_of: float | None = None) -> None:
    """Each example once, with its number, its score and, where it is its own, its cutoff."""
    rows = sorted(rows, key=lambda row: row["row"])
    assert [row["row"] for row in rows] == list(range(len(case.cutoffs)))
    assert [row["score_of_1"] for row in rows] == expected(case, as_of)
    assert ("at" in rows[0]) == (as_of is None)


def numbered(table: DatedTable) -> pa.Table:
    return table.arrow().append_column("row", pa.array(range(len(table.plain.rows)), pa.int64()))


def in_sqlite(case: DatedCase) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for table in case.tables:
        plain = table.plain.columns
        times = [column for column in (table.time, table.dating) if column is not None]
        names = [quoted(column.name) for column in (*plain, *times)]
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join(['row', *names])})")
        rows = [
            [
                position,
                *(as_sqlite(column, row[column.name]) for column in plain),
                *(column.in_sqlite(row[column.name]) for column in times),
            ]
            for position, row in enumerate(table.plain.rows)
        ]
        connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES (?{', ?' * len(names)})", rows)
    return connection


def a_moment(case: DatedCase, which: int) -> tuple[AsOf, float]:
    """One of the cutoffs, as it is given to a statement and as plain rows have it."""
    cutoff = case.cutoffs[which % len(case.cutoffs)]
    assert case.target.time is not None
    if is_number(case.target.time):
        return cutoff, cutoff
    return (EPOCH + dt.timedelta(microseconds=int(cutoff))).isoformat(), cutoff


@pytest.mark.parametrize("seed", range(40))
def test_python_covers_what_filtered_copies_do(seed: int) -> None:
    case = seeded_case(seed)
    for clause in case.clauses:
        assert case.database.covers(clause).tolist() == case.covers(clause)


@pytest.mark.parametrize("seed", range(40))
def test_duckdb_sees_what_was_known(seed: int) -> None:
    case = seeded_case(seed)
    as_of, cutoff = a_moment(case, seed)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        for table in case.tables:
            connection.register(table.name, numbered(table))

        def run(text: str, *parameters: Any) -> list[dict[str, Any]]:
            return connection.sql(text, params=parameters[0] if parameters else None).to_arrow_table().to_pylist()

        check(run(statement(case, "duckdb")), case)
        check(run(statement(case, "duckdb", key=())), case)
        check(run(statement(case, "duckdb", as_of)), case, cutoff)
        text = statement(case, "duckdb", Parameter("cutoff"))
        check(run(text, {"cutoff": as_of} if "$cutoff" in text else None), case, cutoff)


@pytest.mark.parametrize("seed", range(40, 80))
def test_sqlite_sees_what_was_known(seed: int) -> None:
    case = seeded_case(seed)
    as_of, cutoff = a_moment(case, seed)
    connection = in_sqlite(case)

    def run(text: str, *parameters: Any) -> list[dict[str, Any]]:
        found = connection.execute(text, *parameters)
        return [dict(zip([column[0] for column in found.description], row, strict=True)) for row in found]

    check(run(statement(case, "sqlite")), case)
    check(run(statement(case, "sqlite", key=())), case)
    check(run(statement(case, "sqlite", as_of)), case, cutoff)
    check(run(statement(case, "sqlite", Parameter("cutoff")), {"cutoff": as_of}), case, cutoff)
    connection.close()


@pytest.mark.parametrize("seed", range(80, 105))
def test_postgresql_sees_what_was_known(postgres: Any, seed: int) -> None:
    case = seeded_case(seed)
    as_of, cutoff = a_moment(case, seed)
    with postgres.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'America/New_York'")
        for table in case.tables:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(table.name)}")
            cursor.adbc_ingest(table.name, numbered(table), mode="create")

        def run(text: str, *parameters: Any) -> list[dict[str, Any]]:
            cursor.execute(text, *parameters)
            return cursor.fetch_arrow_table().to_pylist()

        check(run(statement(case, "postgres")), case)
        check(run(statement(case, "postgres", as_of)), case, cutoff)
        text = statement(case, "postgres", Parameter("cutoff"))
        check(run(text, (as_of,) if "$1" in text else None), case, cutoff)
    postgres.rollback()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        from adbc_driver_postgresql import dbapi

        server = start_postgres(Path(tmp_path_factory.mktemp("postgres")))
        with dbapi.connect(server.get_uri()) as connection:
            yield connection
        server.cleanup()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seed", [2, 4])
def test_every_dialect_has_a_statement_that_its_own_parser_reads(dialect: str, seed: int) -> None:
    import sqlglot

    case = seeded_case(seed)
    for as_of in (None, Parameter("cutoff"), a_moment(case, 0)[0]):
        text = statement(case, dialect, as_of)
        assert len(sqlglot.parse(text, dialect=dialect)) == 1
