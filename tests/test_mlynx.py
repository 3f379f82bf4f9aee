"""`MLynxClassifier`: its model is Bayes on the selected queries,
and everything that the package does with models works on it.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import BernoulliNB

import hornboost as hb
from hornboost.engine import Coverage
from hornboost.errors import DataError
from hornboost.estimators.mlynx import MLynxClassifier


@pytest.fixture(scope="module")
def trains() -> tuple[hb.Database, pd.DataFrame, pd.Series]:
    db = hb.datasets.trains(150, seed=3).database()
    return (db, *db.examples())


def test_posteriors_are_those_of_bernoulli_bayes_on_the_rules(
    trains: tuple[hb.Database, pd.DataFrame, pd.Series],
) -> None:
    db, X, y = trains
    model = MLynxClassifier(db, max_length=2, restarts=10, random_state=0).fit(X, y)
    assert len(model.rules_) > 1
    coverage = Coverage.of(db, [rule.clause for rule in model.rules_])
    matrix = coverage.covered(db.encode(X))[:, list(coverage.plan.of_clause)]
    reference = BernoulliNB(alpha=1.0).fit(matrix, y)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(matrix), rtol=1e-9)
    assert (model.predict(X) == reference.predict(matrix)).all()


def test_averaged_scores_are_the_mean_over_the_selections(trains: tuple[hb.Database, pd.DataFrame, pd.Series]) -> None:
    db, X, y = trains
    model = MLynxClassifier(db, min_support=0.1, max_length=2, restarts=7, average=True, random_state=0).fit(X, y)
    matrix = hb.RelationalPatterns(db, min_support=0.1, max_length=2).fit(X, y).transform(X)
    history = hb.MutualInformationSelector(restarts=7, random_state=model._seed()).fit(matrix, y).history_
    assert len({frozenset(restart.columns) for restart in history}) > 1
    scores = []
    for restart in history:
        columns = matrix[:, list(restart.columns)]
        joint = BernoulliNB(alpha=1.0).fit(columns, y).predict_joint_log_proba(columns)
        scores.append(joint[:, 1] - joint[:, 0])
    np.testing.assert_allclose(model.decision_function(X), np.mean(scores, axis=0), rtol=1e-9, atol=1e-9)
    frame = model.rules_frame()
    assert frame["share"].is_monotonic_decreasing
    assert frame["share"].min() >= 1 / 7
    name, size = str(model.classes_[1]), (y == model.classes_[1]).sum()
    np.testing.assert_allclose(frame[f"p(q|{name})"], (frame[f"covered {name}"] + 1) / (size + 2))


def test_an_eval_set_is_refused_in_a_sentence(trains: tuple[hb.Database, pd.DataFrame, pd.Series]) -> None:
    db, X, y = trains
    with pytest.raises(DataError, match=r"eval_set: MLynxClassifier learns in one go.*leave it out"):
        MLynxClassifier(db).fit(X, y, eval_set=(X, y))


def test_rules_show_probabilities_and_log_odds(trains: tuple[hb.Database, pd.DataFrame, pd.Series]) -> None:
    db, X, y = trains
    model = MLynxClassifier(db, max_length=1, restarts=5, random_state=0).fit(X, y)
    frame = model.rules_frame()
    names = list(model.ensemble_.classes)
    sizes = np.array([(y.astype(str) == name).sum() for name in names])
    for _, row in frame.iterrows():
        for name, size in zip(names, sizes, strict=True):
            p = (row[f"covered {name}"] + 1) / (size + 2)
            assert row[f"p(q|{name})"] == pytest.approx(p)
            assert row[f"log-odds {name}"] == pytest.approx(np.log(p / (1 - p)))


def test_the_saved_model_and_its_sql_predict_the_same(
    trains: tuple[hb.Database, pd.DataFrame, pd.Series], tmp_path: Path
) -> None:
    db, X, y = trains
    model = MLynxClassifier(db, max_length=2, restarts=5, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json", database=db)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    generated = hb.datasets.trains(150, seed=3)
    connection = duckdb.connect()
    for name, frame in generated.tables.items():
        connection.register(name, frame)
    answer = connection.sql(model.to_sql("duckdb")).df()
    key = list(db.target.key)
    merged = X[key].assign(expected=model.predict(X)).merge(answer, on=key)
    assert len(merged) == len(X)
    assert (merged["expected"].astype(str) == merged["prediction"].astype(str)).all()
    assert len(model.explain(X[:2]).frame())


def test_examples_of_weight_zero_change_nothing(trains: tuple[hb.Database, pd.DataFrame, pd.Series]) -> None:
    db, X, y = trains
    wrong = y.copy()
    wrong[75:] = y[75:].iloc[::-1].to_numpy()
    weights = np.repeat([1.0, 0.0], 75)
    weighted = MLynxClassifier(db, max_length=2, restarts=5, random_state=0).fit(X, wrong, sample_weight=weights)
    alone = MLynxClassifier(db, max_length=2, restarts=5, random_state=0).fit(X[:75], y[:75])
    assert weighted.ensemble_ == alone.ensemble_


def test_three_classes_have_posteriors() -> None:
    draw = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    X = pd.DataFrame({"colour": np.where(draw.random(120) < 0.8, y, "a"), "noise": draw.random(120)})
    model = MLynxClassifier(max_length=1, restarts=10, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (120, 3)
    assert model.score(X, y) > 0.75


def test_a_symmetric_relation_is_declared_once() -> None:
    molecule = pd.DataFrame({"m": range(20), "active": ["1", "0"] * 10})
    bond = pd.DataFrame(
        {
            "m": range(20),
            "one": [f"a{i}" for i in range(20)],
            "two": [f"b{i}" for i in range(20)],
            "kind": ["x", "y"] * 10,
        }
    )
    keys = {"bond": {"one": "atom", "two": "atom"}}
    links = [("bond.m", "molecule.m")]
    db = hb.Database.from_frames(
        {"molecule": molecule, "bond": bond}, target="molecule", key="m", label="active", foreign_keys=links, keys=keys
    )
    X, y = db.examples()
    model = MLynxClassifier(db, symmetric={"bond": ("one", "two")}, max_length=2, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
