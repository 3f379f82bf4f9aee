"""Windows, last values and ages are learned from what examples see, and mean the same everywhere."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.aggregates.choice import AggregateChoice
from hornboost.aggregates.meaning import Paths
from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.reached import RowsReached
from hornboost.aggregates.windows import windows
from hornboost.errors import HornBoostError
from hornboost.logic.aggregate import TableStep
from hornboost.model.file import from_bytes, to_bytes
from test_learned_aggregates import sealed

TIMES = {"customer": "asked", "letter": "day"}
ASKED = pd.to_datetime(["2024-03-01", "2024-06-01", "2024-09-01"])


def letters(n: int = 150, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Customers at three times each, who leave if they complained twice within 30 days."""
    rng = np.random.default_rng(seed)
    customer = pd.DataFrame({"customer": np.repeat(np.arange(n), 3), "asked": np.tile(ASKED, n)})
    size = 40 * n
    minutes = rng.integers(0, 400 * 24 * 60, size)
    letter = pd.DataFrame({"customer": rng.integers(0, n, size), "day": ASKED[0] - pd.Timedelta(days=180)})
    letter["day"] += pd.to_timedelta(minutes, unit="min")
    letter["tone"] = rng.choice(["angry", "kind", "plain"], size, p=[0.3, 0.4, 0.3])
    letter["length"] = rng.gamma(2.0, 100.0, size).round(1)
    pairs = customer.reset_index().merge(letter, on="customer")
    recent = pairs[(pairs["day"] < pairs["asked"]) & (pairs["asked"] - pairs["day"] <= pd.Timedelta(days=30))]
    angry = recent[recent["tone"] == "angry"].groupby("index").size().reindex(customer.index).fillna(0)
    customer["leaves"] = np.where(angry >= 2, "yes", "no")
    return {"customer": customer, "letter": letter}


def database(frames: dict[str, pd.DataFrame], **options: Any) -> hb.Database:
    keys = {name: {"customer": "customer"} for name in frames}
    given: dict[str, Any] = {"times": TIMES, **options}
    return hb.Database.from_frames(
        frames, target="customer", label="leaves", positive="yes", keys=keys, foreign_keys=[], **given
    )


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    return letters()


@pytest.fixture(scope="module")
def db(frames: dict[str, pd.DataFrame]) -> hb.Database:
    return database(frames)


@pytest.fixture(scope="module")
def fitted(db: hb.Database) -> hb.HornBoostClassifier:
    X, y = db.examples()
    return hb.HornBoostClassifier(db, rounds=6, max_literals=2, max_depth=1, aggregates=True, random_state=0).fit(X, y)


def path_of(db: hb.Database) -> TablePath:
    return Paths.of(db).meant([TableStep("letter")])


def test_a_planted_window_is_found(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    X, y = db.examples()
    assert fitted.score(X, y) == 1.0
    assert 'count(letter where tone="angry", age<=30d)>=2' in str(fitted.rules_[0].clause)


def test_few_round_lengths_are_chosen_from_what_the_examples_see(db: hb.Database) -> None:
    examples = db.encode(db.examples()[0])
    found = windows(RowsReached(db, examples), path_of(db))
    assert found == [("age", "7d"), ("age", "30d"), ("age", "90d")]
    assert windows(RowsReached(db, examples), path_of(db), 2) == [("age", "7d"), ("age", "90d")]
    twice = db.encode(pd.concat([db.examples()[0]] * 2))
    assert windows(RowsReached(db, twice), path_of(db)) == found


def test_lengths_of_times_that_are_numbers_are_round_as_well(frames: dict[str, pd.DataFrame]) -> None:
    start = pd.Timestamp("2023-01-01")
    numbers = {
        "customer": frames["customer"].assign(asked=(frames["customer"]["asked"] - start).dt.days),
        "letter": frames["letter"].assign(day=(frames["letter"]["day"] - start) / pd.Timedelta(days=1)),
    }
    db = database(numbers)
    found = windows(RowsReached(db, db.encode(db.examples()[0])), path_of(db))
    assert len(found) == 4
    assert {age for age, _ in found} == {"age"}
    assert all(re.fullmatch(r"[125]e[+-]\d+", f"{length:.0e}") for _, length in found)


def test_what_comes_after_the_cutoffs_changes_nothing(
    frames: dict[str, pd.DataFrame], db: hb.Database, fitted: hb.HornBoostClassifier
) -> None:
    letter = frames["letter"]
    later = letter[letter["day"] >= ASKED[-1]]
    assert len(later) > 100
    other = later.assign(tone="angry", length=later["length"] * 7, day=later["day"] + pd.Timedelta(days=900))
    changed = database({**frames, "letter": pd.concat([letter.drop(later.index), other, other])})
    gone = database({**frames, "letter": letter.drop(later.index)})
    for one in (changed, gone):
        X, y = one.examples()
        options = fitted.get_params() | {"database": one}
        again = hb.HornBoostClassifier(**options).fit(X, y)
        assert [str(rule.clause) for rule in again.rules_] == [str(rule.clause) for rule in fitted.rules_]
        assert again.decision_function(X).tolist() == fitted.decision_function(X).tolist()


def test_the_same_bytes_from_any_number_of_threads(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    X, y = db.examples()
    again = hb.HornBoostClassifier(**(fitted.get_params() | {"n_jobs": 2})).fit(X, y)
    assert to_bytes(again._saved()) == to_bytes(fitted._saved())


@pytest.fixture(scope="module")
def varied(db: hb.Database) -> hb.HornBoostClassifier:
    """Rules on ages, last values and numbers within windows, learned from labels that these decide."""
    X, y = db.examples()
    given = AggregateChoice(db).attached(RowsReached(db, db.encode(X))).aggregates
    column = {str(one): column for one, column in given.items()}
    assert column["min(letter.age)"].is_age
    young = column["min(letter.age)"].numbers < 3 * 86_400e6
    long = column["last(letter.length)"].numbers > 250
    many = column["sum(letter.length where age<=90d)"].numbers > 3000
    label = pd.Series(np.where(young ^ long | many, "yes", "no"), index=y.index)
    return hb.HornBoostClassifier(
        db, rounds=12, max_literals=2, max_depth=1, aggregates=["min", "last", "sum"], random_state=0
    ).fit(X, label)


def test_ages_and_last_values_are_learned(varied: hb.HornBoostClassifier) -> None:
    text = "\n".join(str(rule.clause) for rule in varied.rules_)
    assert re.search(r"min\(letter\.age\)[<>]=[0-9.]+(d|h|min|s)\b", text)
    assert "last(letter.length)" in text
    assert re.search(r"sum\(letter\.length where age<=\d+d\)", text)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_the_sql_has_the_same_scores(
    db: hb.Database, frames: dict[str, pd.DataFrame], varied: hb.HornBoostClassifier, dialect: str
) -> None:
    X, _ = db.examples()
    query = f'SELECT "customer", CAST("asked" AS TEXT), "score_of_yes" FROM ({varied.to_sql(dialect)})'
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            for name, frame in frames.items():
                connection.register(name, frame)
            rows = connection.execute(query).fetchall()
    else:
        with sqlite3.connect(":memory:") as connection:
            for name, frame in frames.items():
                frame.to_sql(name, connection, index=False)
            rows = connection.execute(query).fetchall()
    found = {(key, when[:10]): score for key, when, score in rows}
    keys = zip(X["customer"], X["asked"].dt.strftime("%Y-%m-%d"), strict=True)
    assert [found[key] for key in keys] == varied.decision_function(X).tolist()


def test_a_model_from_a_file_looks_at_the_same(
    db: hb.Database, frames: dict[str, pd.DataFrame], varied: hb.HornBoostClassifier, tmp_path: Path
) -> None:
    X, _ = db.examples()
    varied.save(tmp_path / "model.json")
    for one in (db, database(frames, times=None)):
        loaded = hb.load(tmp_path / "model.json", database=one)
        assert loaded.decision_function(X).tolist() == varied.decision_function(X).tolist()
    at_once = [varied.decision_function(X.iloc[k : k + 1])[0] for k in range(6)]
    assert at_once == varied.decision_function(X)[:6].tolist()


def test_explanations_tell_ages_and_the_number_of_rows_behind(
    db: hb.Database, frames: dict[str, pd.DataFrame], varied: hb.HornBoostClassifier
) -> None:
    X, _ = db.examples()
    seen = set()
    for (_, example), one in zip(X.iloc[:40].iterrows(), varied.explain(X.iloc[:40]), strict=True):
        rows = frames["letter"][frames["letter"]["customer"] == example["customer"]]
        rows = rows[rows["day"] < example["asked"]]
        ages = example["asked"] - rows["day"]
        for witness in (witness for fired in one.fired for witness in fired.witnesses):
            for name, value in witness.row.items():
                if name == "min(letter.age)" and value is not None:
                    seconds = ages.min().total_seconds()
                    unit = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}[str(value).lstrip("0123456789.")]
                    assert float(str(value).rstrip("dhmins")) * unit == seconds
                    assert f'{name}="' not in str(witness)
                elif name == "last(letter.length)" and value is not None:
                    assert value == rows["length"].iloc[ages.argmin()]
                if name in witness.behind and "where" not in name:
                    assert witness.behind[name] == len(rows)
                    seen.add(name)
                elif "age<=90d" in name:
                    assert witness.behind[name] == (ages <= pd.Timedelta(days=90)).sum()
                    seen.add(name)
    assert len(seen) >= 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("last(letter.length)", "last(letter.customer)", "looks at a column that is key"),
        ("min(letter.age)", "sum(letter.age)", "looks at a column that is age"),
        ("min(letter.age)", "min(letter.day)", "names a column that the schema does not hold"),
        ("where age<=90d", "where age<=90", "asks for a time that rows do not have"),
        ("where age<=90d", "where length<=90d", "asks for a time that rows do not have"),
    ],
)
def test_a_forged_window_is_refused(varied: hb.HornBoostClassifier, old: str, new: str, message: str) -> None:
    import json

    content = json.loads(to_bytes(varied._saved()))
    for rule in content["model"]["rules"]:
        rule["clause"] = rule["clause"].replace(old, new)
    with pytest.raises(HornBoostError, match=message):
        from_bytes(sealed(content), "model.json")


def test_the_report_draws_them(db: hb.Database, varied: hb.HornBoostClassifier) -> None:
    from hornboost.report.schema_graph import Graph

    clauses = [rule.clause for rule in varied.rules_]
    graph = Graph.of(db, clauses, {name: table.n_rows for name, table in db.tables.items()})
    assert any("customer.customer = letter.customer" in sentence for sentence in graph.sentences())
    assert {"length", "age"} <= graph.columns["letter"].keys()
