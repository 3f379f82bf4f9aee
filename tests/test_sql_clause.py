"""The SQL of clauses, on hand-worked cases; random ones are in `test_oracles.py`."""

from __future__ import annotations

import duckdb
import pytest

from hornboost.errors import ClauseError
from hornboost.logic import Clause
from hornboost.sql.clause import coverage_condition

DIALECTS = ["duckdb", "sqlite", "postgres", "spark", "bigquery"]


def clause(body: str) -> Clause:
    return Clause.parse(f'y="1" :- {body}.')


def covered(setup: str, body: str) -> list[object]:
    with duckdb.connect() as connection:
        connection.execute(setup)
        return sorted(row[0] for row in connection.execute(clause(body).to_sql(key="id")).fetchall())


def test_nan_is_missing_and_above_no_threshold() -> None:
    setup = (
        "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'NaN'::DOUBLE), (2, NULL), (3, 7), (4, 'inf'), (5, "
        "'-inf')) AS v(id, x)"
    )
    assert covered(setup, "t(id=K, x>=5)") == [3, 4]
    assert covered(setup, "t(id=K, x<=5)") == [5]
    assert covered(setup, "t(id=K, x>=inf)") == [4]
    assert covered(setup, "t(id=K, x<=-inf)") == [5]
    assert covered(setup, "t(id=K, x is missing)") == [1, 2]


def test_missing_works_on_any_type_and_a_text_that_says_nan_is_a_value() -> None:
    setup = (
        "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'nan', DATE '2020-01-01', true, 1), (2, NULL, NULL, NULL, "
        "NULL)) AS v(id, s, d, b, i)"
    )
    for column in "sdbi":
        assert covered(setup, f"t(id=K, {column} is missing)") == [2]


def test_numbers_are_compared_as_doubles_whatever_they_are_stored_as() -> None:
    value = 0.14200000000000002
    for kind in ("DOUBLE", "DECIMAL(18, 17)", "VARCHAR"):
        setup = f"CREATE TABLE t AS SELECT 1 AS id, '{value!r}'::{kind} AS x"
        assert covered(setup, f"t(id=K, x>={value!r}, x<={value!r})") == [1]
        assert covered(setup, "t(id=K, x<=0.142)") == []
    assert covered("CREATE TABLE t AS SELECT 1 AS id, 3::TINYINT AS x", "t(id=K, x>=3)") == [1]


def test_nominal_values_are_compared_as_text() -> None:
    assert covered("CREATE TABLE t AS SELECT 1 AS id, 7 AS x", 't(id=K, x="7")') == [1]
    assert covered("CREATE TABLE t AS SELECT 1 AS id, 7::DOUBLE AS x", 't(id=K, x="7")') == [1]
    assert covered("CREATE TABLE t AS SELECT 1 AS id, 2.5::FLOAT AS x", 't(id=K, x="2.5")') == [1]
    assert covered("CREATE TABLE t AS SELECT 1 AS id, 'it''s' AS x", 't(id=K, x="it\'s")') == [1]
    assert covered("CREATE TABLE t AS SELECT 1 AS id, true AS x", 't(id=K, x="true")') == [1]


def test_dates_are_compared_as_instants() -> None:
    for kind in ("DATE", "TIMESTAMP", "VARCHAR"):
        setup = (
            f"CREATE TABLE t AS SELECT * FROM (VALUES (1, '1998-01-01'::{kind}), (2, '1998-01-02'::{kind}), (3, "
            "NULL)) AS v(id, d)"
        )
        assert covered(setup, 't(id=K, d>="1998-01-02")') == [2]
        assert covered(setup, 't(id=K, d<="1998-01-01 12:00")') == [1]


def test_null_keys_join_nothing_and_differ_from_nothing() -> None:
    setup = """CREATE TABLE t AS SELECT * FROM (VALUES (1, 1), (2, NULL)) AS v(id, k);
               CREATE TABLE r AS SELECT * FROM (VALUES (1, 5), (NULL, 6), (2, NULL)) AS v(k, j)"""
    assert covered(setup, "t(k=K), r(k=K)") == [1]
    assert covered(setup, "t(k=K), r(k=J), K != J") == [1]
    assert covered(setup, "t(id=I), r(k=I, j=J)") == [1, 2]
    assert covered(setup, "t(id=I), r(k=I, j=J), I != J") == [1]


def test_branches_become_separate_subqueries_and_shared_variables_nested_ones() -> None:
    body = clause("t(k=K), r(k=K, j=J), s(j=J), r(k=K, x>=1)")
    assert body.to_sql("sqlite") == (
        'SELECT "t0"."k" FROM "t" AS "t0" WHERE '
        'EXISTS(SELECT 1 FROM "r" AS "t1" WHERE "t1"."k" COLLATE BINARY = "t0"."k" AND '
        'EXISTS(SELECT 1 FROM "s" AS "t2" WHERE "t2"."j" COLLATE BINARY = "t1"."j")) AND '
        'EXISTS(SELECT 1 FROM "r" AS "t3" WHERE "t3"."k" COLLATE BINARY = "t0"."k" AND CAST("t3"."x" AS REAL) >= 1)'
    )


def test_a_subquery_refers_only_to_the_query_around_it() -> None:
    body = clause("t(k=K, l=L), r(k=K, j=J), s(j=J, l=L), u(j=J)")
    assert body.to_sql("sqlite") == (
        'SELECT "hb_t0"."k", "hb_t0"."l" FROM "t" AS "hb_t0" WHERE '
        'EXISTS(SELECT 1 FROM "r" AS "hb_t1" CROSS JOIN "s" AS "hb_t2" WHERE '
        '"hb_t1"."k" COLLATE BINARY = "hb_t0"."k" AND '
        '"hb_t2"."j" COLLATE BINARY = "hb_t1"."j" AND "hb_t2"."l" COLLATE BINARY = "hb_t0"."l" '
        'AND EXISTS(SELECT 1 FROM "u" AS "hb_t3" WHERE "hb_t3"."j" COLLATE BINARY = "hb_t2"."j"))'
    )


def test_the_selected_columns_are_the_roots_keys_or_those_asked_for_or_all() -> None:
    assert clause("t(k=K, l=L)").to_sql() == 'SELECT "t0"."k", "t0"."l" FROM "t" AS "t0"'
    assert clause("t(k=K)").to_sql(key=["k", "l"]) == 'SELECT "t0"."k", "t0"."l" FROM "t" AS "t0"'
    assert clause("t(x>=1)").to_sql("sqlite") == 'SELECT "t0".* FROM "t" AS "t0" WHERE CAST("t0"."x" AS REAL) >= 1'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_and_values_cannot_break_out_of_their_quotes(dialect: str) -> None:
    import sqlglot
    from sqlglot import exp

    text = '"my table"("a \\" ` b"=K, "order"="it\'s; DROP TABLE x --\\\\")'
    query = sqlglot.parse_one(clause(text).to_sql(dialect), dialect=dialect)
    assert [table.name for table in query.find_all(exp.Table)] == ["my table"]
    assert {column.name for column in query.find_all(exp.Column)} == {'a " ` b', "order"}
    assert [literal.this for literal in query.find_all(exp.Literal)] == ["it's; DROP TABLE x --\\"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_test_can_be_parsed_back_in_every_dialect(dialect: str) -> None:
    import sqlglot

    text = 't(k=K, a="x", b>=1.5, c<=-2, d is missing, e>="1998-01-01", f>=inf), r(k=K, j=J), s(j=J), K != J'
    sql = clause(text).to_sql(dialect)
    assert sqlglot.parse_one(sql, dialect=dialect).sql(dialect) == sql


def test_an_unknown_dialect_is_named() -> None:
    known = "Known are duckdb, sqlite, postgres, spark, bigquery"
    with pytest.raises(ClauseError, match=rf"there is no SQL dialect 'postgresql'; did you mean 'postgres'\? {known}"):
        clause("t(k=K)").to_sql("postgresql")


def test_the_condition_stands_under_any_alias() -> None:
    condition = coverage_condition(clause("t(k=K), r(k=K)"), "t1", "sqlite")
    assert condition.sql("sqlite") == 'EXISTS(SELECT 1 FROM "r" AS "t1_" WHERE "t1_"."k" COLLATE BINARY = "t1"."k")'
    assert coverage_condition(clause("t(k=K)"), "x").sql("duckdb") == "TRUE"
