"""Joins that lead to far more rows than there are: left out one by one, said, and followed where they are asked for."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.engine import Engine, needs
from hornboost.engine.needs import Ways
from hornboost.engine.partitioned import PartitionedEngine
from hornboost.engine.tree import path_text
from hornboost.stopping import OUT_OF_TIME
from test_partitioned_engine import look_around, walk


def bank() -> hb.Database:
    return hb.datasets.bank(120, transactions=4, seed=1).database()


@pytest.mark.parametrize(
    "database",
    [bank, lambda: hb.datasets.skewed_pairs(160, related=2, seed=1).database()],
)
def test_what_is_left_out_reaches_more_than_it_may_and_nothing_else_is(database) -> None:
    whole = database()
    examples = whole.encode(whole.examples()[0])
    free = Engine(whole, examples, max_depth=3, look_ahead=3)
    limits = Ways(reached=400, held=150)
    limited = Engine(whole, examples, max_depth=3, look_ahead=3, ways=limits)
    chains = {option.chain for option in free.frontier(free.root()).groups[0].options}
    kept = {option.chain for option in limited.frontier(limited.root()).groups[0].options}
    few = set()
    for chain in chains:
        counts = [free.reach(free.root(), 0, chain.joins[:k]).count_rows() for k in range(1, len(chain.joins) + 1)]
        if all(count <= limits.held for count in counts[:-1]) and all(count <= limits.reached for count in counts[-1:]):
            few.add(chain)
    assert kept == few
    assert set() < kept < chains
    assert {chain.joins[:k] for chain in chains - kept for k in range(1, 4)} >= limited.refused.keys()


def test_partitions_leave_out_the_same(tmp_path: Path) -> None:
    database = bank()
    parts = database.partition(tmp_path / "parts", partitions=3, depth=3, small_table=5)
    examples = database.encode(database.examples()[0])
    for seed in range(6):
        rng = Random(seed)
        ways = Ways(rng.choice([200, 400]), rng.choice([50, 150]))
        options = {"max_depth": 3, "look_ahead": 3, "ways": ways}
        here = Engine(database, examples, **options)
        there = PartitionedEngine(parts, parts.encode(parts.examples()[0]), **options)
        assert here.examples.n_rows == there.examples.n_rows
        (walk if seed % 2 else look_around)(seed, here, there, None)
        assert here.refused


def test_joins_are_left_out_and_said_unless_a_depth_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    database = bank()
    X, y = database.examples()
    free = hb.HornBoostClassifier(database, random_state=0).fit(X, y)
    assert free.left_out_ == {}
    monkeypatch.setattr(needs, "OF_ROWS", 0)
    monkeypatch.setattr(needs, "MANY", 47)
    clf = hb.HornBoostClassifier(database, random_state=0).fit(X, y)
    assert set(clf.tuning_["max_depth"]) > {2}
    assert "trans.account_id" in clf.left_out_
    assert all(text.endswith("set max_depth to do so all the same") for text in clf.left_out_.values())
    assert clf.left_out_.keys() == {path_text(joins) for joins in clf.refused_ if joins[0].source.node == 0}
    assert len(clf.left_out_) < len(clf.refused_)
    assert not [warning for warning in recwarn if warning.category is hb.JoinsLeftOutWarning]
    asked = hb.HornBoostClassifier(database, max_depth=2, random_state=0).fit(X, y)
    assert asked.left_out_ == {}
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    there = hb.HornBoostClassifier(parts, random_state=0).fit(*parts.examples())
    assert there.rules_ == clf.rules_
    np.testing.assert_array_equal(there.predict_proba(X), clf.predict_proba(X))


def test_a_key_that_all_rows_share_takes_no_longer_than_any_other() -> None:
    """A thousand millions of rows are reached from the examples, and none of them is looked at for each of these."""
    n = 30_000
    rng = np.random.default_rng(0)
    frames = {
        "a": pd.DataFrame({"k": range(n), "g": "x", "v": rng.random(n)}),
        "b": pd.DataFrame({"g": "x", "h": rng.integers(0, 3, n), "w": rng.random(n)}),
        "c": pd.DataFrame({"h": [0, 1, 2], "u": [1.0, 2.0, 3.0]}),
    }
    frames["a"]["label"] = (frames["a"]["v"] > 0.5).astype(int)
    keys = {"a": {"g": "g"}, "b": {"g": "g", "h": "h"}, "c": {"h": "h"}}
    database = hb.Database.from_frames(frames, target="a", key="k", label="label", keys=keys)
    clf = hb.HornBoostClassifier(database, random_state=0, time_limit=60).fit(*database.examples())
    assert OUT_OF_TIME not in clf.stopped_
    assert "b.g" in clf.left_out_
