"""Coverage by independent ways: the engine, a naive interpreter, the clause's SQL in three databases, and clingo."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator
from typing import Any

import clingo
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from sqlglot import exp

import naive
from hornboost import Database
from hornboost.engine import covers
from hornboost.logic import Clause
from hornboost.sql.clause import coverage_condition
from random_databases import RandomCase, RandomColumn, RandomTable, cases
from subsumption import subsumes

Coverage = list[list[bool]]
CLAUSES = 8


def databases(count: int) -> settings:
    return settings(
        max_examples=count, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    )


def expected(case: RandomCase) -> Coverage:
    return [naive.covers(case.rows(), clause, case.target.name) for clause in case.clauses]


@databases(256)
@given(cases(CLAUSES))
def test_the_engine_agrees_with_the_naive_interpreter(case: RandomCase) -> None:
    database = case.database()
    examples = database.encode(case.target.arrow())
    assert [covers(database, clause, examples).tolist() for clause in case.clauses] == expected(case)
    assert database.covers(case.clauses[0]).tolist() == expected(case)[0]


@databases(60)
@given(cases(CLAUSES))
def test_the_engine_agrees_on_examples_that_the_database_does_not_hold(case: RandomCase) -> None:
    database = case.database()
    examples = database.encode(case.new_examples.arrow())
    for clause in case.clauses:
        assert covers(database, clause, examples).tolist() == naive.covers(
            case.rows(), clause, "target", case.new_examples.rows
        )


def test_an_unknown_key_is_not_taken_for_another_unknown_constant() -> None:
    frame = pa.table({"id": [1, 2], "label": ["1", "0"]})
    database = Database.from_frames({"t": frame}, target="t", key="id", label="label")
    examples = database.encode(pa.table({"id": [8, 9, 1]}))
    assert covers(database, 'label="1" :- t(id="1").', examples).tolist() == [False, False, True]
    assert covers(database, 'label="1" :- t(id="7").', examples).tolist() == [False, False, False]


@databases(256)
@given(cases(CLAUSES))
def test_clingo_agrees_with_the_naive_interpreter(case: RandomCase) -> None:
    assert covered_by_clingo(case) == expected(case)


@databases(256)
@given(cases(CLAUSES))
def test_the_sql_of_a_clause_gives_its_coverage_in_duckdb(duck: duckdb.DuckDBPyConnection, case: RandomCase) -> None:
    for table in case.tables:
        duck.register(table.name, numbered(table))
    found = [rows_found(case, duck.execute(query(case, clause, "duckdb")).fetchall()) for clause in case.clauses]
    assert found == expected(case)


@databases(50)
@given(cases(CLAUSES))
def test_the_sql_of_a_clause_gives_its_coverage_in_sqlite(case: RandomCase) -> None:
    connection = sqlite3.connect(":memory:")
    for table in case.tables:
        names = [quoted(name) for name in ["row", *(column.name for column in table.columns)]]
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join(names)})")
        rows = [
            [position, *(as_sqlite(column, row[column.name]) for column in table.columns)]
            for position, row in enumerate(table.rows)
        ]
        connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({', '.join('?' * len(names))})", rows)
    found = [rows_found(case, connection.execute(query(case, clause, "sqlite")).fetchall()) for clause in case.clauses]
    connection.close()
    assert found == expected(case)


@databases(50)
@given(cases(CLAUSES))
def test_the_sql_of_a_clause_gives_its_coverage_in_postgresql(postgres: Any, case: RandomCase) -> None:
    with postgres.cursor() as cursor:
        for table in case.tables:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(table.name)}")
            cursor.adbc_ingest(table.name, numbered(table), mode="create")
        found = []
        for clause in case.clauses:
            cursor.execute(query(case, clause, "postgres"))
            found.append(rows_found(case, cursor.fetchall()))
    postgres.rollback()
    assert found == expected(case)


@databases(40)
@given(cases(CLAUSES))
def test_conditions_of_several_clauses_can_stand_in_one_query(
    duck: duckdb.DuckDBPyConnection, case: RandomCase
) -> None:
    flags = [
        exp.case().when(coverage_condition(clause.rooted("target"), "t0"), "1").else_("0") for clause in case.clauses
    ]
    select = exp.select("row", *flags).from_("target AS t0").order_by("row")
    for table in case.tables:
        duck.register(table.name, numbered(table))
    rows = duck.execute(select.sql("duckdb")).fetchall()
    assert [[row[1 + number] == 1 for row in rows] for number in range(CLAUSES)] == expected(case)


@databases(100)
@given(cases(CLAUSES))
def test_a_clause_covers_what_those_cover_that_it_subsumes(case: RandomCase) -> None:
    clauses = [clause.rooted("target") for clause in case.clauses]
    shorter = [Clause(clause.head, clause.body[:length]) for clause in clauses for length in range(1, len(clause.body))]
    for special, covered in zip(clauses, expected(case), strict=True):
        for general in clauses + shorter:
            if subsumes(general, special, oi=False):
                assert np.all(np.array(naive.covers(case.rows(), general, "target")) >= np.array(covered))


def query(case: RandomCase, clause: Clause, dialect: str) -> str:
    return clause.rooted(case.target.name).to_sql(dialect, key="row")


def rows_found(case: RandomCase, rows: list[tuple[Any, ...]]) -> list[bool]:
    found = Counter(row[0] for row in rows)
    assert max(found.values(), default=0) <= 1
    return [position in found for position in range(len(case.target.rows))]


def numbered(table: RandomTable) -> pa.Table:
    return table.arrow().append_column("row", pa.array(range(len(table.rows)), pa.int64()))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_sqlite(column: RandomColumn, cell: Any) -> Any:
    """SQLite knows neither dates nor booleans, and reads NaN as NULL."""
    return cell if column.storage in ("bool", "date") else column.stored(cell)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A connection to a server of its own. As root, pgserver runs it under a user that it adds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pgserver
    from adbc_driver_postgresql import dbapi

    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    with dbapi.connect(server.get_uri()) as connection:
        yield connection
    server.cleanup()


def covered_by_clingo(case: RandomCase) -> Coverage:
    """One program for all clauses: a fact a row, with numbers as ranks,
    other values as codes and `null` for missing ones.
    """
    numbers = {
        cell
        for table in case.tables
        for row in table.rows
        for cell in row.values()
        if isinstance(cell, float) and not math.isnan(cell)
    }
    numbers |= {
        test.value
        for clause in case.clauses
        for literal in clause.body
        for test in literal.tests
        if isinstance(test.value, float)
    }
    texts = {
        str(cell) for table in case.tables for row in table.rows for cell in row.values() if not isinstance(cell, float)
    }
    texts |= {
        str(test.value)
        for clause in case.clauses
        for literal in clause.body
        for test in literal.tests
        if not isinstance(test.value, float)
    }
    codes = {value: code for code, value in enumerate(sorted(numbers))} | {
        value: code for code, value in enumerate(sorted(texts))
    }

    def code(cell: Any) -> str:
        if cell is None or cell != cell:
            return "null"
        return str(codes[cell if isinstance(cell, float) else str(cell)])

    places = {
        table.name: (f"t{number}", [column.name for column in table.columns])
        for number, table in enumerate(case.tables)
    }
    program = []
    for table in case.tables:
        name, columns = places[table.name]
        program += [
            f"{name}({', '.join([str(row), *(code(cells[column]) for column in columns)])})."
            for row, cells in enumerate(table.rows)
        ]
        program.append(f"#defined {name}/{1 + len(columns)}.")
    for number, clause in enumerate(case.clauses):
        program.append(rule(clause.rooted(case.target.name), number, places, code))
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(program))
    control.ground([("base", [])])
    found = {
        (atom.symbol.arguments[0].number, atom.symbol.arguments[1].number)
        for atom in control.symbolic_atoms.by_signature("covered", 2)
    }
    return [[(number, row) in found for row in range(len(case.target.rows))] for number in range(len(case.clauses))]


def rule(clause: Clause, number: int, places: dict[str, tuple[str, list[str]]], code: Any) -> str:
    goals = []
    uses = Counter(variable for literal in clause.body for variable in [name for _, name in literal.bindings])
    uses.update([variable for pair in clause.unequal for variable in pair * 2])
    for position, literal in enumerate(clause.body):
        name, columns = places[literal.table]
        cells = {column: f"C{position}_{place}" for place, column in enumerate(columns)} | dict(literal.bindings)
        goals.append(f"{name}({', '.join([f'R{position}', *(cells[column] for column in columns)])})")
        for test in literal.tests:
            cell = cells[test.column]
            if test.op == "missing":
                goals.append(f"{cell} = null")
            else:
                goals += [f"{cell} {test.op} {code(test.value)}", f"{cell} != null"]
    goals += [f"{variable} != null" for variable, count in uses.items() if count > 1]
    goals += [f"{left} != {right}" for left, right in clause.unequal]
    return f"covered({number}, R0) :- {', '.join(goals)}."
