"""Examples are (entity, time): one entity many times, each with its own past, wherever examples go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hornboost as hb
from hornboost.data import parse_schema

CUSTOMERS, MONTHS = 12, 5
SCHEMA = """
[target]
table = "snapshot"
key = "customer"
label = "stays"
positive = "yes"
time = "day"

[[task]]
name = "later"
table = "snapshot"
key = "customer"
label = "stays"
time = "checked"

[[task]]
name = "timeless"
table = "snapshot"
key = "customer"
label = "stays"
exclude_tables = ["order"]

[tables.snapshot]
primary_key = ["customer", "day"]
columns = [
  { name = "customer", type = "key" },
  { name = "day", type = "date" },
  { name = "checked", type = "date" },
  { name = "stays", type = "nominal" },
]

[tables.order]
time = "date"
known_later = { returned = ["reason"] }
columns = [
  { name = "customer", type = "key" },
  { name = "date", type = "date" },
  { name = "amount", type = "numeric" },
  { name = "returned", type = "date" },
  { name = "reason", type = "nominal" },
]

[[foreign_keys]]
from = "order.customer"
to = "snapshot.customer"
"""


def tables() -> dict[str, pd.DataFrame]:
    """Twelve customers on the first days of five months; each orders in one month, and stays after it."""
    snapshots = [(c, m) for c in range(CUSTOMERS) for m in range(MONTHS)]
    start = [pd.Timestamp(2024, 1 + m, 1) for m in range(MONTHS)]
    ordered = {c: c % MONTHS for c in range(CUSTOMERS)}
    snapshot = pd.DataFrame(
        {
            "customer": [c for c, _ in snapshots],
            "day": [start[m] for _, m in snapshots],
            "checked": [start[m] + pd.Timedelta(days=40) for _, m in snapshots],
            "stays": ["yes" if ordered[c] < m else "no" for c, m in snapshots],
        }
    )
    order = pd.DataFrame(
        {
            "customer": list(ordered),
            "date": [start[m] for m in ordered.values()],
            "amount": [10.0 + c % 3 for c in ordered],
            "returned": [start[m] + pd.Timedelta(days=40) for m in ordered.values()],
            "reason": ["broken" if c % 2 else "late" for c in ordered],
        }
    )
    return {"snapshot": snapshot, "order": order}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, frame in tables().items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def test_a_schema_states_times_of_tables_and_tasks(folder: Path) -> None:
    db = hb.Database.from_folder(folder)
    assert db.times == {"snapshot": "day", "order": "date"}
    assert db.known_later == {"order": {"returned": ("reason",)}}
    assert hb.Database.from_folder(folder, "later").times == {"snapshot": "checked", "order": "date"}
    assert hb.Database.from_folder(folder, "timeless").times == {}
    again = parse_schema(db.to_schema_toml())
    assert again.tables == db.schema.tables
    assert again.target == db.schema.target


def test_examples_of_a_file_of_their_own_have_cutoffs(folder: Path) -> None:
    tables()["snapshot"].head(3).to_csv(folder / "held.csv", index=False)
    (folder / "schema.toml").write_text(SCHEMA + '\n[[folds]]\nname = "held"\nfile = "held.csv"\n')
    db = hb.Database.from_folder(folder)
    X, _ = db.examples(held_out="held")
    assert X["day"].tolist() == tables()["snapshot"]["day"].head(3).tolist()
    assert db.encode(X).times is not None


def test_options_stand_before_the_schema(folder: Path) -> None:
    db = hb.Database.from_folder(folder, times={"snapshot": "checked"}, known_later={"order": {}})
    assert db.times == {"snapshot": "checked", "order": "date"}
    assert db.known_later == {}


def test_a_task_without_a_cutoff_is_refused(folder: Path) -> None:
    (folder / "schema.toml").write_text(SCHEMA.replace('exclude_tables = ["order"]\n', ""))
    with pytest.raises(hb.HornBoostError, match="table 'order' has a time, but the target 'snapshot' has none"):
        hb.Database.from_folder(folder, "timeless")
    assert hb.Database.from_folder(folder).times == {"snapshot": "day", "order": "date"}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('time = "day"', 'time = "dey"', "the time of [target]: table 'snapshot' has no column 'dey'; did you mean"),
        ('time = "day"', 'time = "customer"', "'snapshot.customer' is a key, which says no time"),
        ('time = "day"', 'time = "stays"', "'snapshot.stays' is named both as the time and as the label"),
        ('time = "date"', "time = 3", "[tables.order]: the field 'time' is missing or no text"),
        ("returned = [", "date = [", "'date' is the time of the row itself"),
        ('{ returned = ["reason"] }', '"returned"', "'known_later' must be written as { column = [columns] }"),
        ('["reason"]', '["customer"]', "'order.customer' is a key, which cannot be filled in later"),
    ],
)
def test_a_schema_with_times_that_do_not_fit_is_refused(folder: Path, old: str, new: str, sentence: str) -> None:
    (folder / "schema.toml").write_text(SCHEMA.replace(old, new, 1))
    with pytest.raises(hb.HornBoostError) as error:
        hb.Database.from_folder(folder)
    assert sentence in str(error.value)
    assert "schema.toml" in str(error.value)


def test_snapshots_are_told_apart_where_examples_are_hashed(folder: Path) -> None:
    db = hb.Database.from_folder(folder)
    X, y = db.examples()
    model = hb.C2RIBClassifier(db, rounds=5, random_state=0)
    content = model._clause_training(X, y, None)[1].content
    assert len(set(content.tolist())) == len(X)


def test_a_primary_key_of_entity_and_time_is_checked(folder: Path) -> None:
    assert hb.Database.from_folder(folder).example_rows.size == CUSTOMERS * MONTHS
    frame = tables()["snapshot"]
    pd.concat([frame, frame.iloc[[3]]]).to_csv(folder / "snapshot.csv", index=False)
    with pytest.raises(hb.HornBoostError, match=r"primary key 'customer, day': the value '0, .*' occurs twice"):
        hb.Database.from_folder(folder)


def test_predictions_and_explanations_name_entity_and_time(run: Any, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    assert run("fit", folder, "-o", model, "--rounds", 5, "--estimator", "c2rib").code == 0
    rows = [line.split(",") for line in run("predict", model, folder).out.splitlines()]
    assert rows[0][:2] == ["customer", "day"]
    assert len({(row[0], row[1]) for row in rows[1:]}) == CUSTOMERS * MONTHS
    assert [row[-1] for row in rows[1:]] == tables()["snapshot"]["stays"].tolist()
    db = hb.Database.from_folder(folder)
    told = hb.load(model, db).explain(db.examples()[0].head(2))
    assert [one.keys for one in told] == [
        {"customer": 0, "day": "2024-01-01"},
        {"customer": 0, "day": "2024-02-01"},
    ]
    found = run("explain", model, folder, "--key", "3,2024-02-01", "--json")
    assert json.loads(found.out)[0]["keys"] == {"customer": 3, "day": "2024-02-01"}


def test_a_report_is_written_of_snapshots(run: Any, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    assert run("fit", folder, "-o", model, "--rounds", 3, "--estimator", "c2rib").code == 0
    found = run("report", model, "--data", folder, "-o", tmp_path / "r.html", "--cv", 2, "--examples", 5)
    assert found.code == 0, found.err


def test_a_checkpoint_belongs_to_its_times(folder: Path, tmp_path: Path) -> None:
    db = hb.Database.from_folder(folder)
    X, y = db.examples()
    settings: dict[str, Any] = {"rounds": 2, "random_state": 0, "checkpoint": tmp_path / "fit.ckpt"}
    hb.C2RIBClassifier(db, **settings).fit(X, y)
    hb.C2RIBClassifier(db, **settings).fit(X, y)
    other = hb.Database.from_folder(folder, known_later={"order": {}})
    with pytest.raises(hb.HornBoostError, match="of other data or other settings"):
        hb.C2RIBClassifier(other, **settings).fit(X, y)
    with pytest.raises(hb.HornBoostError, match="of other data or other settings"):
        hb.C2RIBClassifier(db, **settings).fit(X.assign(day=X["day"] + pd.Timedelta(days=1)), y)


def test_a_single_table_keeps_its_cutoffs_and_late_columns(tmp_path: Path) -> None:
    n = 40
    granted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    frame = pd.DataFrame(
        {
            "granted": granted,
            "graded": granted + pd.to_timedelta(np.where(np.arange(n) % 2, 1, -1), unit="D"),
            "grade": np.where(np.arange(n) % 4 < 2, "A", "B"),
            "size": np.arange(n) % 3,
            "ok": np.where(np.arange(n) % 4 < 2, "yes", "no"),
        }
    )
    db = hb.Database.from_frames(
        {"loan": frame}, "loan", label="ok", times={"loan": "granted"}, known_later={"loan": {"graded": "grade"}}
    )
    X, y = db.examples()
    assert list(X.columns) == ["graded", "grade", "size", "granted"]
    model = hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json")
    assert loaded.model.times["loan"].column == "granted"
    assert (loaded.decision_function(X) == model.decision_function(X)).all()
    with pytest.raises(hb.HornBoostError, match="have no column 'granted', which says up to when each may look"):
        loaded.predict(X.drop(columns="granted"))


def test_a_single_table_is_learned_and_predicted_on_the_command_line(run: Any, tmp_path: Path) -> None:
    n = 40
    granted = (pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")).astype(str)
    frame = pd.DataFrame({"granted": granted, "size": np.arange(n) % 3, "ok": np.where(np.arange(n) % 3, "yes", "no")})
    frame.to_csv(tmp_path / "loan.csv", index=False)
    model = tmp_path / "model.json"
    told = run("fit", tmp_path / "loan.csv", "--label", "ok", "--time", "loan.granted", "-o", model, "--rounds", 3)
    assert told.code == 0, told.err
    rows = run("predict", model, tmp_path / "loan.csv").out.splitlines()
    assert rows[0].startswith("row,granted,")
    assert rows[1].startswith("1,2024-01-01,")


def test_each_snapshot_sees_its_own_past(folder: Path) -> None:
    db = hb.Database.from_folder(folder)
    X, y = db.examples()
    assert len(X) == CUSTOMERS * MONTHS
    model = hb.C2RIBClassifier(db, rounds=5, random_state=0).fit(X, y)
    assert (model.predict(X) == y).all()
    assert (model.predict(X.sample(frac=1, random_state=0)) == y.sample(frac=1, random_state=0)).all()
    later = model.predict(X.assign(day="2025-01-01"))
    assert set(later) == {"yes"}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_base_learners_of_scikit_see_neither_the_cutoff_nor_what_is_known_later(kind: str) -> None:
    n = 60
    granted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    frame = pd.DataFrame(
        {
            "granted": granted,
            "graded": granted + pd.Timedelta(days=1),
            "grade": np.where(np.arange(n) < n // 2, "A", "B"),
            "size": np.arange(n) % 3,
            "ok": np.where(np.arange(n) < n // 2, "yes", "no"),
        }
    )
    given = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}[kind]
    times: dict[str, Any] = {"times": {"loan": "granted"}, "known_later": {"loan": {"graded": ["grade"]}}}
    X, y = hb.Database.from_frames({"loan": given}, "loan", label="ok").examples()
    honest = hb.Database.from_frames({"loan": given}, "loan", label="ok", **times)
    blind = hb.AdaBoostM1Classifier(honest, base="stump", rounds=3, random_state=0).fit(X, y)
    assert blind._encoder.names == ["graded", "grade is missing", "size"]
    assert blind.score(X, y) < 0.6
    early = frame.assign(graded=granted - pd.Timedelta(days=1)).drop(columns="ok")
    honest = hb.Database.from_frames({"loan": early.assign(ok=frame["ok"])}, "loan", label="ok", **times)
    assert hb.AdaBoostM1Classifier(honest, base="stump", rounds=3, random_state=0).fit(early, y).score(early, y) == 1


def test_the_encoded_examples_hold_nothing_that_is_known_later() -> None:
    frame = pd.DataFrame(
        {"granted": [5, 5, 5], "graded": [4, 5, None], "grade": ["A", "B", "C"], "ok": ["y", "n", "y"]}
    )
    db = hb.Database.from_frames(
        {"loan": frame}, "loan", label="ok", times={"loan": "granted"}, known_later={"loan": {"graded": "grade"}}
    )
    examples = db.encode(db.examples()[0])
    assert examples.columns["grade"].missing.tolist() == [False, True, True]
    assert examples.columns["graded"].missing.tolist() == [False, True, True]


def test_aggregates_stand_beside_nothing_that_is_known_later() -> None:
    loan = pd.DataFrame({"loan": [1, 2], "granted": [5, 5], "graded": [4, 6], "grade": ["A", "B"], "ok": ["y", "n"]})
    item = pd.DataFrame({"loan": [1, 2, 2], "day": [3, 4, 5], "price": [1.0, 2.0, 3.0]})
    db = hb.Database.from_frames(
        {"loan": loan, "item": item},
        "loan",
        key="loan",
        label="ok",
        foreign_keys=[("item.loan", "loan.loan")],
        times={"loan": "granted", "item": "day"},
        known_later={"loan": {"graded": ["grade"]}},
    )
    X, _ = db.examples()
    found = hb.RelationalAggregates(db, functions=("count",)).fit_transform(X)
    assert found["count(item)"].tolist() == [1, 1]
    assert found["grade"].isna().tolist() == [False, True]
    assert found["graded"].isna().tolist() == [False, True]
    assert X["grade"].tolist() == ["A", "B"]
