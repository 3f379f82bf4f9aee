"""How many ways lead to rows is counted without following them, and depths with too many are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.engine import paths
from hornboost.engine.joins import Chain
from hornboost.engine.tree import Join, Ref


def engine_of(database: hb.Database) -> Any:
    return hb.C2RIBClassifier(database, max_depth=3)._problem(*database.examples(), None).engine


@pytest.mark.parametrize(
    "database",
    [
        lambda: hb.datasets.bank(60, transactions=4, seed=1).database(),
        lambda: hb.datasets.trains(40, seed=1).database(),
        lambda: hb.datasets.skewed_pairs(160, related=2, seed=1).database(),
    ],
)
def test_ways_are_as_many_as_the_rows_that_are_reached_by_following_them(database: Any, tmp_path: Path) -> None:
    whole = database()
    engine = engine_of(whole)
    chains = [
        chain
        for chain in engine.graph.chains(engine.root(), 0, None, 3, 3)
        if not any(join.equal for join in chain.joins)
    ]
    counts = paths.paths(engine, chains)
    followed = [engine.checked_reach(engine.root(), 0, chain.joins).count_rows() for chain in chains]
    assert counts.tolist() == followed
    parts = whole.partition(tmp_path / "parts", partitions=3, depth=3, small_table=5)
    assert paths.paths(engine_of(parts), chains).tolist() == counts.tolist()


def test_missing_keys_lead_nowhere() -> None:
    frames = {
        "a": pd.DataFrame({"k": [1, 2, 3], "g": ["x", None, "y"], "label": [0, 1, 0]}),
        "b": pd.DataFrame({"g": ["x", "x", None, "z"], "v": [1.0, 2.0, 3.0, 4.0]}),
    }
    database = hb.Database.from_frames(
        frames, target="a", key="k", label="label", keys={"a": {"g": "g"}, "b": {"g": "g"}}
    )
    engine = engine_of(database)
    chains = [one for one in engine.graph.chains(engine.root(), 0, None, 1, 1) if one.table == "b"]
    assert paths.paths(engine, chains).tolist() == [2]


def test_a_depth_with_too_many_ways_is_left_out_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database = hb.datasets.bank(120, transactions=4, seed=1).database()
    X, y = database.examples()
    engine = engine_of(database)
    near = int(
        paths.paths(
            engine, [one for one in engine.graph.chains(engine.root(), 0, None, 2, 2) if len(one.joins) == 2]
        ).sum()
    )
    monkeypatch.setattr(paths, "OF_EACH", 0)
    monkeypatch.setattr(paths, "MANY", near)
    assert "rows 2 joins away" not in hb.HornBoostClassifier(database, random_state=0).fit(X, y).left_out_
    monkeypatch.setattr(paths, "MANY", near - 1)
    clf = hb.HornBoostClassifier(database, random_state=0).fit(X, y)
    assert set(clf.tuning_["max_depth"]) == {1}
    assert clf.left_out_["rows 2 joins away"].startswith(f"{near:,} ways lead from the examples to them")
    asked = hb.HornBoostClassifier(database, max_depth=2, random_state=0).fit(X, y)
    assert set(asked.tuning_["max_depth"]) == {2}
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    there = hb.HornBoostClassifier(parts, random_state=0).fit(*parts.examples())
    assert there.rules_ == clf.rules_
    np.testing.assert_array_equal(there.predict_proba(X), clf.predict_proba(X))


def test_a_single_join_with_very_many_ways_is_no_reason_to_leave_a_depth_out(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(hb.datasets.bank(120, transactions=4, seed=1).database())
    chains = [one for one in engine.graph.chains(engine.root(), 0, None, 2, 2) if len(one.joins) == 2]
    counts = sorted(paths.paths(engine, chains).tolist())
    monkeypatch.setattr(paths, "OF_EACH", 0)
    monkeypatch.setattr(paths, "MANY", sum(counts) - counts[-1])
    assert paths.too_many(engine, 2) == sum(counts)
    monkeypatch.setattr(paths, "MOST_ENTRIES", counts[-1] - 1)
    assert paths.too_many(engine, 2) is None


def test_more_ways_than_numbers_have_room_for_are_counted_as_beyond_all_limits() -> None:
    n = 40_000
    same = pd.DataFrame({"g": ["x"] * n, "v": np.arange(n)})
    frames = {"a": pd.DataFrame({"k": range(n), "g": "x", "label": np.arange(n) % 2}), "b": same, "c": same}
    keys = {name: {"g": "g"} for name in frames}
    database = hb.Database.from_frames(frames, target="a", key="k", label="label", keys=keys)
    engine = engine_of(database)
    join = next(one for one in engine.graph.chains(engine.root(), 0, None, 1, 1) if one.table == "b").joins[0]
    again = Join("c", "g", Ref(-1, "g"))
    far = Join("b", "g", Ref(-2, "g")), Join("c", "g", Ref(-3, "g"))
    (count,) = paths.paths(engine, [Chain(0, (join, again, *far))]).tolist()
    assert count >= paths.BEYOND
