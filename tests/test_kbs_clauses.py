from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import hornboost as hb
from hornboost.boosting.lift import joint_weights, log_votes
from hornboost.errors import ClauseError, DataError, ModelError
from hornboost.learners.objectives import explained_squares, largest_wracc, wracc

BOOSTERS = [hb.KBSClassifier, hb.AdaBoostM1Classifier, hb.LogitBoostClassifier]


@pytest.fixture(scope="module")
def trains():
    return hb.datasets.trains(150, seed=3).database()


def one_condition_coverage(X):
    """Every condition x >= t and x <= t on the columns of a matrix, as a column of booleans each."""
    return np.stack([test for column in X.T for t in np.unique(column) for test in (column >= t, column <= t)], axis=1)


def test_the_first_clause_has_the_largest_absolute_wracc_of_all_conditions():
    X, y = load_iris(return_X_y=True)
    model = hb.KBSClassifier(base="clause", rounds=1, max_literals=1).fit(X, y)
    covered = one_condition_coverage(X)
    is_class = np.eye(3)[y]
    all_wracc = np.abs((covered.T @ is_class) / 150 - np.outer(covered.mean(axis=0), is_class.mean(axis=0)))
    rule = model.rules_[0]
    ours = np.asarray(rule.coverage) / 150
    assert np.abs(ours - ours.sum() / 3).max() == pytest.approx(all_wracc.max())


def test_the_first_logitboost_clause_explains_most_of_the_responses():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    model = hb.LogitBoostClassifier(base="clause", rounds=1, max_literals=1).fit(X, y)
    covered = one_condition_coverage(X)
    z = np.where(y == 1, 2.0, -2.0)
    sizes, sums = covered.sum(axis=0), covered.T @ z
    gains = explained_squares(sizes.astype(float), sums, float(len(y)), float(z.sum()))
    coverage = model.rules_[0].coverage
    ours = explained_squares(
        np.array([sum(coverage)]), np.array([2 * (coverage[1] - coverage[0])]), float(len(y)), float(z.sum())
    )
    assert ours[0] == pytest.approx(gains.max())
    assert model.rules_[0].confidence(model.ensemble_.classes) > 0


def test_a_rule_votes_its_log_lifts_and_the_intercept_is_the_log_of_the_priors():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 150)
    model = hb.KBSClassifier(base="clause", rounds=1, max_literals=1, smoothing=0.5).fit(X, y, weights)
    (rule,) = model.rules_
    (test,) = rule.clause.root.tests
    values = X[:, int(test.column.removeprefix("x"))]
    covered = values >= test.value if test.op == ">=" else values <= test.value
    joint = joint_weights(covered.astype(np.intp), y, weights / weights.sum(), 2, 3)
    expected = log_votes(joint, 0.5 / weights.sum())
    np.testing.assert_allclose(rule.otherwise, expected[0], rtol=1e-9)
    np.testing.assert_allclose(rule.votes, expected[1], rtol=1e-9)
    np.testing.assert_allclose(model.ensemble_.intercept, np.log(joint.sum(axis=0)), rtol=1e-12)


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_the_ensemble_says_what_the_rounds_say(booster, load):
    X, y = load(return_X_y=True)
    model = booster(base="clause", rounds=12, max_literals=2).fit(X[::2], y[::2])
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), rtol=0, atol=1e-9)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("booster", BOOSTERS)
def test_clauses_over_several_tables_are_saved_explained_and_scored_by_sql(booster, trains, tmp_path):
    X, y = trains.examples()
    model = booster(database=trains, rounds=8, max_literals=3).fit(X, y)
    assert model.score(X, y) > 0.75
    model.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json", database=trains)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert len(model.explain(X[:2]).to_json()) == 2
    assert model.to_prolog().count(":-") >= len(model.rules_)
    connection = duckdb.connect()
    for name in trains.tables:
        frame = X.assign(eastbound=y) if name == "train" else _frame(trains, name)
        connection.register(name, frame)
    scored = connection.sql(model.to_sql()).df().sort_values("train")
    np.testing.assert_array_equal(scored["prediction"].astype(str), model.predict(X.sort_values("train")).astype(str))


def _frame(database, name):
    columns = {}
    for column in database.tables[name].columns.values():
        if column.kind == "numeric":
            columns[column.name] = column.values
        else:
            values = database.domains[column.domain].values if column.kind == "key" else column.categories
            columns[column.name] = np.asarray(values, dtype=object)[column.values]
    return pd.DataFrame(columns)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_models_of_other_base_learners_refuse_what_only_rules_can_do(booster, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = booster(base="stump", rounds=2).fit(X, y)
    for use in (
        model.rules_frame,
        model.to_sql,
        model.to_prolog,
        lambda: model.explain(X),
        lambda: model.save(tmp_path / "m.json"),
    ):
        with pytest.raises(ModelError, match=r"base learner DecisionTree\w+, so its model is no set of rules"):
            use()


def test_a_fit_with_another_base_learner_forgets_the_rules():
    X, y = load_iris(return_X_y=True)
    model = hb.KBSClassifier(base="clause", rounds=2).fit(X, y)
    model.set_params(base="stump").fit(X, y)
    with pytest.raises(ModelError):
        model.to_sql()


def test_equal_clauses_are_one_rule_with_the_sum_of_their_votes():
    X, y = load_iris(return_X_y=True)
    model = hb.AdaBoostM1Classifier(base="clause", rounds=20, max_literals=1).fit(X, y)
    bodies = [rule.clause.body for rule in model.rules_]
    assert len(set(bodies)) == len(bodies) < model.n_rounds_
    assert sum(sum(rule.votes) for rule in model.rules_) == pytest.approx(model.history_["vote"].sum())


def test_a_class_that_a_clause_holds_wholly_keeps_its_examples():
    X = np.r_[np.c_[np.zeros(40), np.tile([0.0, 1.0], 20)], np.c_[np.ones(60), np.tile([0.0, 1.0, 1.0], 20)]]
    y = np.r_[np.zeros(40), np.tile([1, 2, 1], 20)].astype(int)
    model = hb.KBSClassifier(base="clause", rounds=30, max_literals=1).fit(X, y)
    assert (model.predict(X)[:40] == 0).all()
    first = next(model.staged_predict_proba(X))
    assert (model.predict_proba(X)[:40, 0] >= first[:40, 0] - 1e-12).all()


@pytest.mark.parametrize("booster", BOOSTERS)
def test_examples_of_weight_zero_change_no_rule_even_with_wrong_labels(booster):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(8).integers(0, 2, len(y)).astype(float)
    corrupted = np.where(weight == 0, 1 - y, y)
    model = booster(base="clause", rounds=5, max_literals=2)
    weighted = clone(model).fit(X, corrupted, sample_weight=weight)
    left_out = clone(model).fit(X[weight > 0], y[weight > 0])
    assert weighted.rules_ == left_out.rules_
    np.testing.assert_array_equal(weighted.predict_proba(X), left_out.predict_proba(X))


@pytest.mark.parametrize("booster", BOOSTERS)
def test_a_weight_of_two_is_a_repetition(booster):
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(9).integers(1, 4, len(y))
    model = booster(base="clause", rounds=6, max_literals=2)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert [rule.clause for rule in weighted.rules_] == [rule.clause for rule in repeated.rules_]
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9)


def test_the_order_of_rows_and_the_number_of_threads_change_nothing(trains):
    X, y = trains.examples()
    model = hb.KBSClassifier(database=trains, rounds=4, max_literals=2)
    first = clone(model).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    second = clone(model).set_params(n_jobs=2).fit(X.iloc[order], y.iloc[order])
    assert [rule.clause for rule in first.rules_] == [rule.clause for rule in second.rules_]


def test_clauses_stop_early_on_held_out_examples(trains):
    X, y = trains.examples()
    model = hb.KBSClassifier(database=trains, rounds=60, max_literals=2, early_stopping=3, random_state=0).fit(X, y)
    assert model.n_rounds_ < 60
    assert "held-out" in model.stopped_
    assert model.history_["rule"].str.startswith('eastbound="').all()


def test_bootstrap_and_stratification_work_with_clauses():
    X, y = load_breast_cancer(return_X_y=True)
    for options in ({"bootstrap": 0.5}, {"stratify": True}):
        model = hb.KBSClassifier(base="clause", rounds=10, max_literals=1, random_state=0, **options).fit(X, y)
        assert model.score(X, y) > 0.93


def known_copy_and_independent(n=4000, seed=0):
    """A strong rule, a copy that agrees with it on 90 % of the examples,
    and a weaker one that is independent of both given the class.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    known = np.where(rng.random(n) < 0.8, y, 1 - y)
    copy = np.where(rng.random(n) < 0.9, known, 1 - known)
    independent = np.where(rng.random(n) < 0.65, y, 1 - y)
    return pd.DataFrame({"known": known, "copy": copy, "independent": independent}), y


KNOWN = 'class="1" :- examples(known>=1).'


@pytest.mark.parametrize("knowledge", [KNOWN, hb.Clause.parse(KNOWN)])
def test_with_a_known_rule_the_next_rule_is_the_independent_one_and_not_its_copy(knowledge):
    X, y = known_copy_and_independent()
    without = hb.KBSClassifier(base="clause", rounds=1, max_literals=1).fit(X[["copy", "independent"]], y)
    assert without.rules_[0].clause.root.tests[0].column == "copy"
    model = hb.KBSClassifier(base="clause", rounds=1, max_literals=1, prior_knowledge=[knowledge]).fit(X, y)
    prior, learned = model.rules_
    assert (prior.origin, str(prior.clause)) == ("prior", KNOWN)
    assert learned.origin == "learned"
    assert learned.clause.root.tests[0].column == "independent"
    frame = model.rules_frame()
    assert frame["origin"].tolist() == ["prior", "learned"]
    assert prior.votes[1] == pytest.approx(np.log(y[X["known"] == 1].mean() / y.mean()), rel=1e-2)
    assert model.history_["prior_knowledge"].tolist() == [True, False]


def test_a_known_rule_that_is_found_again_stays_apart_from_the_learned_one():
    X, y = known_copy_and_independent(n=300)
    model = hb.KBSClassifier(
        base="clause", rounds=15, max_literals=1, prior_knowledge=[KNOWN, 'class="0" :- examples(copy<=0).']
    ).fit(X, y)
    origins = [rule.origin for rule in model.rules_]
    assert origins[:2] == ["prior", "prior"]
    assert set(origins[2:]) <= {"learned"}
    np.testing.assert_allclose(list(model.staged_predict_proba(X))[-1], model.predict_proba(X), atol=1e-9)


def test_prior_knowledge_over_several_tables(trains):
    X, y = trains.examples()
    known = hb.KBSClassifier(database=trains, rounds=1, max_literals=2).fit(X, y).rules_[0].clause
    model = hb.KBSClassifier(database=trains, rounds=1, max_literals=2, prior_knowledge=[known]).fit(X, y)
    assert model.rules_[0].origin == "prior"
    assert model.rules_[1].clause.body != known.body


def test_clauses_can_be_known_to_a_stump():
    X, y = known_copy_and_independent()
    model = hb.KBSClassifier(base="stump", rounds=1, prior_knowledge=[KNOWN]).fit(X, y)
    assert model._votes.rounds[1].votes[0].hypothesis.tree.tree_.feature[0] == 2
    assert model.score(X, y) > 0.75


def test_knowledge_that_is_no_clause_votes_beside_clauses_but_has_no_sql():
    X, y = known_copy_and_independent()
    model = hb.KBSClassifier(base="clause", rounds=1, max_literals=1, prior_knowledge=[lambda X: X["known"]]).fit(X, y)
    assert "independent" in model.history_["rule"][1]
    assert model.score(X, y) > 0.75
    with pytest.raises(ModelError, match="prior knowledge that is no clause"):
        model.to_sql()
    frame = model.rules_frame()
    assert frame["rule"].tolist()[:2] == ["<lambda> gives 0", "<lambda> gives 1"]
    assert frame["origin"].tolist() == ["prior", "prior", "learned"]
    assert frame["covered 1"][1] == np.count_nonzero((X["known"] == 1) & (y == 1))
    model.set_params(prior_knowledge=()).fit(X, y)
    assert model.rules_frame()["origin"].tolist() == ["learned"]


def test_known_clauses_that_do_not_fit_are_named():
    X, y = known_copy_and_independent(n=50)
    for text, error, message in [
        ('class="2" :- examples(known>=1).', DataError, "predicts a class that 'y' does not hold"),
        ('class="1" :- examples(unknown>=1).', (DataError, ClauseError), "unknown"),
        ('class="1" :- other(known>=1).', ClauseError, "no literal over the target table 'examples'"),
    ]:
        with pytest.raises(error, match=message):
            hb.KBSClassifier(base="clause", prior_knowledge=[text]).fit(X, y)


def test_keys_are_no_features_of_other_base_learners(trains):
    X, y = trains.examples()
    model = hb.KBSClassifier(base=DecisionTreeClassifier(max_depth=2), database=trains, rounds=2).fit(X, y)
    assert not any(name.startswith("train") for name in model._encoder.names)


def test_wracc_of_two_classes_differs_in_sign_only():
    stats, totals = np.array([[30, 10], [5, 45]]), np.array([50, 60])
    np.testing.assert_allclose(wracc(stats, totals, 0), -wracc(stats, totals, 1), atol=1e-15)
    np.testing.assert_array_equal(largest_wracc(stats, totals), np.rint(np.abs(wracc(stats, totals, 1)) * 2**40))
