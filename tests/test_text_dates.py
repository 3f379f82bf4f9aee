"""Dates as text, as dates and as times: one column, one model."""

from __future__ import annotations

import sqlite3
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import hornboost as hb
from hornboost.errors import DataError

N = 60
DAYS = [None if k % 9 == 0 else date(2024, 1 + k % 12, 1 + k % 28) for k in range(N)]
LABELS = ["late" if day is not None and day >= date(2024, 7, 1) else "soon" for day in DAYS]
ORDERED = [None if k % 7 == 0 else date(2023, 1 + (5 * k) % 12, 1 + k % 28) for k in range(2 * N)]


def moment(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day)


def text(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


FORMS = {
    "pandas text": lambda days: pd.Series([text(day) for day in days], dtype=object),
    "pandas words": lambda days: pd.Series(["NA" if day is None else text(day) for day in days], dtype=object),
    "pandas dates": lambda days: pd.Series(list(days), dtype=object),
    "pandas times": lambda days: pd.to_datetime(pd.Series([moment(day) for day in days])),
    "polars text": lambda days: pl.Series([text(day) for day in days]),
    "polars dates": lambda days: pl.Series(list(days), dtype=pl.Date),
    "polars times": lambda days: pl.Series([moment(day) for day in days]),
    "arrow text": lambda days: pa.array([text(day) for day in days]),
    "arrow dates": lambda days: pa.array(days, pa.date32()),
    "arrow times": lambda days: pa.array([moment(day) for day in days], pa.timestamp("us")),
}


def frame(form: str, columns: dict[str, Any]) -> Any:
    kind = form.split()[0]
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)


def tables(form: str) -> dict[str, Any]:
    rows = frame(form, {"row_id": list(range(N)), "due": FORMS[form](DAYS), "y": LABELS})
    more = {"row_id": [k // 2 for k in range(2 * N)], "ordered": FORMS[form](ORDERED)}
    return {"rows": rows, "orders": frame(form, more)}


def database(form: str, **options: Any) -> hb.Database:
    return hb.Database.from_frames(tables(form), "rows", key="row_id", label="y", **options)


def fitted(db: hb.Database) -> Any:
    return hb.C2RIBClassifier(db, rounds=4, random_state=0).fit(*db.examples())


def test_every_form_gives_the_same_model() -> None:
    models = {form: fitted(database(form)) for form in FORMS}
    first = models["pandas dates"]
    assert 'due<="2024-06-26"' in str(first.rules_[0].clause)
    for form, model in models.items():
        assert [str(rule) for rule in model.rules_] == [str(rule) for rule in first.rules_], form
    for form in FORMS:  # whatever form the rows to predict come in
        X = database(form).examples()[0]
        np.testing.assert_array_equal(
            models["pandas text"].decision_function(X), np.asarray(first.decision_function(X))
        )


def test_a_folder_of_text_gives_that_model_too(tmp_path: Path) -> None:
    for name, rows in tables("pandas text").items():
        (tmp_path / "csv").mkdir(exist_ok=True)
        (tmp_path / "parquet").mkdir(exist_ok=True)
        rows.to_csv(tmp_path / "csv" / f"{name}.csv", index=False)
        rows.to_parquet(tmp_path / "parquet" / f"{name}.parquet", index=False)
        with sqlite3.connect(tmp_path / "db.sqlite") as connection:
            rows.to_sql(name, connection, index=False)
    task = {"target": "rows", "key": "row_id", "label": "y"}
    found = [
        hb.Database.from_folder(tmp_path / "csv", **task),
        hb.Database.from_folder(tmp_path / "parquet", **task),
        hb.Database.from_sqlite(tmp_path / "db.sqlite", **task),
    ]
    rules = [str(rule) for rule in fitted(database("pandas text")).rules_]
    assert all([str(rule) for rule in fitted(db).rules_] == rules for db in found)
    with sqlite3.connect(tmp_path / "db.sqlite") as connection:
        scored = pd.read_sql(fitted(found[2]).to_sql("sqlite", probability=False), connection)
    assert scored["prediction"].tolist() == fitted(found[2]).predict(found[2].examples()[0]).tolist()


@pytest.mark.parametrize("kept_as", ["DATE", "VARCHAR"])
def test_sql_of_a_frame_of_text_finds_dates_or_text(kept_as: str) -> None:
    import duckdb

    db = database("pandas text")
    model = fitted(db)
    with duckdb.connect() as connection:
        for name, given in tables("pandas text").items():
            column = "due" if name == "rows" else "ordered"
            connection.register("given", given)
            connection.execute(f"create table {name} as select * replace ({column}::{kept_as} as {column}) from given")
        scored = connection.execute(model.to_sql("duckdb")).df().sort_values("row_id")
    assert scored["prediction"].tolist() == model.predict(db.examples()[0]).tolist()


@pytest.mark.parametrize("base", ["clause", DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_one_table_without_a_database(base: Any) -> None:
    models = []
    for form in FORMS:
        X = tables(form)["rows"]
        X = (
            X.drop_columns(["y"])
            if form.startswith("arrow")
            else X.drop(columns="y")
            if "pandas" in form
            else X.drop("y")
        )
        model = hb.AdaBoostM1Classifier(base=base, rounds=2, random_state=0).fit(X, LABELS)
        models.append((model.predict_proba(X), X, model))
    for proba, X, _ in models:
        np.testing.assert_array_equal(proba, models[0][0])
        np.testing.assert_array_equal(models[0][2].predict_proba(X), proba)


def test_what_is_declared_nominal_stays_nominal() -> None:
    for form in ("pandas text", "pandas dates", "polars times"):
        db = database(form, types={"rows.due": "nominal"})
        assert db.tables["rows"].columns["due"].kind == "nominal"
        assert db.tables["orders"].columns["ordered"].is_date
    db = database("pandas dates", types={"rows.due": "nominal"})
    codes = [db.encode(database(form).examples()[0]).columns["due"].codes for form in FORMS]
    assert all((code == codes[0]).all() for code in codes)
    with pytest.raises(DataError, match="whose spelling is lost"):
        database("pandas text", types={"rows.due": "nominal"}).encode(database("polars times").examples()[0])
    categories = pd.DataFrame({"day": pd.Categorical([text(day) for day in DAYS])})
    assert hb.Database.from_single(categories).tables["examples"].columns["day"].kind == "nominal"


def test_text_that_is_no_date_stays_text_and_a_bad_date_is_named() -> None:
    rows = tables("pandas text")["rows"]
    for odd in ("soon", "2024-13-01", "01/02/2024"):
        mixed = rows.assign(due=[odd, *rows["due"][1:]])
        db = hb.Database.from_frames({"rows": mixed}, "rows", key="row_id", label="y")
        assert db.tables["rows"].columns["due"].kind == "nominal"
    with pytest.raises(DataError, match="row 1 holds 'soon', which is not a date"):
        database("pandas text").encode(rows.assign(due="soon"))


def test_conditions_on_dates_may_be_spelled_in_any_way() -> None:
    for form in ("pandas text", "pandas times", "polars dates"):
        for meant in ("2024-07-07", "2024-07-07 00:00:00", date(2024, 7, 7)):
            assert len(database(form, where={"due": meant}).example_rows) == DAYS.count(date(2024, 7, 7))
