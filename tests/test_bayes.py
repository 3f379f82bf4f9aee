"""The Bernoulli Bayes classifier of mLynx."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.naive_bayes import BernoulliNB

from hornboost.mining.bayes import BernoulliBayes, best_prefix


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (60, 7)), rng.integers(0, 3, 60), rng.integers(1, 4, 60).astype(float)


def discriminants(model: BernoulliBayes, X: Any) -> np.ndarray:
    """g_j(x) = ln p(x | c_j) + ln p(c_j), a column a class."""
    with np.errstate(divide="ignore"):
        return np.asarray(X) @ np.log(model.p).T + (1 - np.asarray(X)) @ np.log(1 - model.p).T + model.log_prior


def posteriors(model: BernoulliBayes, X: Any) -> np.ndarray:
    """p(c_j | x), a column a class."""
    return softmax(discriminants(model, X), axis=1)


def predicted(model: BernoulliBayes, X: Any) -> np.ndarray:
    """The code of the maximum a posteriori class."""
    return np.argmax(discriminants(model, X), axis=1)


def test_a_hand_case_gives_the_formula_of_section_2():
    # class 0: two examples, x true in one; class 1: one example, x true: p = (1+1)/(2+2), (1+1)/(1+2)
    model = BernoulliBayes.fit([[1], [0], [1]], [0, 0, 1], n_classes=2)
    np.testing.assert_allclose(model.p, [[1 / 2], [2 / 3]])
    np.testing.assert_allclose(
        discriminants(model, [[1]]), [[np.log(1 / 2) + np.log(2 / 3), np.log(2 / 3) + np.log(1 / 3)]]
    )
    np.testing.assert_allclose(posteriors(model, [[1]]), [[(1 / 3) / (1 / 3 + 2 / 9), (2 / 9) / (1 / 3 + 2 / 9)]])


def test_posteriors_equal_those_of_scikit_learn_with_weights_and_three_classes(data):
    X, y, w = data
    ours = BernoulliBayes.fit(X, y, 3, w)
    theirs = BernoulliNB(alpha=1.0).fit(X, y, w)
    np.testing.assert_allclose(posteriors(ours, X), theirs.predict_proba(X), rtol=1e-10)
    second, best = np.sort(theirs.predict_proba(X), axis=1)[:, -2:].T
    assert (best - second).min() > 1e-9  # so that no rounding decides
    np.testing.assert_array_equal(predicted(ours, X), theirs.predict(X))


def test_a_weight_is_a_number_of_repetitions(data):
    X, y, w = data
    repeated = np.repeat(np.arange(60), w.astype(int))
    np.testing.assert_allclose(BernoulliBayes.fit(X, y, 3, w).p, BernoulliBayes.fit(X[repeated], y[repeated], 3).p)


def test_sparse_and_dense_matrices_give_one_model(data):
    X, y, w = data
    dense, thin = BernoulliBayes.fit(X, y, 3, w), BernoulliBayes.fit(sparse.csr_matrix(X), y, 3, w)
    np.testing.assert_array_equal(dense.p, thin.p)
    np.testing.assert_array_equal(dense.log_prior, thin.log_prior)


def test_a_class_without_weight_is_never_predicted(data):
    X, y, w = data
    model = BernoulliBayes.fit(X, y, 4, w)
    np.testing.assert_array_equal(posteriors(model, X)[:, 3], 0.0)
    assert np.isfinite(posteriors(model, X)).all()


def test_the_best_prefix_is_that_of_the_classifier_on_each_of_them(data):
    X, y, w = data
    judged = []
    for k in range(2, 8):
        model = BernoulliBayes.fit(X[:, :k], y, 3, w)
        log_loss = -w @ np.log(posteriors(model, X[:, :k])[np.arange(len(y)), y])
        judged.append((w[predicted(model, X[:, :k]) != y].sum(), round(log_loss, 9), k))
    error, log_loss, k = min(judged)
    assert best_prefix(X.T, np.full(7, 2), y, 3, w) == (k, pytest.approx(error), pytest.approx(log_loss))


def test_one_column_is_judged_alone(data):
    X, y, w = data
    model = BernoulliBayes.fit(X[:, :1], y, 3, w)
    size, error, _ = best_prefix(X.T[:1], np.full(1, 2), y, 3, w)
    assert (size, error) == (1, pytest.approx(w[predicted(model, X[:, :1]) != y].sum()))
