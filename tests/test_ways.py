"""Joins that lead to far more rows than there are: left out one by one, said, and followed where they are asked for."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.engine import Engine, needs, paths, united
from hornboost.engine.joins import Chain
from hornboost.engine.needs import Ways
from hornboost.engine.partitioned import PartitionedEngine
from hornboost.engine.tree import Join, Ref, path_text
from hornboost.model.diagnosis import JoinsLeftOutWarning, NothingLearnedWarning, WideJoinsWarning
from hornboost.stopping import OUT_OF_TIME
from test_partitioned_engine import look_around, walk


def counted(engine: Engine, joins: tuple[Join, ...]) -> int:
    return engine.reach(engine.root(), 0, joins).count_rows()


def named(joins: tuple[Join, ...]) -> str:
    """Joins as `left_out_` names them, from the table of the examples."""
    target = "loan" if joins[0].source.column.endswith("_id") else "pair"
    return f"{target}.{joins[0].source.column} -> {path_text(joins)}"


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
    few, said = set(), set()
    for chain in chains:
        counts = [counted(free, chain.joins[:k]) for k in range(1, len(chain.joins) + 1)]
        if all(count <= limits.held for count in counts[:-1]) and counts[-1:] <= [limits.reached]:
            few.add(chain)
        elif not any(join.equal for join in chain.joins):
            said.add(next(chain.joins[:k] for k, count in enumerate(counts, start=1) if count > limits.held))
    assert kept == few
    assert set() < kept < chains
    assert limited.refused == {}
    told = paths.left_out(limited, 3).keys()
    assert {named(joins) for joins in said} <= told
    assert not told & {named(chain.joins) for chain in kept if chain.joins and counted(free, chain.joins) <= 150}


@pytest.mark.parametrize("max_entries", [20, 10**6])
def test_four_joins_in_pieces(max_entries: int) -> None:
    """Rows on the way are counted from all examples, also where these are followed some after the others."""
    frames = {"a": pd.DataFrame({"id": range(30), "ab": np.arange(30), "y": np.arange(30) % 2})}
    frames |= {
        "b": pd.DataFrame({"ab": np.repeat(np.arange(30), 2), "bc": np.arange(60)}),
        "c": pd.DataFrame({"bc": np.repeat(np.arange(60), 2), "cd": np.arange(120)}),
        "d": pd.DataFrame({"cd": np.arange(120), "de": np.arange(120) // 4}),
        "e": pd.DataFrame({"de": np.arange(30), "v": np.arange(30.0)}),
    }
    domains = ("ab", "bc", "cd", "de")
    keys = {name: {column: column for column in domains if column in frame} for name, frame in frames.items()}
    database = hb.Database.from_frames(frames, target="a", key="id", label="y", keys=keys)
    options = {"max_depth": 4, "look_ahead": 4, "max_entries": max_entries}
    examples = database.encode(database.examples()[0])
    for held, is_reached in ((119, False), (120, True)):
        engine = Engine(database, examples, ways=Ways(1_000, held), **options)
        tables = {option.chain.table for option in engine.frontier(engine.root()).groups[0].options}
        assert ("e" in tables) == is_reached
        assert "c" in tables


def test_partitions_know_how_many_rows_there_are(tmp_path: Path) -> None:
    database = hb.datasets.bank(300, transactions=4, seed=1).database()
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    assert parts.n_rows == database.n_rows == sum(table.n_rows for table in database.tables.values())
    assert needs.affordable(parts) == needs.affordable(database)


def test_partitions_may_reach_more_rows_together_than_one_of_them(tmp_path: Path) -> None:
    """Numbers of entries are of 32 bits within a partition; there is no such bound for all of them."""
    told = united.Told((0, 1 << 33))
    chain = Chain(0, (Join("b", "g", Ref(0, "g")),))
    assert told.too_many(chain, needs.EVERY_WAY.within(1 << 40)) is None
    assert told.too_many(chain, needs.EVERY_WAY.within(1 << 32)) == (chain.joins, 1 << 33)


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
        assert here.refused == {}
        assert paths.left_out(here, 2) == paths.left_out(there, 2) != {}


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
    assert clf.refused_ == {}
    assert clf.left_out_["loan.account_id -> trans.account_id"] == (
        "487 rows are too many to look at for each rule; set max_depth to do so all the same"
    )
    assert clf.left_out_["loan.account_id -> disp.account_id"] == (
        "176 rows are too many to go on from for each rule; set max_depth to do so all the same"
    )
    assert not [warning for warning in recwarn if warning.category is JoinsLeftOutWarning]
    asked = hb.HornBoostClassifier(database, max_depth=2, random_state=0).fit(X, y)
    assert asked.left_out_ == {}
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    there = hb.HornBoostClassifier(parts, random_state=0).fit(*parts.examples())
    assert there.rules_ == clf.rules_
    lacking = (
        "the partitions hold the rows within 2 joins; max_depth=2 gives the same rules from them and from their source"
    )
    assert there.left_out_ == {**clf.left_out_, "rules of 3 joins": lacking}
    np.testing.assert_array_equal(there.predict_proba(X), clf.predict_proba(X))


def test_a_depth_that_is_asked_for_is_warned_of_where_joins_lead_far(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 60
    rows = pd.DataFrame({"id": range(n), "plot": np.arange(n) % 2, "y": np.arange(n) % 3 == 0, "v": np.arange(n) % 7})
    plots = pd.DataFrame({"plot": [0, 1], "size": [1.0, 2.0]})
    database = hb.Database.from_frames({"rows": rows, "plots": plots}, target="rows", key="id", label="y")
    X, y = database.examples()
    given = {"rounds": 1, "aggregates": False, "constants": False, "random_state": 0}
    told = "max_depth=1 has every round look at 1,800 rows of rows.plot -> rows.plot, which takes long; leave it out"
    for most, is_told in ((1_000, True), (10_000, False)):
        monkeypatch.setattr(needs, "OF_ROWS", 0)
        monkeypatch.setattr(needs, "MANY", most // needs.WIDER)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hb.HornBoostClassifier(database, max_depth=1, **given).fit(X, y)
        said = [str(one.message) for one in caught if one.category is WideJoinsWarning]
        assert len(said) == is_told
        assert all(one.startswith(told) for one in said)


def test_of_many_wide_joins_the_widest_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Five tables that are joined over three keys lead to each other in many ways, none of which is too wide alone."""
    rng, n = np.random.default_rng(0), 60
    frames = {"a": pd.DataFrame({"k": range(n)})}
    for number in range(5):
        g, h = rng.integers(0, 4 + number, n), rng.integers(0, 9 - number, n)
        frames[f"t{number}"] = pd.DataFrame({"k": rng.permutation(n), "g": g, "h": h, "v": rng.random(n)})
    frames["a"]["y"] = (frames["t0"].set_index("k")["v"].reindex(range(n)).to_numpy() > 0.5).astype(int)
    keys = {name: {column: column for column in "kgh" if column in frame} for name, frame in frames.items()}
    database = hb.Database.from_frames(frames, target="a", key="k", label="y", keys=keys)
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    X, y = database.examples()
    given = {"aggregates": False, "constants": False, "random_state": 0}
    assert hb.HornBoostClassifier(database, **given).fit(X, y).left_out_ == {}
    monkeypatch.setattr(needs, "OF_ROWS", 0)
    monkeypatch.setattr(needs, "MANY", 100)
    clf = hb.HornBoostClassifier(database, **given).fit(X, y)
    wide = {int(why.split()[0].replace(",", "")) for why in clf.left_out_.values()}
    engine = Engine(database, database.encode(X), ways=needs.affordable(database))
    paths.narrow(engine, 2)
    chains = engine.graph.chains(engine.root(), 0, None, 2, 2)
    counts = paths.paths(engine, [chain for chain in chains if not any(join.equal for join in chain.joins)])
    kept = counts[counts <= engine.ways.reached]
    assert needs.WIDER * 100 > engine.ways.reached == kept.max() > 0
    assert kept.sum() <= needs.TOGETHER * needs.WIDER * 100
    assert min(wide) > engine.ways.reached
    there = hb.HornBoostClassifier(parts, **given).fit(*parts.examples())
    assert len(clf.rules_) > 0
    assert there.rules_ == clf.rules_
    assert clf.left_out_.items() <= there.left_out_.items()


def test_where_nothing_is_learned_joins_that_lead_too_far_are_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "OF_ROWS", 0)
    monkeypatch.setattr(needs, "MANY", 100)
    n = 100
    frames = {
        "a": pd.DataFrame({"k": range(n), "g": np.arange(n) % 2, "label": np.arange(n) % 2}),
        "b": pd.DataFrame({"g": np.arange(n) % 2, "v": np.arange(n) % 2}),
    }
    keys = {"a": {"g": "g"}, "b": {"g": "g"}}
    database = hb.Database.from_frames(frames, target="a", key="k", label="label", keys=keys)
    X, y = database.examples()
    given = {"aggregates": False, "constants": False, "random_state": 0}
    with pytest.warns(NothingLearnedWarning, match="a.g -> b.g: 5,000 rows are too many to look at for each rule"):
        hb.HornBoostClassifier(database, **given).fit(X, y)
    assert hb.HornBoostClassifier(database, max_depth=1, **given).fit(X, y).score(X, y) == 1.0


def test_a_key_that_all_rows_share_does_not_hold_a_fit_up() -> None:
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
    assert clf.left_out_["a.g -> b.g"].startswith("900,000,000 rows are too many to look at")


def linked(*without: str) -> hb.Database:
    """Examples of table a, which lead over the key g to b, and over h to c; no row has a value of keys `without`."""
    n = 40
    own = {"k": range(n), "g": np.arange(n) % 7, "v": np.arange(n) % 2, "label": np.arange(n) % 2}
    frames = {
        "a": pd.DataFrame(own),
        "b": pd.DataFrame({"g": np.arange(n) % 7, "h": np.arange(n)}),
        "c": pd.DataFrame({"h": np.arange(n), "u": np.arange(n) % 3}),
    }
    for frame in frames.values():
        for name in set(without) & set(frame):
            frame[name] = pd.array([None] * n, "Int64")
    keys = {"a": {"g": "g"}, "b": {"g": "g", "h": "h"}, "c": {"h": "h"}}
    return hb.Database.from_frames(frames, target="a", key="k", label="label", keys=keys)


def test_keys_that_the_database_does_not_know_lead_nowhere() -> None:
    database = linked()
    X, y = database.examples()
    X.loc[[0, 3], "g"] = [99, 100]
    engine = Engine(database, database.encode(X))
    chains = engine.graph.chains(engine.root(), 0, None, 2, 2)
    plain = [chain for chain in chains if not any(join.equal for join in chain.joins)]
    assert {len(chain.joins) for chain in plain} == {1, 2}
    assert paths.paths(engine, plain).tolist() == [counted(engine, chain.joins) for chain in plain]
    assert hb.HornBoostClassifier(database, random_state=0).fit(X, y).left_out_ == {}


@pytest.mark.parametrize("without", [("g",), ("h",), ("g", "h")])
def test_keys_that_no_row_has_lead_nowhere(without: tuple[str, ...]) -> None:
    database = linked(*without)
    X, y = database.examples()
    clf = hb.HornBoostClassifier(database, random_state=0).fit(X, y)
    assert clf.score(X, y) == 1.0
    assert clf.left_out_ == {}
