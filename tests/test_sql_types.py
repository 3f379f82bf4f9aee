"""Columns of every type: the SQL of a model scores as Python does, in three databases,
whatever the session's settings.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data.describe import type_name
from hornboost.engine import covers
from hornboost.errors import ModelError
from hornboost.logic import clause as logic
from hornboost.logic.aggregate import KeyStep
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.moment import moment_text
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.file import SavedModel, saved_schema
from hornboost.model.sql import ensemble_to_sql, model_to_sql
from hornboost.sql.columns import ColumnType
from hornboost.sql.dialects import DIALECTS
from hornboost.sql.times import TableTimes
from postgres import start_postgres

Run = Callable[[str], list[tuple[Any, ...]]]
ROWS = 60
TEXTS = [
    "3",
    "3.0",
    "03",
    " 3",
    "a",
    "A",
    "it's",
    "a\nb",
    "a\r\nb",
    "__SQLGLOT__LB__",
    "x\\y",
    "",
    " ",
    "NaN",
    "nan",
    "NULL",
    "é",
    "e\u0301",
]
TEXTS += ["'; DROP TABLE t; --", '"', "\t", "%", "true", "1e16", "2020-01-01", "a ", "名前"]
NUMBERS = [0.1, 2.5, 3.0, -0.0, 1e16, 1e-7, -7.25, 123456789.12345679, 1e300, float("inf"), float("-inf"), float("nan")]
INTEGERS = [0, 1, -1, 7, 10, 2**31, 2**53 + 1, -(2**62), 2**63 - 1]
DATES = ["0001-01-01", "1582-10-15", "1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01", "9999-12-31"]
TIMES = [
    "2024-03-01 00:00:00",
    "2024-03-01 02:00:00",
    "2024-02-29 10:00:00.0001",
    "2024-02-29 10:00:00.0002",
    "1969-12-31 23:59:59.999999",
]
TIMES += ["9999-12-31 23:59:59.999999", "9999-12-31 23:59:59", "0001-01-01 00:00:00", "2024-02-29 10:00:00.9999999"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literals(values: Iterable[object]) -> list[str]:
    return [quoted(value if isinstance(value, str) else str(value)) for value in values]


def every_test(database: hb.Database, table: str) -> Iterator[logic.Test]:
    """Every value of every attribute, thresholds at and between the values, and whether it is missing."""
    for column in database.tables[table].attributes:
        yield logic.Test(column.name, "missing")
        if column.kind == "nominal":
            assert column.categories is not None
            yield from (
                logic.Test(column.name, "=", str(value)) for value in [*column.categories, "no such value", "5", "5.0"]
            )
            continue
        for value in np.unique(column.numbers[~np.isnan(column.numbers)]):
            threshold = moment_text(value) if column.is_date else float(value)
            yield from (logic.Test(column.name, ">=", threshold), logic.Test(column.name, "<=", threshold))


def model_of(database: hb.Database, bodies: Iterable[tuple[Literal, ...]]) -> SavedModel:
    rng = np.random.default_rng(0)
    target = database.target
    head = Head(str(target.label), target.classes[1])
    rules = tuple(Rule(Clause(head, body), (float(rng.normal()),)) for body in bodies)
    ensemble = Ensemble(target.classes, rules, (0.25,))
    return SavedModel(
        ensemble, np.array(target.classes), target, saved_schema(ensemble, database, {}), home=database.schema.home
    )


def bodies_over(database: hb.Database) -> list[tuple[Literal, ...]]:
    """A rule for each test of the table `c`, and one for each way in which another table joins."""
    root = Literal("t", (("id", "I"),))
    found: list[tuple[Literal, ...]] = [
        (root, Literal("c", (("ref", "I"),), (test,))) for test in every_test(database, "c")
    ]
    found += [(Literal("t", (("id", "I"),), (test,)),) for test in every_test(database, "t")]
    for link in database.links:
        if link.table not in ("t", "c"):
            found.append((Literal("t", ((link.to_column, "K"),)), Literal(link.table, ((link.column, "K"),))))
    return found


def is_written(database: hb.Database, body: tuple[Literal, ...], dialect: str, refused: tuple[str, ...]) -> bool:
    try:
        model_to_sql(model_of(database, [body]), dialect)
    except ModelError as error:
        if any(reason in str(error) for reason in refused):
            return False
        raise
    return True


def check(database: hb.Database, run: Run, dialect: str, refused: tuple[str, ...] = ()) -> SavedModel:
    """All rules score alike, but those that the dialect must refuse."""
    kept = bodies_over(database)
    if refused:
        kept = [body for body in kept if is_written(database, body, dialect, refused)]
    model = model_of(database, kept)
    X, _ = database.examples()
    expected = model.ensemble.scores(database, database.encode(X))[:, 0]
    found = {str(row[0]): row[1] for row in run(model_to_sql(model, dialect, probability=False))}
    wrong = [key for key, score in zip(X["id"].astype(str), expected, strict=True) if abs(found[key] - score) > 1e-9]
    if wrong:
        for body in kept:  # say which rule it is
            one = model_of(database, [body])
            python = one.ensemble.scores(database, database.encode(X))[:, 0]
            sql = {str(row[0]): row[1] for row in run(model_to_sql(one, dialect, probability=False))}
            differs = [key for key, score in zip(X["id"].astype(str), python, strict=True) if sql[key] != score]
            assert not differs, (
                f"{one.ensemble.rules[0].clause} at {differs}: {model_to_sql(one, dialect, probability=False)}"
            )
    assert not wrong
    return model


def columns_of(kinds: dict[str, tuple[str, list[str]]], seed: int) -> tuple[str, list[str]]:
    """DDL of two columns a type, one to be nominal (`…_n`) and one natural, and the rows of `c` as SQL values."""
    rng = np.random.default_rng(seed)
    ddl = ", ".join(f"{name}{end} {kind}" for name, (kind, _) in kinds.items() for end in ("_n", ""))
    rows = []
    for position in range(2 * ROWS):
        values = [str(position % ROWS)]
        for kind, pool in kinds.values():
            cast = f"CAST({{}} AS {kind})" if not kind.endswith("NOCASE") else "{}"
            values += ["NULL" if rng.random() < 0.1 else cast.format(pool[rng.integers(len(pool))]) for _ in range(2)]
        rows.append(f"({', '.join(values)})")
    return ddl, rows


def examples() -> str:
    return ", ".join(f"({i}, '{'yes' if i % 3 else 'no'}')" for i in range(ROWS))


DUCKDB: dict[str, tuple[str, list[str]]] = {
    "tiny": ("TINYINT", ["1", "7", "-3"]),
    "big": ("BIGINT", literals(INTEGERS)),
    "huge": ("HUGEINT", literals([*INTEGERS, 2**70])),
    "unsigned": ("UBIGINT", literals([1, 2**64 - 1])),
    "dbl": ("DOUBLE", literals(NUMBERS)),
    "flt": ("FLOAT", literals([*NUMBERS[:8], float("inf"), float("nan")])),
    "dec": ("DECIMAL(10, 2)", ["1.50", "2.00", "-0.01", "0.00", "99999999.99"]),
    "wide": ("DECIMAL(38, 10)", ["0.1", "1234567890123456789.0123456789", "-3"]),
    "whole": ("DECIMAL(20, 0)", ["1", "12345678901234567890"]),
    "flag": ("BOOLEAN", ["true", "false"]),
    "txt": ("VARCHAR", literals(TEXTS)),
    "mood": ("ENUM('sad', 'ok', '3')", literals(["sad", "ok", "3"])),
    "ident": ("UUID", literals(["c4ca4238-a0b9-2382-0dcc-509a6f75849b", "C81E728D-9d4c-2f63-6f06-7f89cc14862c"])),
    "day": ("DATE", literals([*DATES, "infinity", "-infinity"])),
    "ts": ("TIMESTAMP", literals([*TIMES, "infinity", "-infinity"])),
    "clock": ("TIME", literals(["10:05:00", "10:05:00.00025", "23:59:59.999999"])),
    "sec": ("TIMESTAMP_S", literals(["2024-03-01 00:00:00", "2024-03-01 02:00:00"])),
    "nano": (
        "TIMESTAMP_NS",
        literals(["2024-03-01 00:00:00.123456789", "2024-03-01 00:00:00.123456", "1960-01-01 00:00:00.000000999"]),
    ),
    "tz": ("TIMESTAMPTZ", literals([f"{time}+00" for time in TIMES[:5]] + ["2024-03-01 02:00:00+09", "infinity"])),
}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_every_type_of_duckdb(zone: str) -> None:
    ddl, rows = columns_of(DUCKDB, seed=len(zone))
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        connection.execute(f"CREATE TABLE t (id INTEGER, label VARCHAR); INSERT INTO t VALUES {examples()}")
        connection.execute(f"CREATE TABLE c (ref INTEGER, {ddl}); INSERT INTO c VALUES {', '.join(rows)}")
        types = {f"c.{name}_n": "nominal" for name in DUCKDB}
        options = {
            "label": "label",
            "positive": "yes",
            "key": "id",
            "foreign_keys": [("c.ref", "t.id")],
            "types": types,
        }
        database = hb.Database.from_duckdb(connection, "t", **options)
        check(database, lambda sql: connection.execute(sql).fetchall(), "duckdb")


SQLITE: dict[str, tuple[str, list[str]]] = {
    "int": ("INTEGER", [str(value) for value in INTEGERS]),
    "num": ("REAL", ["0.1", "2.5", "3.0", "1e16", "1e-7", "9e999", "-9e999"]),
    "mixed": ("NUMERIC", ["1", "2.5", "3.0"]),
    "flag": ("BOOLEAN", ["0", "1"]),
    "txt": ("TEXT", literals(TEXTS)),
    "nocase": ("TEXT COLLATE NOCASE", literals(TEXTS)),
    "day": ("DATE", literals(DATES)),
    "ts": ("TIMESTAMP", literals([*TIMES, "2024-02-29T10:00:00.5", "2024-02-29T10:00"])),
}


def sqlite_values(kinds: dict[str, tuple[str, list[str]]], seed: int) -> tuple[str, list[str]]:
    """As it stands in the file: a cast would make numbers of dates."""
    _, rows = columns_of({name: ("NOCASE", pool) for name, (_, pool) in kinds.items()}, seed)
    return ", ".join(f"{name}{end} {kind}" for name, (kind, _) in kinds.items() for end in ("_n", "")), rows


def sqlite_file(path: Path, *statements: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.executescript(";".join(statements))
    connection.commit()
    return connection


@pytest.mark.parametrize("seed", range(3))
def test_every_type_of_sqlite(tmp_path: Path, seed: int) -> None:
    ddl, rows = sqlite_values(SQLITE, seed)
    connection = sqlite_file(
        tmp_path / "x.sqlite",
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, label TEXT); INSERT INTO t VALUES {examples()}",
        f"CREATE TABLE c (ref INTEGER REFERENCES t (id), {ddl}); INSERT INTO c VALUES {', '.join(rows)}",
    )
    types = {f"c.{name}_n": "nominal" for name in SQLITE if name not in ("day", "ts")}
    database = hb.Database.from_sqlite(tmp_path / "x.sqlite", "t", label="label", positive="yes", types=types)
    check(database, lambda sql: connection.execute(sql).fetchall(), "sqlite")
    connection.close()


POSTGRES: dict[str, tuple[str, list[str]]] = {
    "small": ("smallint", ["1", "7"]),
    "big": ("bigint", literals(INTEGERS)),
    "dbl": ("double precision", literals(NUMBERS)),
    "flt": ("real", literals([*NUMBERS[:4], *NUMBERS[6:8], float("inf"), float("nan")])),
    "dec": ("numeric(10, 2)", ["1.50", "2.00", "-0.01"]),
    "whole": ("numeric(15, 0)", ["1", "123456789012345"]),
    "wide": ("numeric(30, 0)", ["1", "123456789012345678901234567890"]),
    "free": ("numeric", ["1.5", "1.50", "2", "2.000", "100", "0.1", "-0.30", "12345678901234567890.5", "'NaN'"]),
    "clock": ("time", literals(["10:05:00", "10:05:00.00025", "23:59:59.999999"])),
    "flag": ("boolean", ["true", "false"]),
    "txt": ("text", literals(TEXTS)),
    "vc": ("varchar(40)", literals(TEXTS)),
    "ch": ("char(3)", literals(["a", "b ", "3"])),
    "ident": ("uuid", literals(["c4ca4238-a0b9-2382-0dcc-509a6f75849b", "C81E728D-9d4c-2f63-6f06-7f89cc14862c"])),
    "mood": ("mood", literals(["sad", "ok"])),
    "doc": ("jsonb", literals(['{"a": 1}', "[1]"])),
    "day": ("date", literals([*DATES, "infinity", "-infinity"])),
    "ts": ("timestamp", literals([*TIMES[:8], "infinity", "-infinity"])),
    "tz": ("timestamptz", literals([f"{time}+00" for time in TIMES[:5]] + ["2024-03-01 02:00:00+09", "infinity"])),
}
SETTINGS = [
    [],
    ["SET TIME ZONE 'Asia/Tokyo'", "SET DateStyle = 'German, DMY'", "SET extra_float_digits = -5"],
    ["SET TIME ZONE 'America/New_York'", "SET DateStyle = 'SQL, MDY'", "SET search_path = elsewhere"],
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("pgserver", reason="pgserver starts the PostgreSQL server of these tests")
    running = start_postgres(tmp_path_factory.mktemp("postgres"))
    yield running.get_uri()
    running.cleanup()


def execute(uri: str, *statements: str, before: Iterable[str] = ()) -> list[tuple[Any, ...]]:
    """The rows of the last statement."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        for statement in (*before, *statements):
            for command in statement.replace("; INSERT", "\0INSERT").split("\0"):
                cursor.execute(command)
        rows = list(cursor.fetchall()) if statements[-1].lstrip().upper().startswith(("SELECT", "WITH")) else []
        connection.commit()
        return rows


@pytest.mark.parametrize("schema", ["public", "other"])
def test_every_type_of_postgresql_under_any_settings(server: str, schema: str) -> None:
    ddl, rows = columns_of(POSTGRES, seed=len(schema))
    for name in ("public", "other", "elsewhere"):
        execute(server, f"DROP SCHEMA IF EXISTS {name} CASCADE", f"CREATE SCHEMA {name}")
    execute(
        server,
        "CREATE TYPE public.mood AS ENUM ('sad', 'ok')",
        f"SET search_path = {schema}, public",
        f"CREATE TABLE t (id integer PRIMARY KEY, label text); INSERT INTO t VALUES {examples()}",
        f"CREATE TABLE c (ref integer REFERENCES t (id), {ddl})",
        f"INSERT INTO c VALUES {', '.join(rows)}",
    )
    others = [name for name in ("public", "elsewhere") if name != schema]
    for name in others:  # tables of the same names that must not be scored
        execute(
            server,
            f"CREATE TABLE {name}.t AS SELECT 1 AS id, 'no' AS label",
            f"CREATE TABLE {name}.c AS SELECT * FROM {schema}.c LIMIT 0",
        )
    types = {f"c.{name}_n": "nominal" for name in POSTGRES}
    database = hb.Database.from_postgres(server, "t", schema=schema, label="label", positive="yes", types=types)
    for settings in SETTINGS:
        check(database, lambda sql, before=settings: execute(server, sql, before=before), "postgres")


WORDS: dict[str, list[str]] = {
    "hours": ["1.5", "-3e4", " 7 ", "n/a", "", "3 kg", "\t2\n", ".5", "5.", "+4", "1e5", "NaN", "0.30000000000000004"],
    "code": ["007", "7", "7.5", "", "  8"],
}
"""Texts of columns that are declared numeric; where one has zeros in front, all others must be numbers."""


def words_in_sql() -> list[str]:
    rows = [[str(i % ROWS), *(quoted(words[i % len(words)]) for words in WORDS.values())] for i in range(2 * ROWS)]
    return [
        f"CREATE TABLE t (id integer PRIMARY KEY, label text); INSERT INTO t VALUES {examples()}",
        "CREATE TABLE c (ref integer, hours text, code text); INSERT INTO c VALUES "
        + ", ".join(f"({', '.join(row)})" for row in rows),
    ]


WORD_OPTIONS: dict[str, Any] = {
    "label": "label",
    "positive": "yes",
    "key": "id",
    "foreign_keys": [("c.ref", "t.id")],
    "types": {f"c.{name}": "numeric" for name in WORDS},
}


def test_text_that_is_no_number_is_missing_in_duckdb_and_sqlite(tmp_path: Path) -> None:
    connection = sqlite_file(tmp_path / "w.sqlite", *words_in_sql())
    database = hb.Database.from_sqlite(tmp_path / "w.sqlite", "t", **WORD_OPTIONS)
    assert np.isnan(database.tables["c"].columns["hours"].numbers).sum() == 36  # n/a, nothing, 3 kg and NaN
    check(database, lambda sql: connection.execute(sql).fetchall(), "sqlite")
    connection.close()
    with duckdb.connect() as duck:
        for statement in words_in_sql():
            duck.execute(statement)
        database = hb.Database.from_duckdb(duck, "t", **WORD_OPTIONS)
        check(database, lambda sql: duck.execute(sql).fetchall(), "duckdb")


def test_text_that_is_no_number_is_missing_in_postgresql(server: str) -> None:
    execute(server, "DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public", *words_in_sql())
    database = hb.Database.from_postgres(server, "t", **WORD_OPTIONS)
    check(database, lambda sql: execute(server, sql), "postgres")


def test_text_of_numbers_may_be_stored_as_numbers_where_the_statement_runs() -> None:
    """As `convert` writes a column that is declared numeric."""
    with duckdb.connect() as duck:
        for statement in words_in_sql():
            duck.execute(statement)
        database = hb.Database.from_duckdb(duck, "t", **WORD_OPTIONS)
        numbers = {name: database.tables["c"].columns[name].numbers for name in WORDS}
        stored = pd.DataFrame({"ref": np.arange(2 * ROWS) % ROWS, **numbers})
        duck.register("stored", stored)
        duck.execute("DROP TABLE c; CREATE TABLE c AS SELECT * FROM stored")
        check(database, lambda sql: duck.execute(sql).fetchall(), "duckdb")
    connection = sqlite3.connect(":memory:")
    connection.executescript(words_in_sql()[0])
    stored.to_sql("c", connection, index=False)
    check(database, lambda sql: connection.execute(sql).fetchall(), "sqlite")
    connection.close()


KEYS = ["'1'", "'01'", "' 1'", "'1.0'", "'a'", "'A'", "'7'", "NULL", "'x y'", "'2'"]


def test_keys_join_by_their_texts_in_duckdb_and_sqlite(tmp_path: Path) -> None:
    """Whole numbers with texts, with whole doubles and decimals; texts byte by byte."""
    statements = [
        "CREATE TABLE t (id INTEGER, k TEXT COLLATE NOCASE, label TEXT); INSERT INTO t VALUES "
        + ", ".join(f"({i}, {KEYS[i % len(KEYS)]}, '{'yes' if i % 3 else 'no'}')" for i in range(ROWS)),
        "CREATE TABLE c (ref INTEGER); INSERT INTO c VALUES (1)",
        f"CREATE TABLE texts (ref TEXT); INSERT INTO texts VALUES {', '.join(f'({key})' for key in KEYS)}",
        (
            "CREATE TABLE same (ref TEXT COLLATE NOCASE); INSERT INTO same VALUES "
            f"{', '.join(f'({key})' for key in KEYS[::2])}"
        ),
        "CREATE TABLE doubles (ref DOUBLE); INSERT INTO doubles VALUES (1.0), (2.5), (7.0), (NULL)",
    ]
    links = [("c.ref", "t.id"), ("texts.ref", "t.id"), ("same.ref", "t.k"), ("doubles.ref", "t.id")]
    options: dict[str, Any] = {"label": "label", "positive": "yes", "key": "id", "foreign_keys": links}
    connection = sqlite_file(tmp_path / "k.sqlite", *statements)
    check(
        hb.Database.from_sqlite(tmp_path / "k.sqlite", "t", **options),
        lambda sql: connection.execute(sql).fetchall(),
        "sqlite",
    )
    connection.close()
    with duckdb.connect() as duck:
        for statement in statements:
            duck.execute(statement.replace(" COLLATE NOCASE", ""))
        check(hb.Database.from_duckdb(duck, "t", **options), lambda sql: duck.execute(sql).fetchall(), "duckdb")


def test_keys_join_by_their_texts_in_postgresql(server: str) -> None:
    execute(server, "DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public")
    execute(
        server,
        "CREATE TABLE t (id bigint, k varchar(9), u uuid, label text)",
        f"INSERT INTO t SELECT i, (ARRAY[{', '.join(KEYS)}])[i % 10 + 1], md5(i::text)::uuid, CASE WHEN i % "
        "3 > 0 THEN 'yes' ELSE 'no' END "
        f"FROM generate_series(0, {ROWS - 1}) i",
        "CREATE TABLE c (ref integer); INSERT INTO c VALUES (1)",
        f"CREATE TABLE texts (ref text); INSERT INTO texts VALUES {', '.join(f'({key})' for key in KEYS)}",
        "CREATE TABLE same (ref char(3)); INSERT INTO same VALUES ('1'), ('A'), ('x y')",
        "CREATE TABLE doubles (ref double precision); INSERT INTO doubles VALUES (1.0), (2.5), (7.0), (NULL)",
        "CREATE TABLE idents (ref text); INSERT INTO idents SELECT md5(i::text)::uuid::text FROM "
        "generate_series(0, 5) i",
    )
    links = [
        ("c.ref", "t.id"),
        ("texts.ref", "t.id"),
        ("same.ref", "t.k"),
        ("doubles.ref", "t.id"),
        ("idents.ref", "t.u"),
    ]
    database = hb.Database.from_postgres(server, "t", label="label", positive="yes", key="id", foreign_keys=links)
    check(database, lambda sql: execute(server, sql), "postgres")


def frames() -> dict[str, pd.DataFrame]:
    n = ROWS
    rng = np.random.default_rng(3)
    times = pd.to_datetime(
        ["2024-03-01 00:00:00.000001", "2024-03-01", None, "1960-05-05 05:05:05.5"], format="ISO8601"
    )
    c = pd.DataFrame(
        {
            "ref": rng.integers(0, n, 2 * n),
            "flag": rng.choice([True, False], 2 * n),
            "maybe": pd.array(rng.choice([1, 2, None], 2 * n), dtype="Int64"),
            "small": rng.choice(np.array([0.1, 2.5, 3.0], np.float32), 2 * n),
            "when": times[rng.integers(0, 4, 2 * n)],
            "zoned": times[rng.integers(0, 4, 2 * n)].tz_localize("Asia/Tokyo"),
            "kind": pd.Categorical(rng.choice(["a", "A", "3"], 2 * n)),
            "price": rng.choice([decimal.Decimal("1.50"), decimal.Decimal("2.25"), None], 2 * n),
            "clock": rng.choice([dt.time(10, 5), dt.time(10, 5, 0, 250), None], 2 * n),
            "words": rng.choice(["1.5", " 2 ", "", None], 2 * n),
        }
    )
    t = pd.DataFrame({"id": np.arange(n), "label": np.where(np.arange(n) % 3, "yes", "no")})
    return {"t": t, "c": c}


def framed_database(**types: str) -> hb.Database:
    given = {f"c.{name}": kind for name, kind in types.items()}
    options: dict[str, Any] = {"key": "id", "label": "label", "positive": "yes", "foreign_keys": [("c.ref", "t.id")]}
    return hb.Database.from_frames(frames(), "t", types=given, **options)


@pytest.mark.parametrize("kind", ["nominal", "natural"])
def test_frames_are_scored_in_duckdb_by_their_types(kind: str) -> None:
    names = ["flag", "maybe", "small", "when", "zoned", "kind", "price", "clock"]
    database = framed_database(
        **(dict.fromkeys(names, "nominal") if kind == "nominal" else {"words": "numeric", "clock": "nominal"})
    )
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        for name, frame in frames().items():
            connection.register("source", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM source")
            connection.unregister("source")
        check(database, lambda sql: connection.execute(sql).fetchall(), "duckdb")


@pytest.mark.parametrize("kind", ["nominal", "natural"])
def test_frames_are_scored_in_sqlite_or_refused(kind: str) -> None:
    names = ["flag", "maybe", "small", "when", "kind", "price", "clock"]
    given = dict.fromkeys(names, "nominal") if kind == "nominal" else {"words": "numeric", "clock": "nominal"}
    database = framed_database(**given)
    connection = sqlite3.connect(":memory:")
    for name, frame in frames().items():
        frame = frame.assign(
            **{column: frame[column].astype(object).where(frame[column].notna(), None) for column in frame}
        )
        for column in ("price", "clock", "when", "zoned"):
            if column in frame:
                frame[column] = [
                    None if value is None else float(value) if column == "price" else str(value)
                    for value in frame[column]
                ]
        frame.to_sql(name, connection, index=False, dtype={"price": "REAL"} if name == "c" else None)
    check(database, lambda sql: connection.execute(sql).fetchall(), "sqlite", refused=("has no type of times of day",))
    connection.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_type_gives_a_statement_that_the_dialects_own_parser_reads(dialect: str) -> None:
    import sqlglot

    names = ["flag", "maybe", "small", "when", "zoned", "kind", "price"]
    for database in (framed_database(**dict.fromkeys(names, "nominal")), framed_database(words="numeric")):
        text = model_to_sql(
            model_of(database, [body for body in bodies_over(database) if "clock" not in str(body[-1])]), dialect
        )
        assert len(sqlglot.parse(text, read=dialect)) == 1


def refusal(database: hb.Database, test: logic.Test, dialect: str) -> str:
    body = (Literal("t", (("id", "I"),)), Literal("c", (("ref", "I"),), (test,)))
    with pytest.raises(ModelError) as error:
        model_to_sql(model_of(database, [body]), dialect)
    return str(error.value)


def test_what_a_database_cannot_compare_as_python_does_is_refused_in_one_sentence() -> None:
    waits = pd.DataFrame({"ref": [0, 1], "wait": pd.to_timedelta([1, 2], unit="h")})
    options: dict[str, Any] = {"key": "id", "label": "label", "positive": "yes", "foreign_keys": [("c.ref", "t.id")]}
    database = hb.Database.from_frames({"t": frames()["t"], "c": waits}, "t", **options)
    assert refusal(database, logic.Test("wait", ">=", 0.5), "duckdb") == (
        "the column 'wait' of table 'c' is stored as duration, and DuckDB has no number for it that is "
        "Python's; store it as a number"
    )
    message = refusal(framed_database(clock="nominal"), logic.Test("clock", "=", "10:05:00"), "sqlite")
    assert message.startswith("the column 'clock' of table 'c' is stored as time, and SQLite")
    message = refusal(framed_database(when="nominal"), logic.Test("when", "=", "-0043-03-15T00:00:00"), "postgres")
    assert message.endswith(
        "cannot compare it with '-0043-03-15T00:00:00' as Python does; "
        "leave the column out or replace dates outside the years 1 to 9999"
    )


@pytest.mark.parametrize("word", [None, "", "NA", "?", "null"])
@pytest.mark.parametrize("suffix", ["", "Z", "+05:00"])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f"])
def test_duckdb_reads_dates_that_are_text_as_python_does(form: str, suffix: str, word: str | None) -> None:
    when = pd.Timestamp("1650-01-01 10:00:00.000250") + pd.to_timedelta(np.arange(30) * 300, unit="D")
    suffix = suffix if "%H" in form else ""
    written = [word if k % 9 == 4 else f"{moment.strftime(form)}{suffix}" for k, moment in enumerate(when)]
    t = pd.DataFrame({"id": range(30), "label": ["yes", "no"] * 15})
    c = pd.DataFrame({"ref": range(30), "when": pd.Series(written, dtype=object)})
    database = hb.Database.from_frames(
        {"t": t, "c": c}, "t", key="id", label="label", positive="yes", foreign_keys=[("c.ref", "t.id")]
    )
    assert database.tables["c"].columns["when"].is_date
    with duckdb.connect() as connection:
        connection.register("t", t)
        connection.register("c", c)
        check(database, lambda statement: connection.execute(statement).fetchall(), "duckdb")


@pytest.mark.parametrize("word", ["", "NA", "?", "null"])
@pytest.mark.parametrize("suffix", ["", "Z", "+05:00"])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f"])
def test_duckdb_reads_times_that_are_text_as_python_does(form: str, suffix: str, word: str, tmp_path: Path) -> None:
    suffix = suffix if "%H" in form else ""

    def written(days: np.ndarray) -> list[str]:
        when = pd.Timestamp("1650-01-01 10:00:00.000250") + pd.to_timedelta(days, unit="D")
        return [word if k % 9 == 4 else f"{moment.strftime(form)}{suffix}" for k, moment in enumerate(when)]

    ids, rows = np.arange(30), np.arange(200)
    t = pd.DataFrame({"id": ids, "at": written(ids % 4 + 3), "label": ["yes", "no"] * 15})
    c = pd.DataFrame({"ref": rows % 30, "when": written(rows % 7), "known": written(rows % 5), "k": rows % 3})
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        for name, frame in {"t": t, "c": c}.items():
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
            connection.register(name, frame)
        database = hb.Database.from_folder(
            tmp_path,
            target="t",
            key="id",
            label="label",
            positive="yes",
            foreign_keys=[("c.ref", "t.id")],
            types={"c.k": "nominal"},
            times={"t": "at", "c": "when"},
            known_later={"c": {"known": ["k"]}},
        )
        for as_of in (None, "1650-01-07"):
            X, _ = database.examples(labelled=None, as_of=as_of)
            for clause in dated_clauses():
                text = dated_statement(database, clause, as_of)
                covered = {row[0] for row in connection.execute(text).fetchall() if row[-2] > 0}
                expected = set(X["id"][covers(database, clause, database.encode(X))])
                assert 0 < len(expected) < len(X), str(clause)
                assert covered == expected, (str(clause), as_of, text)


def dated_clauses() -> list[Clause]:
    joined = ['c(ref=I, k="1", age<=2d)', "c(ref=I, age<=1d)", "c(ref=I, age>=5d)", 'c(ref=I, k="2", age>=3d)']
    grouped = ["count(c)>=5", "count(c where age<=2d)>=2", "max(c.age)>=5d", 'last(c.k)="2"']
    bodies = [f"t(id=I), {body}" for body in joined] + [f"t(id=I, {body})" for body in grouped]
    return [Clause.parse(f'label="yes" :- {body}.') for body in bodies]


def dated_statement(database: hb.Database, clause: Clause, as_of: str | None) -> str:
    tables = database.tables.values()
    columns = [(table.name, column) for table in tables for column in (*table.columns.values(), table.times)]
    return ensemble_to_sql(
        Ensemble(("no", "yes"), (Rule(clause, (1.0,)),), (0.0,)),
        database.target,
        "duckdb",
        probability=False,
        columns=["id", "at", "label"],
        types={(table, column.name): ColumnType(type_name(column), column.stored) for table, column in columns},
        routes={"c": (KeyStep("id", "c", "ref"),)},
        times={table.name: TableTimes(table.times.name, table.age, table.late) for table in tables},
        as_of=as_of,
    )


def test_a_text_with_the_character_nul_is_compared_or_refused() -> None:
    t = pd.DataFrame({"id": range(20), "label": ["yes", "no"] * 10, "k": ["a\0b", "a"] * 10})
    database = hb.Database.from_frames({"t": t}, "t", key="id", label="label", positive="yes")
    model = model_of(database, [(Literal("t", (("id", "I"),), (logic.Test("k", "=", "a\0b"),)),)])
    with duckdb.connect() as connection:
        connection.register("t", t)
        rows = sorted(connection.execute(model_to_sql(model, "duckdb", probability=False)).fetchall())
    assert len({row[1] for row in rows[::2]}) == 1 == len({row[1] for row in rows[1::2]})
    assert rows[0][1] != rows[1][1]
    assert "\0" not in model_to_sql(model, "postgres")
    with pytest.raises(
        ModelError, match="'k' of table 't' is stored as text, and SQLite ends a statement at the character NUL"
    ):
        model_to_sql(model, "sqlite")


def test_keys_of_types_that_never_agree_are_refused() -> None:
    c = pd.DataFrame({"ref": ["1", "2.5", "x"] * 5, "k": "z"})
    t = pd.DataFrame({"id": [1.0, 2.5, None] * 5, "label": ["yes", "no", "yes"] * 5})
    database = hb.Database.from_frames(
        {"t": t, "c": c}, "t", label="label", positive="yes", keys={"t": {"id": "x"}, "c": {"ref": "x"}}
    )
    body = (Literal("t", (("id", "I"),)), Literal("c", (("ref", "I"),)))
    with pytest.raises(
        ModelError,
        match=r"the column 'ref' of table 'c' is stored as text, and DuckDB compares it otherwise.*same type",
    ):
        model_to_sql(model_of(database, [body]), "duckdb")


def test_a_symmetric_relation_is_read_in_both_directions_by_sql_and_by_a_loaded_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    molecule = pd.DataFrame({"m": np.arange(40), "active": rng.choice(["0", "1"], 40)})
    atom = pd.DataFrame(
        {"m": np.repeat(np.arange(40), 3), "a": np.arange(120), "element": rng.choice(["c", "n", "o"], 120)}
    )
    bond = pd.DataFrame(
        {"one": rng.integers(0, 120, 80), "two": rng.integers(0, 120, 80), "kind": rng.choice(["1", "2"], 80)}
    )
    tables = {"molecule": molecule, "atom": atom, "bond": bond}
    links = [("atom.m", "molecule.m"), ("bond.one", "atom.a"), ("bond.two", "atom.a")]
    database = hb.Database.from_frames(tables, "molecule", key="m", label="active", positive="1", foreign_keys=links)
    X, y = database.examples()
    model = hb.MLynxClassifier(
        database, symmetric={"bond": ("one", "two")}, min_support=0.05, max_length=4, random_state=0
    ).fit(X, y)
    assert any(literal.table == "bond" for rule in model.rules_ for literal in rule.clause.body)
    model.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json", database=database)
    assert loaded.decision_function(X).tolist() == model.decision_function(X).tolist()
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register(name, frame)
        found = sorted(connection.execute(loaded.to_sql("duckdb")).fetchall())
    np.testing.assert_allclose([row[1] for row in found], model.decision_function(X), rtol=0, atol=1e-12)
