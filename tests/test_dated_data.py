"""The bank with dates and the customers who churn: what is planted in them, and that learners find it."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import hornboost as hb
from hornboost.datasets import Generated, bank, churn, write_bank
from hornboost.errors import DataError

RECENT = """EXISTS (FROM trans x WHERE x.account_id = t.account_id AND x.operation = 'withdrawal' AND x.amount >= 3000
                    AND x.date < t.granted AND t.granted - x.date <= 90)"""
RISKY = f"""{RECENT}
    OR EXISTS (FROM "order" o WHERE o.account_id = t.account_id AND o.amount BETWEEN 5000 AND 6500)
    OR EXISTS (FROM disp d JOIN client c ON c.client_id = d.client_id
               WHERE d.account_id = t.account_id AND d.type = 'disponent' AND c.age <= 40)"""
LEAVING = """
    EXISTS (FROM ticket x WHERE x.customer_id = t.customer_id AND x.kind = 'delivery'
            AND x.opened < t.taken AND t.taken - x.opened <= 60)
    OR EXISTS (FROM visit x WHERE x.customer_id = t.customer_id AND x.page = 'cancel' AND x.minutes >= 4
               AND x.visited < t.taken AND t.taken - x.visited <= 30)
    OR (SELECT count(*) FROM purchase x WHERE x.customer_id = t.customer_id
        AND x.bought < t.taken AND t.taken - x.bought <= 90) <= 1"""


def by_hand(data: Generated, condition: str) -> np.ndarray:
    """Whether a condition on the target's row t holds, in the order of the target table."""
    key = data.plan.key[0]
    with duckdb.connect() as connection:
        for name, table in data.tables.items():
            connection.register(name, table)
        found = connection.execute(f"SELECT {condition} AS holds FROM {data.plan.target} t ORDER BY t.{key}")
        return found.fetchnumpy()["holds"].astype(bool)


def test_without_dates_the_bank_is_what_it_was() -> None:
    digest = hashlib.sha256()
    data = bank(6000, transactions=4, noise=0.1, seed=3)
    for name in sorted(data.tables):
        for column in data.tables[name].itercolumns():
            digest.update("\n".join(map(str, column.to_pylist())).encode())
    assert digest.hexdigest() == "5b02f20973ee7170d3ea83c5d83678f8d3934285c863c25598d06f1b2c9e69f1"


@pytest.mark.parametrize("seed", [0, 1])
def test_the_labels_of_the_dated_bank_are_those_of_its_rules(seed: int) -> None:
    data = bank(1500, transactions=20, dated=True, seed=seed)
    assert np.array_equal(data.labels, by_hand(data, RISKY))
    assert 0.45 <= data.labels.mean() <= 0.6
    assert 0.2 <= by_hand(data, RECENT).mean() <= 0.35
    noisy = bank(1500, transactions=20, noise=0.1, dated=True, seed=seed)
    assert (noisy.labels != by_hand(noisy, RISKY)).sum() == 150


def test_what_comes_after_a_loan_misleads_or_tells_the_outcome() -> None:
    data = bank(1500, transactions=20, dated=True, seed=2)
    any_time = "EXISTS (FROM trans x WHERE x.account_id = t.account_id AND operation = 'withdrawal' AND amount >= 3000)"
    on_the_day = any_time.replace("amount", "x.date = t.granted AND amount")
    told = "EXISTS (FROM reminder r WHERE r.account_id = t.account_id AND r.level = 'final'{})"
    closed = "EXISTS (FROM card c WHERE c.account_id = t.account_id AND c.reason = 'default'{})"
    withdrawn, boundary = by_hand(data, any_time), by_hand(data, on_the_day)
    assert withdrawn[~data.labels].mean() > withdrawn[data.labels].mean()
    assert boundary[~data.labels].mean() > 0.1 > 2 * boundary[data.labels].mean()
    assert (by_hand(data, told.format("")) == data.labels).mean() > 0.95
    assert not by_hand(data, told.format(" AND r.sent < t.granted")).any()
    defaulted = by_hand(data, closed.format(""))
    assert defaulted[data.labels].mean() > 0.3
    assert not defaulted[~data.labels].any()
    assert not by_hand(data, closed.format(" AND c.closed < t.granted")).any()


def test_what_comes_before_a_loan_tells_only_what_the_rules_say() -> None:
    data = bank(6000, transactions=3, dated=True, seed=2)
    others = ~by_hand(data, RISKY.split("\n    OR", 1)[0])
    for condition in (
        "EXISTS (FROM card c WHERE c.account_id = t.account_id AND c.issued < t.granted AND c.closed < t.granted)",
        "EXISTS (FROM reminder r WHERE r.account_id = t.account_id AND r.sent < t.granted)",
        "EXISTS (FROM contact c WHERE c.account_id = t.account_id AND c.date < t.granted)",
    ):
        holds = by_hand(data, condition)
        assert abs(holds[data.labels & others].mean() - holds[~data.labels].mean()) < 0.04


def test_a_dated_bank_written_in_chunks_equals_the_one_in_memory(tmp_path: Path) -> None:
    options = {"transactions": 3, "noise": 0.05, "seed": 7, "dated": True, "distractors": 5}
    folder, data = write_bank(tmp_path, 6000, **options), bank(6000, **options)
    for name, table in data.tables.items():
        assert pq.read_table(folder / f"{name}.parquet").equals(table.combine_chunks())
        (key,) = data.plan.primary_keys[name]
        assert len(table[key].unique()) == table.num_rows, name
        assert list(table.column_names) == list(data.plan.tables[name])
    schema = tomllib.loads((folder / "schema.toml").read_text(encoding="utf-8"))
    assert schema["tables"]["card"]["known_later"] == {"closed": ["reason"]}
    db = hb.Database.from_folder(folder)
    assert db.times == data.plan.times == data.database().times
    assert db.known_later == data.plan.known_later
    assert db.warnings == ()
    assert hb.Database.from_folder(data.write(tmp_path / "plain", times=False)).times == {}
    assert data.database(times=False).times == {}


def test_distractors_are_columns_of_the_dated_bank_only() -> None:
    data = bank(50, transactions=3, dated=True, distractors=50)
    noise = [column for table in data.tables.values() for column in table.column_names if column.startswith("noise_")]
    assert len(noise) == len(set(noise)) == 50
    for wrong in (lambda: bank(5, distractors=3), lambda: bank(5, dated=True, distractors=-1)):
        with pytest.raises(DataError, match="The 'distractors' parameter of bank must be an int in"):
            wrong()


@pytest.mark.parametrize("options", [{"dated": True}, {"dated": True, "distractors": 20}])
def test_the_dated_database_covers_by_the_rules_what_is_labelled(options: dict[str, Any], tmp_path: Path) -> None:
    data = bank(800, transactions=12, seed=4, **options)
    for db in (data.database(), hb.Database.from_folder(data.write(tmp_path))):
        covered = [db.covers(hb.Clause.parse(rule)) for rule in data.rules]
        assert np.array_equal(np.logical_or.reduce(covered), data.labels)
        assert np.array_equal(covered[0], by_hand(data, RECENT))


@pytest.mark.parametrize(
    "learner",
    [
        lambda db: hb.C2RIBClassifier(db, rounds=30, random_state=3),
        lambda db: hb.HornBoostClassifier(db, random_state=0),
    ],
    ids=["C2RIB", "HornBoost"],
)
def test_the_planted_rule_is_found_with_its_window_among_50_distractors_and_the_leak_is_not_used(learner: Any) -> None:
    data = bank(1000, transactions=20, dated=True, distractors=50, seed=1)
    db = data.database()
    X, y = db.examples()
    ((train, test),) = db.folds(time="2004-06-01")
    model = learner(db).fit(X.iloc[train], y.iloc[train])
    planted = {(test.column, test.op, test.value) for test in hb.Clause.parse(data.rules[0]).body[1].tests}
    assert planted == {("operation", "=", "withdrawal"), ("amount", ">=", 3000.0), ("age", "<=", "90d")}
    found = [{(test.column, test.op, test.value) for test in rule.clause.body[-1].tests} for rule in model.rules_]
    assert planted in found
    assert model.score(X.iloc[test], y.iloc[test]) >= 0.97
    assert not any(leak in str(rule.clause) for rule in model.rules_ for leak in ('level="final"', 'reason="default"'))


def test_the_leak_is_the_first_thing_that_is_learned_where_no_times_are_declared() -> None:
    db = bank(1000, transactions=20, dated=True, seed=1).database(times=False)
    model = hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(*db.examples())
    assert 'reminder(account_id=A, level="final")' in str(model.rules_[0].clause)


def test_customers_churn_by_the_rules_and_buy_nothing_then() -> None:
    data = churn(500, seed=1)
    snapshot = data.tables["snapshot"].to_pandas()
    told = by_hand(data, LEAVING)
    later = snapshot["taken"] > np.sort(snapshot["taken"].unique())[2]
    assert np.array_equal(data.labels[later], told[later])
    assert not (told & ~data.labels).any()
    old_prices = """EXISTS (FROM customer c JOIN visit v ON v.customer_id = c.customer_id
        WHERE c.customer_id = t.customer_id AND c.plan = 'basic' AND v.page = 'offers'
        AND v.visited < t.taken AND t.taken - v.visited <= 30)"""
    assert np.array_equal(data.labels[~later], (told | by_hand(data, old_prices))[~later])
    buys = """EXISTS (FROM purchase p WHERE p.customer_id = t.customer_id
        AND p.bought >= t.taken AND p.bought < t.taken + 90)"""
    assert np.array_equal(data.labels, ~by_hand(data, buys))
    covered = [data.database().covers(hb.Clause.parse(rule)) for rule in data.rules]
    assert np.array_equal(np.logical_or.reduce(covered), told)


def test_a_customer_has_snapshots_until_the_last_or_leaving() -> None:
    snapshot = churn(300, snapshots=5, noise=0.05, seed=2).tables["snapshot"].to_pandas()
    of_customer = snapshot.sort_values("taken").groupby("customer_id")["churned"].apply(list)
    assert len(of_customer) == 300
    assert all("1" not in labels[:-1] and (len(labels) == 5 or labels[-1] == "1") for labels in of_customer)
    assert of_customer.map(len).max() == 5
    assert (snapshot.groupby("customer_id")["taken"].nunique() == of_customer.map(len)).all()


def test_what_tells_that_a_customer_left_comes_after_the_snapshot() -> None:
    data = churn(400, seed=3)
    tables = {name: table.to_pandas() for name, table in data.tables.items()}
    last = tables["snapshot"].sort_values("taken").drop_duplicates("customer_id", keep="last").set_index("customer_id")
    survey, ticket = tables["survey"], tables["ticket"].query("outcome == 'given up'")
    assert len(survey) > 100
    assert len(ticket) > 30
    assert (survey["sent"].to_numpy() > last["taken"].loc[survey["customer_id"]].to_numpy()).all()
    assert (ticket["closed"].to_numpy() > last["taken"].loc[ticket["customer_id"]].to_numpy()).all()
    assert (last["churned"].loc[survey["customer_id"]] == "1").all()


def test_the_customers_have_sound_keys_and_the_same_seed_gives_the_same(tmp_path: Path) -> None:
    data, again, other = churn(100, seed=5), churn(100, seed=5), churn(100, seed=6)
    assert all(table.equals(again.tables[name]) for name, table in data.tables.items())
    assert not any(table.equals(other.tables[name]) for name, table in data.tables.items())
    assert {name: list(table.column_names) for name, table in data.tables.items()} == {
        name: list(columns) for name, columns in data.plan.tables.items()
    }
    frames = {name: table.to_pandas() for name, table in data.tables.items()}
    for name, columns in data.plan.primary_keys.items():
        assert not frames[name].duplicated(list(columns)).any()
    db = hb.Database.from_folder(data.write(tmp_path))
    assert db.times == data.plan.times
    assert db.known_later == data.plan.known_later
    assert db.warnings == data.database().warnings == ()
    assert pd.api.types.is_datetime64_any_dtype(pd.to_datetime(db.examples()[0]["taken"]))
