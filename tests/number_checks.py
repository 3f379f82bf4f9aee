"""What the contract of regressors has beside that of all estimators, which is in `checks.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornboost as hb
from checks import examples, fitted


def check_it_learns(estimator: Any) -> None:
    model, X, _ = fitted(estimator, rounds=40)
    assert model.predict(X).dtype == np.float64
    alone = model.history_["training_loss"].to_numpy()
    assert alone[-1] < 0.8 * alone[0]


def check_files_hold_what_is_told(estimator: Any, folder: Path) -> None:
    model, X, y = fitted(estimator)
    model.save(folder / "model.json")
    loaded = hb.load(folder / "model.json", database=model.database)
    assert loaded.score(X, y) == model.score(X, y)
    assert loaded.rules_ == model.rules_
    assert str(loaded.explain(X[:3])) == str(model.explain(X[:3]))
    pd.testing.assert_frame_equal(loaded.rules_frame(), model.rules_frame())


def check_sql_predicts_as_python_does(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    data = examples(estimator)[0]
    with duckdb.connect() as connection:
        for name, table in data.tables.items():
            connection.register(name, table)
        scored = connection.sql(model.to_sql("duckdb")).df().set_index("customer_id").loc[X["customer_id"]]
    assert list(scored.columns) == ["prediction"]
    with sqlite3.connect(":memory:") as other:
        for name, table in data.tables.items():
            table.to_pandas().to_sql(name, other, index=False)
        rows = dict(other.execute(model.to_sql("sqlite")).fetchall())
    for found in (scored["prediction"].to_numpy(), np.array([rows[key] for key in X["customer_id"]])):
        if model.loss == "poisson":
            np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, model.predict(X))


def check_explanations_add_up_to_the_prediction(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    for one, prediction in zip(model.explain(X[:20]), model.predict(X[:20]), strict=True):
        assert one.prediction == prediction
        total = one.start + sum(fired.vote for fired in one.fired)
        assert total == one.score
        if model.loss == "poisson":
            assert one.base * np.exp(sum(fired.vote for fired in one.fired)) == pytest.approx(prediction, rel=1e-9)
        else:
            assert (one.base, one.score) == (one.start, prediction)


def check_rules_read_back(estimator: Any) -> None:
    model, _, y = fitted(estimator)
    frame = model.rules_frame()
    for k, rule in enumerate(model.rules_):
        assert hb.Clause.parse(str(rule.clause)) == rule.clause
        covered = model.database.covers(rule.clause)
        assert frame["covered"][k] == covered.sum()
        assert frame["mean"][k] == pytest.approx(y[covered].mean())
        assert frame["mean of others"][k] == pytest.approx(y[~covered].mean())
        said, voted = float(rule.clause.head.value), rule.votes[0]
        assert said == pytest.approx(np.exp(voted) if model.loss == "poisson" else voted, rel=1e-3)
    rows = fitted(estimator, aggregates=False)[0]
    assert len(rows.to_prolog().splitlines()) >= 2 * len(rows.rules_)


def check_stages_are_predictions_and_the_last_is_the_models(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_
    np.testing.assert_array_equal(stages[-1], model.predict(X))


def check_a_checkpoint_is_of_its_data(estimator: Any, folder: Path) -> None:
    model, X, y = fitted(estimator, random_state=1, checkpoint=folder / "run.json")
    with pytest.raises(hb.HornBoostError, match="other data"):
        clone(model).fit(X, 2 * y)


def check_an_eval_set_is_told_by_the_loss(estimator: Any) -> None:
    _, database, X, y = examples(estimator)
    watched = clone(estimator).set_params(database=database).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
    (column,) = [name for name in watched.history_ if name.endswith("_held_out")]
    stages = list(watched.staged_predict(X[1::2]))
    if watched.loss == "squared":
        expected = [np.mean((y[1::2] - stage) ** 2) for stage in stages]
        np.testing.assert_allclose(watched.history_[column], expected, rtol=1e-9)
