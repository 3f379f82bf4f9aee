"""HornBoostClassifier: gains by hand, planted rules, and what it tunes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score, train_test_split

import hornboost as hb
from hornboost import exact
from hornboost.boosting import tuning
from hornboost.boosting.tuning import Setting, Trial
from hornboost.engine import blocks
from hornboost.learners.losses import Logistic, Softmax, loss_of
from hornboost.learners.newton import Derivatives
from hornboost.model.diagnosis import NothingLearnedWarning


def test_gain_and_steps_of_a_hand_worked_split():
    slope = np.array([[-0.5], [-0.5], [0.5], [0.5]])
    derivatives = Derivatives(slope, np.full((4, 1), 0.25), np.ones(4), 4.0)
    covered = np.array([True, True, True, False])
    sums = derivatives.channels[covered].sum(axis=0)
    inner, outer = 0.5**2 / (0.75 + 1), 0.5**2 / (0.25 + 1)
    assert derivatives.gains(sums[None], 1.0)[0] == pytest.approx(inner + outer, rel=1e-12)
    np.testing.assert_allclose(
        Logistic().steps(*derivatives.cells(covered), 1.0), [[-0.5 / 1.25], [0.5 / 1.75]], rtol=1e-12
    )


def test_a_clause_that_covers_all_or_nothing_gains_nothing():
    derivatives = Derivatives(np.array([[-1.0], [1.0]]), np.ones((2, 1)), np.ones(2), 2.0)
    assert derivatives.gains(np.stack([derivatives.total, 0 * derivatives.total]), 1.0).tolist() == [0.0, 0.0]


def test_gains_of_several_outputs_are_added():
    rng = np.random.default_rng(0)
    slope, curvature = rng.normal(size=(30, 3)), rng.uniform(0.1, 1, size=(30, 3))
    covered = rng.random(30) < 0.4
    whole = Derivatives(slope, curvature, np.ones(30), 30.0)
    alone = [Derivatives(slope[:, [k]], curvature[:, [k]], np.ones(30), 30.0) for k in range(3)]
    sums = [one.channels[covered].sum(axis=0) for one in (whole, *alone)]
    parts = [one.gains(one_sum[None], 2.0)[0] for one_sum, one in zip(sums[1:], alone, strict=True)]
    assert whole.gains(sums[0][None], 2.0)[0] == pytest.approx(sum(parts), rel=1e-9)


def test_a_weight_of_two_is_exactly_two_examples():
    slope, curvature = np.array([[0.3], [-0.7]]), np.array([[0.2], [0.1]])
    weighted = Derivatives(slope, curvature, np.array([2.0, 1.0]), 3.0)
    repeated = Derivatives(slope[[0, 0, 1]], curvature[[0, 0, 1]], np.ones(3), 3.0)
    assert weighted.total.tolist() == repeated.total.tolist()


def test_chance_gains_as_much_as_conditions_that_say_nothing_do_on_average():
    rng = np.random.default_rng(0)
    slope = rng.normal(size=(400, 2)) * [1.0, 3.0]
    slope -= slope.mean(axis=0)
    derivatives = Derivatives(slope, np.full((400, 2), 0.5), np.ones(400), 400.0)
    assert derivatives.chance == pytest.approx((slope**2).sum() / 200)
    covered = rng.random((2_000, 400)) < 0.5
    sums = np.stack([derivatives.channels[row].sum(axis=0) for row in covered])
    assert derivatives.gains(sums, 0.0).mean() == pytest.approx(derivatives.chance, rel=0.1)


@pytest.mark.parametrize(("least", "n_conditions"), [(0.0, 3), (4.0, 2), (1e6, 1)])
def test_a_further_condition_must_be_worth_it(least: float, n_conditions: int):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 4)), columns=list("abcd"))
    y = ((X["a"] > 0.5) & (X["b"] > 0.5)) ^ (rng.random(300) < 0.1)
    clf = hb.HornBoostClassifier(rounds=1, max_literals=5, min_gain=least, random_state=0).fit(X, y)
    assert clf.n_conditions_ == n_conditions


def test_conditions_need_not_be_significant_where_there_is_no_noise():
    db = hb.datasets.skewed_pairs(2_020, skew=100, seed=0).database()
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, max_depth=2, aggregates=False, random_state=0).fit(X, y)
    assert clf.tuning_["min_gain"].iloc[0] == 4.0
    assert clf.tuning_.loc[clf.tuning_["chosen"], "min_gain"].item() == 0.0


@pytest.mark.parametrize("loss", [Logistic(), Softmax(2), Softmax(4)])
def test_derivatives_are_those_of_the_loss(loss):
    n_classes = getattr(loss, "n_classes", 2)
    rng = np.random.default_rng(1)
    n_outputs = 1 if isinstance(loss, Logistic) else n_classes
    scores, y = rng.normal(size=(6, n_outputs)), rng.integers(0, n_classes, 6)
    slope, curvature = loss.derivatives(y, scores)
    step = 1e-4
    for i in range(6):
        alone = np.eye(6)[i]
        for k in range(n_outputs):
            moved = [scores + sign * step * np.outer(alone, np.eye(n_outputs)[k]) for sign in (-1, 0, 1)]
            down, here, up = (loss.mean(y, scores, alone) for scores in moved)
            assert slope[i, k] == pytest.approx((up - down) / (2 * step), abs=1e-6)
            assert curvature[i, k] == pytest.approx((up - 2 * here + down) / step**2, abs=1e-4)


@pytest.mark.parametrize(
    ("data", "least"),
    [
        (hb.datasets.trains(600, noise=0.05, seed=3), 0.9),
        (hb.datasets.bank(800, transactions=10, noise=0.05, seed=3), 0.88),
    ],
    ids=["trains", "bank"],
)
def test_planted_rules_are_found_with_the_defaults(data: Any, least: float):
    database = data.database()
    X, y = database.examples()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    model = hb.HornBoostClassifier(database, random_state=0).fit(X.iloc[train], y.iloc[train])
    assert model.score(X.iloc[test], y.iloc[test]) >= least
    assert model.tuning_["chosen"].sum() == 1
    assert model.n_rounds_ == model.tuning_.loc[model.tuning_["chosen"], "rounds"].item()


def test_what_saves_more_of_the_held_out_loss_than_chance_does_is_chosen():
    X, y = load_breast_cancer(return_X_y=True)
    model = hb.HornBoostClassifier(random_state=0).fit(X, y)
    chosen = model.tuning_[model.tuning_["chosen"]]
    assert chosen["loss"].item() <= model.tuning_["loss"].iloc[0]
    lengths = [sum(len(literal.tests) for literal in rule.clause.body) for rule in model.rules_]
    assert max(lengths) <= chosen["max_literals"].item()


@pytest.mark.parametrize(("of_folds", "is_better"), [((0.3, 0.3, 0.3), True), ((0.1, 0.5, 0.3), False)])
def test_folds_must_agree_that_a_setting_is_better(of_folds, is_better):
    best = Trial(Setting(3, 2), 1, (0.4,), (0.0,), (0.4, 0.4, 0.4))
    other = Trial(Setting(5, 2), 1, (0.3,), (0.0,), of_folds)
    assert other.saves(best, 0.03) == is_better
    assert not other.saves(best, 0.26)


def test_steps_do_not_overshoot_where_a_class_is_rare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 5))
    y = rng.random(4_000) < np.where((X[:, 0] > 1.2) & (X[:, 1] > 0.5), 0.3, 0.002)
    clf = hb.HornBoostClassifier(rounds=10, random_state=0).fit(X, y)
    assert (clf.history_["training_loss"].diff().dropna() < 0).all()
    assert np.abs([rule.confidence(clf.ensemble_.classes) for rule in clf.rules_]).max() < 3.0


def test_with_everything_fixed_nothing_is_tuned():
    X, y = load_iris(return_X_y=True)
    model = hb.HornBoostClassifier(rounds=5, max_literals=2, random_state=0).fit(X, y)
    assert len(model.tuning_) == 0
    assert model.n_rounds_ == 5
    assert model.score(X, y) > 0.95


def test_the_loss_falls_and_votes_speak_for_both_sides():
    X, y = load_breast_cancer(return_X_y=True)
    model = hb.HornBoostClassifier(rounds=30, max_literals=2, random_state=0).fit(X, y)
    assert (model.history_["training_loss"].diff().dropna() < 0).all()
    assert len({rule.clause.head.value for rule in model.rules_}) == 2
    assert all(
        rule.confidence(model.ensemble_.classes) > rule.otherwise[0] * (-1) ** (rule.clause.head.value == "0")
        for rule in model.rules_
    )


def test_rows_are_drawn_by_content():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    one = hb.HornBoostClassifier(rounds=10, max_literals=2, subsample=0.5, random_state=0).fit(X, y)
    other = hb.HornBoostClassifier(rounds=10, max_literals=2, subsample=0.5, random_state=0).fit(X[order], y[order])
    whole = hb.HornBoostClassifier(rounds=10, max_literals=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    assert not np.allclose(one.decision_function(X), whole.decision_function(X))


def test_a_draw_that_tells_nothing_does_not_end_boosting():
    X = np.random.default_rng(0).normal(size=(200, 4))
    clf = hb.HornBoostClassifier(rounds=100, max_literals=2, subsample=0.01, random_state=0).fit(X, X[:, 0] > 0)
    assert clf.n_rounds_ == 100
    assert clf.score(X, X[:, 0] > 0) > 0.95


@pytest.mark.parametrize("n_single", [1, 30])
def test_classes_of_a_single_example_do_not_stop_tuning(n_single: int):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, "large", "small").astype(object)
    y[:n_single] = [f"single {k}" for k in range(n_single)]
    clf = hb.HornBoostClassifier(random_state=0).fit(X, y)
    assert clf.tuning_.attrs["folds"] == 5
    assert clf.n_rounds_ < 30


def test_a_class_of_weight_0_is_left_out():
    X, y = load_iris(return_X_y=True)
    clf = hb.HornBoostClassifier(class_weight={2: 0.0}, rounds=10, random_state=0).fit(X, y)
    without = hb.HornBoostClassifier(rounds=10, random_state=0).fit(X[y != 2], y[y != 2])
    assert clf.classes_.tolist() == [0, 1]
    assert str(clf.rules_) == str(without.rules_)


def test_a_class_of_one_example_keeps_its_share_where_nothing_tells_of_it():
    x = np.random.default_rng(0).random((400, 1))
    y = np.where(np.arange(400) == 7, "rare", "usual")
    model = hb.HornBoostClassifier(random_state=0).fit(x, y)
    rare = model.predict_proba(np.random.default_rng(1).random((1000, 1)))[:, 0]
    assert 0.001 < np.median(rare) < 0.005


def test_single_tables_are_learned_well():
    X, y = load_breast_cancer(return_X_y=True)
    model = hb.HornBoostClassifier(random_state=0)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.94
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.92


@pytest.mark.parametrize(
    ("name", "value"), [("rounds", 0), ("rounds", "many"), ("learning_rate", 0.0), ("l2", -1.0), ("subsample", 1.5)]
)
def test_bad_parameters_are_named(name: str, value: object):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of HornBoostClassifier"):
        hb.HornBoostClassifier(**{name: value}).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_sums_over_channels_are_those_of_the_weights_by_class():
    database = hb.datasets.bank(100, transactions=5, seed=2).database()
    X, y = database.examples()
    engine = hb.C2RIBClassifier(database)._problem(X, y, None).engine
    rng = np.random.default_rng(0)
    channels = rng.integers(-(2**40), 2**40, size=(len(y), 3))
    frontier = engine.frontier(engine.root())
    sums = engine.sums(frontier, channels)
    one = np.zeros(len(y), np.int32)
    for k in range(3):
        np.testing.assert_array_equal(sums[:, k], engine.score(frontier, channels[:, k].copy(), one, 1)[:, 0])


def test_short_segments_are_summed_by_example(monkeypatch: pytest.MonkeyPatch):
    database = hb.datasets.bank(100, transactions=5, seed=2).database()
    X, y = database.examples()
    channels = np.random.default_rng(0).integers(-(2**40), 2**40, size=(len(y), 2))
    sums = {}
    for short in (0, 1_000):
        monkeypatch.setattr(blocks, "SHORT", short)
        engine = hb.C2RIBClassifier(database)._problem(X, y, None).engine
        frontier = engine.frontier(engine.root())
        sums[short] = engine.sums(frontier, channels)
        (several,) = [pairs for pairs in frontier.groups[0].pairs if pairs.n_conditions > 1]
        assert (several.segment_example.size == np.unique(several.segment_example).size) == (short > 0)
    np.testing.assert_array_equal(sums[0], sums[1_000])


def test_where_the_loss_is_nearly_gone_smaller_gains_are_worth_a_round():
    falling = [0.7 * 0.9**n for n in range(100)]
    assert tuning._best([max(loss, 0.2) for loss in falling], 0.7) == 13
    assert (tuning._best(falling[:60], 0.7), tuning._best(falling[:30], 0.7)) == (60, 30)
    assert falling[tuning._best(falling, 0.7) - 1] == pytest.approx(tuning.DONE * 0.7, rel=0.1)
    assert tuning._best([0.7, 0.00069, *[0.0] * 9], 0.7) == 3


def test_a_loss_of_numbers_that_has_fallen_far_is_not_nearly_gone():
    """A hundredth of the variance is left; a tenth of that is worth further rounds."""
    losses = [0.01 + 0.001 * max(0, 50 - n) / 50 for n in range(60)]
    assert tuning._best(losses, 1.0) < 30
    assert tuning._best(losses, 1.0, vanishes=False) > 45


def test_with_few_rules_corrected_votes_are_tried_first():
    database = hb.datasets.bank(300, noise=0.1, seed=2).database()
    X, y = database.examples()
    clf = hb.HornBoostClassifier(database, max_rules=3, random_state=0).fit(X, y)
    assert clf.tuning_["corrective"].tolist()[:2] == [True, False]
    if clf.tuning_.loc[clf.tuning_["chosen"], "corrective"].item():
        assert clf.tuning_["corrective"].iloc[2:-1].all()


def test_with_few_rules_corrected_votes_are_tried_again_for_what_was_chosen_without():
    losses = {(2, True): 0.3, (2, False): 0.29, (3, False): 0.25, (3, True): 0.2}

    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        return Trial(setting, 1, (losses[setting.max_depth, setting.corrective],))

    trials, best = tuning.search({"corrective": (True, False), "max_depth": (2, 3), "max_literals": (3,)}, attempt)
    assert [(one.setting.max_depth, one.setting.corrective) for one in trials] == list(losses)
    assert best is trials[-1]


def shop(label: str, n: int = 400) -> hb.Database:
    """Customers, orders, their items and the products in them: what decides is three joins away, or a product."""
    rng = np.random.default_rng(0)
    product = pd.DataFrame({"product": range(20), "price": rng.permutation(20)})
    order = pd.DataFrame({"order": range(2 * n), "customer": np.repeat(range(n), 2)})
    item = pd.DataFrame({"order": np.repeat(range(2 * n), 2), "product": rng.integers(20, size=4 * n)})
    dear = item.merge(product).merge(order).groupby("customer")["price"].max() >= 17
    bought = item.merge(order).groupby("customer")["product"].apply(lambda found: 7 in set(found))
    labels = {"dear": dear, "seventh": bought}
    customer = pd.DataFrame({"customer": range(n), label: labels[label].to_numpy()})
    return hb.Database.from_frames(
        {"customer": customer, "order": order, "item": item, "product": product},
        target="customer",
        key="customer",
        label=label,
        keys={"item": {"order": "order", "product": "product"}},
        foreign_keys=[
            ("order.customer", "customer.customer"),
            ("item.order", "order.order"),
            ("item.product", "product.product"),
        ],
    )


def test_rules_reach_the_farthest_table_where_that_helps():
    db = shop("dear")
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, random_state=0, constants=None).fit(X, y)
    assert int(clf.tuning_.loc[clf.tuning_["chosen"], "max_depth"].iloc[0]) == 3
    assert any("price>=17" in str(rule.clause) for rule in clf.rules_)
    assert clf.score(X, y) == 1.0


def test_things_are_described_rather_than_named_where_that_says_as_much():
    db = shop("dear")
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, random_state=0).fit(X, y)
    assert clf.tuning_["constants"].any()
    assert not clf.tuning_.loc[clf.tuning_["chosen"], "constants"].item()
    assert "price>=17" in str(clf.rules_[0].clause)


@pytest.mark.parametrize(("rounds", "loss", "chosen"), [(20, 0.2, True), (20, 0.2003, False), (21, 0.2, False)])
def test_half_as_many_rounds_with_corrected_votes_are_taken_where_they_lose_nothing(
    rounds: int, loss: float, chosen: bool
):
    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        n, value = (rounds, loss) if setting.corrective else (40, 0.2)
        return Trial(setting, n, (value,) * n, of_folds=(value,) * 5)

    _, best = tuning.search({"max_depth": (2,), "max_literals": (3,), "corrective": (False, True)}, attempt)
    assert best is not None
    assert best.setting.corrective == chosen


@pytest.mark.parametrize(("described", "chosen"), [(0.109, False), (0.111, True)])
def test_names_must_save_a_tenth_of_the_loss_of_rules_that_reach_further(described: float, chosen: bool):
    losses = {(2, False): 0.5, (2, True): 0.1, (3, True): 0.2, (3, False): described}

    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        return Trial(setting, 1, (losses[setting.max_depth, setting.constants],))

    choices = {"constants": (False, True), "max_depth": (2, 3), "max_literals": (3,)}
    trials, best = tuning.search(choices, attempt)
    assert [(one.setting.max_depth, one.setting.constants) for one in trials] == list(losses)
    assert best is not None
    assert best.setting.constants is chosen


@pytest.mark.parametrize(("described", "chosen"), [(0.1019, False), (0.1021, True)])
def test_rules_that_reach_further_must_save_half_of_what_names_save(described: float, chosen: bool):
    losses = {(2, False): 0.104, (2, True): 0.1, (3, True): 0.2, (3, False): described}

    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        return Trial(setting, 1, (losses[setting.max_depth, setting.constants],))

    _, best = tuning.search({"constants": (False, True), "max_depth": (2, 3), "max_literals": (3,)}, attempt)
    assert best is not None
    assert best.setting.constants is chosen


@pytest.mark.parametrize(("folds", "rows", "chosen"), [(1, 0.2015, False), (1, 0.203, True), (5, 0.199, True)])
def test_of_many_examples_aggregates_must_save_a_hundredth_of_the_loss(folds: int, rows: float, chosen: bool):
    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        loss = 0.2 if setting.aggregates else rows
        return Trial(setting, 1, (loss,), of_folds=(loss,) * folds)

    choices = {"aggregates": (True, False), "max_depth": (2,), "max_literals": (3,)}
    _, best = tuning.search(choices, attempt)
    assert best is not None
    assert best.setting.aggregates is chosen


def test_rules_name_things_that_recur_and_never_examples_themselves():
    db = shop("seventh")
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, random_state=0).fit(X, y)
    assert bool(clf.tuning_.loc[clf.tuning_["chosen"], "constants"].iloc[0])
    assert 'product="7"' in str(clf.rules_[0].clause)
    assert not any('customer="' in str(rule.clause) or 'order="' in str(rule.clause) for rule in clf.rules_)
    assert clf.score(X, y) == 1.0


def test_nothing_is_tuned_where_everything_is_given():
    db = shop("dear", 60)
    X, y = db.examples()
    given = {"rounds": 5, "max_literals": 2, "max_depth": 2, "constants": False, "aggregates": False}
    clf = hb.HornBoostClassifier(db, **given, random_state=0).fit(X, y)
    assert len(clf.tuning_) == 0
    assert clf.n_rounds_ <= 5


@pytest.mark.parametrize("flag", [True, False])
def test_switches_of_numpy_are_those_of_python(flag: bool):
    db = hb.datasets.bank(60, seed=1).database()
    X, y = db.examples()
    fixed = {"rounds": 3, "max_literals": 2, "max_depth": 2, "random_state": 0}
    one, other = (
        hb.HornBoostClassifier(db, aggregates=value, constants=value, **fixed).fit(X, y)
        for value in (flag, np.bool_(flag))
    )
    assert str(one.rules_) == str(other.rules_)


def test_lists_are_checked_without_a_database_too():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(hb.HornBoostError, match="there is no aggregate 'median'"):
        hb.HornBoostClassifier(aggregates=["median"]).fit(X, y)
    with pytest.raises(hb.HornBoostError, match="constants: there are no keys of 'product' without a database"):
        hb.HornBoostClassifier(constants=["product"]).fit(X, y)


def test_constants_must_be_keys():
    db = shop("dear", 60)
    X, y = db.examples()
    with pytest.raises(hb.errors.DataError, match="there are no keys of 'produkt'; did you mean 'product'"):
        hb.HornBoostClassifier(db, constants=["produkt"]).fit(X, y)


def test_at_most_max_rules_and_the_path_to_them():
    db = hb.datasets.bank(600, noise=0.1, seed=2).database()
    X, y = db.examples()
    large = hb.HornBoostClassifier(db, random_state=0, corrective=False, aggregates=False).fit(X, y)
    small = hb.HornBoostClassifier(db, random_state=0, max_rules=4, aggregates=False).fit(X, y)
    assert 1 <= len(small.rules_) <= 4 < len(large.rules_)
    assert small.n_conditions_ == sum(rule.clause.length for rule in small.rules_)
    for model in (small, large):
        assert len(model.path_) == model.n_rounds_
        assert int(model.path_["rules"].iloc[-1]) == len(model.rules_)
        assert int(model.path_["conditions"].iloc[-1]) == model.n_conditions_
        chosen = model.tuning_.loc[model.tuning_["chosen"], "loss"].iloc[0]
        assert model.path_["held_out_loss"].iloc[-1] == chosen


def test_votes_that_are_fitted_again_are_at_the_minimum_of_the_penalised_loss():
    db = hb.datasets.trains(200, noise=0.1, seed=2).database()
    X, y = db.examples()
    given = {"max_literals": 2, "max_depth": 2, "constants": None, "aggregates": False, "random_state": 0}
    clf = hb.HornBoostClassifier(db, rounds=40, max_rules=2, corrective=True, **given).fit(X, y)
    assert len(clf.rules_) == 2
    p = clf.predict_proba(X)[:, 1]
    slope = p - (np.asarray(y) == clf.classes_[1])
    for rule in clf.rules_:
        covered = db.covers(rule.clause)
        for cell, vote in ((covered, rule.votes), (~covered, rule.otherwise)):
            assert slope[cell].sum() + 4.0 * vote[0] == pytest.approx(0.0, abs=0.5)


def test_stages_of_corrective_boosting_end_at_the_model():
    db = hb.datasets.bank(300, noise=0.1, seed=2).database()
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, rounds=5, corrective=True, aggregates=False, random_state=0).fit(X, y)
    *_, last = clf.staged_predict_proba(X)
    np.testing.assert_array_equal(last, clf.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 5, 9])
def test_slopes_and_losses_have_the_bits_of_the_exact_functions(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    y, weights = rng.integers(n_classes, size=60), rng.random(60)
    scores = 30.0 * rng.standard_normal((60, 1 if n_classes == 2 else n_classes)) ** 3
    loss = loss_of(n_classes)
    if n_classes == 2:
        p, target = exact.sigmoids(scores), y[:, None]
        losses = exact.softpluses(np.where(y == 1, -1.0, 1.0) * scores[:, 0])
    else:
        p, target = exact.softmax(scores), np.eye(n_classes)[y]
        top = scores.max(axis=1)
        losses = top + exact.logs(exact.exps(scores - top[:, None]).sum(axis=1)) - scores[np.arange(60), y]
    slope, curvature = loss.derivatives(y, scores)
    assert slope.tolist() == (p - target).tolist()
    assert curvature.tolist() == np.maximum(p * (1.0 - p), 1e-16).tolist()
    assert loss.mean(y, scores, weights) == float(np.average(losses, weights=weights))


@pytest.mark.parametrize(("n", "is_empty"), [(60, True), (20, False)])
def test_no_rule_is_learned_where_none_is_better_on_many_held_out_examples(n: int, is_empty: bool):
    draws = np.random.default_rng(1)
    X, y = draws.normal(size=(n, 8)), draws.integers(0, 2, n)
    with pytest.warns(NothingLearnedWarning) if is_empty else nullcontext():
        clf = hb.HornBoostClassifier(random_state=0).fit(X, y)
    assert (len(clf.rules_) == 0) is is_empty
    assert ("no rule was better than none" in clf.stopped_) is is_empty
    assert clf.tuning_["chosen"].any() != is_empty
    assert np.allclose(clf.predict_proba(X)[:, 1], y.mean(), atol=1e-9) is is_empty


def test_fewer_rounds_are_taken_where_they_lose_nothing():
    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        n = 40 if setting.max_depth == 2 else 20
        return Trial(setting, n, (0.2,) * n, of_folds=(0.2,) * 5)

    _, best = tuning.search({"max_depth": (2, 3), "max_literals": (3,)}, attempt)
    assert best is not None
    assert best.setting.max_depth == 3


def test_names_are_not_taken_for_fewer_rounds():
    def attempt(setting: Setting, best: Trial | None, others: object) -> Trial:
        n = 20 if setting.constants else 40
        return Trial(setting, n, (0.2,) * n, of_folds=(0.2,) * 5)

    _, best = tuning.search({"constants": (False, True), "max_depth": (2,), "max_literals": (3,)}, attempt)
    assert best is not None
    assert not best.setting.constants
