"""Rules on aggregates are learned, predicted with, explained, saved, drawn and written as SQL."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.aggregates import choice, reached
from hornboost.aggregates.choice import AggregateChoice
from hornboost.engine import Visible
from hornboost.engine.tree import clause_tree
from hornboost.errors import HornBoostError
from hornboost.estimators.booster import Booster
from hornboost.logic.clause import Clause
from hornboost.model import seal
from hornboost.model.file import from_bytes, to_bytes
from hornboost.stopping import check


def shop(n: int = 200, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Customers who are good if their mean payment is large and they complained at most twice."""
    rng = np.random.default_rng(seed)
    customer = pd.DataFrame({"customer": np.arange(n), "age": rng.integers(18, 80, n)})
    paid = pd.DataFrame({"customer": rng.integers(0, n, 8 * n), "amount": rng.gamma(2.0, 50.0, 8 * n).round(2)})
    paid["way"] = rng.choice(["card", "cash", "it's"], len(paid))
    paid.loc[rng.random(len(paid)) < 0.1, "amount"] = np.nan
    letter = pd.DataFrame({"customer": rng.integers(0, n, 3 * n), "angry": rng.choice(["yes", "no"], 3 * n)})
    mean = paid.groupby("customer")["amount"].mean().reindex(customer["customer"]).to_numpy()
    count = letter[letter["angry"] == "yes"].groupby("customer").size().reindex(customer["customer"]).fillna(0)
    customer["good"] = np.where((np.nan_to_num(mean) >= 90) & (count.to_numpy() <= 2), "yes", "no")
    return {"customer": customer, "paid": paid, "letter": letter}


def database(frames: dict[str, pd.DataFrame]) -> hb.Database:
    links = [("paid.customer", "customer.customer"), ("letter.customer", "customer.customer")]
    return hb.Database.from_frames(
        frames, target="customer", key="customer", label="good", positive="yes", foreign_keys=links
    )


def test_aggregates_of_shared_keys_are_those_of_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    database = hb.datasets.skewed_pairs(500, related=4).database()
    rows = database.encode(database.examples()[0])
    examples = rows.take(np.r_[np.arange(500), np.arange(40)])  # some of them twice
    found = []
    for shared in (0, 10**9):
        monkeypatch.setattr(reached, "SHARED", shared)
        choice = AggregateChoice(database)
        given = choice.attached(reached.RowsReached(database, examples)).aggregates
        found.append(({name: column.values.tobytes() for name, column in given.items()}, choice.left_out))
    assert len(found[0][0]) > 100
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    return shop()


@pytest.fixture(scope="module")
def db(frames: dict[str, pd.DataFrame]) -> hb.Database:
    return database(frames)


@pytest.fixture(scope="module")
def fitted(db: hb.Database) -> hb.HornBoostClassifier:
    X, y = db.examples()
    return hb.HornBoostClassifier(db, rounds=8, max_literals=2, aggregates=True, random_state=0).fit(X, y)


def test_the_planted_aggregates_are_found(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    X, y = db.examples()
    assert fitted.score(X, y) > 0.98
    text = "\n".join(fitted.rules_frame()["rule"])
    assert "mean(paid.amount)>=" in text
    assert 'count(letter where angry="yes")<=2' in text


def test_without_aggregates_there_are_none(db: hb.Database) -> None:
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=5, max_literals=2, aggregates=False, random_state=0).fit(X, y)
    assert not any(rule.clause.aggregates for rule in clf.rules_)
    some = hb.HornBoostClassifier(db, rounds=5, max_literals=2, aggregates=["count"], random_state=0).fit(X, y)
    functions = {one.function for rule in some.rules_ for one in rule.clause.aggregates}
    assert functions == {"count"}


def test_cross_validation_chooses_with_or_without(db: hb.Database) -> None:
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=8, max_literals=2, max_depth=2, random_state=0).fit(X, y)
    assert clf.tuning_["aggregates"].tolist() == [True, False]
    assert clf.tuning_["chosen"].tolist() == [True, False]


def test_a_single_table_has_no_aggregates() -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = hb.HornBoostClassifier(rounds=3, aggregates=True).fit(X, y)
    assert not any(rule.clause.aggregates for rule in clf.rules_)


def test_an_unknown_function_is_refused(db: hb.Database) -> None:
    X, y = db.examples()
    with pytest.raises(HornBoostError, match="there is no aggregate 'men'; did you mean 'mean'"):
        hb.HornBoostClassifier(db, aggregates=["men"]).fit(X, y)


def test_a_path_to_no_more_rows_than_there_are_is_summed_up_unless_a_limit_is_set(
    db: hb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = db.examples()
    settings: dict[str, Any] = {"rounds": 2, "aggregates": True, "random_state": 0}
    assert "paid" in hb.HornBoostClassifier(db, max_entries=1000, **settings).fit(X, y).left_out_
    monkeypatch.setattr(Booster, "max_entries", 1000)
    assert db.n_rows > 1600  # which is what the path reaches
    assert "paid" not in hb.HornBoostClassifier(db, max_entries=1000, **settings).fit(X, y).left_out_


def test_what_is_left_out_is_told(frames: dict[str, pd.DataFrame]) -> None:
    from hornboost.cli.fit import about_limits

    paid = frames["paid"].assign(tiny=frames["paid"]["amount"] * 1e-9, huge=frames["paid"]["amount"] * 1e6)
    db = database({**frames, "paid": paid})
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=2, aggregates=True, max_entries=1000, random_state=0).fit(X, y)
    assert clf.left_out_["paid"] == "it reaches 1,600 rows, more than max_entries=1,000"
    assert "left out: paid (it reaches 1,600 rows" in about_limits(clf)[-1]
    told = hb.HornBoostClassifier(db, rounds=2, aggregates=True, random_state=0).fit(X, y).left_out_
    assert told["mean(paid.tiny)"] == "numbers of 'tiny' are too small to be added to nine digits"
    assert told["std(paid.huge)"] == "numbers of 'huge' are too large to be added exactly"
    assert "mean(paid.huge)" not in told


@pytest.mark.parametrize("room", [37, 38])
def test_aggregates_of_some_rows_that_there_is_no_room_to_look_for_are_told(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    db = hb.datasets.bank(100, transactions=5, seed=0).database()
    examples = db.tables["loan"]
    monkeypatch.setattr(choice, "MOST_CELLS", room * examples.n_rows)
    found = AggregateChoice(db)
    plain = len(list(found._plain(found._affordable(reached.RowsReached(db, examples)))))
    assert plain == 38
    found.attached(reached.RowsReached(db, examples))
    reason = f"there are more than {room} aggregates of so many examples"
    assert found.left_out['trans where operation="…"'] == reason
    assert set(found.left_out.values()) == {reason}
    assert ("std(trans.balance)" in found.left_out) is (room < plain)


def test_windows_that_there_is_no_room_to_look_for_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    db = hb.datasets.bank(100, transactions=5, seed=0, dated=True).database()
    examples = db.tables["loan"]
    monkeypatch.setattr(choice, "MOST_CELLS", examples.n_rows)
    found = AggregateChoice(db)
    found.attached(reached.RowsReached(db, examples))
    assert "trans where age<=…" in found.left_out
    assert not any(name.startswith("order where age") for name in found.left_out)


def test_rules_cover_what_their_text_says(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    _, y = db.examples()
    assert any(rule.clause.aggregates for rule in fitted.rules_)
    for rule in fitted.rules_:
        covered = db.covers(hb.Clause.parse(str(rule.clause)))
        assert [float((covered & (y == name)).sum()) for name in fitted.classes_] == list(rule.coverage)


def test_predictions_on_new_rows_look_at_their_own_aggregates(
    frames: dict[str, pd.DataFrame], fitted: hb.HornBoostClassifier, tmp_path: Path
) -> None:
    other = shop(60, seed=7)
    fitted.save(tmp_path / "model.json")
    db = database(other)
    X, y = db.examples()
    loaded = hb.load(tmp_path / "model.json", database=db)
    assert np.mean(loaded.predict(X) == y) > 0.9
    one_by_one = [loaded.decision_function(X.iloc[k : k + 1])[0] for k in range(5)]
    assert one_by_one == loaded.decision_function(X)[:5].tolist()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_the_sql_has_the_same_scores(
    db: hb.Database, frames: dict[str, pd.DataFrame], fitted: hb.HornBoostClassifier, dialect: str
) -> None:
    X, _ = db.examples()
    query = fitted.to_sql(dialect)
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
    found = {row[0]: row[1] for row in rows}
    assert [found[key] for key in X["customer"]] == fitted.decision_function(X).tolist()


def test_other_dialects_and_prolog(fitted: hb.HornBoostClassifier) -> None:
    for dialect in ("postgres", "spark", "bigquery"):
        assert "path_1" in fitted.to_sql(dialect)
    with pytest.raises(HornBoostError, match="has no form in Prolog"):
        fitted.to_prolog()
    with pytest.raises(HornBoostError, match="use to_sql of an estimator"):
        next(rule.clause for rule in fitted.rules_ if rule.clause.aggregates).to_sql()


def test_an_explanation_tells_the_value_and_the_number_of_rows(
    db: hb.Database, frames: dict[str, pd.DataFrame], fitted: hb.HornBoostClassifier
) -> None:
    X, _ = db.examples()
    seen = 0
    for key, one in zip(X["customer"].iloc[:20], fitted.explain(X.iloc[:20]), strict=True):
        rows = frames["paid"][frames["paid"]["customer"] == key]
        for witness in (witness for fired in one.fired for witness in fired.witnesses):
            if "mean(paid.amount)" in witness.row and witness.row["mean(paid.amount)"] is not None:
                assert witness.row["mean(paid.amount)"] == pytest.approx(rows["amount"].mean(), abs=1e-9)
                assert witness.behind["mean(paid.amount)"] == len(rows)
                assert f" of {len(rows)} row" in str(witness)
                seen += 1
    assert seen
    plain = json.loads(json.dumps(fitted.explain(X.iloc[:2]).to_json()))
    assert any("rows_behind" in witness for one in plain for fired in one["fired"] for witness in fired["witnesses"])


def test_a_rule_that_did_not_fire_tells_the_value_that_it_lacks(db: hb.Database) -> None:
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=1, max_literals=1, max_depth=2, aggregates=["mean"], random_state=0)
    missed = [missed for one in clf.fit(X, y).explain(X) for missed in one.missed]
    assert missed
    for one in missed:
        assert re.fullmatch(
            r"mean\(paid\.amount\)>=[\d.]+ does not hold: it is (missing|[\d.]+) of \d+ rows?", one.failed
        )


def test_numbers_are_predicted_by_aggregates(frames: dict[str, pd.DataFrame]) -> None:
    spent = frames["paid"].groupby("customer")["amount"].sum().reindex(frames["customer"]["customer"]).fillna(0)
    tables = {**frames, "customer": frames["customer"].drop(columns="good").assign(spent=spent.to_numpy())}
    links = [("paid.customer", "customer.customer"), ("letter.customer", "customer.customer")]
    db = hb.Database.from_frames(tables, target="customer", key="customer", label="spent", foreign_keys=links)
    X, y = db.examples()
    reg = hb.HornBoostRegressor(db, rounds=40, max_literals=1, aggregates=True, random_state=0).fit(X, y)
    assert reg.score(X, y) > 0.95
    assert "sum(paid.amount)" in str(reg.rules_[0].clause)
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register(name, frame)
        found = dict(row[:2] for row in connection.execute(reg.to_sql("duckdb")).fetchall())
    assert [found[key] for key in X["customer"]] == reg.predict(X).tolist()


def test_the_report_shows_them(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    from hornboost.report.cards import rule_lines
    from hornboost.report.schema_graph import Graph

    clause = next(rule.clause for rule in fitted.rules_ if "mean(paid.amount)" in str(rule.clause))
    assert any(name == "mean(paid.amount)" for line in rule_lines(clause) for name, _, _ in line.conditions)
    graph = Graph.of(db, [clause], {name: table.n_rows for name, table in db.tables.items()})
    assert "paid.customer = customer.customer: in 1 rule" in graph.sentences()
    assert graph.columns["paid"] == {"amount": 1}


FORGED = [
    (("routes", "paid"), [["customer", "paid", "amount"]], "joins columns that are no keys"),
    (("routes", "paid"), [["customer", "nowhere", "customer"]], "has no path"),
    (("routes", "paid"), [], "has no path"),
    (("routes", "paid"), [["customer", "paid"]], "does not hold 3 values"),
    (("routes",), {}, "has no path"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED)
def test_a_forged_route_is_refused(
    fitted: hb.HornBoostClassifier, place: tuple[str, ...], value: Any, message: str
) -> None:
    content = json.loads(to_bytes(fitted._saved()))
    part = content["model"]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(HornBoostError, match=message):
        from_bytes(sealed(content), "model.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mean(paid.amount)", "mean(paid.nothing)", "names a column that the schema does not hold"),
        ("mean(paid.amount)", "mean(paid.way)", "looks at a column that is nominal"),
        ("mean(paid.amount)", "men(paid.amount)", "there is no aggregate 'men'"),
        ("mean(paid.amount)", "mean(elsewhere.amount)", "has no path"),
        ('angry="yes"', 'nothing="yes"', "names a column that the schema does not hold"),
    ],
)
def test_a_forged_aggregate_is_refused(fitted: hb.HornBoostClassifier, old: str, new: str, message: str) -> None:
    content = json.loads(to_bytes(fitted._saved()))
    for rule in content["model"]["rules"]:
        rule["clause"] = rule["clause"].replace(old, new)
    with pytest.raises(HornBoostError, match=message):
        from_bytes(sealed(content), "model.json")


def sealed(content: dict[str, Any]) -> bytes:
    """The content with a checksum that fits."""
    unsigned = {name: value for name, value in content.items() if name != "checksum"}
    return json.dumps({**unsigned, "checksum": seal.digest(unsigned)}).encode()


def test_a_database_with_further_foreign_keys_is_read_by_those_of_the_model(
    frames: dict[str, pd.DataFrame], fitted: hb.HornBoostClassifier, db: hb.Database, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model.json")
    X, _ = db.examples()
    other = np.roll(frames["paid"]["customer"], 1)
    second = {**frames, "paid": frames["paid"].assign(other=other)}
    links = [(f"paid.{name}", "customer.customer") for name in ("customer", "other")]
    links.append(("letter.customer", "customer.customer"))
    further = hb.Database.from_frames(
        second, target="customer", key="customer", label="good", positive="yes", foreign_keys=links
    )
    loaded = hb.load(tmp_path / "model.json", database=further)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


def test_a_checkpoint_goes_on_to_the_same_model(
    db: hb.Database, fitted: hb.HornBoostClassifier, tmp_path: Path
) -> None:
    X, y = db.examples()
    options: dict[str, Any] = {"max_literals": 2, "aggregates": True, "random_state": 0}
    path = tmp_path / "checkpoint.json"
    hb.HornBoostClassifier(db, rounds=4, checkpoint=path, **options).fit(X, y)
    gone_on = hb.HornBoostClassifier(db, rounds=8, checkpoint=path, **options).fit(X, y)
    assert gone_on.ensemble_.rules == fitted.ensemble_.rules


def test_the_same_bytes_from_any_number_of_threads(db: hb.Database, fitted: hb.HornBoostClassifier) -> None:
    X, y = db.examples()
    again = hb.HornBoostClassifier(db, rounds=8, max_literals=2, aggregates=True, random_state=0, n_jobs=2).fit(X, y)
    assert to_bytes(again._saved()) == to_bytes(fitted._saved())


def test_early_stopping_and_eval_sets_see_aggregates(db: hb.Database) -> None:
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=8, max_literals=2, aggregates=True, early_stopping=3, random_state=0)
    clf.fit(X, y, eval_set=(X.iloc[:50], y.iloc[:50]))
    assert any(rule.clause.aggregates for rule in clf.rules_)


def test_aggregates_are_left_out_where_the_time_is_too_short_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    db = hb.datasets.bank(60, transactions=5, seed=0).database()
    X, y = db.examples()

    def slow(*_: Any) -> Any:
        while True:
            check()

    monkeypatch.setattr(AggregateChoice, "attached", slow)
    started = time.monotonic()
    clf = hb.HornBoostClassifier(db, rounds=10**6, aggregates=True, time_limit=3.0, random_state=0).fit(X, y)
    assert time.monotonic() - started < 20
    assert clf.left_out_["aggregates"] == "the time limit was reached before they were computed"
    assert clf.rules_


def test_rules_about_single_rows_are_found_beside_aggregates_that_gain_more_alone() -> None:
    db = hb.datasets.trains(800, seed=0).database()
    X, y = db.examples()
    settings: dict[str, Any] = {"rounds": 20, "max_literals": 3, "max_depth": 2, "min_gain": 4.0, "constants": False}
    clf = hb.HornBoostClassifier(db, **settings, aggregates=True, random_state=0).fit(X[:400], y[:400])
    assert clf.rules_[0].clause.aggregates == ()
    assert clf.score(X[400:], y[400:]) > 0.95  # 0.82 where aggregates are always in sight


def test_a_clause_is_in_sight_where_all_of_its_conditions_are() -> None:
    rows = Visible(frozenset({("paid", "amount")}), frozenset({"paid"}))
    mean = Clause.parse('gone="1" :- customer(customer=C, mean(paid.amount)>=3), paid(customer=C, amount>=2).')
    row = Clause.parse('gone="1" :- customer(customer=C), paid(customer=C, amount>=2).')
    other = Clause.parse('gone="1" :- customer(customer=C), paid(customer=C, kind="x").')
    assert [rows.shows(clause_tree(clause)[0]) for clause in (mean, row, other)] == [False, True, False]
    assert replace(rows, aggregates=True).shows(clause_tree(mean)[0])
