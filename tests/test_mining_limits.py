"""What bounds mining: columns ranked by information, rows counted, queries of most information first,
and one warning for all of it.
"""

from __future__ import annotations

import gc
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.mining.informative import within_columns
from hornboost.mining.language import Language
from hornboost.mining.limits import Limits
from hornboost.mining.miner import Mined, Miner, thresholds
from hornboost.mining.patterns import LeftOutWarning
from hornboost.mining.relation_rows import RelationRows


def bags(n: int = 92, n_columns: int = 166, seed: int = 0) -> hb.Database:
    """Bags of some five rows of numbers; in a positive one some row is high in one column and low in another."""
    draw = np.random.default_rng(seed)
    bag = np.repeat(np.arange(n), draw.integers(1, 10, n))
    positive = np.arange(n) % 2 == 1
    values = draw.normal(size=(len(bag), n_columns))
    for b in np.flatnonzero(positive):
        values[draw.choice(np.flatnonzero(bag == b)), [n_columns // 2, n_columns - 3]] = 2.5, -2.5
    rows = pd.DataFrame(values.round(3), columns=[f"f{k}" for k in range(n_columns)])
    rows.insert(0, "bag", bag)
    target = pd.DataFrame({"bag": np.arange(n), "active": np.where(positive, "yes", "no")})
    return hb.Database.from_frames(
        {"target": target, "row": rows},
        target="target",
        key="bag",
        label="active",
        positive="yes",
        foreign_keys=[("row.bag", "target.bag")],
    )


def language_of(db: hb.Database, steps: int = 3) -> tuple[Language, np.ndarray, np.ndarray]:
    X, y = db.examples()
    weights = np.ones(len(X))
    language = Language.of(db, db.encode(X), weights, bins=4, oi=True, symmetric={}, steps=steps)
    return language, (np.asarray(y) == db.target.positive).astype(np.int32), weights


def mined(db: hb.Database, length: int, limits: Limits) -> Mined:
    language, classes, weights = language_of(db, length)
    by_class = np.bincount(classes, weights)
    return Miner(language, classes, weights, thresholds(0.1, "overall", by_class, 1), limits=limits).mine(length)


def forms(found: Mined) -> set[object]:
    """The queries whatever the names and the order of their literals."""
    keys = [
        (query.structure.form, query.structure.key(tuple(tests for _, _, tests in query.body)))
        for query in found.queries
    ]
    return set(keys)


def test_bags_of_many_columns_are_learned_from_within_the_bounds_and_with_one_warning() -> None:
    db = bags()
    X, y = db.examples()
    model = hb.MLynxClassifier(db, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X[:60], y[:60])
    (warning,) = [entry for entry in caught if issubclass(entry.category, LeftOutWarning)]
    assert str(warning.message) == "; ".join(model.left_out_)
    assert "102 of 166 columns" in model.left_out_[0]
    assert model.n_patterns_ <= 50_000
    with pytest.warns(LeftOutWarning):
        wider = hb.MLynxClassifier(db, max_columns=None, max_pool=20_000, random_state=0).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) >= wider.score(X[60:], y[60:]) > 0.6


def test_the_columns_that_tell_most_are_kept_in_their_order() -> None:
    language, classes, weights = language_of(bags(n_columns=20))
    fewer = within_columns(language, 2, classes, weights, 2, 1000)
    assert {test.column for tests in fewer.relations[1].conditions for test in tests} == {"f10", "f17"}
    before, after = language.relations[1], fewer.relations[1]
    held = [RelationRows(language.source.database.tables["row"], one, False).held.held for one in (before, after)]
    assert held[1].max() == after.n_conditions - 1
    for old, new, column in ((10, 0, "f10"), (17, 1, "f17")):
        names = [before.conditions[c] for c in held[0][:, old]], [after.conditions[c] for c in held[1][:, new]]
        assert names[0] == names[1], column
    assert within_columns(language, 20, classes, weights, 2, 1000) is language


def test_columns_of_a_table_behind_another_are_ranked_too() -> None:
    draw = np.random.default_rng(1)
    y = np.repeat(["0", "1"], 30)
    target = pd.DataFrame({"t": np.arange(60), "noise": draw.random(60), "y": y})
    middle = pd.DataFrame({"m": np.arange(60), "t": np.arange(60), "other": draw.random(60)})
    far = pd.DataFrame(
        {"m": np.arange(60), "told": np.where(y == "1", 1.0, 0.0) + draw.random(60) / 2, "nothing": draw.random(60)}
    )
    db = hb.Database.from_frames(
        {"target": target, "middle": middle, "far": far},
        target="target",
        key="t",
        label="y",
        positive="1",
        foreign_keys=[("middle.t", "target.t"), ("far.m", "middle.m")],
    )
    language, classes, weights = language_of(db)
    fewer = within_columns(language, 1, classes, weights, 3, 1000)
    assert [
        (relation.name, relation.n_conditions > 1) for relation in fewer.relations if relation.n_conditions > 1
    ] == [("far", True)]


def test_without_classes_the_columns_that_divide_most_evenly_are_kept() -> None:
    X = pd.DataFrame({"rare": ["a"] * 39 + ["b"], "even": ["a", "b"] * 20})
    patterns = hb.RelationalPatterns(max_length=1, max_columns=1)
    with pytest.warns(LeftOutWarning, match="1 of 2 columns"):
        patterns.fit(X)
    assert all("even" in name for name in patterns.get_feature_names_out())


def test_rows_are_counted_and_the_widest_joins_left_out() -> None:
    db = hb.datasets.skewed_pairs(300, skew=100, seed=2).database()
    everything = mined(db, 3, Limits())
    enough = mined(db, 3, Limits(max_rows=1000 * everything.rows))
    assert [query.body for query in enough.queries] == [query.body for query in everything.queries]
    assert not enough.left_out.sentences()
    few = mined(db, 3, Limits(max_rows=everything.rows // 10))
    assert 0 < few.rows <= everything.rows // 5
    assert 0 < len(few.queries) < len(everything.queries)
    assert forms(few) < forms(everything)
    assert len(forms(few)) == len(few.queries)
    assert all("those that look at most rows, were left out" in sentence for sentence in few.left_out.sentences())
    again = mined(db, 3, Limits(max_rows=everything.rows // 10))
    assert [query.body for query in again.queries] == [query.body for query in few.queries]


def test_of_too_many_queries_those_are_extended_first_that_tell_most() -> None:
    db = bags(n_columns=30)
    short = mined(db, 1, Limits())
    few = mined(db, 2, Limits(max_patterns=len(short.queries) + 40))
    assert len(few.queries) == len(short.queries) + 40
    told = {"f15", "f27"}
    extended = {tests[0] for query in few.queries if query.length == 2 for _, _, tests in query.body[1:2] if tests}
    language, _, _ = language_of(db)
    assert {test.column for c in extended for test in language.relations[1].conditions[c]} <= told
    assert sum("max_patterns" in sentence for sentence in few.left_out.sentences()) == 1


def test_the_selection_chooses_from_the_most_relevant_queries() -> None:
    db = hb.datasets.trains(150, seed=3).database()
    X, y = db.examples()
    whole = hb.MLynxClassifier(db, max_length=2, restarts=5, random_state=0).fit(X, y)
    same = hb.MLynxClassifier(
        db, max_length=2, restarts=5, random_state=0, max_pool=whole.n_patterns_, max_queries=None
    ).fit(X, y)
    assert whole.ensemble_ == same.ensemble_
    assert not whole.left_out_
    with pytest.warns(LeftOutWarning, match=f"from the 10 of {whole.n_patterns_} queries that tell most"):
        few = hb.MLynxClassifier(db, max_length=2, restarts=5, random_state=0, max_pool=10).fit(X, y)
    assert 0 < len(few.rules_) <= 10


def test_what_happens_often_is_told_once() -> None:
    db = hb.datasets.trains(50, seed=1).database()
    X, y = db.examples()
    patterns = hb.RelationalPatterns(db, max_length=3, max_bindings=60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patterns.fit(X, y)
    assert len([entry for entry in caught if issubclass(entry.category, LeftOutWarning)]) == 1
    assert any("more than max_bindings=60" in sentence and " more" in sentence for sentence in patterns.left_out_)


def test_the_time_limit_leaves_a_model_of_what_was_mined() -> None:
    db = bags()
    X, y = db.examples()
    model = hb.MLynxClassifier(db, time_limit=0.5, max_columns=None, max_patterns=None, max_pool=None, random_state=0)
    with pytest.warns(LeftOutWarning, match="the time limit was reached"):
        model.fit(X, y)
    assert model.stopped_ == "the time limit was reached"
    assert model.predict_proba(X).shape == (92, 2)


def test_mining_leaves_the_search_for_garbage_alone() -> None:
    db = hb.datasets.trains(150, seed=1).database()
    X, y = db.examples()
    seen, done = [], threading.Event()

    def watch() -> None:
        while not done.wait(0.001):
            seen.append(gc.isenabled())

    watcher = threading.Thread(target=watch)
    watcher.start()
    hb.RelationalPatterns(db, max_length=3).fit(X, y)
    done.set()
    watcher.join()
    assert seen
    assert all(seen)


def test_rows_beyond_the_estimate_end_the_mining(monkeypatch: pytest.MonkeyPatch) -> None:
    db = hb.datasets.skewed_pairs(300, skew=100, seed=2).database()
    everything = mined(db, 3, Limits())
    monkeypatch.setattr("hornboost.mining.miner.largest_affordable", lambda costs, budget: np.inf)
    few = mined(db, 3, Limits(max_rows=everything.rows // 10))
    assert everything.rows // 5 < few.rows < everything.rows // 2
    assert [sentence for sentence in few.left_out.sentences() if "twice max_rows" in sentence]
    assert forms(few) < forms(everything)
