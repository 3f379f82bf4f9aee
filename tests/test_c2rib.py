"""C2RIBClassifier: planted rules, the scikit-learn contract, weights, limits, and the same model every time."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import hornboost as hb
from hornboost.activation.strategies import STRATEGIES
from hornboost.engine.needs import ENTRY_BYTES, Needs
from hornboost.memory import PYTHON
from hornboost.model.diagnosis import JoinsLeftOutWarning


def held_out_accuracy(database: hb.Database, **options: object) -> float:
    X, y = database.examples()
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)
    model = hb.C2RIBClassifier(database, random_state=0, **options).fit(X.iloc[train], y.iloc[train])
    return float(model.score(X.iloc[test], y.iloc[test]))


GENERATORS = {
    "trains": lambda noise: hb.datasets.trains(10_000 if noise else 1000, noise=noise, seed=3),
    "molecules": lambda noise: hb.datasets.molecules(6000 if noise else 1000, noise=noise, seed=3),
    "bank": lambda noise: hb.datasets.bank(10_000 if noise else 2000, noise=noise, seed=3),
    "skewed_pairs": lambda noise: hb.datasets.skewed_pairs(8000, noise=noise, seed=3),
}


@pytest.mark.parametrize(("noise", "least"), [(0.0, 0.99), (0.1, 0.88)])
@pytest.mark.parametrize("name", GENERATORS)
def test_planted_rules_are_found(name: str, noise: float, least: float):
    assert held_out_accuracy(GENERATORS[name](noise).database()) >= least


@pytest.fixture(scope="module")
def trains() -> tuple[hb.Database, pd.DataFrame, pd.Series]:
    database = hb.datasets.trains(300, noise=0.1, seed=5).database()
    return (database, *database.examples())


@pytest.mark.parametrize("features", [name for name in STRATEGIES if name != "margin"])
def test_every_strategy_learns_and_never_shows_more_than_its_active_features(trains, features: str):
    database, X, y = trains
    model = hb.C2RIBClassifier(database, rounds=30, features=features, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    seen = {name for active in model.history_["active_features"] for name in active}
    used = {
        f"{literal.table}.{test.column}"
        for rule in model.rules_
        for literal in rule.clause.body
        for test in literal.tests
    }
    assert used <= seen
    assert (model.history_["requested"].diff().dropna() >= 0).all()


def test_history_has_a_row_a_round_and_margins_within_bounds(trains):
    database, X, y = trains
    history = hb.C2RIBClassifier(database, rounds=25, features="margin", random_state=0).fit(X, y).history_
    assert len(history) == 25
    assert history["mean_margin"].between(-1, 1).all()
    assert (history["clauses_scored"] > 0).all()
    for column in ("rule", "confidence", "gradient", "trend", "ratio", "predicted_ratio", "active_features", "seconds"):
        assert column in history


def test_two_key_targets_find_a_shared_variable():
    authors = pd.DataFrame(
        {
            "title": [t for t in range(40) for _ in (0, 1)],
            "person": [p for t in range(40) for p in (t % 20, 20 + (3 * t) % 20)],
        }
    )
    pairs = pd.DataFrame([(s, p) for s in range(20) for p in range(20, 40)], columns=["student", "professor"])
    together = {(a, b) for t in range(40) for a, b in [(t % 20, 20 + (3 * t) % 20)]}
    pairs["advised"] = [
        "yes" if pair in together else "no" for pair in zip(pairs.student, pairs.professor, strict=True)
    ]
    database = hb.Database.from_frames(
        {"pair": pairs, "publication": authors},
        target="pair",
        key=["student", "professor"],
        label="advised",
        positive="yes",
        keys={
            "pair": {"student": "person", "professor": "person"},
            "publication": {"person": "person", "title": "title"},
        },
    )
    X, y = database.examples()
    model = hb.C2RIBClassifier(database, rounds=5, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    best = max(model.rules_, key=lambda rule: rule.confidence(model.ensemble_.classes))
    assert [literal.table for literal in best.clause.literals] == ["publication", "publication"]


def test_the_model_is_the_same_for_any_number_of_threads(trains, tmp_path):
    database, X, y = trains
    saved = []
    for n_jobs in (1, 2, 1):
        path = tmp_path / f"{len(saved)}.json"
        hb.C2RIBClassifier(database, rounds=20, features="margin", random_state=1, n_jobs=n_jobs).fit(X, y).save(path)
        saved.append(path.read_text().replace(f'"n_jobs": {n_jobs}', ""))
    assert saved[0] == saved[1] == saved[2]


def test_the_order_of_the_rows_does_not_change_the_rules(trains):
    database, X, y = trains
    order = np.random.default_rng(0).permutation(len(X))
    one = hb.C2RIBClassifier(database, rounds=20, random_state=1).fit(X, y)
    other = hb.C2RIBClassifier(database, rounds=20, random_state=1).fit(X.iloc[order], y.iloc[order])
    assert [(str(r.clause), r.votes) for r in one.rules_] == [(str(r.clause), r.votes) for r in other.rules_]


def test_corrupted_labels_of_weight_zero_change_nothing(trains):
    database, X, y = trains
    corrupt = np.arange(len(y)) % 2 == 0
    wrong = y.where(~corrupt, y.map({"0": "1", "1": "0"}))
    weight = np.where(corrupt, 0.0, 1.0)
    weighted = hb.C2RIBClassifier(database, rounds=20, features="margin", random_state=1).fit(
        X, wrong, sample_weight=weight
    )
    left_out = hb.C2RIBClassifier(database, rounds=20, features="margin", random_state=1).fit(X[~corrupt], y[~corrupt])
    assert [(str(r.clause), r.votes) for r in weighted.rules_] == [(str(r.clause), r.votes) for r in left_out.rules_]


def test_clones_share_the_database(trains):
    database = trains[0]
    model = clone(hb.C2RIBClassifier(database, rounds=3, random_state=0))
    assert model.database is database


def test_pipeline_grid_search_and_cross_validation_work_with_a_database(trains):
    database, X, y = trains
    model = Pipeline(
        [("same", FunctionTransformer()), ("rules", hb.C2RIBClassifier(database, rounds=5, random_state=0))]
    )
    search = GridSearchCV(model, {"rules__max_literals": [1, 3]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.6
    assert len(cross_val_predict(model, X, y, cv=3)) == len(y)


def test_time_limit_holds_within_a_round(trains):
    database, X, y = trains
    hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y)
    started = time.monotonic()
    model = hb.C2RIBClassifier(database, rounds=1_000_000, time_limit=0.3, random_state=0).fit(X, y)
    assert time.monotonic() - started < 3.0
    assert 1 <= len(model.history_) < 1_000_000


def test_an_interrupt_leaves_a_usable_model_and_is_raised_then(trains):
    database, X, y = trains

    def interrupt(row: dict[str, object]) -> None:
        if row["round"] == 4:
            raise KeyboardInterrupt

    model = hb.C2RIBClassifier(database, rounds=50, callbacks=[interrupt], random_state=0)
    with pytest.raises(KeyboardInterrupt, match="C2RIBClassifier holds what was learned"):
        model.fit(X, y)
    assert model.stopped_ == "interrupted"
    assert len(model.history_) == 4
    whole = hb.C2RIBClassifier(database, rounds=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_from_many_examples_on_a_stall_asks_for_a_feature(trains, monkeypatch: pytest.MonkeyPatch) -> None:
    database, X, y = trains

    def entered(stall: object) -> list[tuple[str, ...]]:
        model = hb.C2RIBClassifier(database, rounds=40, features="margin", stall=stall, random_state=0).fit(X, y)
        return list(model.history_["activated"])

    assert entered("auto") == entered(None) != entered(10)
    monkeypatch.setattr("hornboost.boosting.c2rib.MANY_EXAMPLES", len(X))
    assert entered("auto") == entered(10)


def test_early_stopping_keeps_the_best_round(trains):
    database, X, y = trains
    model = hb.C2RIBClassifier(database, rounds=200, early_stopping=10, validation_fraction=0.3, random_state=0).fit(
        X, y
    )
    loss = model.history_["validation_loss"]
    assert len(loss) == loss.idxmin() + 1 + 10
    assert len(model.rules_) <= loss.idxmin() + 1


def test_several_classes_are_learned_one_against_the_rest():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300), "colour": rng.choice(["red", "green", "blue"], 300)})
    y = np.where(X["colour"] == "red", "a", np.where(X["size"] > 0, "b", "c"))
    model = hb.C2RIBClassifier(rounds=20, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.decision_function(X).shape == (300, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("noise", [0.1, 0.2])
def test_probabilities_have_nearly_the_best_slope_on_unseen_examples(noise: float):
    database = hb.datasets.trains(3000, noise=noise, seed=1).database()
    X, y = database.examples()
    model = hb.C2RIBClassifier(database, random_state=0).fit(X.iloc[:1500], y.iloc[:1500])
    positive = (y.iloc[1500:] == "1").to_numpy()
    score = model.decision_function(X.iloc[1500:])
    possible = [log_loss(positive, 1 / (1 + np.exp(-slope * score))) for slope in np.geomspace(0.05, 10, 100)]
    assert log_loss(positive, model.predict_proba(X.iloc[1500:])[:, 1]) < 1.02 * min(possible)


def test_a_table_of_few_distinct_rows_is_learned():
    X = pd.DataFrame({"colour": ["a"] * 20 + ["b"] * 20})
    y = ["yes"] * 20 + ["no"] * 20
    assert hb.C2RIBClassifier(rounds=5, random_state=0).fit(X, y).score(X, y) == 1.0


def test_one_class_only_predicts_that_class():
    model = hb.C2RIBClassifier(rounds=3).fit(np.arange(10.0).reshape(-1, 1), ["same"] * 10)
    assert set(model.predict(np.zeros((2, 1)))) == {"same"}
    np.testing.assert_array_equal(model.predict_proba(np.zeros((2, 1))), 1.0)


@pytest.mark.parametrize(("name", "value"), [("rounds", -3), ("features", "V17"), ("ranking", "x"), ("threshold", 0.0)])
def test_bad_parameters_are_named(name: str, value: object):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of C2RIBClassifier"):
        hb.C2RIBClassifier(**{name: value}).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_joins_over_the_limit_are_refused_and_listed(trains):
    database, X, y = trains
    limit = PYTHON + sum(Needs.of(database)) + 10 * ENTRY_BYTES
    with pytest.warns(
        JoinsLeftOutWarning, match=r"1 join was left out because there is memory for 10 .* \(see refused_\)"
    ):
        model = hb.C2RIBClassifier(database, rounds=3, memory_limit=limit, random_state=0).fit(X, y)
    assert model.refused_
    assert all(count > 10 for count in model.refused_.values())
