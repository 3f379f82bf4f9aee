"""SQL is written in one package, with sqlglot:
names are quoted, values are constants, and texts survive the indentation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data.built import Target
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.file import from_bytes, to_bytes
from hornboost.model.sql import ensemble_to_sql, model_to_sql
from hornboost.sql.clause import clause_to_sql

SOURCE = Path(hb.__file__).parent
SQL = re.compile(
    r"\b(SELECT\s+[\w\"*{]|INSERT INTO|CREATE (TABLE|VIEW)|GROUP BY|ORDER BY|LEFT JOIN|WHERE\s+\w+\s*[=<>])"
)


def strings(path: Path) -> Iterator[tuple[int, str, bool]]:
    """The texts of a module but for docstrings, and whether values are put into them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "{}".join(str(part.value) for part in node.values if isinstance(part, ast.Constant)),
                True,
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (documentation | within)
        ):
            yield node.lineno, node.value, "{}" in node.value


def test_no_sql_is_put_together_from_text_and_none_is_written_outside_its_package() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        own = path.parent == SOURCE / "sql"
        found += [
            f"{path.name}:{line}" for line, text, mixed in strings(path) if SQL.search(text) and (mixed or not own)
        ]
    assert found == []


def test_the_search_for_sql_finds_some() -> None:
    texts = [text for _, text, _ in strings(SOURCE / "sql" / "catalogue.py") if SQL.search(text)]
    assert len(texts) > 8
    assert SQL.search("SELECT {} FROM x")


@pytest.mark.parametrize("name", ["a\nb", "a\r\n  b", "__SQLGLOT__LB__", 'a"b', "ä ö", "select"])
def test_names_and_values_of_several_lines_survive(name: str) -> None:
    clause = Clause.parse('y="1" :- a(id=K), b(a=K, x="1").')
    root, other = clause.body
    test = replace(other.tests[0], column=name, value=name)
    clause = replace(clause, body=(root, replace(other, table=name, tests=(test,))))
    text = ensemble_to_sql(
        Ensemble((name, "b"), (Rule(clause, (-1.5,)),), (0.0,)), Target("a", ("id",)), probability=False
    )
    quoted = '"' + name.replace('"', '""') + '"'
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE a AS SELECT 1 AS id UNION ALL SELECT 2")
        connection.execute(f"CREATE TABLE {quoted} (a INTEGER, {quoted} VARCHAR)")
        connection.execute(f"INSERT INTO {quoted} VALUES (1, ?), (2, ?)", [name, name + " "])
        rows = sorted(connection.execute(text).fetchall())
        covered = connection.execute(clause_to_sql(clause)).fetchall()
    assert [row[1:] for row in rows] == [(-1.5, name), (0.0, name)]
    assert covered == [(1,)]


def database() -> hb.Database:
    t = pd.DataFrame({"id": range(20), "label": ["yes", "no"] * 10})
    c = pd.DataFrame({"ref": range(20), "k": ["3", "3.0"] * 10, "x": [1.5, None] * 10})
    return hb.Database.from_frames(
        {"t": t, "c": c}, "t", key="id", label="label", positive="yes", foreign_keys=[("c.ref", "t.id")]
    )


def test_a_model_file_carries_its_types_to_sql_and_an_older_one_says_what_it_takes_them_for() -> None:
    db = database()
    X, y = db.examples()
    model = hb.C2RIBClassifier(db, rounds=2, random_state=0).fit(X, y)._saved()
    read = from_bytes(to_bytes(model), "model.json")
    assert model_to_sql(read, "duckdb") == model_to_sql(model, "duckdb")
    schema = {
        table: tuple(replace(column, stored=None) for column in columns) for table, columns in model.schema.items()
    }
    older = model_to_sql(replace(model, schema=schema), "duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS id FROM range(20) r(i)")
        connection.execute(
            "CREATE TABLE c AS SELECT i AS ref, CASE i % 2 WHEN 0 THEN '3' ELSE '3.0' END AS k, 1.5 AS x "
            "FROM range(20) r(i)"
        )
        found = [sorted(connection.execute(text).fetchall()) for text in (model_to_sql(model, "duckdb"), older)]
    assert found[0] == found[1]
    assert [row[-1] for row in found[0]] == ["yes", "no"] * 10


def test_tables_are_those_of_the_schema_that_was_read_or_named() -> None:
    with duckdb.connect() as connection:
        for schema, value in (("main", "a"), ("other", "b")):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            connection.execute(
                f"CREATE TABLE {schema}.t AS SELECT i AS id, CASE i % 2 WHEN 0 THEN 'no' ELSE 'yes' END AS "
                "label FROM range(40) r(i)"
            )
            connection.execute(
                f"CREATE TABLE {schema}.c AS SELECT i AS ref, CASE i % 2 WHEN 0 THEN 'z' ELSE '{value}' END "
                "AS k FROM range(40) r(i)"
            )
        options = {"key": "id", "label": "label", "positive": "yes", "foreign_keys": [("c.ref", "t.id")]}
        db = hb.Database.from_duckdb(connection, "t", schema="other", **options)
        X, y = db.examples()
        model = hb.C2RIBClassifier(db, rounds=2, random_state=0).fit(X, y)
        rows = sorted(connection.execute(model.to_sql("duckdb")).fetchall())
        assert [row[-1] for row in rows] == model.predict(X).tolist() == y.tolist()
        assert {row[-1] for row in connection.execute(model.to_sql("duckdb", schema="main")).fetchall()} != {
            "yes",
            "no",
        }
        assert '"other"' not in model.to_sql("postgres")
        assert 'FROM "new"."people"' in model.to_sql("postgres", schema="new", table="people")
        plain = hb.C2RIBClassifier(hb.Database.from_duckdb(connection, "t", **options), rounds=2, random_state=0).fit(
            X, y
        )
        assert '"main"' not in plain.to_sql("duckdb")


def test_integers_need_no_look_at_nan() -> None:
    t = pd.DataFrame({"id": range(20), "n": np.arange(20), "x": np.arange(20) / 2, "label": ["yes", "no"] * 10})
    db = hb.Database.from_frames({"t": t}, "t", key="id", label="label", positive="yes")
    clauses = [Clause.parse(f'label="yes" :- t(id=K, {column}>=3).') for column in "nx"]
    X, y = db.examples()
    model = hb.C2RIBClassifier(db, rounds=1, random_state=0).fit(X, y)
    model.ensemble_ = replace(model.ensemble_, rules=tuple(Rule(clause, (1.0,)) for clause in clauses))
    assert model.to_sql("postgres").count("NaN") == 1
