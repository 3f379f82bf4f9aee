"""The SQL of a model gives the scores, probabilities and predictions of Python, in three databases."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hornboost as hb
from hornboost.data.built import Target
from hornboost.data.describe import type_name
from hornboost.errors import ModelError
from hornboost.logic.clause import Clause, Literal
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.sql import ensemble_to_sql
from hornboost.sql import statement
from hornboost.sql.columns import ColumnType
from hornboost.sql.dialects import DIALECTS
from random_databases import RandomCase, cases
from test_oracles import as_sqlite, numbered, quoted

KINDS = ["one", "two softmax", "two sigmoid", "three softmax", "three sigmoid"]


def databases(count: int) -> settings:
    return settings(
        max_examples=count, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    )


def ensemble(clauses: tuple[Clause, ...], kind: str) -> Ensemble:
    rng = np.random.default_rng(len(clauses))
    classes = ("it's", "b", 'c"') if kind.startswith("three") else ("0", "1")
    n = {"one": 1, "two": 2, "three": 3}[kind.split()[0]]
    numbers = rng.normal(size=(len(clauses), 2, n)) * 3
    rules = [
        Rule(clause.rooted("target"), tuple(map(float, v)), tuple(map(float, o)) if k % 2 else ())
        for k, (clause, (v, o)) in enumerate(zip(clauses, numbers, strict=True))
    ]
    link = "softmax" if "softmax" in kind else "sigmoid"
    return Ensemble(
        classes,
        tuple(rules),
        tuple(map(float, rng.normal(size=n))),
        link,
        ((1.7, -0.3),) * n if link == "sigmoid" else (),
    )


def expected(case: RandomCase, model: Ensemble) -> tuple[np.ndarray, np.ndarray, list[str]]:
    database = case.database()
    scores = model.scores(database, database.encode(database.examples()[0]))
    decision, p = model.decision(scores), model.probabilities(scores)
    about = int(positive(model))
    decision = -decision if about == 0 and decision.ndim == 1 else decision
    return decision, p[:, about] if len(model.classes) == 2 else p, [model.classes[k] for k in model.choices(scores)]


def positive(model: Ensemble) -> str:
    """Of the classes "0" and "1", either, so that both are tried."""
    return str(len(model.rules) % 2)


def scoring(model: Ensemble, dialect: str, case: RandomCase, typed: bool) -> str:
    """The statement of a model that knows the types of the columns, or does not."""
    columns = [(table.name, column) for table in case.database().tables.values() for column in table.columns.values()]
    types = {(table, column.name): ColumnType(type_name(column), column.stored) for table, column in columns if typed}
    return ensemble_to_sql(model, Target("target", ("row",), positive=positive(model)), dialect, types=types)


def check(rows: list[tuple[Any, ...]], case: RandomCase, model: Ensemble) -> None:
    decision, probability, prediction = expected(case, model)
    rows = sorted(rows)
    assert [row[0] for row in rows] == list(range(len(case.target.rows)))
    n = 1 if decision.ndim == 1 else decision.shape[1]
    np.testing.assert_allclose(
        np.array([row[1 : 1 + n] for row in rows], float), decision.reshape(-1, n), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        np.array([row[1 + n : -1] for row in rows], float), probability.reshape(-1, n), rtol=0, atol=1e-12
    )
    assert [row[-1] for row in rows] == prediction


@databases(40)
@given(cases(6), st.sampled_from(KINDS), st.booleans())
def test_duckdb_scores_as_python_does(case: RandomCase, kind: str, typed: bool) -> None:
    model = ensemble(case.clauses, kind)
    with duckdb.connect() as connection:
        for table in case.tables:
            connection.register(table.name, numbered(table))
        check(connection.execute(scoring(model, "duckdb", case, typed)).fetchall(), case, model)


@databases(40)
@given(cases(6), st.sampled_from(KINDS), st.booleans())
def test_sqlite_scores_as_python_does(case: RandomCase, kind: str, typed: bool) -> None:
    model = ensemble(case.clauses, kind)
    connection = sqlite3.connect(":memory:")
    for table in case.tables:
        names = [quoted(name) for name in ["row", *(column.name for column in table.columns)]]
        connection.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join(names)})")
        rows = [
            [position, *(as_sqlite(column, row[column.name]) for column in table.columns)]
            for position, row in enumerate(table.rows)
        ]
        connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({', '.join('?' * len(names))})", rows)
    found = connection.execute(scoring(model, "sqlite", case, typed)).fetchall()
    connection.close()
    check(found, case, model)


@databases(25)
@given(cases(6), st.sampled_from(KINDS), st.booleans())
def test_postgresql_scores_as_python_does(postgres: Any, case: RandomCase, kind: str, typed: bool) -> None:
    model = ensemble(case.clauses, kind)
    with postgres.cursor() as cursor:
        for table in case.tables:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(table.name)}")
            cursor.adbc_ingest(table.name, numbered(table), mode="create")
        cursor.execute(scoring(model, "postgres", case, typed))
        rows = cursor.fetchall()
    postgres.rollback()
    check(rows, case, model)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        import pgserver
    from adbc_driver_postgresql import dbapi

    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    with dbapi.connect(server.get_uri()) as connection:
        yield connection
    server.cleanup()


HOSTILE = ['select"; drop table "x', "it's", "größe 名前", "order", "Group", "hb_1", "score", "t"]


def hostile_frames(n: int = 120) -> tuple[dict[str, pd.DataFrame], Any]:
    """Tables and columns with hostile names, and values with quotes, NULL and NaN."""
    rng = np.random.default_rng(5)
    values = ["a'b", 'c"d', "e\\f", "ü; drop table x; --", None]
    main = pd.DataFrame({"score": np.arange(n), "select": rng.normal(size=n).round(1), "it's": rng.choice(values, n)})
    other = pd.DataFrame(
        {
            "from": rng.integers(-3, n, 4 * n),
            'where "x"': rng.choice(values, 4 * n),
            "größe 名前": rng.normal(size=4 * n),
        }
    )
    other.loc[rng.random(4 * n) < 0.1, "größe 名前"] = np.nan
    reached = other[(other['where "x"'] == "a'b") & (other["größe 名前"] > 0.3)]["from"]
    main["label"] = np.where(main["score"].isin(reached) | (main["it's"] == "ü; drop table x; --"), "yes", "no")
    return {"hb_1": main, 'order"; drop table "hb_1': other}, main["label"]


def hostile_model() -> tuple[hb.C2RIBClassifier, Any, dict[str, pd.DataFrame]]:
    frames, _ = hostile_frames()
    link = [('order"; drop table "hb_1.from', "hb_1.score")]
    database = hb.Database.from_frames(
        frames, target="hb_1", key="score", label="label", positive="yes", foreign_keys=link
    )
    X, y = database.examples()
    return hb.C2RIBClassifier(database, rounds=15, random_state=0).fit(X, y), X, frames


def test_names_and_values_of_any_kind_are_quoted_and_a_learned_model_scores_alike_everywhere(postgres: Any) -> None:
    model, X, frames = hostile_model()
    assert {literal.table for rule in model.rules_ for literal in rule.clause.body} == set(frames)
    expected_scores = model.decision_function(X)
    with duckdb.connect() as connection:
        for name, frame in frames.items():
            connection.register(name, frame)
        found = connection.execute(model.to_sql("duckdb")).fetchall()
    lite = sqlite3.connect(":memory:")
    for name, frame in frames.items():
        frame.to_sql(name, lite, index=False)
    also = lite.execute(model.to_sql("sqlite")).fetchall()
    assert {row[0] for row in lite.execute("SELECT name FROM sqlite_master").fetchall()} == set(frames)
    lite.close()
    with postgres.cursor() as cursor:
        import pyarrow as pa

        for name, frame in frames.items():
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
            cursor.adbc_ingest(name, pa.Table.from_pandas(frame, preserve_index=False), mode="create")
        cursor.execute(model.to_sql("postgres"))
        server = cursor.fetchall()
    postgres.rollback()
    for rows in (found, also, server):
        assert [row[1] for row in sorted(rows)] == expected_scores.tolist()
        assert [row[3] for row in sorted(rows)] == model.predict(X).tolist()
        np.testing.assert_allclose([row[2] for row in sorted(rows)], model.predict_proba(X)[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_one_statement_that_its_own_parser_reads(dialect: str) -> None:
    import sqlglot

    model, _, _ = hostile_model()
    assert len(sqlglot.parse(model.to_sql(dialect), read=dialect)) == 1


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ModelError, match="did you mean 'postgres'"):
        ensemble_to_sql(Ensemble(("0", "1"), (), (0.0,)), Target("a"), "postgresql")


def single_table() -> tuple[hb.C2RIBClassifier, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80), "probability": rng.choice(["a", "b", None], 80)})
    return hb.C2RIBClassifier(rounds=6, random_state=0).fit(X, (X["size"] > 0) | (X["probability"] == "a")), X


def test_a_single_table_is_scored_with_all_its_columns_under_the_name_it_has_in_the_database() -> None:
    model, X = single_table()
    with duckdb.connect() as connection:
        connection.register("my table", X.assign(id=np.arange(len(X))))
        star = connection.sql(model.to_sql(table="my table")).df()
        keyed = connection.sql(model.to_sql(table="my table", key="id")).df()
    assert list(keyed.columns) == ["id", "score_of_true", "probability_of_true", "prediction"]
    assert keyed.sort_values("id")["score_of_true"].tolist() == model.decision_function(X).tolist()
    assert star.sort_values("id")["score_of_true"].tolist() == model.decision_function(X).tolist()
    assert keyed["prediction"].isin(["true", "false"]).all()


def test_an_output_column_gives_way_to_a_key_of_the_same_name() -> None:
    text = ensemble_to_sql(Ensemble(("0", "1"), (), (0.5,)), Target("a", ("Score_of_1", "prediction")), "duckdb")
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE a AS SELECT 1 AS "Score_of_1", 2 AS prediction')
        frame = connection.sql(text).df()
    assert list(frame.columns) == ["Score_of_1", "prediction", "hb_score_of_1", "probability_of_1", "hb_prediction"]
    assert frame.iloc[0].tolist()[:3] == [1, 2, 0.5]


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
@pytest.mark.parametrize("n_scores", [1, 2])
def test_a_target_without_key_keeps_its_columns_beside_those_of_the_prediction(n_scores: int, link: Any) -> None:
    model = Ensemble(("no", "yes"), (), (0.5, 2.0)[:n_scores], link)
    columns = ["prediction", "Score_of_no", "x"]
    text = ensemble_to_sql(model, Target("a", positive="no"), "duckdb", columns=columns)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE a AS SELECT 1 AS prediction, 2 AS "Score_of_no", 3 AS x')
        connection.execute(f"CREATE VIEW scored AS {text}")
        row = connection.sql("SELECT * FROM scored").df().iloc[0]
    assert row[columns].tolist() == [1, 2, 3]
    assert row["hb_score_of_no"] == (-0.5 if n_scores == 1 else -1.5)
    assert row["probability_of_no"] < 0.5
    assert row["hb_prediction"] == "yes"


def test_classes_that_differ_in_case_or_length_alone_have_columns_of_their_own(postgres: Any) -> None:
    long = "x" * 100
    model = Ensemble(("A", "a", long, long + "y"), (), (1.0, 2.0, 3.0, 4.0), "softmax")
    text = ensemble_to_sql(model, Target("a", ("id",)), "postgres")
    with postgres.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE a AS SELECT 7 AS id")
        cursor.execute(f"CREATE TEMP VIEW scored AS {text}")
        cursor.execute("SELECT * FROM scored")
        frame = cursor.fetch_df()
    postgres.rollback()
    assert len({name.lower() for name in frame.columns}) == 1 + 4 + 4 + 1
    assert frame["score_of_A"][0] == 1.0
    assert frame["score_of_a_2"][0] == 2.0
    assert frame["prediction"][0] == long + "y"


def test_many_rules_and_many_conditions_stay_within_the_limits_of_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    clauses = [Clause.parse(f'y="1" :- a(id=K), b(a=K, x>={k}).') for k in range(2500)]
    rng = np.random.default_rng(0)
    model = Ensemble(
        ("0", "1"),
        tuple(Rule(clause, (float(v),)) for clause, v in zip(clauses, rng.normal(size=2500), strict=True)),
        (0.5,),
    )
    frames = {
        "a": pd.DataFrame({"id": range(50), "y": ["0", "1"] * 25}),
        "b": pd.DataFrame({"a": range(50), "x": range(0, 2500, 50)}),
    }
    database = hb.Database.from_frames(frames, target="a", key="id", label="y", foreign_keys=[("b.a", "a.id")])
    connection = sqlite3.connect(":memory:")
    for name, frame in frames.items():
        frame.to_sql(name, connection, index=False)
    rows = sorted(connection.execute(ensemble_to_sql(model, Target("a", ("id",)), "sqlite")).fetchall())
    scores = model.scores(database, database.encode(database.examples()[0]))[:, 0]
    np.testing.assert_allclose([row[1] for row in rows], scores, rtol=0, atol=1e-11)


def test_probability_can_be_left_out_where_the_database_has_no_exponential() -> None:
    model, _ = single_table()
    assert "EXP(" in model.to_sql("sqlite")
    assert "EXP(" not in model.to_sql("sqlite", probability=False)


def test_a_joined_table_is_read_once_however_many_rules_ask_about_it() -> None:
    clauses = [Clause.parse(f'y="1" :- a(id=K), b(a=K, x>={k}).') for k in range(20)]
    text = ensemble_to_sql(
        Ensemble(("0", "1"), tuple(Rule(clause, (1.0,)) for clause in clauses), (0.5,)), Target("a", ("id",))
    )
    assert text.count('FROM "b"') == 1


def test_a_rule_on_a_column_that_came_with_the_examples_has_no_sql() -> None:
    model, _, _ = hostile_model()
    clause = replace(
        model.rules_[0].clause,
        body=(Literal("hb_1", (("score", "S"),), Clause.parse('y="1" :- a(extra>=1).').root.tests),),
    )
    model.ensemble_ = replace(model.ensemble_, rules=(replace(model.rules_[0], clause=clause),))
    with pytest.raises(ModelError, match="'extra', which came with the examples"):
        model.to_sql()


def test_the_limits_leave_room() -> None:
    assert statement.TERMS < 1000
    assert statement.COLUMNS < 1664


def test_columns_that_the_model_was_not_shown_keep_their_names_beside_the_result(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range % 7 AS x, range AS prediction, range AS Score_of_b, "
            "CASE WHEN range % 7 > 3 THEN 'a' ELSE 'b' END AS y FROM range(60)"
        )
    db = hb.Database.from_duckdb(
        tmp_path / "d.duckdb", target="t", label="y", exclude_columns=["prediction", "Score_of_b"]
    )
    X, y = db.examples()
    model = hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(X, y)
    model.save(tmp_path / "m.json")
    for text in (model.to_sql("duckdb"), hb.load(tmp_path / "m.json", database=db).to_sql("duckdb")):
        with duckdb.connect(tmp_path / "d.duckdb") as connection:
            found = connection.execute(text).df()
        assert len({name.lower() for name in found.columns}) == len(found.columns)
        assert found["prediction"].tolist() == list(range(60))
        assert found["hb_prediction"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("column", ["t", "t0", "t1", "d"])
def test_columns_may_be_called_what_tables_are_called_in_the_statement(column: str) -> None:
    """Beside two tables that both have a column "t", DuckDB takes the "t" of "t"."id" for that column."""
    closing = Clause.parse('y="1" :- a(id=I, one=A, other=B), b(p=A, q=Q), b(p=B, q=Q).')
    model = Ensemble(("0", "1"), (Rule(closing, (1.5,)),), (-0.5,))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE a AS SELECT * FROM (VALUES (1, 10, 20), (2, 10, 30)) AS v(id, one, other)")
    connection.execute(f"CREATE TABLE b AS SELECT *, 0 AS {column} FROM (VALUES (10, 7), (20, 7), (30, 8)) AS v(p, q)")
    text = ensemble_to_sql(model, Target("a", ("id",)), probability=False)
    assert sorted(connection.sql(text).fetchall()) == [(1, 1.0, "1"), (2, -0.5, "0")]
    assert connection.sql(closing.to_sql("duckdb", key="id")).fetchall() == [(1,)]
