"""The contract of every regressor, as `checks.py` has that of every classifier."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornboost as hb
from hornboost.stopping import INTERRUPTED, OUT_OF_TIME


@cache
def generated(counts: bool = False) -> tuple[hb.datasets.Generated, hb.Database, pd.DataFrame, pd.Series]:
    data = hb.datasets.spending(150, counts=counts, seed=4)
    database = data.database()
    return data, database, *database.examples()


def of(estimator: Any) -> tuple[hb.datasets.Generated, hb.Database, pd.DataFrame, pd.Series]:
    """The data for an estimator: counts for Poisson's loss, amounts for the others."""
    return generated(estimator.loss == "poisson")


def fitted(estimator: Any, **parameters: Any) -> tuple[Any, pd.DataFrame, pd.Series]:
    """The estimator, fitted with a database behind the examples."""
    _, database, X, y = of(estimator)
    return clone(estimator).set_params(database=database, **parameters).fit(X, y), X, y


def check_database_is_the_first_parameter(estimator: Any) -> None:
    assert type(estimator)(generated()[1]).database is generated()[1]


def check_it_learns(estimator: Any) -> None:
    model, X, _ = fitted(estimator, rounds=40)
    assert model.predict(X).dtype == np.float64
    alone = model.history_["training_loss"].to_numpy()
    assert alone[-1] < 0.8 * alone[0]


def check_weight_zero_leaves_an_example_out(estimator: Any) -> None:
    _, database, X, y = of(estimator)
    corrupt = np.arange(len(y)) % 2 == 0
    wrong = y.where(~corrupt, y.max() * 7 + 3)
    model = clone(estimator).set_params(database=database)
    weighted = clone(model).fit(X, wrong, sample_weight=np.where(corrupt, 0.0, 1.0))
    left_out = clone(model).fit(X[~corrupt], y[~corrupt])
    assert [str(rule) for rule in weighted.rules_] == [str(rule) for rule in left_out.rules_]
    np.testing.assert_array_equal(weighted.predict(X), left_out.predict(X))


def check_a_weight_is_a_repetition(estimator: Any) -> None:
    _, database, X, y = of(estimator)
    weights = 1 + np.arange(len(y)) % 3
    model = clone(estimator).set_params(database=database)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X.iloc[np.repeat(np.arange(len(y)), weights)], np.repeat(y.to_numpy(), weights))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


def check_threads_change_no_byte(estimator: Any, folder: Path) -> None:
    saved = []
    for n_jobs in (None, 2, -1):
        fitted(estimator, n_jobs=n_jobs)[0].save(folder / "model.json")
        saved.append((folder / "model.json").read_bytes())
    assert saved[0] == saved[1] == saved[2]


def check_clones_share_the_database_and_learn_the_same(estimator: Any) -> None:
    model, X, y = fitted(estimator)
    again = clone(model)
    assert again.database is model.database
    assert not hasattr(again, "ensemble_")
    np.testing.assert_array_equal(again.fit(X, y).predict(X), model.predict(X))


def check_pickles(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def check_files_hold_the_model(estimator: Any, folder: Path) -> None:
    model, X, y = fitted(estimator)
    model.save(folder / "model.json")
    loaded = hb.load(folder / "model.json", database=model.database)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.score(X, y) == model.score(X, y)
    assert loaded.rules_ == model.rules_
    assert str(loaded.explain(X[:3])) == str(model.explain(X[:3]))
    pd.testing.assert_frame_equal(loaded.rules_frame(), model.rules_frame())
    loaded.save(folder / "again.json")
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()


def check_sql_predicts_as_python_does(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    data = of(estimator)[0]
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


def check_pandas_and_polars_give_one_model(estimator: Any) -> None:
    polars = pytest.importorskip("polars")
    model, X, y = fitted(estimator)
    other = clone(estimator).set_params(database=model.database).fit(polars.from_pandas(X), y.to_numpy())
    np.testing.assert_array_equal(other.predict(polars.from_pandas(X)), model.predict(X))
    assert other.rules_ == model.rules_


def check_stages_end_at_the_model(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_rounds_
    np.testing.assert_array_equal(stages[-1], model.predict(X))


def check_early_stopping_keeps_the_rounds_up_to_the_smallest_loss(estimator: Any) -> None:
    model, X, _ = fitted(estimator, early_stopping=3, validation_fraction=0.3, rounds=60)
    losses = model.history_["validation_loss"].to_numpy()
    assert model.n_rounds_ in (0, int(np.argmin(losses)) + 1)
    if "held-out" in model.stopped_:
        assert len(losses) == model.n_rounds_ + 3
    assert np.isfinite(model.predict(X)).all()


def check_the_time_limit_holds(estimator: Any) -> None:
    fitted(estimator, rounds=2)
    started = time.monotonic()
    model, X, _ = fitted(estimator, rounds=1_000_000, time_limit=0.5)
    assert time.monotonic() - started < 0.5 + 3.0
    assert model.stopped_ == OUT_OF_TIME or model.n_rounds_ < 1_000_000
    assert len(model.predict(X)) == len(X)


def check_a_checkpoint_leads_to_the_same_model(estimator: Any, folder: Path) -> None:
    class Down(Exception):  # noqa: N818
        """The machine goes down."""

    def stop(row: dict[str, Any]) -> None:
        if row["round"] == 2:
            raise Down

    given = {"random_state": 1, "checkpoint": folder / "run.json"}
    whole = fitted(estimator, random_state=1)[0]
    with pytest.raises(Down):
        fitted(estimator, **given, callbacks=[stop])
    resumed, X, y = fitted(estimator, **given)
    whole.save(folder / "whole.json")
    resumed.save(folder / "resumed.json")
    assert (folder / "whole.json").read_bytes() == (folder / "resumed.json").read_bytes()
    with pytest.raises(hb.HornBoostError, match="other data"):
        clone(resumed).fit(X, 2 * y)


def check_callbacks_see_each_round_and_may_end_it(estimator: Any) -> None:
    seen: list[dict[str, Any]] = []
    model, _, _ = fitted(estimator, callbacks=[seen.append])
    assert [row["round"] for row in seen] == model.history_["round"].tolist()
    ended, _, _ = fitted(estimator, callbacks=[lambda row: row["round"] == 2])
    assert ended.n_rounds_ == 2
    assert "callback" in ended.stopped_


def check_ctrl_c_keeps_what_was_learned(estimator: Any) -> None:
    _, database, X, y = of(estimator)
    fitted(estimator, rounds=2)
    begun = threading.Event()
    model = clone(estimator).set_params(database=database, rounds=1_000_000, callbacks=[lambda row: begun.set()])

    def press() -> None:
        begun.wait(60)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        assert model.stopped_ == INTERRUPTED
    presser.join()
    assert model.n_rounds_ >= 1
    assert len(model.predict(X)) == len(X)


def check_an_eval_set_is_told_and_not_learned_from(estimator: Any) -> None:
    _, database, X, y = of(estimator)
    model = clone(estimator).set_params(database=database)
    plain = clone(model).fit(X[::2], y[::2])
    watched = clone(model).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
    np.testing.assert_array_equal(watched.predict(X), plain.predict(X))
    (column,) = [name for name in watched.history_ if name.endswith("_held_out")]
    stages = list(watched.staged_predict(X[1::2]))
    if model.loss == "squared":
        expected = [np.mean((y[1::2] - stage) ** 2) for stage in stages]
        np.testing.assert_allclose(watched.history_[column], expected, rtol=1e-9)
