from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from hornboost.boosting.logitboost import LogitBoostClassifier, direction
from hornboost.errors import DataError
from hornboost.estimators.matrix import MatrixEncoder


def test_one_round_is_figure_2_by_hand():
    X = np.array([[0.0], [0], [0], [0], [1], [1], [1], [1]])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    model = LogitBoostClassifier(rounds=1).fit(X, y)
    # p = 1/2: z = ±2, so f is -1 on the left and 2 on the right, F = f/2, log-odds = 2F
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), [-1.0, 2.0])
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[1 / (1 + np.e**2), 1 / (1 + np.e**-2)]])


def test_responses_are_cut_at_four():
    X = np.arange(8.0)[:, None]
    y = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    model = LogitBoostClassifier(rounds=50).fit(X, y)
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 4 * 50
    assert model.score(X, y) == 1.0


def test_two_classes_are_the_symmetric_form_with_two_functions():
    functions = np.array([[1.0, -3.0]])
    both = -functions.T * (1 / 2 * (np.eye(2)[0] - 1 / 2)) + functions.T * (1 / 2 * (np.eye(2)[1] - 1 / 2))
    np.testing.assert_allclose(functions.T * direction(1, 2), both)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_a_round_moves_each_class_by_its_function_above_the_mean(n_classes):
    f = np.random.default_rng(0).normal(size=n_classes)
    step = sum(f[k] * direction(k, n_classes) for k in range(n_classes))
    np.testing.assert_allclose(step, (n_classes - 1) / n_classes * (f - f.mean()), atol=1e-15)


def test_several_classes_sum_to_zero_and_probabilities_to_one():
    X, y = load_iris(return_X_y=True)
    model = LogitBoostClassifier(rounds=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, model.predict_proba(X))


def test_the_training_loss_falls_and_is_that_of_the_probabilities():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogitBoostClassifier(rounds=15, random_state=0).fit(X, y)
    losses = model.history_["training_log_loss"].to_numpy()
    assert (np.diff(losses[:10]) < 0).all()
    assert losses[-1] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-9)


@pytest.mark.parametrize("base", ["tree", Ridge(), KNeighborsRegressor(5)])
def test_any_regressor_can_be_the_base_learner(base):
    X, y = load_iris(return_X_y=True)
    model = LogitBoostClassifier(base=base, rounds=5, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_classifier_as_base_learner_is_refused():
    with pytest.raises(DataError, match="needs a regressor"):
        LogitBoostClassifier(base=DecisionTreeClassifier()).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("base", ["stump", "tree", KNeighborsRegressor(5)])
def test_examples_of_weight_zero_change_nothing_even_with_wrong_labels(base):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(8).integers(0, 2, len(y)).astype(float)
    corrupted = np.where(weight == 0, 1 - y, y)
    model = LogitBoostClassifier(base=base, rounds=5, random_state=0)
    weighted = clone(model).fit(X, corrupted, sample_weight=weight)
    left_out = clone(model).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(weighted.predict_proba(X), left_out.predict_proba(X))


def adult() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    folder = os.environ.get("HORNBOOST_DATA")
    if not folder:
        pytest.skip("set HORNBOOST_DATA to the folder of data sets to compare on 'adult'")
    train, test = (pd.read_csv(Path(folder) / "adult" / name) for name in ("examples.csv.gz", "test.csv.gz"))
    y_train, y_test = train.pop("income"), test.pop("income")
    encoder = MatrixEncoder(train)
    return encoder.matrix(train), y_train.to_numpy(), encoder.matrix(test[train.columns]), y_test.to_numpy()


def test_held_out_log_loss_on_adult_is_within_two_percent_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    X_train, y_train, X_test, y_test = adult()
    ours = LogitBoostClassifier(rounds=50, random_state=0).fit(X_train, y_train)
    theirs = lightgbm.LGBMClassifier(
        n_estimators=50,
        num_leaves=2,
        learning_rate=1.0,
        min_child_weight=0,
        min_child_samples=1,
        boost_from_average=False,
        verbose=-1,
        n_jobs=1,
    ).fit(X_train, y_train)
    our_loss = log_loss(y_test, ours.predict_proba(X_test), labels=ours.classes_)
    their_loss = log_loss(y_test, theirs.predict_proba(X_test), labels=theirs.classes_)
    assert our_loss <= 1.02 * their_loss
