from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from hornboost.boosting.adaboost import AdaBoostM1Classifier


def test_one_round_is_figure_1_by_hand():
    X = np.array([[0.0], [0], [0], [0], [1], [1], [1], [1]])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    model = AdaBoostM1Classifier(rounds=1).fit(X, y)
    assert model.history_["error"][0] == pytest.approx(1 / 8)
    assert model.history_["vote"][0] == pytest.approx(np.log(7))
    np.testing.assert_allclose(model.decision_function([[0.0], [1.0]]), [-np.log(7), np.log(7)])


def test_two_classes_equal_scikit_learns_samme_up_to_its_scaling():
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    for rounds in (1, 5, 20):
        ours = AdaBoostM1Classifier(rounds=rounds, random_state=0).fit(X, y)
        theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=rounds, random_state=0).fit(X, y)
        assert ours.n_rounds_ == rounds
        np.testing.assert_allclose(ours.history_["error"], theirs.estimator_errors_[:rounds], rtol=1e-9)
        np.testing.assert_allclose(ours.history_["vote"], theirs.estimator_weights_[:rounds], rtol=1e-9)
        # scikit-learn divides by the sum of all votes, and counts each vote for one class and against the other
        scaled = 2 * ours.decision_function(X) / ours.history_["vote"].sum()
        np.testing.assert_allclose(scaled, theirs.decision_function(X), rtol=0, atol=1e-9)


def test_it_ends_before_an_error_of_half():
    X = np.array([[0.0], [0], [1], [1]])
    model = AdaBoostM1Classifier().fit(X, [0, 1, 0, 1])
    assert model.n_rounds_ == 0
    assert "half" in model.stopped_
    assert set(model.predict(X)) == {0}


def test_it_ends_after_a_hypothesis_without_error_whose_vote_is_finite():
    X = np.arange(10.0)[:, None]
    model = AdaBoostM1Classifier().fit(X, X[:, 0] > 4)
    assert model.n_rounds_ == 1
    assert "without error" in model.stopped_
    assert model.history_["vote"][0] == pytest.approx(np.log(2 * 10))
    assert model.score(X, X[:, 0] > 4) == 1.0


def test_several_classes_with_trees():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostM1Classifier(base=DecisionTreeClassifier(max_depth=2), rounds=10, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.decision_function(X).shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


@pytest.mark.parametrize("base", ["stump", "tree", KNeighborsClassifier(3)])
def test_examples_of_weight_zero_change_nothing_even_with_wrong_labels(base):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(8).integers(0, 2, len(y)).astype(float)
    corrupted = np.where(weight == 0, 1 - y, y)
    model = AdaBoostM1Classifier(base=base, rounds=5, random_state=0)
    weighted = clone(model).fit(X, corrupted, sample_weight=weight)
    left_out = clone(model).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(weighted.decision_function(X), left_out.decision_function(X))
