"""Booleans mean the same wherever they come from: as a type, as 0 and 1 of SQLite, as words in a file, as labels."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb

TASK: dict[str, Any] = {"target": "t", "key": "id", "label": "y"}


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"id": range(60), "active": rng.random(60) < 0.5})
    return found.assign(y=np.where(found["active"], "yes", "no"))


@pytest.fixture
def model(table: pd.DataFrame, tmp_path: Path) -> Path:
    db = hb.Database.from_frames({"t": table}, **TASK, positive="yes")
    hb.HornBoostClassifier(db, rounds=3, random_state=0).fit(*db.examples()).save(tmp_path / "model.json")
    return tmp_path / "model.json"


def in_sqlite(table: pd.DataFrame, path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, active BOOLEAN, y TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", table.astype(object).itertuples(index=False))
    connection.close()
    return path


@pytest.mark.parametrize("words", [("False", "True"), ("FALSE", "TRUE"), ("f", "t"), ("0", "1")])
def test_a_model_of_booleans_reads_them_from_files(
    words: tuple[str, str], table: pd.DataFrame, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "csv").mkdir()
    table.assign(active=np.where(table["active"], words[1], words[0])).to_csv(tmp_path / "csv" / "t.csv", index=False)
    here = hb.Database.from_folder(tmp_path / "csv", **TASK)
    X, y = here.examples()
    assert list(hb.load(model, here).predict(X)) == list(y), "rows as this database shows them"
    loaded = hb.load(model, here)
    assert list(loaded.predict(loaded.database.examples()[0])) == list(y), "rows as the model reads them"


def test_a_model_of_booleans_reads_them_from_sqlite(run: Any, table: pd.DataFrame, model: Path, tmp_path: Path) -> None:
    source = in_sqlite(table, tmp_path / "t.sqlite")
    here = hb.Database.from_sqlite(source, **TASK)
    X, y = here.examples()
    assert list(hb.load(model, here).predict(X)) == list(y)
    done = run("predict", model, source, "--target", "t", "-o", tmp_path / "scores.csv")
    assert done.code == 0, done.err
    assert list(pd.read_csv(tmp_path / "scores.csv")["prediction"]) == list(y)


def test_related_tables_are_read_so_too(tmp_path: Path) -> None:
    target = pd.DataFrame({"id": range(40), "y": ["yes", "no"] * 20})
    related = pd.DataFrame({"id": range(40), "open": [True, False] * 20})
    tables = {"t": target, "s": related}
    links = [("s.id", "t.id")]
    db = hb.Database.from_frames(tables, **TASK, positive="yes", foreign_keys=links)
    fitted = hb.HornBoostClassifier(db, rounds=3, aggregates=False, random_state=0).fit(*db.examples())
    fitted.save(tmp_path / "model.json")
    (tmp_path / "csv").mkdir()
    for name, one in tables.items():
        one.to_csv(tmp_path / "csv" / f"{name}.csv", index=False)
    here = hb.Database.from_folder(tmp_path / "csv", **TASK, foreign_keys=links)
    X, y = here.examples()
    assert list(hb.load(tmp_path / "model.json", here).predict(X)) == list(y)


@pytest.mark.parametrize("dtype", ["boolean", "Int64"])
def test_labels_of_nullable_types_stay_what_they_are(dtype: str) -> None:
    x = np.arange(40)
    y = pd.array(x >= 20, dtype="boolean").astype(dtype)
    y[0] = pd.NA
    db = hb.Database.from_frames({"t": pd.DataFrame({"id": x, "x": x, "y": y})}, **TASK, positive=None)
    X, labels = db.examples()
    fitted = hb.HornBoostClassifier(db, rounds=2, random_state=0).fit(X, labels)
    assert fitted.classes_.dtype.kind == ("b" if dtype == "boolean" else "i")
    assert list(fitted.predict(X)) == list(labels)
    again = hb.HornBoostClassifier(db, rounds=2, random_state=0).fit(X, labels, eval_set=(X, labels))
    assert again.rules_ == fitted.rules_


def test_the_positive_class_of_a_nullable_label_is_the_one_asked_for() -> None:
    y = pd.array([pd.NA, *([True, False] * 15)], dtype="boolean")
    frame = pd.DataFrame({"id": range(31), "x": [0, *([1, 0] * 15)], "y": y})
    db = hb.Database.from_frames({"t": frame}, **TASK, positive="false")
    fitted = hb.HornBoostClassifier(db, rounds=2, random_state=0).fit(*db.examples())
    assert not fitted.positive_


@pytest.mark.parametrize("words", [("False", "True"), ("f", "t"), ("0", "1"), ("false", "True")])
def test_a_model_of_booleans_reads_them_from_partitions(
    words: tuple[str, str], table: pd.DataFrame, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    visits = pd.DataFrame({"id": rng.integers(0, 60, 150), "paid": rng.random(150) < 0.5})
    links = [("visit.id", "t.id")]
    labels = np.where(table["active"] & ~table["id"].isin(visits["id"][visits["paid"]]), "yes", "no")
    tables = {"t": table.assign(y=labels), "visit": visits}
    whole = hb.Database.from_frames(tables, **TASK, positive="yes", foreign_keys=links)
    X, y = whole.examples()
    model = hb.HornBoostClassifier(whole, rounds=9, aggregates=False, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    said = {"t": "active", "visit": "paid"}
    spelled = {
        name: rows.assign(**{said[name]: np.where(rows[said[name]], words[1], words[0])})
        for name, rows in tables.items()
    }
    other = hb.Database.from_frames(spelled, **TASK, foreign_keys=links)
    parts = other.partition(tmp_path / "parts", 3, small_table=0)
    loaded = hb.load(tmp_path / "model.json", parts)
    np.testing.assert_array_equal(loaded.decision_function(loaded.database.examples()[0]), model.decision_function(X))
    np.testing.assert_array_equal(loaded.decision_function(parts.examples()[0]), model.decision_function(X))


def test_partitions_may_write_a_boolean_in_several_ways_as_any_source(
    table: pd.DataFrame, model: Path, tmp_path: Path
) -> None:
    words = np.where(table["active"], np.where(table["id"] % 2, "1", "True"), np.where(table["id"] % 3, "0", "false"))
    whole = hb.Database.from_frames({"t": table.assign(active=words)}, **TASK)
    parts = whole.partition(tmp_path / "parts", 2)
    for source in (whole, parts):
        loaded = hb.load(model, source)
        assert list(loaded.predict(source.examples()[0])) == list(table["y"])
        assert list(loaded.predict(loaded.database.examples()[0])) == list(table["y"])
