"""The contract of every estimator, written once:
each check takes an unfitted estimator and holds, or says what does not.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor

import hornboost as hb
from hornboost.model import checkpoint
from hornboost.stopping import INTERRUPTED, OUT_OF_TIME

N_CLASSES = (2, 5)

Examples = tuple[hb.datasets.generated.Generated, hb.Database, pd.DataFrame, pd.Series]


@cache
def generated(n_classes: int = 2) -> Examples:
    """Trains with noise; those that go east may be told apart by their two to five cars, which gives five classes."""
    data = hb.datasets.trains(120, noise=0.1, seed=4)
    if n_classes == 2:
        database = data.database()
        return data, database, *database.examples()
    tables = {name: table.to_pandas() for name, table in data.tables.items()}
    target, label = data.plan.target, data.plan.label
    key = data.plan.primary_keys[target][0]
    cars = tables["car"].groupby(key).size().reindex(tables[target][key]).to_numpy()
    east = tables[target][label].astype(str).to_numpy() == "1"
    tables[target][label] = ["c" + str(k) for k in np.where(east, cars - 2, 4)]
    database = hb.Database.from_frames(tables, target=target, key=key, label=label, foreign_keys=data.plan.foreign_keys)
    return data, database, *database.examples()


@cache
def numbers(counts: bool = False) -> Examples:
    """What customers spend, or how often they buy."""
    data = hb.datasets.spending(150, counts=counts, seed=4)
    database = data.database()
    return data, database, *database.examples()


def examples(estimator: Any, n_classes: int = 2) -> Examples:
    """The data for an estimator: classes; for a regressor counts with Poisson's loss, and amounts with others."""
    return numbers(estimator.loss == "poisson") if is_regressor(estimator) else generated(n_classes)


def fitted(estimator: Any, n_classes: int = 2, **parameters: Any) -> tuple[Any, pd.DataFrame, pd.Series]:
    """The estimator, fitted with a database behind the examples."""
    _, database, X, y = examples(estimator, n_classes)
    return clone(estimator).set_params(database=database, **parameters).fit(X, y), X, y


def scores(model: Any, X: Any) -> Any:
    """What the rules' votes add up to."""
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def predictions(model: Any, X: Any) -> Any:
    """The numbers that a model predicts: probabilities, or those themselves."""
    return model.predict(X) if is_regressor(model) else model.predict_proba(X)


def several(estimator: Any) -> tuple[int, ...]:
    """The numbers of classes to try: there are none for a regressor, which is tried once."""
    return (2,) if is_regressor(estimator) else N_CLASSES


def texts(model: Any) -> list[str]:
    return [str(rule.clause) for rule in model.rules_]


def has(estimator: Any, *names: str) -> bool:
    """Whether an estimator has parameters."""
    return set(names) <= set(estimator.get_params(deep=False))


def check_database_is_the_first_parameter(estimator: Any) -> None:
    database = examples(estimator)[1]
    assert type(estimator)(database).database is database


def check_weight_zero_leaves_an_example_out(estimator: Any) -> None:
    _, database, X, y = examples(estimator)
    corrupt = np.arange(len(y)) % 2 == 0
    wrong = y.where(~corrupt, y.max() * 7 + 3 if is_regressor(estimator) else y.map({"0": "1", "1": "0"}))
    model = clone(estimator).set_params(database=database)
    weighted = clone(model).fit(X, wrong, sample_weight=np.where(corrupt, 0.0, 1.0))
    left_out = clone(model).fit(X[~corrupt], y[~corrupt])
    assert [str(rule) for rule in weighted.rules_] == [str(rule) for rule in left_out.rules_]
    np.testing.assert_array_equal(scores(weighted, X), scores(left_out, X))


def check_a_weight_is_a_repetition(estimator: Any) -> None:
    _, database, X, y = examples(estimator)
    weights = 1 + np.arange(len(y)) % 3
    model = clone(estimator).set_params(database=database)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X.iloc[np.repeat(np.arange(len(y)), weights)], np.repeat(y.to_numpy(), weights))
    atol = 0.0 if is_regressor(estimator) else 1e-9
    np.testing.assert_allclose(predictions(weighted, X), predictions(repeated, X), rtol=1e-7, atol=atol)


def check_threads_change_no_byte(estimator: Any, folder: Path) -> None:
    if not has(estimator, "n_jobs"):
        return
    saved = []
    for n_jobs in (None, 2, -1):
        fitted(estimator, n_jobs=n_jobs)[0].save(folder / "model.json")
        saved.append((folder / "model.json").read_bytes())
    assert saved[0] == saved[1] == saved[2]
    with pytest.raises(ValueError, match="n_jobs"):
        fitted(estimator, n_jobs=0)


def check_clones_share_the_database_and_learn_the_same(estimator: Any) -> None:
    model, X, y = fitted(estimator)
    again = clone(model)
    assert again.database is model.database
    assert not hasattr(again, "ensemble_")
    np.testing.assert_array_equal(scores(again.fit(X, y), X), scores(model, X))


def check_pickles(estimator: Any) -> None:
    model, X, _ = fitted(estimator)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(again, X), scores(model, X))


def check_files_hold_the_model(estimator: Any, folder: Path) -> None:
    for n_classes in several(estimator):
        model, X, _ = fitted(estimator, n_classes)
        model.save(folder / "model.json")
        loaded = hb.load(folder / "model.json", database=model.database)
        np.testing.assert_array_equal(scores(loaded, X), scores(model, X))
        np.testing.assert_array_equal(predictions(loaded, X), predictions(model, X))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert texts(loaded) == texts(model)
        loaded.save(folder / "again.json")
        assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()


@pytest.mark.parametrize("n_classes", N_CLASSES)
def check_sql_scores_as_python_does(estimator: Any, folder: Path, n_classes: int) -> None:
    model, X, _ = fitted(estimator, n_classes)
    (key,) = model.database.target.key
    with duckdb.connect() as connection:
        for name, table in _tables(n_classes).items():
            connection.register(name, table)
        scored = connection.sql(model.to_sql("duckdb")).df().set_index(key).loc[X[key]]
    np.testing.assert_array_equal(scored["prediction"].to_numpy(), model.predict(X))
    for k, name in enumerate(model.classes_):
        column = f"probability_of_{name}"
        if column in scored:
            np.testing.assert_allclose(scored[column], model.predict_proba(X)[:, k], rtol=1e-9, atol=1e-12)
    assert any(column.startswith("probability_of_") for column in scored)


def _tables(n_classes: int) -> dict[str, Any]:
    data, database, _, _ = generated(n_classes)
    if n_classes == 2:
        return dict(data.tables)
    return {name: table.to_pandas() for name, table in data.tables.items() if name in database.tables}


@pytest.mark.parametrize("n_classes", N_CLASSES)
def check_explanations_add_up_to_the_score(estimator: Any, n_classes: int) -> None:
    model, X, _ = fitted(estimator, n_classes)
    decision = model.decision_function(X[:20])
    for k, one in enumerate(model.explain(X[:20])):
        assert one.start + sum(fired.vote for fired in one.fired) == pytest.approx(one.score, abs=1e-9)
        about = list(model.classes_).index(one.about)
        score = decision[k, about] if decision.ndim == 2 else decision[k] if about == 1 else -decision[k]
        assert one.score == pytest.approx(score, abs=1e-12)
        assert one.prediction == str(model.predict(X[:20])[k])


def check_pandas_and_polars_give_one_model(estimator: Any) -> None:
    polars = pytest.importorskip("polars")
    model, X, y = fitted(estimator)
    other = clone(estimator).set_params(database=model.database).fit(polars.from_pandas(X), y.to_numpy())
    np.testing.assert_array_equal(scores(other, polars.from_pandas(X)), scores(model, X))
    assert texts(other) == texts(model)


def check_several_classes(estimator: Any) -> None:
    model, X, y = fitted(estimator, 5)
    assert model.decision_function(X).shape == (len(X), 5)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 1 / 5


def check_one_class(estimator: Any) -> None:
    """One class is predicted, or refused in a sentence that says so."""
    _, database, X, _ = generated()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = clone(estimator).set_params(database=database).fit(X, ["1"] * len(X))
        except hb.HornBoostError as error:
            assert "class" in str(error)  # noqa: PT017
            return
    assert set(model.predict(X)) == {"1"}


def check_stages_end_at_the_model(estimator: Any) -> None:
    for n_classes in N_CLASSES:
        model, X, _ = fitted(estimator, n_classes)
        stages = list(model.staged_predict_proba(X))
        assert len(stages) >= model.n_rounds_
        np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, model.predict(X))


def check_early_stopping_keeps_the_rounds_up_to_the_smallest_loss(estimator: Any) -> None:
    rounds = 60 if is_regressor(estimator) else 30
    model, X, y = fitted(estimator, early_stopping=3, validation_fraction=0.3, rounds=rounds)
    losses = model.history_["validation_loss"].to_numpy()
    assert len(losses) <= rounds
    best = int(np.argmin(losses)) + 1
    assert model.n_rounds_ in (0, best)
    if "held-out" in model.stopped_:
        assert len(losses) == model.n_rounds_ + 3
    assert np.isfinite(predictions(model, X)).all()
    assert is_regressor(estimator) or model.score(X, y) > 0.4
    if model.n_rounds_:
        ends_there = [lambda row: row["round"] == model.n_rounds_]
        given = {"early_stopping": 1_000, "validation_fraction": 0.3, "rounds": rounds, "callbacks": ends_there}
        np.testing.assert_array_equal(predictions(fitted(estimator, **given)[0], X), predictions(model, X))


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
    for n_classes in several(estimator):
        given["checkpoint"].unlink(missing_ok=True)
        whole = fitted(estimator, n_classes, random_state=1)[0]
        with pytest.raises(Down):
            fitted(estimator, n_classes, **given, callbacks=[stop])
        resumed = fitted(estimator, n_classes, **given)[0]
        whole.save(folder / "whole.json")
        resumed.save(folder / "resumed.json")
        assert (folder / "whole.json").read_bytes() == (folder / "resumed.json").read_bytes()


def check_a_checkpoint_outlives_sigkill_in_the_middle_of_a_write(estimator: Any, folder: Path) -> None:
    place = folder / "run.json"
    whole = fitted(estimator, random_state=1)[0]
    killed_at_write(4, lambda: fitted(estimator, random_state=1, checkpoint=place))
    left = {path.name for path in folder.iterdir()}
    assert len(left) == 2  # the file as it was before, and half a file
    assert "run.json" in left
    resumed = fitted(estimator, random_state=1, checkpoint=place)[0]
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    whole.save(folder / "whole.json")
    resumed.save(folder / "resumed.json")
    assert (folder / "whole.json").read_bytes() == (folder / "resumed.json").read_bytes()


def killed_at_write(number: int, work: Callable[[], object]) -> None:
    """Do the work in a process that keeps a checkpoint of each search, and dies when it has written half of one."""
    child = os.fork()
    if child == 0:
        writes = iter(range(1, 1_000_000))
        fsync = os.fsync

        def die(handle: int) -> None:
            if next(writes) < 2 * number - 1:  # of a file and of its folder
                fsync(handle)
            else:
                os.ftruncate(handle, os.fstat(handle).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            checkpoint.SECONDS, checkpoint.SHARE = 0.0, math.inf
            os.fsync = die
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def check_callbacks_see_each_round_and_may_end_it(estimator: Any) -> None:
    seen: list[dict[str, Any]] = []
    model, _, _ = fitted(estimator, callbacks=[seen.append])
    learned = model.history_[model.history_["round"] > 0]
    assert [row["round"] for row in seen] == learned["round"].tolist()
    ended, _, _ = fitted(estimator, callbacks=[lambda row: row["round"] == 2])
    assert ended.n_rounds_ == 2
    assert "callback" in ended.stopped_


def check_ctrl_c_keeps_what_was_learned(estimator: Any) -> None:
    """A signal at a random moment, inside a kernel or not: KeyboardInterrupt, and a model of the rounds so far."""
    _, database, X, y = examples(estimator)
    fitted(estimator, rounds=2)
    for wait in (0.05, 0.2):
        begun = threading.Event()
        model = clone(estimator).set_params(
            database=database, rounds=1_000_000, callbacks=[lambda row, go=begun: go.set()]
        )

        def press(wait: float = wait, begun: threading.Event = begun) -> None:
            begun.wait(60)
            time.sleep(wait)
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


def check_class_weights_count(estimator: Any) -> None:
    plain, X, _ = fitted(estimator)
    heavy = fitted(estimator, class_weight={"0": 1.0, "1": 1000.0})[0]
    assert (heavy.predict(X) == "1").sum() >= (plain.predict(X) == "1").sum()
    assert (heavy.predict(X) == "1").mean() > 0.8


def check_an_eval_set_is_told_and_not_learned_from(estimator: Any) -> None:
    _, database, X, y = examples(estimator)
    model = clone(estimator).set_params(database=database)
    plain = clone(model).fit(X[::2], y[::2])
    watched = clone(model).fit(X[::2], y[::2], eval_set=(X[1::2], y[1::2]))
    assert any(name.endswith("_held_out") for name in watched.history_)
    np.testing.assert_array_equal(scores(watched, X), scores(plain, X))
