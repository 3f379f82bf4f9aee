from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornboost as hb
from hornboost.boosting import rankboost
from hornboost.boosting.ranks import PairWeights, ScoreCells
from hornboost.errors import DataError
from hornboost.learners.objectives import CurvePoint, auroc_gain, clause_area, levels, path_area
from hornboost.logic.canonical import canonical
from hornboost.metrics import aurpc
from hornboost.model.diagnosis import NothingLearnedWarning

WEAK_LEARNERS = ["clause", "path", "mix1", "mix2", "mix3"]


@pytest.fixture(scope="module")
def pairs():
    """The training half and the held-out half of some skewed pairs."""
    database = hb.datasets.skewed_pairs(8000, skew=150, seed=3).database()
    X, y = database.examples()
    y = np.asarray(y).astype(str)
    train, test = next(iter(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)))
    return database, X.iloc[train], y[train], X.iloc[test], y[test]


def weighted_case(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    y = (np.arange(40) % 8 == 0).astype(np.int32)
    return y, rng.uniform(0.2, 2.0, 40)


# formulas


@pytest.mark.parametrize("number", range(5))
def test_weights_keep_their_class_sums_after_each_update(number: int) -> None:
    y, sample_weight = weighted_case(number)
    rng = np.random.default_rng(number)
    weights = PairWeights(y, sample_weight)
    for _ in range(20):
        general = rng.random(40) < 0.6
        special = general & (rng.random(40) < 0.5)
        weights.update([general, special], [0.3, 0.7], rng.uniform(0.05, 2.0))
        tp, fp = weights.points(np.array([[weights.units[y == 0].sum(), weights.units[y == 1].sum()]]))
        assert tp[0] == pytest.approx(1.0, rel=1e-12)
        assert fp[0] == pytest.approx(weights.skew, rel=1e-12)
        assert (weights.units > 0).all()


def test_the_first_weights_give_the_recall_and_precision_of_the_examples() -> None:
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0], np.int32)
    weights = PairWeights(y, np.ones(8))
    covered = np.array([1, 0, 1, 1, 0, 0, 0, 0], np.bool_)
    tp, fp = weights.points(np.array([[weights.units[covered & (y == label)].sum() for label in (0, 1)]]))
    assert weights.skew == 3.0
    assert tp[0] == pytest.approx(1 / 2, rel=1e-12)
    assert tp[0] / (tp[0] + fp[0]) == pytest.approx(1 / 3, rel=1e-12)


def test_one_update_by_hand() -> None:
    y = np.array([1, 1, 0, 0, 0, 0], np.int32)
    weights = PairWeights(y, np.ones(6))
    weights.update([np.array([1, 0, 1, 0, 0, 0], np.bool_)], [1.0], math.log(2))
    # positives 1/2·1/2 and 1/2 over 3/4; negatives 1/2·2 and three of 1/2 over 5/4 (their sum over the skew)
    positive, negative = weights.units[:2] / weights.totals[1], 2 * weights.units[2:] / weights.totals[0]
    assert positive == pytest.approx([1 / 3, 2 / 3], rel=1e-12)
    assert negative == pytest.approx([0.8, 0.4, 0.4, 0.4], rel=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_r_of_rankboost_is_twice_the_weighted_auroc_minus_one(number: int) -> None:
    y, sample_weight = weighted_case(number)
    covered = np.random.default_rng(number + 10).random(40) < 0.4
    tp, fp = (float(sample_weight[covered & (y == label)].sum()) for label in (1, 0))
    whole = CurvePoint(float(sample_weight[y == 1].sum()), float(sample_weight[y == 0].sum()))
    assert auroc_gain(tp, fp, [whole]) == pytest.approx(
        2 * roc_auc_score(y, covered, sample_weight=sample_weight) - 1, abs=1e-12
    )


@pytest.mark.parametrize("number", range(5))
def test_the_areas_of_clause_and_path_are_those_of_the_metric(number: int) -> None:
    y, sample_weight = weighted_case(number)
    rng = np.random.default_rng(number + 20)
    sample_weight = sample_weight / sample_weight[y == 1].sum()
    general = (rng.random(40) < 0.7) | (y == 1)
    middle = general & (rng.random(40) < 0.7)
    special = middle & (rng.random(40) < 0.7)
    everything = np.ones(40, np.bool_)
    path = [
        CurvePoint(*(float(sample_weight[c & (y == label)].sum()) for label in (1, 0)))
        for c in (everything, general, middle, special)
    ]
    assert clause_area(path[2].tp, path[2].fp, path[:2]) == pytest.approx(aurpc(y, middle, sample_weight), rel=1e-12)
    depth = general.astype(int) + middle + special
    assert path_area(path[3].tp, path[3].fp, path[:3]) == pytest.approx(aurpc(y, depth, sample_weight), rel=1e-12)


@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=6),
    st.floats(0.5, 500.0),
    st.booleans(),
)
def test_h_of_a_path_rises_from_0_to_1_with_the_special_clauses(
    shares: list[tuple[float, float]], skew: float, excess: bool
) -> None:
    path = [CurvePoint(1.0, skew)]
    for tp, fp in shares:
        path.append(CurvePoint(path[-1].tp * tp, path[-1].fp * fp))
    h = levels(path, excess)
    assert len(h) == len(path)
    assert h[0] == 0.0
    assert h[-1] == 1.0
    assert all(0.0 <= a <= b <= 1.0 for a, b in itertools.pairwise(h))


def test_h_is_the_share_of_the_area_right_of_the_next_clause() -> None:
    path = [CurvePoint(1.0, 3.0), CurvePoint(0.75, 1.0), CurvePoint(0.5, 0.0)]
    # ∫ x/(9x − 5) over [0.75, 1], ∫ x/(5x − 2) over [0.5, 0.75], and 0.5 at precision 1
    right = 0.25 / 9 + 5 / 81 * math.log(4 / 1.75) + 0.05 + 2 / 25 * math.log(1.75 / 0.5)
    assert levels(path, excess=False)[1] == pytest.approx(right / (right + 0.5), rel=1e-12)
    assert levels(path, excess=True)[1] == pytest.approx((right - 0.25 * 0.5) / (right + 0.5 - 0.25), rel=1e-12)


@pytest.mark.parametrize("number", range(5))
def test_score_cells_give_the_area_of_the_summed_scores(number: int) -> None:
    y, sample_weight = weighted_case(number)
    rng = np.random.default_rng(number)
    cells, score = ScoreCells(y, sample_weight), np.zeros(40)
    for _ in range(12):
        general = rng.random(40) < 0.4
        depth = general.astype(np.intp) + (general & (rng.random(40) < 0.5))
        cells.add(depth, [0.25, 0.75], 0.5)
        score += 0.5 * np.array([0.0, 0.25, 1.0])[depth]
        assert cells.score[cells.cell] == pytest.approx(score, abs=1e-12)
        assert cells.aurpc() == pytest.approx(aurpc(y, score.round(9), sample_weight), rel=1e-9)


# the boosters


def test_the_decision_function_is_the_sum_of_alpha_times_coverage_and_a_shift(pairs) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, rounds=12, random_state=0).fit(X, y)
    ranking = sum(
        row.alpha * hb.engine.covers(database, row.rule, database.encode(X)) for row in clf.history_.itertuples()
    )
    shift = clf.decision_function(X) - ranking
    assert np.ptp(shift) < 1e-9
    assert clf.history_["aurpc"].iloc[-1] == pytest.approx(aurpc(y == "1", clf.decision_function(X).round(9)), rel=1e-9)


def test_equal_clauses_add_their_votes(pairs) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, rounds=30, random_state=0).fit(X, y)
    same = clf.history_["rule"].map(lambda text: str(canonical(hb.Clause.parse(text))))
    votes = clf.history_.groupby(same, sort=False)["alpha"].sum()
    assert len(votes) < 30
    assert [str(canonical(rule.clause)) for rule in clf.rules_] == list(votes.index)
    assert [rule.votes[0] for rule in clf.rules_] == pytest.approx(votes.tolist(), rel=1e-12)


def test_alpha_follows_from_r(pairs) -> None:
    database, X, y, _, _ = pairs
    for clf in (
        hb.RankBoostClassifier(database, rounds=3, random_state=0),
        hb.PRankBoostClassifier(database, rounds=3, random_state=0),
    ):
        history = clf.fit(X, y).history_
        assert history["alpha"].to_numpy() == pytest.approx(
            0.5 * np.log((1 + history["r"]) / (1 - history["r"])).to_numpy()
        )


def test_the_first_r_is_the_score_of_its_clause_under_the_first_weights(pairs) -> None:
    database, X, y, _, _ = pairs
    for clf, objective in ((hb.RankBoostClassifier, auroc_gain), (hb.PRankBoostClassifier, clause_area)):
        row = clf(database, rounds=1, random_state=0).fit(X, y).history_.iloc[0]
        skew = (y != "1").sum() / (y == "1").sum()
        covered = hb.engine.covers(database, row["rule"], database.encode(X))
        tp, fp = covered[y == "1"].mean(), skew * covered[y != "1"].mean()
        assert row["r"] == pytest.approx(float(objective(tp, fp, [CurvePoint(1.0, skew)])), rel=1e-9)


def test_the_chance_corrected_r_is_the_part_above_chance(pairs) -> None:
    database, X, y, _, _ = pairs
    plain, corrected = (
        hb.PRankBoostClassifier(database, rounds=1, random_state=0, chance_corrected=flag)
        .fit(X, y)
        .history_["r"]
        .iloc[0]
        for flag in (False, True)
    )
    share = (y == "1").mean()
    assert corrected == pytest.approx((plain - share) / (1 - share), rel=1e-9)


def test_mixed_learners_keep_and_score_what_they_say(pairs) -> None:
    database, X, y, _, _ = pairs
    first = {
        name: hb.PRankBoostClassifier(database, weak_learner=name, rounds=2, random_state=0).fit(X, y).history_
        for name in WEAK_LEARNERS
    }
    assert first["clause"]["clauses"].tolist() == first["mix1"]["clauses"].tolist() == [1, 1]
    assert first["path"]["clauses"].min() > 1
    assert first["mix2"]["clauses"].min() > 1
    assert first["mix1"]["r"][0] == first["path"]["r"][0]
    assert first["mix2"]["r"][0] == first["clause"]["r"][0]
    assert first["path"]["r"][0] > first["clause"]["r"][0]
    assert first["mix3"]["clauses"][0] == 1
    assert first["mix3"]["clauses"][1] > 1
    assert first["mix3"]["r"][0] == first["clause"]["r"][0]


def test_a_path_votes_along_nested_clauses(pairs) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, weak_learner="path", rounds=1, random_state=0).fit(X, y)
    coverage = [hb.engine.covers(database, rule.clause, database.encode(X)) for rule in clf.rules_]
    assert len(coverage) > 1
    assert all((special <= general).all() for general, special in itertools.pairwise(coverage))
    assert sum(rule.votes[0] for rule in clf.rules_) == pytest.approx(clf.history_["alpha"][0], rel=1e-12)


@pytest.mark.parametrize("weak_learner", WEAK_LEARNERS)
def test_planted_rules_rank_held_out_pairs(pairs, weak_learner: str) -> None:
    database, X, y, X_test, y_test = pairs
    clf = hb.PRankBoostClassifier(database, weak_learner=weak_learner, rounds=40, random_state=0).fit(X, y)
    assert aurpc(y_test == "1", clf.decision_function(X_test)) > 0.8


def test_a_planted_rule_is_found_literal_by_literal() -> None:
    data = hb.datasets.skewed_pairs(8000, skew=150, seed=3)
    database = data.database()
    clf = hb.PRankBoostClassifier(database, rounds=40, random_state=0).fit(*database.examples())
    planted = hb.Clause.parse(data.rules[2])
    found = [rule.clause for rule in clf.rules_ if len(rule.clause.body) == 2]
    assert any(set(clause.body[1].tests) == set(planted.body[1].tests) for clause in found)


def test_clauses_with_the_same_tests_in_another_order_are_one_rule(pairs) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, rounds=40, random_state=0).fit(X, y)
    bodies = [
        tuple((literal.table, literal.bindings, frozenset(literal.tests)) for literal in rule.clause.body)
        for rule in clf.rules_
    ]
    assert len(set(bodies)) == len(bodies)


def test_a_perfect_clause_ends_the_boosting() -> None:
    X, y = np.arange(20.0)[:, None], (np.arange(20) >= 15).astype(int)
    clf = hb.PRankBoostClassifier(rounds=50, random_state=0, n_seeds=5).fit(X, y)
    assert len(clf.history_) == 1
    assert clf.history_["r"][0] == 1 - 1 / (2 * 5)
    assert (clf.predict(X) == y).all()


def test_where_nothing_can_be_learned_twenty_further_seeds_are_tried(monkeypatch) -> None:
    climbs = []
    climb = rankboost.SeededSearch.climb
    monkeypatch.setattr(rankboost.SeededSearch, "climb", lambda self, seed: climbs.append(seed) or climb(self, seed))
    X = np.column_stack([np.ones(60), np.tile(np.arange(30.0), 2)])
    y = np.repeat([0, 1], 30)  # each row once in each class
    with pytest.warns(NothingLearnedWarning, match="no rule was learned: no condition"):
        clf = hb.PRankBoostClassifier(rounds=5, random_state=0, max_literals=1).fit(X, y)
    assert len(clf.history_) == 0
    assert len(climbs) == 21
    assert len(set(climbs)) == 21
    assert clf.rules_ == []
    assert clf.predict_proba(X)[:, 1] == pytest.approx(0.5)


@pytest.mark.parametrize("budget", [1, 57, 4000, 4001])
def test_the_clause_budget_holds_exactly(pairs, budget: int) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, rounds=100, clause_budget=budget, random_state=0).fit(X, y)
    assert clf.clauses_evaluated_ == budget
    free = hb.PRankBoostClassifier(database, rounds=3, random_state=0).fit(X, y).history_
    done = free[free["clauses_evaluated"] < budget]
    assert clf.history_["rule"].tolist()[: len(done)] == done["rule"].tolist()


def test_no_clause_is_evaluated_after_the_time_limit(pairs, monkeypatch) -> None:
    database, X, y, _, _ = pairs
    clock = itertools.count()
    monkeypatch.setattr("hornboost.stopping.now", lambda: float(next(clock)))
    clf = hb.PRankBoostClassifier(database, rounds=10**6, time_limit=4000, random_state=0).fit(X, y)
    assert next(clock) < 4010
    assert 0 < len(clf.history_) < 4000
    assert clf.clauses_evaluated_ >= clf.history_["clauses_evaluated"].iloc[-1]


def test_a_limit_that_leaves_no_rule_is_named(pairs) -> None:
    database, X, y, _, _ = pairs
    with pytest.warns(NothingLearnedWarning, match="reached its time_limit"):
        assert hb.PRankBoostClassifier(database, time_limit=1e-9, random_state=0).fit(X, y).clauses_evaluated_ == 0
    with pytest.warns(NothingLearnedWarning, match="reached its clause_budget"):
        assert hb.PRankBoostClassifier(database, clause_budget=1, random_state=0).fit(X, y).rules_ == []


def test_history_counts_clauses_and_shows_both_areas(pairs) -> None:
    database, X, y, X_test, y_test = pairs
    clf = hb.PRankBoostClassifier(database, weak_learner="path", rounds=8, random_state=0).fit(
        X, y, eval_set=(X_test, y_test)
    )
    history = clf.history_
    assert {"round", "rule", "r", "alpha", "clauses_evaluated", "aurpc", "aurpc_held_out", "seconds"} <= set(
        history.columns
    )
    assert history["clauses_evaluated"].is_monotonic_increasing
    assert history["clauses_evaluated"].iloc[-1] == clf.clauses_evaluated_
    assert history["aurpc_held_out"].iloc[-1] == pytest.approx(
        aurpc(y_test == "1", clf.decision_function(X_test).round(9)), rel=1e-6
    )


def test_a_callback_that_returns_true_ends_learning(pairs) -> None:
    database, X, y, _, _ = pairs
    clf = hb.PRankBoostClassifier(database, rounds=50, random_state=0, callbacks=[lambda row: row["round"] == 4]).fit(
        X, y
    )
    assert len(clf.history_) == 4


def test_more_seeds_find_a_first_clause_that_is_no_worse(pairs) -> None:
    database, X, y, _, _ = pairs
    one, many = (hb.PRankBoostClassifier(database, rounds=1, n_seeds=n, random_state=0).fit(X, y) for n in (1, 8))
    assert many.history_["r"][0] >= one.history_["r"][0]
    assert many.clauses_evaluated_ > one.clauses_evaluated_


def same_model(a, b) -> bool:
    return [(rule.clause, rule.votes) for rule in a.rules_] == [(rule.clause, rule.votes) for rule in b.rules_]


def test_neither_row_order_nor_examples_of_weight_0_nor_threads_change_the_model(pairs) -> None:
    database, X, y, X_test, y_test = pairs
    plain = hb.PRankBoostClassifier(database, rounds=6, random_state=1).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert same_model(plain, hb.PRankBoostClassifier(database, rounds=6, random_state=1).fit(X.iloc[order], y[order]))
    corrupted = np.where(y_test == "1", "0", "1")
    weights = np.r_[np.ones(len(y)), np.zeros(len(corrupted))]
    both = hb.PRankBoostClassifier(database, rounds=6, random_state=1)
    assert same_model(plain, both.fit(pd.concat([X, X_test]), np.r_[y, corrupted], sample_weight=weights))
    assert same_model(plain, hb.PRankBoostClassifier(database, rounds=6, random_state=1, n_jobs=2).fit(X, y))


def test_a_small_cache_does_not_change_the_model(pairs) -> None:
    database, X, y, _, _ = pairs
    plain, forgetful = (
        hb.PRankBoostClassifier(database, rounds=6, random_state=1, cache_bytes=size).fit(X, y) for size in (1 << 30, 0)
    )
    assert same_model(plain, forgetful)


def test_the_positive_class_of_the_task_is_ranked_first_whatever_its_name() -> None:
    X = pd.DataFrame({"id": range(30), "x": np.r_[np.zeros(25), np.ones(5)]})
    X["label"] = np.where((X["x"] > 0) ^ (X["id"] == 3), "a_yes", "b_no")
    database = hb.Database.from_frames({"t": X}, target="t", key="id", label="label", positive="a_yes")
    rows, y = database.examples()
    clf = hb.PRankBoostClassifier(database, rounds=5, random_state=0).fit(rows, y)
    assert clf.classes_.tolist() == ["a_yes", "b_no"]
    assert {rule.clause.head.value for rule in clf.rules_} == {"a_yes"}
    assert aurpc(np.asarray(y) == "a_yes", -clf.decision_function(rows)) > 0.8
    assert clf.predict(rows).tolist().count("a_yes") >= 5


def test_several_classes_are_ranked_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    clf = hb.PRankBoostClassifier(rounds=20, random_state=0).fit(X, y)
    assert clf.decision_function(X).shape == (150, 3)
    assert clf.score(X, y) > 0.95
    assert set(clf.history_["class"]) == {"0", "1", "2"}


def test_one_class_alone_is_refused() -> None:
    with pytest.raises(DataError, match="no negative or no positive example"):
        hb.PRankBoostClassifier().fit(np.arange(6.0)[:, None], np.zeros(6))
    with pytest.raises(DataError, match="there is no positive example"):
        PairWeights(np.zeros(3, np.int32), np.ones(3))
    with pytest.raises(DataError, match="there is no negative example"):
        PairWeights(np.ones(3, np.int32), np.ones(3))


def test_a_held_out_set_without_positives_is_refused(pairs) -> None:
    database, X, y, X_test, y_test = pairs
    with pytest.raises(DataError, match="eval_set: there is no example of the class '1'"):
        hb.PRankBoostClassifier(database, rounds=1).fit(X, y, eval_set=(X_test[y_test == "0"], y_test[y_test == "0"]))


def test_learning_curves_are_drawn_from_histories(pairs, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    database, X, y, X_test, y_test = pairs
    fits = {
        name: hb.PRankBoostClassifier(database, weak_learner=name, rounds=3, random_state=0).fit(
            X, y, eval_set=(X_test, y_test)
        )
        for name in ("clause", "path")
    }
    display = hb.LearningCurveDisplay.from_estimators(fits)
    assert [line.get_label() for line in display.lines_] == ["clause", "path"]
    assert display.lines_[0].get_ydata().tolist() == fits["clause"].history_["aurpc_held_out"].tolist()
    fits["clause"].save(tmp_path / "model.json")
    loaded = hb.LearningCurveDisplay.from_estimators(
        {"clause": hb.load(tmp_path / "model.json", database=database)}, ax=False
    )
    assert loaded.curves.equals(display.curves[display.curves["model"] == "clause"])
    with pytest.raises(DataError, match="only ranking boosters record it"):
        hb.LearningCurveDisplay.from_estimators({"other": hb.C2RIBClassifier(rounds=1).fit([[0.0], [1.0]], [0, 1])})


@parametrize_with_checks([hb.RankBoostClassifier(rounds=6), hb.PRankBoostClassifier(rounds=6, weak_learner="mix3")])
def test_the_conventions_of_scikit_learn_hold(estimator, check) -> None:
    check(estimator)


# real data


def folds_mean(database, folds, **parameters) -> float:
    X, y = database.examples()
    y = np.asarray(y).astype(str)
    results = []
    for train, test in folds:
        clf = hb.PRankBoostClassifier(database, random_state=0, **parameters).fit(X.iloc[train], y[train])
        results.append(aurpc(y[test] == "1", clf.decision_function(X.iloc[test])))
    return float(np.mean(results))


def test_advisors_of_another_area_are_ranked(data_folder: Path) -> None:
    database = hb.Database.from_folder(data_folder / "uwcse", task="advised_by_student_professor")
    assert folds_mean(database, database.folds("leave_one_area_out")) >= 0.39


def test_coauthors_are_ranked_by_their_topics(data_folder: Path) -> None:
    database = hb.Database.from_folder(data_folder / "icml")
    X, y = database.examples()
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    assert folds_mean(database, folds) >= 0.43


def test_probabilities_without_a_kept_round_are_the_shares_of_the_classes() -> None:
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.random(60), "z": rng.random(60)}), (rng.random(60) < 0.3).astype(int)
    clf = hb.RankBoostClassifier(rounds=10, early_stopping=2, validation_fraction=0.3, random_state=0)
    with pytest.warns(NothingLearnedWarning):
        clf.fit(X, y)
    assert clf.n_rounds_ == 0
    assert len(clf.history_) == 2
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 11 / 43)  # of the examples that were not held out


@pytest.mark.parametrize("estimator", [hb.RankBoostClassifier, hb.PRankBoostClassifier])
def test_held_out_examples_that_cannot_be_ranked_are_told_of_as_such(estimator: type) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), np.repeat([0, 1, 2], [10, 13, 7])
    with pytest.raises(DataError, match=r"among the examples that are held out .* set early_stopping=None or a larger"):
        estimator(rounds=5, early_stopping=2, random_state=0).fit(X, y)
