from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from hornboost.boosting.adaboost import AdaBoostM1Classifier
from hornboost.boosting.kbs import KBSClassifier, Sampling, SamplingOptions
from hornboost.boosting.lift import has_empty, joint_weights, lift, log_votes, residual_wracc
from hornboost.errors import DataError
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Run
from hornboost.exact import softmax
from hornboost.learners.hypotheses import Rows
from hornboost.model.votes import Round, Votes


class FixedCells:
    """A hypothesis that reads its cells from a column of the matrix."""

    def __init__(self, column, n_cells, predicted=None):
        self.column = column
        self.n_cells = n_cells
        self.predicted = predicted

    def cells(self, X):
        return X.matrix[:, self.column].astype(np.intp)


class InTurn:
    """A weak learner that gives column 1 in round 1, and so on, cycling."""

    is_additive = False

    def __init__(self, n_columns, n_cells, predicted=None):
        self.n_columns, self.n_cells, self.predicted = n_columns, n_cells, predicted

    def fit(self, X, y, weights, round, output=0):
        return FixedCells((round - 1) % self.n_columns, self.n_cells, self.predicted)


def training_of(cells, y, weights=None):
    cells, y = np.asarray(cells, dtype=np.float64), np.asarray(y)
    weights = np.ones(len(y)) if weights is None else weights
    labels = tuple(map(str, range(int(y.max()) + 1)))
    return Training(Rows(cells, cells), y, labels, weights, np.arange(len(y), dtype=np.uint64))


class Boosting(Sampling):
    """The loop of KBS on its own, without the skeleton around it."""

    def __init__(self, training, most=10, **options):
        super().__init__(training, SamplingOptions(**options))
        self.training, self.most = training, most

    def boost(self, learner):
        votes, self.flags = [], []
        rounds = self.rounds(learner, self.most)
        while True:
            try:
                vote, flag = next(rounds)
            except StopIteration as end:
                self.stopped = end.value
                break
            votes.append(vote)
            self.flags.append(flag)
        start = KBSClassifier()._start(self.training)
        return Votes(self.training.labels, tuple(Round((vote,)) for vote in votes), tuple(start))


def kbs(cells, y, weights=None, rounds=10, **options):
    training = training_of(cells, y, weights)
    return training.rows, Boosting(training, rounds, **options)


def check_constraints(before, after, cells, y, n_cells, n_classes):
    """Constraints (1) to (4) of Scholz 2005, section 3.1."""
    old, new = (joint_weights(cells, y, d / d.sum(), n_cells, n_classes) for d in (before, after))
    np.testing.assert_allclose(
        new / new.sum(axis=1, keepdims=True), np.tile(new.sum(axis=0), (n_cells, 1)), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(new.sum(axis=1), old.sum(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(new.sum(axis=0), old.sum(axis=0), rtol=0, atol=1e-12)
    place = cells * n_classes + y
    share_before, share_after = (d / np.bincount(place, weights=d)[place] for d in (before, after))
    np.testing.assert_allclose(share_after, share_before, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_each_of_200_rounds_meets_the_four_constraints(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 3000)
    n_columns, n_cells = 200, n_classes
    cells = np.where(rng.random((3000, n_columns)) < 0.3, y[:, None], rng.integers(0, n_cells, (3000, n_columns)))
    _, booster = kbs(cells, y, rng.uniform(0.5, 2.0, 3000), rounds=200)

    class Watch(InTurn):
        def fit(self, X, y, weights, round, output=0):
            seen.append(weights.copy())
            return super().fit(X, y, weights, round)

    seen: list[np.ndarray] = []
    model = booster.boost(Watch(n_columns, n_cells))
    seen.append(booster.distribution)
    assert len(model.rounds) == 200
    for number in range(200):
        check_constraints(seen[number], seen[number + 1], cells[:, number], y, n_cells, n_classes)


def test_with_an_empty_cell_class_shares_and_proportions_are_kept_and_the_round_is_flagged():
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    cells = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    weights = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    _, booster = kbs(cells[:, None], y, weights, rounds=1)
    model = booster.boost(InTurn(1, 2))
    assert booster.flags == [True]
    before, after = weights / weights.sum(), booster.distribution
    np.testing.assert_allclose(np.bincount(y, after), np.bincount(y, before), rtol=1e-14)
    np.testing.assert_allclose(after[:2] / after[:2].sum(), before[:2] / before[:2].sum(), rtol=1e-14)
    assert after[0] < before[0]
    assert np.isfinite(model.rounds[0].votes[0].table).all()


def test_lift_of_a_hand_worked_table():
    joint = np.array([[3.0, 1.0], [2.0, 4.0]])
    np.testing.assert_allclose(
        lift(joint), [[0.3 / (0.4 * 0.5), 0.1 / (0.4 * 0.5)], [0.2 / (0.6 * 0.5), 0.4 / (0.6 * 0.5)]]
    )
    np.testing.assert_allclose(lift(7 * joint), lift(joint), rtol=1e-15)
    assert not has_empty(joint)
    assert residual_wracc(joint) == pytest.approx(0.1)


def test_votes_of_a_pure_cell_are_finite_and_those_of_an_unseen_cell_zero():
    votes = log_votes(np.array([[0.5, 0.0], [0.0, 0.5], [0.0, 0.0]]), 1 / 200)
    smoothed = (0.005 * 1.02) / (0.51 * 0.51)
    assert votes[0, 1] == pytest.approx(np.log(smoothed))
    np.testing.assert_array_equal(votes[2], 0.0)


def flip_symmetric_design(seed):
    """Two classes; with each example its mirror image:
    the other class, every hypothesis the other way round, equal weight.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 400)
    accuracy = np.array([0.6, 0.7, 0.65, 0.55, 0.8, 0.6])
    predictions = np.where(rng.random((400, 6)) < accuracy, y[:, None], 1 - y[:, None])
    weights = rng.uniform(0.1, 1.0, 400)
    return np.vstack([predictions, 1 - predictions]), np.r_[y, 1 - y], np.r_[weights, weights]


@pytest.mark.parametrize("seed", [0, 1])
def test_kbs_equals_adaboost_m1_on_flip_symmetric_designs(seed):
    predictions, y, weights = flip_symmetric_design(seed)
    rows, booster = kbs(predictions, y, weights, rounds=6, smoothing=0.0)
    seen: dict[str, list[np.ndarray]] = {"kbs": [], "m1": []}

    class Watch(InTurn):
        name = "kbs"

        def fit(self, X, y, weights, round, output=0):
            seen[self.name].append(weights / weights.sum())
            return super().fit(X, y, weights, round)

    learner = Watch(6, 2, np.array([0, 1]))
    ours = booster.boost(learner)
    learner.name = "m1"
    m1_classifier = AdaBoostM1Classifier()
    m1_classifier._learner = lambda training, run, leaves: learner
    loop = m1_classifier._boost(training_of(predictions, y, weights), Run(None, 0))
    m1 = Votes(("0", "1"), tuple(next(loop) for _ in range(6)), (0.0, 0.0))
    assert len(ours.rounds) == len(m1.rounds) == 6
    for a, b in zip(seen["kbs"], seen["m1"], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    log_odds = ours.scores(rows) @ [-1, 1]
    np.testing.assert_allclose(log_odds, m1.scores(rows) @ [-1, 1], rtol=0, atol=1e-12 * np.abs(log_odds).max())


def test_with_independent_hypotheses_of_equal_accuracy_kbs_errs_as_often_as_the_majority():
    rng = np.random.default_rng(5)
    n, voters = 20_000, 9
    y = rng.integers(0, 2, n)
    predictions = np.where(rng.random((n, voters)) < 0.7, y[:, None], 1 - y[:, None])
    rows, booster = kbs(predictions, y, rounds=voters)
    model = booster.boost(InTurn(voters, 2))
    ours = (model.scores(rows).argmax(axis=1) != y).mean()
    majority = ((predictions.mean(axis=1) > 0.5) != y).mean()
    assert ours == pytest.approx(majority, abs=3 * np.sqrt(majority * (1 - majority) / n))


def test_stratified_accuracy_is_half_plus_wracc_over_twice_the_variance_of_the_class():
    rng = np.random.default_rng(6)
    y = (rng.random(500) < 0.1).astype(int)
    covered = np.where(y == 1, rng.random(500) < 0.6, rng.random(500) < 0.2).astype(int)
    p = y.mean()
    wracc = (covered * y).mean() - covered.mean() * p
    _, booster = kbs(covered[:, None], y, stratify=True)
    accuracy = booster.distribution[covered == y].sum()
    assert accuracy == pytest.approx(0.5 + wracc / (2 * p * (1 - p)), rel=1e-12)


def test_stratification_puts_the_priors_back_when_predicting():
    rng = np.random.default_rng(7)
    y = (rng.random(2000) < 0.1).astype(int)
    covered = np.where(y == 1, rng.random(2000) < 0.6, rng.random(2000) < 0.2).astype(int)
    rows, booster = kbs(covered[:, None], y, stratify=True, rounds=1, smoothing=0.0)
    probability = softmax(booster.boost(InTurn(1, 2)).scores(rows))
    for value in (0, 1):
        assert probability[covered == value, 1][0] == pytest.approx(y[covered == value].mean(), rel=1e-12)


def test_a_constant_base_learner_stops_at_the_prior():
    X, y = np.zeros((30, 2)), np.repeat([0, 1, 2], [15, 10, 5])
    model = KBSClassifier().fit(X, y)
    assert model.n_rounds_ == 0
    assert "one cell" in model.stopped_
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[1 / 2, 1 / 3, 1 / 6]])


def test_a_perfect_base_learner_is_kept_and_ends_the_boosting():
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] >= 10).astype(int)
    model = KBSClassifier(rounds=10).fit(X, y)
    assert model.n_rounds_ == 1
    assert "without error" in model.stopped_
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.decision_function(X)).all()


def test_a_class_that_one_cell_holds_wholly_is_settled_and_the_others_are_learned():
    X, y = load_iris(return_X_y=True)
    model = KBSClassifier(rounds=40, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert np.isfinite(model.decision_function(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_a_hypothesis_that_says_nothing_new_ends_the_boosting():
    y = np.array([0, 1, 0, 1])
    _, booster = kbs(np.array([[0], [0], [1], [1]]), y)
    model = booster.boost(InTurn(1, 2))
    assert model.rounds == ()
    assert "nothing new" in booster.stopped


def known_copy_and_independent(seed=0, n=4000):
    """A rule that is known, a 90 % copy of it, and a weaker rule that is independent of both given the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    known = np.where(rng.random(n) < 0.85, y, 1 - y)
    copy = np.where(rng.random(n) < 0.9, known, 1 - known)
    independent = np.where(rng.random(n) < 0.65, y, 1 - y)
    return np.column_stack([known, copy, independent]).astype(float), y


def first_feature(model):
    first = next(found for found in model._votes.rounds if found.is_learned)
    return first.votes[0].hypothesis.tree.tree_.feature[0]


def test_after_a_known_rule_the_independent_one_is_found_and_not_its_copy():
    X, y = known_copy_and_independent()
    assert first_feature(KBSClassifier(rounds=1).fit(X[:, 1:], y)) == 0
    model = KBSClassifier(rounds=1, prior_knowledge=[lambda X: X[:, 0]]).fit(X, y)
    assert first_feature(model) == 2
    assert model.history_["prior_knowledge"].tolist() == [True, False]
    assert model.history_["round"].tolist() == [0, 1]


def test_a_fitted_classifier_can_be_the_prior_knowledge_and_votes():
    X, y = known_copy_and_independent()
    known = DecisionTreeClassifier(max_depth=1).fit(X, y)
    model = KBSClassifier(rounds=1, prior_knowledge=[known]).fit(X, y)
    assert first_feature(model) == 2
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 2
    np.testing.assert_array_equal(stages[0].argmax(axis=1), known.predict(X))
    np.testing.assert_array_equal(stages[1], model.predict_proba(X))


def test_several_known_rules_are_cycled_until_none_has_wracc_left():
    X, y = known_copy_and_independent()
    _, booster = kbs(X, y)
    rounds = booster.sample_out([FixedCells(0, 2), FixedCells(1, 2), FixedCells(2, 2)])
    for column in range(3):
        joint = joint_weights(X[:, column].astype(int), y, booster.distribution, 2, 2)
        assert residual_wracc(joint) < 1e-9
    assert len(rounds) == 3


def test_unusable_prior_knowledge_is_named():
    X, y = known_copy_and_independent(n=50)
    with pytest.raises(DataError, match="fitted classifier or a function"):
        KBSClassifier(prior_knowledge=[3]).fit(X, y)
    with pytest.raises(DataError, match="one value for each of the 50 rows"):
        KBSClassifier(prior_knowledge=[lambda X: X]).fit(X, y)


def test_a_value_of_prior_knowledge_that_training_did_not_see_votes_zero():
    X, y = known_copy_and_independent(n=500)
    model = KBSClassifier(rounds=1, prior_knowledge=[lambda X: X[:, 0]]).fit(X, y)
    new = np.array([[7.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    without, with_vote = next(model.staged_predict_proba(new))
    np.testing.assert_allclose(without, np.bincount(y) / len(y))
    assert with_vote[1] > 0.7


def test_probabilities_sum_to_one_and_stages_end_at_the_prediction():
    X, y = load_iris(return_X_y=True)
    for options in (
        {},
        {"cells": "class"},
        {"base": "tree"},
        {"bootstrap": 0.5},
        {"stratify": True},
        {"base": LogisticRegression(max_iter=500)},
    ):
        model = KBSClassifier(rounds=5, random_state=0, **options).fit(X[::2], y[::2])
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
        *_, last = model.staged_predict_proba(X)
        np.testing.assert_array_equal(last, probability)
        assert model.score(X, y) > 0.9, options


@pytest.mark.parametrize(
    "options", [{}, {"base": "tree"}, {"base": KNeighborsClassifier(3)}, {"bootstrap": 0.5}, {"early_stopping": 3}]
)
def test_examples_of_weight_zero_change_nothing_even_with_wrong_labels(options):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(8).integers(0, 2, len(y)).astype(float)
    corrupted = np.where(weight == 0, 1 - y, y)
    model = KBSClassifier(rounds=5, random_state=0, **options)
    weighted = clone(model).fit(X, corrupted, sample_weight=weight)
    left_out = clone(model).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(weighted.predict_proba(X), left_out.predict_proba(X))


@pytest.mark.parametrize("options", [{"bootstrap": 0.3}, {"base": KNeighborsClassifier(3)}, {"early_stopping": 2}])
def test_random_choices_follow_the_seed_and_not_the_order_of_the_rows(options):
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(9).permutation(len(y))
    model = KBSClassifier(rounds=4, random_state=3, **options)
    first, second = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=1e-9)
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))


def test_early_stopping_keeps_the_rounds_up_to_the_smallest_held_out_loss():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = KBSClassifier(rounds=200, early_stopping=5, random_state=0).fit(X, y)
    assert model.n_rounds_ < 100
    assert "held-out" in model.stopped_
    losses = model.history_["validation_loss"]
    assert losses.idxmin() + 1 == model.n_rounds_ == len(losses) - 5


def mixed_frame(n=400, seed=11):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n)
    y = np.where((colour == "red") & (size > 0), "yes", "no")
    frame = pd.DataFrame(
        {
            "colour": colour,
            "size": size,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "colour"] = None
    return frame, y


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_nominal_missing_and_date_columns_are_learned_from(library):
    frame, y = mixed_frame()
    expected = KBSClassifier(base="tree", random_state=0).fit(frame, y)
    if library == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(frame)
    model = KBSClassifier(base="tree", random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == ["colour", "size", "when"]
    assert model.n_features_in_ == 3
    assert model.score(frame, y) > 0.93
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(mixed_frame()[0]))


def test_a_nominal_value_that_training_did_not_see_is_none_of_the_known_ones():
    frame, y = mixed_frame()
    model = KBSClassifier(base="tree", random_state=0).fit(frame, y)
    new = frame.iloc[[1]].assign(colour="mauve", size=2.0)
    assert model.predict(new)[0] == "no"


def test_a_numeric_column_that_turned_into_text_is_named():
    frame, y = mixed_frame()
    model = KBSClassifier(random_state=0).fit(frame, y)
    with pytest.raises(DataError, match="column 'size'"):
        model.predict(frame.assign(size="big"))
