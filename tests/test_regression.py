"""HornBoostRegressor: losses by hand, planted rules, labels of any size, and what is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import cross_val_score

import hornboost as hb
from hornboost.learners.losses import Absolute, Poisson, Quantile, Squared, quantile

LOSSES = ("squared", "absolute", "quantile", "poisson")


@pytest.mark.parametrize("loss", [Squared(), Poisson()])
def test_derivatives_are_those_of_half_the_loss(loss: Any):
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(6, 1)), rng.integers(0, 5, 6).astype(float)
    slope, curvature = loss.derivatives(y, scores)
    for i in range(6):
        alone, step = np.eye(6)[i], 1e-4
        down, here, up = (loss.mean(y, scores + shift * alone[:, None], alone) / 2 for shift in (-step, 0, step))
        assert slope[i, 0] == pytest.approx((up - down) / (2 * step), abs=1e-6)
        assert curvature[i, 0] == pytest.approx((up - 2 * here + down) / step**2, abs=1e-4)


def test_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    y, scores, weights = rng.poisson(2.0, 40).astype(float), rng.normal(size=(40, 1)), rng.uniform(0.1, 2, 40)
    found = mean_pinball_loss(y, scores[:, 0], sample_weight=weights, alpha=0.3)
    assert Quantile(0.3).mean(y, scores, weights) == pytest.approx(found, rel=1e-12)
    found = mean_poisson_deviance(y, np.exp(scores[:, 0]), sample_weight=weights)
    assert Poisson().mean(y, scores, weights) == pytest.approx(found, rel=1e-9)
    assert Absolute().mean(y, scores, weights) == pytest.approx(np.average(abs(y - scores[:, 0]), weights=weights))


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.9])
def test_a_quantile_of_weights_is_that_of_repetitions(level: float):
    rng = np.random.default_rng(3)
    values, weights = rng.integers(0, 10, 25).astype(float), rng.integers(0, 4, 25)
    repeated = np.repeat(values, weights)
    expected = np.quantile(repeated, level, method="averaged_inverted_cdf")
    assert quantile(values, weights.astype(float), level) == expected
    assert quantile(repeated, np.ones(len(repeated)), level) == expected
    order = rng.permutation(25)
    assert quantile(values[order], weights[order].astype(float), level) == expected


def test_small_errors_count_in_proportion():
    errors = np.array([-2.0, -0.5, 0.0, 0.25, 3.0])
    slope, _ = Quantile(0.75, small=1.0).derivatives(errors, np.zeros((5, 1)))
    assert slope[:, 0].tolist() == [0.25, 0.125, 0.0, -0.1875, -0.75]


@pytest.mark.parametrize(("loss", "level"), [("absolute", 0.5), ("quantile", 0.25), ("quantile", 0.9)])
def test_labels_with_many_ties_do_not_hold_up_boosting(loss: str, level: float):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = np.clip(np.round(3 + X[:, 0] + (X[:, 1] > 0) * X[:, 2] + 0.3 * rng.normal(size=1000)), 1, 5)
    reg = hb.HornBoostRegressor(loss=loss, quantile=level, rounds=60, max_literals=2, random_state=0)
    found = reg.fit(X[:700], y[:700]).predict(X[700:])
    tree = GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0).fit(X[:700], y[:700])
    assert mean_pinball_loss(y[700:], found, alpha=level) < 1.1 * mean_pinball_loss(
        y[700:], tree.predict(X[700:]), alpha=level
    )


def test_the_step_of_counts_is_the_best_one():
    y, mean = np.array([0.0, 4.0, 9.0]), np.array([1.0, 2.0, 2.0])
    loss = Poisson()
    slope, curvature = loss.derivatives(y, np.log(mean)[:, None])
    (step,) = loss.steps(slope.sum(axis=0), curvature.sum(axis=0), 0.0)
    assert np.exp(step) * mean.sum() == pytest.approx(y.sum())
    assert np.isfinite(loss.steps(np.array([5.0]), np.array([5.0]), 0.0)).all()


def test_one_round_of_squared_error_by_hand():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, 3.0, 9.0, 11.0])
    model = hb.HornBoostRegressor(rounds=1, max_literals=1, learning_rate=0.5, l2=2.0, random_state=0).fit(X, y)
    (rule,) = model.rules_
    step = 0.5 * 2 * 4.0 / (2 + 2.0)  # each cell holds two errors of 4 on average
    assert abs(rule.votes[0]) == 2 * step
    assert sorted(set(model.predict(X))) == [6.0 - step, 6.0 + step]
    assert str(rule.clause) in ("y += 2 :- examples(x0>=1).", "y -= 2 :- examples(x0<=0).")
    assert (rule.coverage, sorted(rule.means)) == ((2.0,), [2.0, 10.0])


def test_one_round_of_absolute_error_by_hand():
    X, y = np.array([[0.0]] * 3 + [[1.0]] * 3), np.array([1.0, 2.0, 30.0, 40.0, 50.0, 900.0])
    fixed: dict[str, Any] = {"rounds": 1, "max_literals": 1, "learning_rate": 1.0, "l2": 0.0}
    model = hb.HornBoostRegressor(**fixed, loss="absolute", random_state=0).fit(X, y)
    assert model.predict(np.array([[0.0], [1.0]])).tolist() == [2.0, 50.0]


@pytest.mark.parametrize("loss", LOSSES)
def test_planted_rules_are_found_with_the_defaults(loss: str):
    data = hb.datasets.spending(600, noise=10.0, counts=loss == "poisson", seed=1)
    database = data.database()
    X, y = database.examples()
    model = hb.HornBoostRegressor(database, loss=loss, quantile=0.5, random_state=0).fit(X[:400], y[:400])
    assert model.tuning_["chosen"].sum() == 1
    if loss == "poisson":
        constant = mean_poisson_deviance(y[400:], np.full(200, y[:400].mean()))
        assert mean_poisson_deviance(y[400:], model.predict(X[400:])) < 0.6 * constant
        return
    assert model.score(X[400:], y[400:]) > 0.93
    bodies = {str(rule.clause).split(" :- ")[1] for rule in model.rules_}
    assert 'customer(customer_id=C), complaint(customer_id=C, kind="late").' in bodies


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_quantiles_are_calibrated_on_examples_that_were_not_learned_from(level: float):
    fixed: dict[str, Any] = {"max_literals": 2, "aggregates": False, "constants": False}
    shares = []
    for seed in range(4, 8):
        database = hb.datasets.spending(1_200, noise=20.0, seed=seed).database()
        X, y = database.examples()
        reg = hb.HornBoostRegressor(database, loss="quantile", quantile=level, **fixed, random_state=0)
        reg.fit(X[:600], y[:600])
        shares.append(np.mean(y[600:] <= reg.predict(X[600:])))
    assert np.mean(shares) == pytest.approx(level, abs=0.02)
    assert np.mean(y[:600] <= reg.predict(X[:600])) != pytest.approx(level, abs=0.005)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("scale", "shift"), [(1e9, 0.0), (1e-9, 0.0), (1e-120, 0.0), (1e120, 0.0), (1.0, 1e9)])
def test_labels_of_any_size_are_learned_alike(loss: str, scale: float, shift: float):
    X, y = load_diabetes(return_X_y=True)
    given: dict[str, Any] = {"rounds": 15, "max_literals": 2, "loss": loss, "quantile": 0.7, "random_state": 0}
    plain = hb.HornBoostRegressor(**given).fit(X, y).predict(X)
    found = (hb.HornBoostRegressor(**given).fit(X, y * scale + shift).predict(X) - shift) / scale
    if loss == "poisson":  # λ is so many events, which depends on their unit
        assert np.corrcoef(found, plain)[0, 1] > 0.9
    else:
        np.testing.assert_allclose(found, plain, rtol=1e-6 if shift else 1e-9)


def test_votes_of_far_labels_are_exact():
    database = hb.datasets.spending(80, seed=2).database()
    X, y = database.examples()
    model = hb.HornBoostRegressor(database, rounds=30, max_literals=2, random_state=0).fit(X, 1e12 + y)
    order = np.random.default_rng(0).permutation(len(model.rules_))
    covered = np.column_stack([database.covers(rule.clause) for rule in model.rules_])
    votes = np.array([rule.votes[0] for rule in model.rules_])
    assert model.score(X, 1e12 + y) > 0.7
    np.testing.assert_array_equal(model.ensemble_.intercept[0] + (covered * votes).sum(axis=1), model.predict(X))
    backwards = (covered * votes)[:, order].cumsum(axis=1)[:, -1] + model.ensemble_.intercept[0]
    np.testing.assert_array_equal(backwards, model.predict(X))


def test_cross_validation_and_score_are_those_of_a_regressor():
    database = hb.datasets.spending(200, seed=3).database()
    X, y = database.examples()
    model = hb.HornBoostRegressor(database, rounds=30, max_literals=2, random_state=0)
    assert cross_val_score(model, X, y, cv=3).min() > 0.7
    assert cross_val_score(model, X, y, cv=3, scoring="neg_mean_absolute_error").min() > -40


def test_equal_labels_give_a_constant():
    with pytest.warns(UserWarning, match="the labels of all 20 examples are equal"):
        model = hb.HornBoostRegressor(random_state=0).fit(np.arange(20.0)[:, None], np.full(20, 3.25))
    assert model.predict(np.zeros((2, 1))).tolist() == [3.25, 3.25]


def test_explanations_read_as_sums():
    database = hb.datasets.spending(200, seed=3).database()
    X, y = database.examples()
    model = hb.HornBoostRegressor(database, rounds=30, max_literals=2, aggregates=False, random_state=0).fit(X, y)
    text = str(model.explain(X[:5]))
    for words in ("predicted spend", " is the base value", "adds ", "takes ", "because of visit"):
        assert words in text
    frame = model.explain(X[:5]).frame()
    assert list(frame.columns) == ["example", "customer_id", "prediction", "rule", "fired", "vote", "failed", "witness"]
    assert model.explain(X[:1]).to_json()[0]["base"] == model.ensemble_.intercept[0]
    counts = hb.datasets.spending(200, counts=True, seed=3).database()
    X, y = counts.examples()
    model = hb.HornBoostRegressor(counts, rounds=30, loss="poisson", max_literals=2, random_state=0).fit(X, y)
    assert "multiplies " in str(model.explain(X[:5]))


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["a", "b", "c", "d"], r"y holds 'a', which is no number, and HornBoostRegressor predicts numbers; .*"),
        ([1.0, None, 2.0, 3.0], r"Input y contains NaN: 1 of 4 labels are missing; .*"),
        ([1.0, np.nan, 2.0, 3.0], r"Input y contains NaN: 1 of 4 labels are missing; .*"),
        ([1.0, np.inf, 2.0, 3.0], r"Input y contains infinity .*"),
        ([1.0, 1e200, 2.0, 3.0], r"y holds 1e\+200; scale labels to at most 1e\+150\."),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 4)), r"y holds dates or durations .*"),
    ],
)
def test_labels_that_are_no_numbers_are_refused(y: Any, sentence: str):
    with pytest.raises(hb.HornBoostError, match=f"^{sentence}$"):
        hb.HornBoostRegressor().fit(np.arange(4.0)[:, None], y)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([1.0, -2.0, 3.0], "loss='poisson' is for counts, and y holds -2; take another loss, or y >= 0."),
        ([0.0, 0.0, 0.0], "loss='poisson' is for counts, and all of them are 0; there is nothing to predict."),
    ],
)
def test_what_is_no_count_is_refused(y: list[float], sentence: str):
    with pytest.raises(hb.HornBoostError, match=f"^{sentence}$"):
        hb.HornBoostRegressor(loss="poisson").fit(np.arange(3.0)[:, None], y)


def test_what_is_no_count_is_refused_in_an_eval_set():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(hb.HornBoostError, match="eval_set: loss='poisson' is for counts"):
        hb.HornBoostRegressor(loss="poisson", rounds=2).fit(X, y, eval_set=(X, y - 1))


def test_one_example_is_refused():
    for estimator in (hb.HornBoostRegressor(), hb.HornBoostClassifier()):
        with pytest.raises(hb.HornBoostError, match="there is one example only, n_samples=1"):
            estimator.fit([[1.0]], [2])
    with pytest.raises(hb.HornBoostError, match="there is one example only"):
        hb.HornBoostRegressor().fit([[1.0], [2.0]], [2.0, 3.0], sample_weight=[0.0, 1.0])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2, "half"])
def test_a_quantile_lies_between_0_and_1(level: Any):
    with pytest.raises(ValueError, match="The 'quantile' parameter of HornBoostRegressor must be a float in the range"):
        hb.HornBoostRegressor(loss="quantile", quantile=level).fit([[1.0], [2.0]], [2.0, 3.0])


def test_classifiers_point_to_the_regressor():
    with pytest.raises(hb.HornBoostError, match="HornBoostClassifier predicts classes; use HornBoostRegressor"):
        hb.HornBoostClassifier().fit(np.arange(4.0)[:, None], [0.5, 1.5, 2.5, 3.5])


def test_a_task_may_say_that_its_label_is_of_numbers(tmp_path: Path):
    frame = pd.DataFrame({"k": range(6), "n": [0, 1, 2, 0, 1, 2]})
    read = hb.Database.from_frames({"t": frame}, target="t", key="k", label="n")
    assert (read.label_kind, list(read.examples()[1][:2])) == ("classes", [0, 1])
    read = hb.Database.from_frames({"t": frame}, target="t", key="k", label="n", predicts="numbers")
    assert (read.label_kind, list(read.examples()[1][:2])) == ("numbers", [0.0, 1.0])
    read.write_schema(tmp_path / "schema.toml")
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = (tmp_path / "schema.toml").read_text()
    assert 'predicts = "numbers"' in text
    (tmp_path / "schema.toml").write_text(text.replace("[tables.t]", '[tables.t]\nfile = "t.csv"'))
    assert hb.Database.from_folder(tmp_path).label_kind == "numbers"
    halves = frame.assign(n=frame["n"] + 0.5)
    read = hb.Database.from_frames({"t": halves}, target="t", key="k", label="n", predicts="classes")
    assert (read.label_kind, list(read.examples()[1][:2])) == ("classes", [0.5, 1.5])


@pytest.mark.parametrize("reader", ["frames", "csv", "parquet", "schema"])
def test_a_date_is_refused_as_a_label_wherever_it_is_read_from(reader: str, tmp_path: Path):
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"] * 20)
    frame = pd.DataFrame({"k": range(60), "due": days})
    stated: dict[str, Any] = {"target": "t", "key": "k", "label": "due"}

    def read(**options: Any) -> hb.Database:
        if reader == "frames":
            return hb.Database.from_frames({"t": frame}, **stated, **options)
        return hb.Database.from_folder(tmp_path, **({} if reader == "schema" else stated), **options)

    if reader == "parquet":
        frame.to_parquet(tmp_path / "t.parquet")
    else:
        frame.to_csv(tmp_path / "t.csv", index=False)
    if reader == "schema":
        columns = '[{ name = "k", type = "key" }, { name = "due", type = "date" }]'
        task = '[target]\ntable = "t"\nkey = ["k"]\nlabel = "due"\n'
        (tmp_path / "schema.toml").write_text(f"{task}[tables.t]\ncolumns = {columns}\n")
    sentence = "table 't', label 'due': dates cannot be predicted; add a column with the days since some date"
    for options in ({}, {"predicts": "numbers"}):
        with pytest.raises(hb.HornBoostError, match=sentence):
            read(**options)
    assert len(read(predicts="classes").target.classes) == 3
    assert read(positive=read(predicts="classes").target.classes[0]).label_kind == "classes"


@pytest.mark.parametrize("reader", ["frames", "parquet", "duckdb", "sqlite"])
def test_text_that_is_nothing_but_dates_is_refused_as_a_label_unless_it_is_said_to_be_of_classes(
    reader: str, tmp_path: Path
):
    frame = pd.DataFrame({"k": range(60), "due": ["2024-01-01", "2024-02-01", "2024-03-01"] * 20})

    def read(**options: Any) -> hb.Database:
        stated: dict[str, Any] = {"target": "t", "key": "k", "label": "due", **options}
        if reader == "frames":
            return hb.Database.from_frames({"t": frame}, **stated)
        if reader == "parquet":
            return hb.Database.from_folder(tmp_path, **stated)
        if reader == "duckdb":
            return hb.Database.from_duckdb(connection, **stated)
        return hb.Database.from_sqlite(tmp_path / "t.sqlite", **stated)

    if reader == "parquet":
        frame.to_parquet(tmp_path / "t.parquet")
    elif reader == "duckdb":
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    elif reader == "sqlite":
        with closing(sqlite3.connect(tmp_path / "t.sqlite")) as file:
            frame.to_sql("t", file, index=False)
            file.commit()
    for options in ({}, {"predicts": "numbers"}):
        with pytest.raises(hb.HornBoostError, match="table 't', label 'due': dates cannot be predicted"):
            read(**options)
    for options in ({"predicts": "classes"}, {"positive": "2024-01-01"}):
        said = read(**options)
        assert (said.label_kind, said.target.classes[0], said.warnings) == ("classes", "2024-01-01", ())


def test_what_a_task_may_not_say_is_refused():
    frame = pd.DataFrame({"k": range(6), "n": [0, 1, 2, 0, 1, 2], "w": list("abcabc")})
    given: dict[str, Any] = {"target": "t", "key": "k"}
    for label, further, sentence in (
        ("n", {"predicts": "numbers", "positive": "1"}, "numbers have no positive value"),
        ("n", {"predicts": "both"}, "predicts is 'both'; write 'classes' or 'numbers'"),
        ("w", {"predicts": "numbers"}, "row 1 holds 'a', which is not a number"),
    ):
        with pytest.raises(hb.HornBoostError, match=sentence):
            hb.Database.from_frames({"t": frame}, label=label, **given, **further)


@pytest.mark.parametrize(
    "text",
    ["spend += 3.2 :- t(x>=1).", "spend -= 0.5 :- t(x>=1).", "spend *= 1.3 :- t(x>=1).", '"my label" += 3 :- t(x>=1).'],
)
def test_heads_of_numbers_read_back(text: str):
    clause = hb.Clause.parse(text)
    assert str(clause) == text
    assert hb.Clause.parse(str(clause)) == clause


def test_heads_of_numbers_are_one_however_they_are_written():
    assert hb.Clause.parse("y += -2.50 :- t(x>=1).") == hb.Clause.parse("y -= 2.5 :- t(x>=1).")
    for text in ("y *= -1 :- t(x>=1).", "y += a :- t(x>=1).", "y += inf :- t(x>=1).", 'y += "1" :- t(x>=1).'):
        with pytest.raises(hb.HornBoostError, match="clause, position"):
            hb.Clause.parse(text)


def test_prolog_tells_what_is_added():
    database = hb.datasets.spending(80, seed=2).database()
    given = {"rounds": 3, "max_literals": 2, "aggregates": False, "random_state": 0}
    model = hb.HornBoostRegressor(database, **given).fit(*database.examples())
    text = model.to_prolog()
    assert "% spend is " in text
    assert f", {model.rules_[0].clause.head.value}) :- " in text
