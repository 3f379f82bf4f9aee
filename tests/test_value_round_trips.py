"""Values of every type through examples, models, files and folders: nothing changes on the way."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hornboost as hb
from hornboost.data import Database
from hornboost.data.bins import numbered
from hornboost.errors import DataError
from hornboost.logic.moment import exact_moment
from hornboost.mining.binning import cut_of
from hornboost.model import seal

BIG = 2**60


def orders(extra=""):
    """100 orders whose label is the kind of their customer, all ids beyond what a float can tell apart."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE customer (cid bigint PRIMARY KEY, kind varchar)")
    connection.execute(
        "CREATE TABLE orders (oid integer PRIMARY KEY, cid bigint REFERENCES customer (cid), label varchar)"
    )
    connection.execute(
        f"INSERT INTO customer SELECT {BIG} + i, CASE WHEN i % 2 = 1 THEN 'a' ELSE 'b' END FROM range(100) r(i)"
    )
    connection.execute(
        f"INSERT INTO orders SELECT i, {BIG} + i, CASE WHEN i % 2 = 1 THEN 'yes' ELSE 'no' END FROM "
        f"range(100) r(i) {extra}"
    )
    return Database.from_duckdb(connection, "orders", label="label", positive="yes")


def fitted(database, **options):
    return hb.C2RIBClassifier(database, **{"rounds": 3, "random_state": 0, **options}).fit(*database.examples())


def test_keys_of_64_bits_beside_a_missing_one_stay_exact():
    database = orders("UNION ALL SELECT 100, NULL, 'no'")
    X, y = database.examples()
    assert X["cid"].dtype == "Int64"
    assert X["cid"].tolist() == [*(BIG + i for i in range(100)), pd.NA]
    assert (fitted(database).predict(X) == y).all()
    explained = fitted(database).explain(X.tail(2)).to_json()
    assert json.loads(json.dumps(explained))[0]["keys"] == {"oid": 99}


def test_keys_that_became_floats_join_where_they_are_exact_and_are_refused_where_not():
    person = pd.DataFrame({"id": range(40), "friend": [i * 1.0 for i in range(39)] + [None], "label": ["a", "b"] * 20})
    house = pd.DataFrame({"person": range(40), "kind": ["x", "y"] * 20})
    links = [("house.person", "person.id"), ("person.friend", "person.id")]
    database = Database.from_frames(
        {"person": person, "house": house}, "person", key="id", label="label", foreign_keys=links
    )
    root = database.encode(person[["id", "friend"]])
    assert root.columns["friend"].values.tolist() == [*root.columns["id"].values.tolist()[:39], -1]
    with pytest.raises(
        DataError, match=r"keys beyond 2\^53 came as floats, which cannot tell them from their neighbours; pass them as"
    ):
        database.encode(person.assign(friend=float(BIG))[["id", "friend"]])
    wide = {"person": person.assign(friend=float(BIG)), "house": house}
    with pytest.raises(DataError, match=r"frames: table 'person', key column 'friend': keys beyond 2\^53"):
        Database.from_frames(wide, "person", key="id", label="label", foreign_keys=links)


@pytest.mark.parametrize("values", [pa.array([[1]] * 4), pa.array([b"a"] * 4), pa.array([1] * 4, pa.duration("s"))])
def test_rows_whose_keys_or_nominals_have_no_text_are_refused(values):
    table = pa.table({"k": ["a", "b", "c", "d"], "colour": ["r", "g", "r", "g"], "label": ["1", "0", "1", "0"]})
    database = Database.from_frames({"t": table}, "t", key="k", label="label")
    for name in ("k", "colour"):
        with pytest.raises(DataError, match=r"cannot be keys|are no text"):
            database.encode(table.drop(["label"]).set_column(["k", "colour"].index(name), name, values))


def times(kind, expression, zone=None):
    """Rows whose label changes at a moment of a column of the target, and of a table behind it."""
    connection = duckdb.connect()
    if zone is not None:
        connection.execute(f"SET TimeZone = '{zone}'")
    label = "CASE WHEN i < 50 THEN 'yes' ELSE 'no' END"
    connection.execute(
        f"CREATE TABLE t AS SELECT i AS id, ({expression})::{kind} AS w, {label} AS label FROM range(100) r(i)"
    )
    return connection, Database.from_duckdb(connection, "t", key="id", label="label", positive="yes")


@pytest.mark.parametrize(
    "start",
    ["2024-02-01 10:00:00", "1700-01-01 00:00:00.000001", "1969-12-31 23:59:59.999950", "2253-12-31 23:59:59.999997"],
)
def test_timestamps_come_back_to_the_microsecond_and_so_do_thresholds(start, tmp_path):
    connection, database = times("TIMESTAMP", f"TIMESTAMP '{start}' + i * INTERVAL 1 microsecond")
    X, y = database.examples()
    stored = connection.sql("SELECT w FROM t ORDER BY id").to_arrow_table()["w"]
    assert pa.array(X["w"]).cast(pa.timestamp("us")).equals(stored.combine_chunks())
    model = fitted(database)
    assert (model.predict(X) == y).all()
    model.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json", database)
    assert loaded.decision_function(X).tolist() == model.decision_function(X).tolist()
    bound = next(test for rule in model.rules_ for test in rule.clause.root.tests)
    assert exact_moment(bound.value) in stored.cast(pa.int64()).to_pylist()


def test_a_time_with_a_zone_is_an_instant_whatever_the_zone_of_the_session():
    found = []
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        _, database = times("TIMESTAMPTZ", "TIMESTAMPTZ '2024-03-01 00:00:00+00' + i * INTERVAL 1 hour", zone)
        X, _ = database.examples()
        found.append((X["w"].tolist(), [str(rule) for rule in fitted(database).rules_]))
        assert X["w"].iloc[0] == pd.Timestamp("2024-03-01")
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("infinity", "infinity"),
        ("-infinity", "-infinity"),
        ("12020-01-01", "12020-01-01"),
        ("0044-03-15 (BC)", "-0043-03-15"),
    ],
)
def test_moments_beyond_four_digits_of_years_are_learned_saved_and_loaded(kind, value, text, tmp_path):
    _, database = times(kind, f"CASE WHEN i < 50 THEN '{value}' ELSE '2020-01-01' END")
    X, y = database.examples()
    model = fitted(database)
    assert (model.predict(X) == y).all()
    assert f'"{text}"' in str(model.rules_)
    model.save(tmp_path / "m.json")
    assert (hb.load(tmp_path / "m.json", database).predict(X) == y).all()
    resumed = fitted(database, checkpoint=tmp_path / "c.json")
    assert fitted(database, checkpoint=tmp_path / "c.json").rules_ == resumed.rules_ == model.rules_


def test_infinite_thresholds_are_kept_by_models_and_checkpoints(tmp_path):
    X, y = (
        pd.DataFrame({"x": np.where(np.arange(60) % 2, np.inf, 1.0), "z": np.where(np.arange(60) % 2, 1.0, -np.inf)}),
        np.arange(60) % 2,
    )
    for column, printed in (("x", "x>=inf"), ("z", "z<=-inf")):
        rows = X[[column]]
        settings = {"rounds": 3, "random_state": 0, "checkpoint": tmp_path / f"{column}.json"}
        model = hb.C2RIBClassifier(**settings).fit(rows, y if column == "x" else 1 - y)
        assert printed in str(model.rules_)
        assert hb.C2RIBClassifier(**settings).fit(rows, y if column == "x" else 1 - y).rules_ == model.rules_
        model.save(tmp_path / "m.json")
        assert (hb.load(tmp_path / "m.json").predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("step", ["1 microsecond", "1 hour", "1 day", "5 days"])
def test_intervals_of_times_leave_no_time_out(step):
    _, database = times("TIMESTAMP", f"TIMESTAMP '2024-02-01 22:00:00' + i * INTERVAL {step}")
    column = database.tables["t"].columns["w"]
    levels, ranks = numbered(column.numbers, 100)
    cut, conditions = cut_of("t", column, levels, np.bincount(ranks).astype(float), 4, 1, [])
    codes = cut.held(column) - 1
    assert len(conditions) == 4
    assert np.bincount(codes, minlength=4).min() >= 12
    for code, tests in enumerate(conditions):
        text = ", ".join(map(str, tests))
        covered = database.covers(hb.Clause.parse(f'label="yes" :- t({text}).'))
        assert covered[codes == code].all()


def test_a_model_carries_the_types_it_was_learned_from_and_older_files_without_them_load(tmp_path):
    database = orders()
    fitted(database).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    stored = {column["name"]: column["stored"] for columns in content["model"]["schema"].values() for column in columns}
    assert stored == {"oid": "integer", "cid": "integer", "kind": "text"}
    for columns in content["model"]["schema"].values():
        for column in columns:
            del column["stored"]
    (tmp_path / "old.json").write_bytes(seal.sealed("model", 1, content["model"]))
    X, y = database.examples()
    assert (hb.load(tmp_path / "old.json", database).predict(X) == y).all()
