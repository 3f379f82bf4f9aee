"""DuckDB, SQLite and PostgreSQL: the same tables in, the same database out."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from hornboost.data import Database
from hornboost.errors import DataError
from postgres import start_postgres

STATEMENTS = [
    (
        'CREATE TABLE "the district" (district integer PRIMARY KEY, "group" varchar(10), "a ""quoted"" one" '
        "double precision)"
    ),
    (
        'CREATE TABLE account (account_id integer PRIMARY KEY, home integer REFERENCES "the district"(district), '
        "opened date)"
    ),
    """CREATE TABLE loan (loan_id integer PRIMARY KEY, account_id integer REFERENCES account(account_id),
    amount double precision, "select" varchar(10), paid boolean, status varchar(1))""",
    """INSERT INTO "the district" VALUES (1, 'x', 1.5), (2, NULL, NULL)""",
    "INSERT INTO account VALUES (10, 1, '1970-01-03'), (11, 2, NULL), (12, NULL, NULL)",
    (
        "INSERT INTO loan VALUES (100, 10, 5.5, 'o''k', true, 'A'), (101, 11, NULL, NULL, NULL, 'B'), (102, "
        "NULL, 7, 'no', false, 'A')"
    ),
]
OPTIONS = {"label": "status", "positive": "A"}


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    pytest.importorskip("pgserver", reason="pgserver starts the PostgreSQL server of these tests")
    server = start_postgres(tmp_path_factory.mktemp("postgres"))
    run_postgres(server.get_uri(), *STATEMENTS)
    yield server.get_uri()
    server.cleanup()


def run_postgres(uri, *statements):
    import adbc_driver_postgresql.dbapi as dbapi

    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


@pytest.fixture
def duckdb_file(tmp_path):
    path = tmp_path / "bank.duckdb"
    with duckdb.connect(path) as connection:
        for statement in STATEMENTS:
            connection.execute(statement)
    return path


def sqlite_file(path, statements=STATEMENTS):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def from_frames():
    district = pd.DataFrame({"district": [1, 2], "group": ["x", None], 'a "quoted" one': [1.5, None]})
    account = pd.DataFrame(
        {"account_id": [10, 11, 12], "home": [1, 2, None], "opened": pd.to_datetime(["1970-01-03", None, None])}
    )
    loan = pd.DataFrame(
        {"loan_id": [100, 101, 102], "account_id": [10, 11, None], "amount": [5.5, None, 7], "select": ["o'k", None,
        "no"],
         "paid": [True, None, False], "status": ["A", "B", "A"]}
    )  # fmt: skip
    links = [("account.home", "the district.district"), ("loan.account_id", "account.account_id")]
    frames = {"the district": district, "account": account, "loan": loan}
    return Database.from_frames(frames, target="loan", foreign_keys=links, **OPTIONS)


def check_equal(db, expected, boolean=("false", "true")):
    assert set(db.tables) == set(expected.tables)
    for name, table in expected.tables.items():
        assert list(db.tables[name].columns) == list(table.columns)
        for column in table.columns.values():
            other = db.tables[name].columns[column.name]
            assert (other.kind, other.is_date) == (column.kind, column.is_date)
            np.testing.assert_array_equal(other.values, column.values)
            if column.name == "paid":
                assert tuple(other.categories) == boolean
            elif column.kind == "nominal":
                assert list(other.categories) == list(column.categories)
    assert {(link.table, link.to_table) for link in db.links} == {("account", "the district"), ("loan", "account")}
    assert db.target.key == ("loan_id",)
    assert [note for note in db.inferred if "loan.paid" not in note] == []


def test_duckdb_gives_what_frames_give_from_a_file_and_from_a_connection(duckdb_file):
    check_equal(Database.from_duckdb(duckdb_file, "loan", **OPTIONS), from_frames())
    with duckdb.connect(duckdb_file) as connection:
        check_equal(Database.from_duckdb(connection, "loan", **OPTIONS), from_frames())
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_sqlite_gives_what_frames_give(tmp_path):
    check_equal(
        Database.from_sqlite(sqlite_file(tmp_path / "bank.sqlite"), "loan", **OPTIONS),
        from_frames(),
        boolean=("0", "1"),
    )


def test_postgres_gives_what_frames_give(postgres):
    check_equal(Database.from_postgres(postgres, "loan", **OPTIONS), from_frames())


def test_excluded_tables_are_not_even_read(duckdb_file):
    db = Database.from_duckdb(duckdb_file, "loan", exclude_tables=["account"], **OPTIONS)
    assert set(db.tables) == {"the district", "loan"}


def test_tables_without_constraints_are_linked_by_inference_that_is_noted(duckdb_file):
    with duckdb.connect(duckdb_file) as connection:
        connection.execute("CREATE TABLE card (number integer, account_id integer)")
        connection.execute("INSERT INTO card VALUES (1, 10), (1, 10), (3, 11)")
        connection.execute("CREATE VIEW rich AS SELECT loan_id FROM loan WHERE amount > 6")
    db = Database.from_duckdb(
        duckdb_file, "loan", tables=["loan", "account", "card", "the district", "rich"], **OPTIONS
    )
    assert {(link.table, link.to_table) for link in db.links} >= {("card", "account"), ("rich", "loan")}
    assert any("card.account_id refers to account.account_id" in note for note in db.inferred)


def test_a_database_without_constraints_is_inferred_in_sqlite(tmp_path):
    statements = [statement.replace("PRIMARY KEY", "").split(" REFERENCES")[0] for statement in STATEMENTS[3:]]
    bare = [
        'CREATE TABLE "the district" (district integer, "group" text, x real)',
        "CREATE TABLE account (account_id integer, home integer, opened date)",
        "CREATE TABLE loan (loan_id integer, account_id integer, amount real, s text, paid boolean, status text)",
    ]
    db = Database.from_sqlite(sqlite_file(tmp_path / "bare.sqlite", bare + statements), "loan", **OPTIONS)
    assert {(link.table, link.to_table) for link in db.links} == {("loan", "account")}
    assert db.inferred


def test_column_types_of_duckdb_are_read_or_left_out_with_a_warning():
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 1 AS id, 'a'::ENUM('a', 'b') AS e, 1.5::DECIMAL(9, 2) AS d, uuid() AS "
            "u, [1] AS l, {'a': 1} AS s, "
            "TIME '10:00' AS c, TIMESTAMP '1970-01-02 12:00:00' AS w, 'NaN'::DOUBLE AS n, 7::HUGEINT AS h, "
            "3::UTINYINT AS i, 'y' AS y"
        )
        db = Database.from_duckdb(connection, "t", label="y")
    kinds = {name: column.kind for name, column in db.tables["t"].columns.items()}
    assert kinds == {
        "id": "key",
        "e": "nominal",
        "d": "numeric",
        "u": "nominal",
        "w": "numeric",
        "n": "numeric",
        "h": "numeric",
        "i": "numeric",
    }
    assert db.tables["t"].columns["w"].values.tolist() == [1.5 * 86_400e6]
    assert np.isnan(db.tables["t"].columns["n"].values).all()
    left_out = [warning for warning in db.warnings if " is left out: " in warning]
    assert [warning.split(": ")[1].split(" ")[0] for warning in left_out] == ["t.l", "t.s", "t.c"]


def test_column_types_of_postgres_are_read_or_left_out_with_a_warning(postgres):
    run_postgres(
        postgres,
        "CREATE SCHEMA kinds",
        "CREATE TYPE kinds.mood AS ENUM ('good', 'bad')",
        "CREATE TABLE kinds.t (id uuid PRIMARY KEY, m kinds.mood, d numeric(9, 2), whole numeric(9, 0), w "
        "timestamptz, b boolean, "
        "f double precision, l int[], c char(4), y text)",
        "INSERT INTO kinds.t VALUES (gen_random_uuid(), 'bad', 1.5, 7, '1970-01-02 12:00:00+00', true, "
        "'NaN', '{1}', 'ab', 'y')",
    )
    db = Database.from_postgres(postgres, "t", schema="kinds", label="y")
    columns = db.tables["t"].columns
    assert {name: column.kind for name, column in columns.items()} == {
        "id": "key", "m": "nominal", "d": "numeric", "whole": "numeric", "w": "numeric", "b": "nominal", "f": "numeric",
        "c": "nominal",
    }  # fmt: skip
    assert columns["w"].values.tolist() == [1.5 * 86_400e6]
    assert list(columns["m"].categories) == ["bad"]
    assert np.isnan(columns["f"].values).all()
    assert any("t.l is left out" in warning for warning in db.warnings)


def test_times_of_postgres_are_moments_or_numbers(postgres):
    run_postgres(
        postgres,
        "CREATE SCHEMA timed",
        "CREATE TABLE timed.loan (id int PRIMARY KEY, granted timestamptz, day date, round numeric(12, 3), y text)",
        "CREATE TABLE timed.trans (loan int REFERENCES timed.loan (id), at timestamp, round numeric)",
        "INSERT INTO timed.loan VALUES (1, '1970-01-02 02:00:00+02', '1970-01-02', 1.5, 'a'), "
        "(2, 'infinity', 'infinity', 7, 'b'), (3, NULL, NULL, NULL, 'a')",
        "INSERT INTO timed.trans VALUES (1, '1970-01-02', 0.25), (2, '-infinity', 1000000)",
    )

    def times(**columns):
        db = Database.from_postgres(postgres, "loan", schema="timed", label="y", times=columns)
        return {name: table.times.values.tolist() for name, table in db.tables.items() if table.times is not None}

    day = 86_400e6
    for cutoff in ("granted", "day"):
        found = times(loan=cutoff, trans="at")
        assert found["trans"] == [day, -np.inf]
        assert found["loan"][:2] == [day, np.inf]
        assert np.isnan(found["loan"][2])
    found = times(loan="round", trans="round")
    assert found["loan"][:2] == [1.5, 7.0]
    assert found["trans"] == [0.25, 1e6]
    with pytest.raises(DataError, match=r"'trans.at' are dates and the cutoffs 'loan.round' are numbers"):
        times(loan="round", trans="at")


def test_sqlite_takes_types_from_all_rows_not_from_the_first(tmp_path):
    rows = [f"INSERT INTO t VALUES ({i}, NULL, {i})" for i in range(1500)]
    late = "INSERT INTO t VALUES (1500, 'late', 0.5)"
    db = Database.from_sqlite(
        sqlite_file(tmp_path / "t.sqlite", ["CREATE TABLE t (id integer PRIMARY KEY, a, b)", *rows, late]), "t"
    )
    assert list(db.tables["t"].columns["a"].categories) == ["late"]
    assert db.tables["t"].columns["b"].values[-1] == 0.5


def test_text_that_is_not_utf8_is_refused_by_sqlite(tmp_path):
    path = sqlite_file(
        tmp_path / "t.sqlite", ["CREATE TABLE t (a text)", "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))"]
    )
    with pytest.raises(DataError, match=r"t.sqlite: the column 'a' holds text that is not UTF-8"):
        Database.from_sqlite(path, "t")


def bad_cases(read, location):
    """What every SQL reader must refuse, with the way out."""
    cases = [
        ({"target": "lon"}, rf"{location}: there is no table 'lon'; did you mean 'loan'\?"),
        ({"label": "stats"}, r"table 'loan' has no column 'stats'; did you mean 'status'\?"),
        ({"key": "loanid"}, r"table 'loan' has no column 'loanid'; did you mean 'loan_id'\?"),
        ({"label": "paid", "positive": "maybe"},
         r"table 'loan', label 'paid': the positive value 'maybe' does not occur"),
        ({"where": "amount > 3"}, r"where: 'amount > 3' is not understood; write {'column': value}"),
        ({"tables": ["lon"]}, rf"{location}: tables: there is no table 'lon'; did you mean 'loan'\?"),
        ({"exclude_tables": ["lon"]}, rf"{location}: exclude_tables: there is no table 'lon'; did you mean 'loan'\?"),
        ({"exclude_tables": "loan"}, rf"{location}: exclude_tables leaves out the target table 'loan' itself"),
        ({"foreign_keys": [("loan.amount", "accont.account_id")]},
         r"there is no table 'accont'; did you mean 'account'\?"),
        ({"foreign_keys": [("loan.amount", "account.acc")]},
         r"table 'account' has no column 'acc'; did you mean 'account_id'\?"),
        ({"types": {"loan.status": "numeric"}, "label": "paid", "where": {"paid": [True, 1]}},
         r"table 'loan', column 'status': row 1 holds 'A', which is not a number"),
    ]  # fmt: skip
    for options, message in cases:
        with pytest.raises(DataError, match=message) as caught:
            read(**({"target": "loan"} | OPTIONS | ({"positive": None} if "label" in options else {}) | options))
        assert "\n" not in str(caught.value)


def test_duckdb_refuses_bad_input(duckdb_file, tmp_path):
    bad_cases(lambda **options: Database.from_duckdb(duckdb_file, **options), "bank.duckdb")
    with pytest.raises(DataError, match=r"there is no DuckDB file"):
        Database.from_duckdb(tmp_path / "absent.duckdb", "loan")
    (tmp_path / "text.duckdb").write_text("no database" * 1000)
    with pytest.raises(DataError, match=r"text.duckdb: the file cannot be opened by DuckDB"):
        Database.from_duckdb(tmp_path / "text.duckdb", "loan")
    with duckdb.connect() as connection:
        with pytest.raises(DataError, match=r"there are no tables in the schema 'main'"):
            Database.from_duckdb(connection)
        connection.execute("CREATE TABLE t (id integer)")
        with pytest.raises(DataError, match=r"the target table 't' has no rows"):
            Database.from_duckdb(connection, "t")


def test_sqlite_refuses_bad_input(tmp_path):
    path = sqlite_file(tmp_path / "bank.sqlite")
    bad_cases(lambda **options: Database.from_sqlite(path, **options), "bank.sqlite")
    with pytest.raises(DataError, match=r"there is no SQLite file"):
        Database.from_sqlite(tmp_path / "absent.sqlite", "loan")
    (tmp_path / "text.sqlite").write_text("no database" * 1000)
    with pytest.raises(DataError, match=r"text.sqlite: SQLite cannot read the tables"):
        Database.from_sqlite(tmp_path / "text.sqlite", "loan")
    missing = ["CREATE TABLE t (a integer REFERENCES nowhere(b))", "INSERT INTO t VALUES (1)"]
    with pytest.raises(DataError, match=r"the foreign key t.a -> nowhere.b: there is no table 'nowhere'"):
        Database.from_sqlite(sqlite_file(tmp_path / "missing.sqlite", missing), "t")
    # SQLite itself lets a primary key be null
    null = ["CREATE TABLE t (a text PRIMARY KEY)", "INSERT INTO t VALUES (NULL)", "INSERT INTO t VALUES ('x')"]
    with pytest.raises(DataError, match=r"table 't', primary key 'a': row 1 has no 'a'"):
        Database.from_sqlite(sqlite_file(tmp_path / "null.sqlite", null), "t")


def test_postgres_refuses_bad_input(postgres):
    bad_cases(lambda **options: Database.from_postgres(postgres, **options), "the PostgreSQL database")
    with pytest.raises(DataError, match=r"the PostgreSQL database cannot be read"):
        Database.from_postgres("postgresql://nobody@localhost:1/none?connect_timeout=2", "loan")
    with pytest.raises(DataError, match=r"there are no tables in the schema 'empty'"):
        Database.from_postgres(postgres, "loan", schema="empty")


def test_a_foreign_key_of_several_columns_is_said_to_be_followed_by_one_at_a_time(tmp_path: Path) -> None:
    connection = duckdb.connect(str(tmp_path / "orders.duckdb"))
    connection.execute(
        "CREATE TABLE orders (company TEXT, number INTEGER, late TEXT, PRIMARY KEY (company, number));"
        "CREATE TABLE items (company TEXT, number INTEGER, price DOUBLE,"
        " FOREIGN KEY (company, number) REFERENCES orders (company, number));"
        "INSERT INTO orders VALUES ('a', 1, 'yes'), ('b', 1, 'no'); INSERT INTO items VALUES ('a', 1, 2.5)"
    )
    connection.close()
    db = Database.from_duckdb(tmp_path / "orders.duckdb", target="orders", label="late")
    (sentence,) = (one for one in db.warnings if "together" in one)
    assert sentence.startswith("items refers to orders by company and number together")
