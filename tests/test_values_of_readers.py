"""Values of every type through every reader: the same texts and numbers, the same rules, the same predictions."""

from __future__ import annotations

import datetime as dt
import decimal
import sqlite3
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornboost as hb
from hornboost.data import Database
from hornboost.data.values import to_text
from postgres import start_postgres
from test_convert_round_trips import content

N = 12
TASK = {"key": "id", "label": "label", "positive": "yes", "foreign_keys": [("c.ref", "t.id")]}
KINDS = {
    "i": (pa.int64(), "BIGINT", "numeric", st.integers(-(2**63), 2**63 - 1)),
    "x": (pa.float64(), "DOUBLE PRECISION", "numeric", st.floats(allow_nan=False)),
    "f": (pa.float32(), "REAL", "numeric", st.floats(allow_nan=False, width=32)),
    "d": (pa.decimal128(12, 2), "DECIMAL(12, 2)", "numeric", st.decimals(-(10**9), 10**9, places=2)),
    "b": (pa.bool_(), "BOOLEAN", "nominal", st.booleans()),
    "s": (
        pa.string(),
        "TEXT",
        "nominal",
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    ),
    "day": (pa.date32(), "DATE", "date", st.dates()),
    "w": (pa.timestamp("us"), "TIMESTAMP", "date", st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))),
}
NATURAL = {f"c.{name}": kind for name, (_, _, kind, _) in KINDS.items()}
NOMINAL = dict.fromkeys(NATURAL, "nominal")


@st.composite
def drawn(draw):
    """A target table, and rows behind it with a column of each type; every column holds a value."""
    columns = {}
    for name, (kind, _, _, values) in KINDS.items():
        some = draw(st.lists(st.one_of(st.none(), values), min_size=N - 1, max_size=N - 1))
        columns[name] = pa.array([draw(values), *some], kind)
    t = pa.table({"id": pa.array(range(N)), "label": ["yes", "no"] * (N // 2)})
    return {"t": t, "c": pa.table({"ref": pa.array(range(N)), **columns})}


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    pytest.importorskip("pgserver", reason="pgserver starts the PostgreSQL server of these tests")
    server = start_postgres(tmp_path_factory.mktemp("postgres"))
    yield server.get_uri()
    server.cleanup()


def sql_type(column):
    return KINDS[column][1] if column in KINDS else "TEXT" if column == "label" else "INTEGER"


def create(name, table):
    return f"CREATE TABLE {name} ({', '.join(f'{column} {sql_type(column)}' for column in table.column_names)})"


def read_frames(tables, change, types, place):
    return Database.from_frames({name: change(table) for name, table in tables.items()}, "t", types=types, **TASK)


def read_parquet(tables, types, place):
    for name, table in tables.items():
        pq.write_table(table, place / f"{name}.parquet")
    return Database.from_folder(place, target="t", types=types, **TASK)


def read_csv(tables, types, place):
    """Numbers as they are, all else by its text."""
    for name, table in tables.items():
        written = table
        for position, column in enumerate(table.column_names):
            values = table.column(column).combine_chunks()
            if types.get(f"c.{column}") == "numeric":
                values = values.cast(pa.float64()) if pa.types.is_floating(values.type) else values
            elif column in KINDS:
                values = to_text(values)
            written = written.set_column(position, column, values)
        pacsv.write_csv(written, place / f"{name}.csv")
    return Database.from_folder(place, target="t", types=types, **TASK)


def read_duckdb(tables, types, place):
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.execute(create(name, table))
        connection.register("given", table)
        connection.execute(f"INSERT INTO {name} SELECT * FROM given")
    return Database.from_duckdb(connection, "t", types=types, **TASK)


def read_postgres(tables, types, uri):
    import adbc_driver_postgresql.dbapi as dbapi

    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        for name, table in tables.items():
            if "d" in table.column_names:  # the driver takes no decimals
                table = table.set_column(table.column_names.index("d"), "d", to_text(table["d"].combine_chunks()))
            cursor.adbc_ingest("given", table, mode="replace")
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
            cursor.execute(create(name, table))
            cursor.execute(
                f"INSERT INTO {name} SELECT "
                f"{', '.join(f'{column}::{sql_type(column)}' for column in table.column_names)} FROM given"
            )
        connection.commit()
    return Database.from_postgres(uri, "t", types=types, tables=["t", "c"], **TASK)


def read_sqlite(tables, types, place):
    """What SQLite can store: no decimals, booleans or floats of 32 bits."""
    kept = {
        name: table.drop([column for column in ("f", "d", "b") if column in table.column_names])
        for name, table in tables.items()
    }
    with sqlite3.connect(place / "t.sqlite") as connection:
        for name, table in kept.items():
            connection.execute(create(name, table))
            columns = [
                to_text(table[c].combine_chunks()) if c in ("day", "w") else table[c] for c in table.column_names
            ]
            marks = ", ".join("?" * table.num_columns)
            connection.executemany(
                f"INSERT INTO {name} VALUES ({marks})", list(zip(*(c.to_pylist() for c in columns), strict=True))
            )
    connection.close()
    types = {place: kind for place, kind in types.items() if place.removeprefix("c.") in kept["c"].column_names}
    return Database.from_sqlite(place / "t.sqlite", "t", types=types, **TASK)


def learned(database):
    X, y = database.examples()
    model = hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y)
    return [str(rule) for rule in model.rules_], model.predict(X).tolist()


def arrow_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("types", [NATURAL, NOMINAL], ids=["natural", "nominal"])
@settings(max_examples=12)
@given(tables=drawn())
def test_every_reader_reads_the_same_values(types, tables, postgres):
    expected = read_frames(tables, lambda table: table, types, None)
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("parquet", "csv", "sqlite")]
        for place in places:
            place.mkdir()
        found = {
            "pandas": read_frames(tables, arrow_pandas, types, None),
            "polars": read_frames(tables, pl.from_arrow, types, None),
            "parquet": read_parquet(tables, types, places[0]),
            "csv": read_csv(tables, types, places[1]),
            "duckdb": read_duckdb(tables, types, None),
            "postgres": read_postgres(tables, types, postgres),
            "sqlite": read_sqlite(tables, types, places[2]),
        }
    whole = content(expected)
    rules = learned(expected)
    for name, database in found.items():
        part = content(database)
        assert part == ({place: whole[place] for place in part} if name == "sqlite" else whole), name
        if name != "sqlite":
            assert learned(database) == rules, name


def test_decimals_of_postgres_are_exact_and_keep_their_scale(postgres):
    import adbc_driver_postgresql.dbapi as dbapi

    wide = "12345678901234567891"
    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA IF EXISTS money CASCADE")
        cursor.execute("CREATE SCHEMA money")
        cursor.execute(
            "CREATE TABLE money.t (id numeric(20, 0) PRIMARY KEY, price numeric(9, 2), free numeric, at "
            "time, label text)"
        )
        cursor.execute(
            f"INSERT INTO money.t VALUES ({wide}, 1.50, 1.500, '10:05', 'a'), ({wide[:-1]}2, 2, 'NaN', NULL, 'b')"
        )
        connection.commit()
    database = Database.from_postgres(postgres, "t", schema="money", label="label")
    assert database.examples()[0]["id"].tolist() == [wide, wide[:-1] + "2"]
    assert database.tables["t"].columns["price"].values.tolist() == [1.5, 2.0]
    np.testing.assert_array_equal(database.tables["t"].columns["free"].values, [1.5, np.nan])
    assert any("t.at is left out: it holds times of day" in warning for warning in database.warnings)
    types = {"t.price": "nominal", "t.free": "nominal", "t.at": "nominal"}
    columns = Database.from_postgres(postgres, "t", schema="money", label="label", types=types).tables["t"].columns
    assert {name: list(columns[name].categories) for name in ("price", "free", "at")} == {
        "price": ["1.50", "2.00"], "free": ["1.5"], "at": ["10:05:00"],
    }  # fmt: skip
    assert [columns[name].stored for name in ("price", "free", "at")] == ["decimal(2)", "decimal", "time"]


def test_paths_of_sqlite_mean_what_they_say_and_generated_columns_are_read(tmp_path):
    for number, name in enumerate(
        ["a1.sqlite", "a%31.sqlite", "b", "b?x.sqlite", "c#1.sqlite", "new?mode=rwc", "ü 'x'.sqlite"]
    ):
        with sqlite3.connect(tmp_path / "made") as connection:
            generated = "twice integer GENERATED ALWAYS AS (2 * id) VIRTUAL, s GENERATED ALWAYS AS (k || 'x') STORED"
            connection.execute(f"CREATE TABLE t (id integer PRIMARY KEY, k text, {generated})")
            connection.execute("INSERT INTO t (id, k) VALUES (7, ?)", [str(number)])
        connection.close()
        (tmp_path / "made").rename(tmp_path / name)
        columns = Database.from_sqlite(tmp_path / name, "t").tables["t"].columns
        assert list(columns["k"].categories) == [str(number)]
        assert columns["twice"].values.tolist() == [14]
        assert list(columns["s"].categories) == [f"{number}x"]
    assert len(list(tmp_path.iterdir())) == 7


def test_decimals_are_the_nearest_doubles():
    words = ["0.1", "123456789012345678.91", "99999999999999999999.999999999999", "-0.000000000003", "9007199254740993"]
    for word in words:
        value = decimal.Decimal(word)
        scale = max(-value.as_tuple().exponent, 0)
        frame = pa.table({"id": [1], "x": pa.array([value], pa.decimal128(38, scale))})
        assert Database.from_frames({"t": frame}, "t", key="id").tables["t"].columns["x"].values.tolist() == [
            float(word)
        ]


def test_floats_among_texts_in_sqlite_keep_their_digits(tmp_path):
    values = ["abc", 0.1, 1 / 3, 1e16, 5, 1.0, 2**62, None, "1.000000e-01"]
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute('CREATE TABLE t (id integer PRIMARY KEY, "a b", c text)')
        connection.executemany("INSERT INTO t VALUES (?, ?, 'x')", list(enumerate(values)))
    connection.close()
    column = Database.from_sqlite(tmp_path / "t.sqlite", "t").tables["t"].columns["a b"]
    texts = ["abc", "0.1", "0.3333333333333333", "10000000000000000", "5", "1", str(2**62), None, "1.000000e-01"]
    assert [None if code < 0 else column.categories[code] for code in column.codes] == texts
