"""Every estimator learns from what was known to each example, and from nothing that came later."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornboost as hb
from hornboost.activation.pool import FeaturePool
from hornboost.engine import Engine

LOANS = 90
CLASSIFIERS = [
    hb.HornBoostClassifier(rounds=5, max_literals=3, max_depth=2, aggregates=False, random_state=0),
    hb.C2RIBClassifier(rounds=30, random_state=0),
    hb.C2RIBClassifier(rounds=5, features="margin", random_state=0),
    hb.C2RIBClassifier(rounds=40, features="V11", random_state=0),
    hb.RankBoostClassifier(rounds=5, random_state=0),
    hb.PRankBoostClassifier(rounds=5, random_state=0),
    hb.PRankBoostClassifier(rounds=5, weak_learner="mix1", random_state=0),
    hb.KBSClassifier(base="clause", rounds=5, random_state=0),
    hb.AdaBoostM1Classifier(base="clause", rounds=5, random_state=0),
    hb.LogitBoostClassifier(base="clause", rounds=5, random_state=0),
    hb.MLynxClassifier(max_length=2, restarts=5, random_state=0),
]
REGRESSOR = hb.HornBoostRegressor(rounds=5, max_literals=3, max_depth=2, aggregates=False, random_state=0)


def frames(with_future: bool) -> dict[str, pd.DataFrame]:
    """Loans of thirty accounts, each granted three times; bad if a large payment came in the last thirty days.

    What comes after the last loan of an account, and what is filled in after a loan, gives the outcome away.
    """
    rng = np.random.default_rng(0)
    account = np.arange(LOANS) % 30
    granted = pd.Timestamp("2024-06-01") + pd.to_timedelta(rng.integers(0, 90, LOANS), unit="D")
    payments = 600
    paid = pd.DataFrame({"account_id": rng.integers(0, 30, payments), "amount": rng.choice([10, 20, 900], payments)})
    paid["date"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 150 * 24, payments), unit="h")
    loan = pd.DataFrame({"loan_id": np.arange(LOANS), "account_id": account, "granted": granted})
    both = loan.merge(paid, on="account_id")
    age = both["granted"] - both["date"]
    hit = both[(age > pd.Timedelta(0)) & (age <= pd.Timedelta("30D")) & (both["amount"] == 900)]["loan_id"].unique()
    bad = np.isin(loan["loan_id"], hit)
    loan["status"] = np.where(bad, "bad", "good")
    loan["settled"] = granted + pd.to_timedelta(200, unit="D")
    loan["comment"] = np.where(bad & with_future, "sorry", "fine")
    paid["note"] = rng.choice(["a", "b"], payments)
    paid["booked"] = paid["date"] + pd.to_timedelta(rng.integers(0, 30, payments), unit="D")
    last = loan.groupby("account_id")["granted"].transform("max")
    late = pd.DataFrame({"account_id": account, "date": last, "booked": last, "note": "a"})
    late["amount"] = np.where(bad, 77_777, 5)
    payment = pd.concat([paid, late]) if with_future else paid.copy()
    seen = payment["date"] < payment["account_id"].map(loan.groupby("account_id")["granted"].max())
    return {
        "loan": loan,
        "account": pd.DataFrame({"account_id": np.arange(30), "region": rng.choice(["n", "s"], 30)}),
        "payment": payment if with_future else payment[seen].reset_index(drop=True),
    }


@cache
def database(with_future: bool, label: str = "status") -> hb.Database:
    tables = frames(with_future)
    if label == "sum":
        tables["loan"]["sum"] = np.where(tables["loan"].pop("status") == "bad", 10.0, 2.0) + np.arange(LOANS) % 3
    return hb.Database.from_frames(
        tables,
        target="loan",
        key="loan_id",
        label=label,
        positive="bad" if label == "status" else None,
        foreign_keys=[("loan.account_id", "account.account_id"), ("payment.account_id", "account.account_id")],
        times={"loan": "granted", "payment": "date"},
        known_later={"loan": {"settled": ["comment"]}, "payment": {"booked": ["note"]}},
    )


def texts(model: Any) -> list[str]:
    return [str(rule.clause) for rule in model.rules_]


def pair(estimator: Any, label: str = "status") -> tuple[Any, Any, pd.DataFrame]:
    """The estimator fitted with and without what came after the examples, and these."""
    models = []
    for with_future in (True, False):
        db = database(with_future, label)
        models.append(clone(estimator).set_params(database=db).fit(*db.examples()))
    return models[0], models[1], database(True, label).examples()[0]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_what_came_later_changes_no_rule_and_no_prediction(estimator: Any) -> None:
    one, other, X = pair(estimator)
    assert texts(one) == texts(other)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_what_came_later_changes_no_number() -> None:
    one, other, X = pair(REGRESSOR, "sum")
    assert texts(one) == texts(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert any("age<=" in text for text in texts(one))


@pytest.mark.parametrize("estimator", [one for one in CLASSIFIERS[:-1] if "features" not in repr(one)], ids=repr)
def test_a_window_of_about_thirty_days_is_found(estimator: Any) -> None:
    db = database(True)
    X, y = db.examples()
    model = clone(estimator).set_params(database=db).fit(X, y)
    windows = [re.search(r"age<=(\d+)(d|h)", text) for text in texts(model) if "amount>=900" in text]
    days = [int(found[1]) / {"d": 1, "h": 24}[found[2]] for found in windows if found is not None]
    assert any(20 < found < 31 for found in days), texts(model)
    assert model.score(X, y) > 0.9


def test_the_age_of_rows_is_a_feature_whose_information_is_that_of_the_ages_seen() -> None:
    db = database(True)
    X, y = db.examples()
    engine, classes = Engine(db, db.encode(X)), (y == "bad").to_numpy().astype(np.int32)
    pool = FeaturePool(engine, classes, np.ones(LOANS))
    names = [(feature.table, feature.column) for feature in pool.features]
    k = names.index(("payment", "age"))
    assert ("payment", "date") not in names
    values = pool._reach(k, pool.features[k].paths[0])
    payment = frames(True)["payment"]
    seen = X[["loan_id", "account_id", "granted"]].merge(payment, on="account_id")
    ages = (seen["granted"] - seen["date"])[seen["date"] < seen["granted"]]
    assert sorted(values.distinct[values.codes]) == sorted(ages / pd.Timedelta("1us"))
    assert ("payment", "age") in pool.visible([k]).attributes
