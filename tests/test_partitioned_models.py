"""Models learned from partitions: the same bytes as from rows that are here, however many partitions there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError
from hornboost.model.diagnosis import diagnose
from in_parts import in_parts

pytestmark = pytest.mark.filterwarnings("ignore")

PLAIN: dict[str, Any] = {"max_literals": 2, "max_depth": 2, "aggregates": False, "constants": False}
CASES: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "HornBoost": (hb.HornBoostClassifier, "bank", {"rounds": 5, **PLAIN}),
    "HornBoost three classes": (hb.HornBoostClassifier, "three", {"rounds": 4, **PLAIN}),
    "HornBoost with times": (hb.HornBoostClassifier, "dated", {"rounds": 5, **PLAIN}),
    "HornBoost that tunes itself": (
        hb.HornBoostClassifier,
        "trains",
        {**PLAIN, "max_literals": "auto", "max_rules": 4},
    ),
    "HornBoost numbers": (hb.HornBoostRegressor, "spending", {"rounds": 5, **PLAIN}),
    "C2RIB": (hb.C2RIBClassifier, "bank", {"rounds": 8}),
    "C2RIB that stops early": (hb.C2RIBClassifier, "trains", {"rounds": 12, "early_stopping": 3}),
    "C2RIB with times": (hb.C2RIBClassifier, "dated", {"rounds": 8}),
    "C2RIB^D": (hb.C2RIBClassifier, "bank", {"rounds": 8, "features": "margin", "trend_window": 2}),
    "C2RIB V16": (hb.C2RIBClassifier, "dated", {"rounds": 8, "features": "V16", "trend_window": 2}),
    "HornBoost that names keys": (hb.HornBoostClassifier, "bank", {"rounds": 4, **PLAIN, "constants": True}),
    "HornBoost with aggregates": (hb.HornBoostClassifier, "bank", {"rounds": 4, **PLAIN, "aggregates": True}),
    "HornBoost with windows": (hb.HornBoostRegressor, "orders", {"rounds": 4, **PLAIN, "aggregates": True}),
    "RankBoost": (hb.RankBoostClassifier, "bank", {"rounds": 4}),
    "PRankBoost": (hb.PRankBoostClassifier, "dated", {"rounds": 4, "weak_learner": "path", "n_seeds": 2}),
    "PRankBoost that stops early": (hb.PRankBoostClassifier, "trains", {"rounds": 6, "early_stopping": 2}),
    "KBS": (hb.KBSClassifier, "bank", {"base": "clause", "rounds": 4}),
    "AdaBoost.M1": (hb.AdaBoostM1Classifier, "bank", {"base": "clause", "rounds": 4}),
    "LogitBoost": (hb.LogitBoostClassifier, "three", {"base": "clause", "rounds": 3}),
}


@pytest.fixture(scope="module")
def tasks() -> dict[str, tuple[hb.Database, Any, Any]]:
    databases = {
        "bank": hb.datasets.bank(60, transactions=4, noise=0.1, seed=1).database(),
        "dated": hb.datasets.bank(60, transactions=4, dated=True, seed=1).database(),
        "trains": hb.datasets.trains(60, noise=0.1, seed=2).database(),
        "orders": hb.datasets.bank(60, transactions=4, dated=True, seed=2).database(),
        "spending": hb.datasets.spending(60, seed=1).database(),
    }
    found = {name: (database, *database.examples()) for name, database in databases.items()}
    database, X, y = found["bank"]
    found["orders"] = (*found["orders"][:2], np.arange(60) % 7 + (np.asarray(found["orders"][2]) == "1"))
    return found | {"three": (database, X, np.where(np.arange(len(y)) % 3 == 0, "third", np.asarray(y, str)))}


def learned(estimator: Any, database: hb.Database, X: Any, y: Any, file: Path, **options: Any) -> list[Any]:
    """The model as a file, its scores, and how it was learned."""
    model = estimator(database, random_state=0, **options).fit(X, y)
    model.save(file)
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    history = model.history_.drop(columns="seconds", errors="ignore")
    return [file.read_bytes(), np.asarray(scores).tobytes(), history.to_dict("list").__repr__()]


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_the_same_bytes(case: str, tasks: dict[str, Any], tmp_path: Path) -> None:
    estimator, task, options = CASES[case]
    database, X, y = tasks[task]
    here = learned(estimator, database, X, y, tmp_path / "here.json", **options)
    for n, n_jobs in ((1, 1), (7, 2)) if case == "HornBoost" else ((7, 1),):
        there = learned(estimator, in_parts(database, n), X, y, tmp_path / "there.json", n_jobs=n_jobs, **options)
        assert there == here


def test_a_folder_of_partitions_gives_the_same_model(tasks: dict[str, Any], tmp_path: Path) -> None:
    aggregated = {**PLAIN, "aggregates": True, "constants": True}
    learners: list[tuple[str, Any, dict[str, Any]]] = [
        ("bank", hb.C2RIBClassifier, {"features": "margin", "trend_window": 2}),
        ("bank", hb.PRankBoostClassifier, {}),
        ("dated", hb.HornBoostClassifier, aggregated),
    ]
    for task, estimator, options in learners:
        database, X, y = tasks[task]
        options["rounds"] = 5
        database.partition(tmp_path / task, partitions=3, overwrite=True)
        stored = hb.Database.from_partitions(tmp_path / task)
        here = learned(estimator, database, X, y, tmp_path / "here.json", **options)
        assert learned(estimator, stored, *stored.examples(), tmp_path / "there.json", **options) == here


def test_few_examples_leave_partitions_without_any(tasks: dict[str, Any], tmp_path: Path) -> None:
    database, X, y = tasks["dated"]
    for options in ({"max_literals": 2}, {"aggregates": ["count", "mean", "mode", "last"]}):
        model = hb.HornBoostClassifier(database, rounds=6, random_state=0, **options).fit(X, y)
        model.save(tmp_path / "model.json")
        there = hb.load(tmp_path / "model.json", in_parts(database, 16))
        for rows in (X[:1], X[:3], X):
            np.testing.assert_array_equal(there.decision_function(rows), model.decision_function(rows))
    here, there = (
        hb.HornBoostClassifier(one, rounds=4, max_literals=2, max_depth=2, aggregates=True, random_state=0)
        for one in (database, in_parts(database, 16))
    )
    some = np.r_[0:6, 30:36]
    scores = [one.fit(X.iloc[some], np.asarray(y)[some]).decision_function(X) for one in (here, there)]
    np.testing.assert_array_equal(*scores)


def test_where_nothing_is_learned_the_same_reason_is_given(tmp_path: Path) -> None:
    loans = pd.DataFrame({"loan": range(12), "account": [k % 4 for k in range(12)], "good": ["y", "n"] * 6})
    accounts = pd.DataFrame({"account": range(4), "kind": "a", "size": 1.0})
    for name, changed in (("one value", accounts), ("two values", accounts.assign(size=[1.0, 1.0, 2.0, 1.0]))):
        tables = {"loan": loans, "account": changed}
        links = [("loan.account", "account.account")]
        database = hb.Database.from_frames(tables, target="loan", key="loan", label="good", foreign_keys=links)
        stored = database.partition(tmp_path / name, partitions=3)
        X, y = database.examples()
        said = [
            diagnose(hb.C2RIBClassifier(one)._problem(X, y, None)) for one in (database, in_parts(database, 16), stored)
        ]
        assert said[0] == said[1] == said[2]
        assert ("no attribute varies" in said[0][0]) == (name == "one value")


def test_clauses_cover_the_same_examples(tasks: dict[str, Any]) -> None:
    database, X, y = tasks["bank"]
    model = hb.C2RIBClassifier(database, rounds=8, random_state=0).fit(X, y)
    divided = in_parts(database, 7)
    for rule in model.rules_:
        np.testing.assert_array_equal(divided.covers(rule.clause), database.covers(rule.clause))


def test_clauses_that_reach_beyond_the_partitions_are_refused(tasks: dict[str, Any], tmp_path: Path) -> None:
    database, _, _ = tasks["bank"]
    database.partition(tmp_path / "parts", partitions=2, depth=1, small_table=0)
    stored = hb.Database.from_partitions(tmp_path / "parts")
    behind = (
        "trans(account_id=A, month>=2)",
        "disp(account_id=A, client_id=C), client(client_id=C)",
        "trans(month>=2)",
    )
    near, far, apart = (f'risky="1" :- loan(account_id=A), {rest}.' for rest in behind)
    np.testing.assert_array_equal(stored.covers(near), database.covers(near))
    # what differs from another row hangs below it in the plan, and is no farther away
    pair = 'risky="1" :- loan(account_id=A), disp(account_id=A, client_id=C), disp(account_id=A, client_id=D), C != D.'
    np.testing.assert_array_equal(stored.covers(pair), database.covers(pair))
    for clause, reason in ((far, "2 joins away"), (apart, "shares no variable")):
        with pytest.raises(DataError, match=reason):
            stored.covers(clause)
