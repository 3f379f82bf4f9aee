"""mRMR and Algorithm 1 of mLynx against direct implementations, mrmr-selection and a hand case."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mrmr import mrmr_classif
from scipy import sparse
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hornboost.estimators.selector import MutualInformationSelector
from hornboost.mining import selection
from hornboost.mining.selection import Information, greedy, stochastic


def booleans(n: int = 150, d: int = 12, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.random((n, d)) < rng.uniform(0.2, 0.6, d) + 0.2 * (y[:, None] == rng.integers(0, classes, d))
    X[:, d // 2] = X[:, 0] ^ (rng.random(n) < 0.05)
    return X, y


def discrete(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [2, 3, 4, 5, 2], (n, 5))
    return X, (X[:, 1] + rng.integers(0, 2, n)) % 3


def information(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Information:
    weights = np.ones(len(y)) if weights is None else weights
    return Information.of(selection.encode(X, weights), y, int(y.max()) + 1, weights)


def naive_mi(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    """Equation (1), cell by cell."""
    total, out = w.sum(), 0.0
    for x in set(a.tolist()):
        for y in set(b.tolist()):
            p, px, py = w[(a == x) & (b == y)].sum() / total, w[a == x].sum() / total, w[b == y].sum() / total
            out += p * np.log(p / (px * py)) if p > 0 else 0.0
    return out


@pytest.mark.parametrize("data", [booleans(), discrete()], ids=["boolean", "discrete"])
@pytest.mark.parametrize("weights", ["equal", "few", "many"])
def test_information_equals_the_definition(data, weights):
    X, y = data
    draw = np.random.default_rng(1)
    w = {
        "equal": np.ones(len(y)),
        "few": draw.choice([0.5, 1.25, 3.0], len(y)),
        "many": draw.uniform(0.1, 3.0, len(y)),
    }[weights]
    found = information(X, y, w)
    np.testing.assert_allclose(found.relevance, [naive_mi(x, y, w) for x in X.T], atol=1e-12)
    for j in range(X.shape[1]):
        np.testing.assert_allclose(found.pairwise(j), [naive_mi(x, X[:, j], w) for x in X.T], atol=1e-12)


def test_information_equals_that_of_scikit_learn():
    X, y = discrete()
    np.testing.assert_allclose(information(X, y).relevance, [mutual_info_score(x, y) for x in X.T], atol=1e-12)


def naive_mrmr(X: np.ndarray, y: np.ndarray, k: int) -> list[int]:
    """Equation (5), recomputed from nothing at each step."""
    chosen: list[int] = []
    while len(chosen) < k:
        score = {
            j: mutual_info_score(X[:, j], y)
            - (np.mean([mutual_info_score(X[:, j], X[:, i]) for i in chosen]) if chosen else 0.0)
            for j in range(X.shape[1])
            if j not in chosen
        }
        second, best = sorted(score.values())[-2:] if len(score) > 1 else (-np.inf, 0.0)
        assert best - second > 1e-9, "the data leave the choice to rounding"
        chosen.append(max(score, key=score.__getitem__))
    return chosen


@pytest.mark.parametrize("data", [booleans(), discrete()], ids=["boolean", "discrete"])
def test_mrmr_equals_a_direct_implementation(data):
    X, y = data
    assert greedy(information(X, y), X.shape[1]) == naive_mrmr(X, y, X.shape[1])


def test_mrmr_equals_mrmr_selection():
    # mrmr-selection divides relevance by redundancy; with exponentials and a geometric mean its order is that of the
    # difference (5)
    X, y = booleans(400, 25, 2, seed=3)
    names = [f"x{j}" for j in range(25)]
    frame, labels = pd.DataFrame(X.astype(int), columns=names), pd.Series(y)

    def relevance(X: pd.DataFrame, y: pd.Series) -> pd.Series:
        return np.exp(X.apply(lambda x: mutual_info_score(x, y)))

    def redundancy(target_column: str, features: list[str], X: pd.DataFrame) -> pd.Series:
        return np.exp(X[features].apply(lambda x: mutual_info_score(x, X[target_column])))

    def geometric_mean(x: pd.Series) -> float:
        return float(np.exp(np.log(x.astype(float)).mean()))

    theirs = mrmr_classif(frame, labels, 15, relevance, redundancy, geometric_mean, n_jobs=1, show_progress=False)
    ours = MutualInformationSelector("mrmr", alpha=None, max_features=15).fit(frame, labels)
    assert [names[j] for j in ours.selected_] == theirs == [names[j] for j in naive_mrmr(X, y, 15)]


def test_mrmr_stops_at_the_threshold():
    X, y = booleans()
    scores = information(X, y)
    chosen = greedy(scores, X.shape[1], alpha=0.005)
    assert 0 < len(chosen) < X.shape[1]
    rest = [j for j in range(X.shape[1]) if j not in chosen]
    redundancy = np.mean([scores.pairwise(j) for j in chosen], axis=0)
    assert max(scores.relevance[rest] - redundancy[rest]) <= 0.005


def hand_case() -> tuple[np.ndarray, np.ndarray]:
    # y = a or b; columns: a, a again, b, noise independent of y, a and b
    a = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    b = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    noise = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    return np.stack([a, a, b, noise], axis=1), a | b


def test_algorithm_1_line_by_line_on_a_hand_case():
    # I(a;y) = I(b;y) = H(3/4) - 1/2 H(1/2) = 0.5623 - 0.3466 = 0.2158 nats; I(a;a) = ln 2 = 0.6931; all other pairs
    # have 0.
    X, y = hand_case()
    sequence = iter(
        [
            # restart 1
            0.80,  # line 3: column int(0.80 * 4) = 3, noise
            0.50,  # line 6: 0.05 < 0.50, mRMR: a, a and b have 0.2158 > alpha each, the first of them is column 0
            0.90,  # line 6: column 1 has 0.2158 - (0.6931 + 0)/2 < 0, column 2 has 0.2158: column 2
            0.90,  # line 6: column 1 is left with 0.2158 - 0.6931/3 = -0.0153 <= alpha: improve = false
            # restart 2
            0.30,  # line 3: column 1
            0.02,  # line 6: 0.02 <= 0.05, a walk step
            0.70,  # line 13: of the columns 0, 2, 3 the one at int(0.70 * 3) = 2, noise
            0.05,  # line 6: 0.05 < 0.05 does not hold, so a walk step
            0.00,  # line 13: of the columns 0, 2 the first
            0.06,  # line 6: mRMR of column 2 is 0.2158 > alpha
            # |S| = |X| ends the construction
        ]
    )
    best, history = stochastic(information(X, y), sequence.__next__, restarts=2, walk_probability=0.05, alpha=0.01)
    assert [restart.columns for restart in history] == [(3, 0, 2), (1, 3, 0, 2)]
    # both judge 0 errors; a counted twice fits better: 1.737 nats of loss against 2.169
    assert [restart.error for restart in history] == [0.0, 0.0]
    assert [restart.log_loss for restart in history] == pytest.approx([2.168706, 1.736718])
    assert best is history[1]
    with pytest.raises(StopIteration):
        next(sequence)


def test_algorithm_1_keeps_the_construction_of_fewest_errors():
    X, y = hand_case()
    # a with noise predicts the majority, 2 of 8 wrong; a with b gets all right
    best, history = stochastic(
        information(X, y), iter([0.9, 0.01, 0.0, 0.5, 0.01, 0.0]).__next__, restarts=2, alpha=0.0, max_features=2
    )
    assert [(restart.columns, restart.error) for restart in history] == [((3, 0), 2.0), ((2, 0), 0.0)]
    assert best is history[1]


def test_algorithm_1_judges_after_each_addition():
    X, y = hand_case()
    # a, b, then by walk steps noise: it cannot mend what is right, and fits as well
    best, history = stochastic(
        information(X, y), iter([0.0, 0.01, 0.5, 0.01, 0.9]).__next__, restarts=1, alpha=0.0, max_features=3
    )
    assert (history[0].columns, history[0].grown) == ((0, 2), 3)
    assert best is history[0]


def test_of_equal_constructions_the_first_is_kept():
    X, y = hand_case()
    # b and a, then a and b
    best, history = stochastic(
        information(X, y), iter([0.5, 0.01, 0.0, 0.0, 0.01, 0.5]).__next__, restarts=2, alpha=0.0, max_features=2
    )
    assert [restart.columns for restart in history] == [(2, 0), (0, 2)]
    assert best is history[0]


def test_examples_of_weight_zero_change_nothing():
    X, y = booleans(200, 20, 2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 200)
    w[::2] = 0.0
    corrupted = np.where(w == 0.0, 1 - y, y)
    one = MutualInformationSelector(restarts=20, random_state=0).fit(X, y, w)
    two = MutualInformationSelector(restarts=20, random_state=0).fit(X, corrupted, w)
    left = MutualInformationSelector(restarts=20, random_state=0).fit(X[w > 0], y[w > 0], w[w > 0])
    for other in (two, left):
        np.testing.assert_array_equal(one.selected_, other.selected_)
        np.testing.assert_array_equal(one.relevance_, other.relevance_)


def test_a_weight_is_a_number_of_repetitions():
    X, y = booleans(120, 20, 3)
    w = np.random.default_rng(0).integers(1, 4, 120)
    rows = np.repeat(np.arange(120), w)
    weighted = MutualInformationSelector(restarts=10, random_state=0).fit(X, y, w)
    repeated = MutualInformationSelector(restarts=10, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.selected_, repeated.selected_)
    np.testing.assert_allclose(weighted.relevance_, repeated.relevance_, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("data", [booleans(), discrete()], ids=["boolean", "discrete"])
def test_sparse_and_dense_matrices_give_one_choice(kind, data):
    X, y = data
    dense = MutualInformationSelector(restarts=5, random_state=0).fit(X, y)
    thin = MutualInformationSelector(restarts=5, random_state=0).fit(kind(X.astype(np.int64)), y)
    np.testing.assert_array_equal(dense.selected_, thin.selected_)
    assert sparse.issparse(thin.transform(kind(X)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_text_and_missing_values_are_discrete(frame):
    colour = ["red", "red", "blue", None] * 6
    noise = ["x", "y", "x", "y"] * 6
    X = frame({"noise": noise, "colour": colour})
    selector = MutualInformationSelector("mrmr", max_features=1).fit(X, [1, 1, 0, 0] * 6)
    assert selector.get_feature_names_out().tolist() == ["colour"]
    assert selector.relevance_[1] == pytest.approx(np.log(2))
    assert selector.set_output(transform="pandas").transform(X).columns.tolist() == ["colour"]


def test_a_column_of_identifiers_is_refused_by_name():
    X = pd.DataFrame({"flag": np.arange(2000) % 2, "serial": np.arange(2000)})
    with pytest.raises(ValueError, match="column 'serial' has 2000 distinct values"):
        MutualInformationSelector().fit(X, np.arange(2000) % 3)


def test_the_selector_works_in_a_pipeline():
    X, y = booleans(300, 30, 2)
    model = make_pipeline(
        MutualInformationSelector(restarts=10, random_state=0), DecisionTreeClassifier(random_state=0)
    ).fit(X, y)
    assert model.score(X, y) > 0.7


@parametrize_with_checks([MutualInformationSelector(restarts=3, random_state=0)])
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)
