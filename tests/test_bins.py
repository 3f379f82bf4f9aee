"""Thresholds of columns with more distinct values than `max_bins`: fewer of them, each as exact as ever."""

from __future__ import annotations

import random
from dataclasses import replace
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornboost as hb
from dated_databases import dated_case
from hornboost.boosting import gradient
from hornboost.data import bins
from hornboost.data.bins import Bins, bin_starts, numbered
from hornboost.engine import Engine, Refinement
from hornboost.engine.attributes import Attributes
from hornboost.engine.partitioned import PartitionedEngine
from hornboost.engine.seeded import SeededEngine
from hornboost.errors import DataError
from random_databases import RandomCase, cases
from test_engine import CLASSES, Walk, clause_of, follow, some, walk_over, walks
from test_partitioned_engine import look_around
from test_times_engine import clause_of as dated_clause
from test_times_engine import totals, weighted

MANY = st.sampled_from([3, 4, 7])


def spread(case: RandomCase, choice: random.Random) -> RandomCase:
    """The same tables, numbers being of many values."""

    def cell(column, value):
        return value if column.kind != "numeric" or value is None else float(choice.randrange(12))

    tables = [
        replace(t, rows=[{c.name: cell(c, row[c.name]) for c in t.columns} for row in t.rows]) for t in case.tables
    ]
    return replace(case, tables=tables)


@some(40)
@given(walks(), MANY)
def test_every_refinement_is_counted_as_the_naive_interpreter_counts_it(walk: Walk, max_bins: int) -> None:
    case = spread(walk.case, walk.choice)
    walk = walk_over(case, walk.options["max_depth"], walk.options["look_ahead"], False, walk.choice)
    engine = walk.engine(max_bins=max_bins)
    for path in walk.paths(engine, 2):
        state = follow(engine, path)
        frontier = engine.frontier(state)
        scores = walk.score(engine, frontier).tolist()
        steps = [frontier.refinement(candidate) for candidate in range(len(frontier))]
        assert largest_number_of_thresholds(steps) <= max_bins
        for candidate in walk.choice.sample(range(len(steps)), min(15, len(steps))):
            refined = engine.refine(state, steps[candidate])
            assert walk.totals(refined.covered) == scores[candidate]
            assert walk.totals(walk.covered(clause_of(refined, engine))) == scores[candidate]


def largest_number_of_thresholds(steps: list[Refinement]) -> int:
    counts: dict[object, int] = {}
    for step in steps:
        if step.test is not None and step.test.op in (">=", "<="):
            place = step.node, step.joins, step.test.column, step.test.op
            counts[place] = counts.get(place, 0) + 1
    return max(counts.values(), default=0)


@pytest.mark.filterwarnings("ignore:the examples see no row that has a time")
def test_ages_in_bins_cover_what_was_known_to_each_example() -> None:
    n_ages = 0
    for seed in range(25):
        rng = Random(seed)
        case = dated_case(rng)
        database = case.database()
        engine = Engine(database, database.encode(case.examples()), max_bins=rng.choice([2, 3]))
        weights, classes = weighted(rng, len(case.rows))
        state = engine.root()
        for _ in range(2):
            frontier = engine.frontier(state)
            scores = engine.score(frontier, weights, classes, 2).tolist()
            steps = [frontier.refinement(candidate) for candidate in range(len(frontier))]
            assert largest_number_of_thresholds(steps) <= engine.max_bins
            about_age = [k for k, step in enumerate(steps) if step.test is not None and "age" in str(step.test.column)]
            chosen = rng.sample(about_age, min(4, len(about_age)))
            for candidate in chosen:
                refined = engine.refine(state, steps[candidate])
                expected = case.covered(dated_clause(refined.specs, engine))
                assert (
                    totals(refined.covered, weights, classes) == scores[candidate] == totals(expected, weights, classes)
                )
            n_ages += len(chosen)
            if not chosen:
                break
            state = engine.refine(state, steps[chosen[0]])
        seeded = SeededEngine(engine)
        example = rng.randrange(len(case.rows))
        literals = seeded.literals(seeded.root(), example)
        table = seeded.score(seeded.root(), literals, weights, classes).tolist()
        for i in rng.sample(range(len(literals)), min(6, len(literals))):
            refined = seeded.refine(seeded.root(), literals, i)
            assert refined.covered[example]
            assert totals(refined.covered, weights, classes) == table[i]
    assert n_ages > 50


@some(15)
@given(cases(0), MANY, st.randoms(use_true_random=True))
def test_a_part_of_the_rows_is_numbered_by_the_levels_of_all(
    case: RandomCase, most: int, choice: random.Random
) -> None:
    database = spread(case, choice).database()
    for table in database.tables.values():
        whole, levelled = Attributes(table, max_bins=most), table.levelled(most)
        chosen = np.array(choice.sample(range(table.n_rows), table.n_rows // 2), np.int64)
        part = Attributes(levelled.take(chosen), max_bins=most)
        numbers = tuple(range(len(whole.columns)))
        np.testing.assert_array_equal(whole.codes(numbers)[:, chosen], part.codes(numbers))
        assert whole.sizes.tolist() == part.sizes.tolist()
        for k in np.flatnonzero(whole.numeric):
            offsets = range(2 * int(whole.sizes[k]) + 1)
            assert [whole.test(k, offset) for offset in offsets] == [part.test(k, offset) for offset in offsets]


def test_bins_hold_neighbours_and_their_ends_are_values() -> None:
    rng = np.random.default_rng(0)
    for most in (1, 3, 4, 7, 200):
        values = rng.integers(0, 90, 150) / 7
        values[::9] = np.nan
        bins, codes = numbered(values, most)
        known = ~np.isnan(values)
        assert (codes[~known] == -1).all()
        assert bins.size == min(most, np.unique(values[known]).size)
        assert ((bins.low[codes] <= values) & (values <= bins.high[codes]))[known].all()
        assert np.isin([*bins.low, *bins.high], values).all()
        n = np.unique(values[known]).size
        counts = np.diff(np.append(bin_starts(n, most, 0.0, 1.0), n))
        assert counts.max() - counts.min() <= 1


def test_the_largest_finite_values_are_ends_of_bins() -> None:
    values = np.array([-np.inf, -1e300, *np.linspace(-1, 1, 30), 2e300, np.inf])
    for most in range(3, 40):
        for chosen in (values, values[1:], values[:-1], values[1:-1]):
            found = Bins.of(chosen).at_most(most)
            assert found.size == min(most, chosen.size)
            assert {-1e300, 2e300} <= {*found.low, *found.high}


def shop() -> tuple[hb.Database, pd.DataFrame, pd.Series]:
    """Customers, of whom those with a dear order are told apart; goods have keys that recur."""
    rng = np.random.default_rng(3)
    customers = pd.DataFrame({"customer": range(200), "income": rng.normal(size=200).round(3)})
    who, good = rng.integers(0, 200, 900), rng.integers(0, 30, 900)
    orders = pd.DataFrame({"customer": who, "good": good, "price": rng.gamma(2.0, size=900).round(3)})
    dear = orders.groupby("customer").price.max().reindex(range(200)).fillna(0) > 3
    goods = pd.DataFrame({"good": range(30), "weight": rng.normal(size=30)})
    database = hb.Database.from_frames(
        {"customers": customers.assign(y=np.where(dear, "yes", "no")), "orders": orders, "goods": goods},
        target="customers",
        key="customer",
        label="y",
        positive="yes",
        foreign_keys=[("orders.customer", "customers.customer"), ("orders.good", "goods.good")],
    )
    return database, *database.examples()


def test_models_change_only_where_values_are_more_than_max_bins() -> None:
    database, X, y = shop()
    n_prices = np.unique(database.tables["orders"].columns["price"].numbers).size

    def learned(**options) -> list[tuple[str, tuple[float, ...]]]:
        model = hb.C2RIBClassifier(database, rounds=4, random_state=0, **options).fit(X, y)
        return [(str(rule.clause), rule.votes) for rule in model.rules_]

    assert learned() == learned(max_bins=n_prices)
    assert learned() != learned(max_bins=5)
    few = hb.C2RIBClassifier(database, rounds=4, random_state=0, max_bins=5).fit(X, y)
    scores = np.asarray(few.predict(X))
    assert (scores == np.asarray(y)).mean() > 0.6
    prices = {
        test.value
        for rule in few.rules_
        for literal in rule.clause.body
        if literal.table == "orders"
        for test in literal.tests
        if test.column == "price" and test.op in (">=", "<=")
    }
    assert prices <= set(database.tables["orders"].columns["price"].numbers.tolist())


def test_keys_that_are_more_than_max_bins_are_not_named() -> None:
    database, X, y = shop()
    options = {"rounds": 2, "max_literals": 1, "max_depth": 2, "aggregates": False, "random_state": 0}
    domain = database.tables["goods"].columns["good"].domain
    few = hb.HornBoostClassifier(database, max_bins=29, **options).fit(X, y)
    assert few.left_out_[domain] == f"there are 30 keys of '{domain}', more than max_bins=29, so rules name none"
    assert domain not in hb.HornBoostClassifier(database, max_bins=30, **options).fit(X, y).left_out_
    for estimator in (hb.HornBoostClassifier, hb.RankBoostClassifier):
        with pytest.raises(
            DataError, match=f"constants: there are 30 keys of '{domain}', more than max_bins=29; raise"
        ):
            estimator(database, constants=[domain], max_bins=29, rounds=2).fit(X, y)


def test_sums_and_walks_go_on_from_binned_states() -> None:
    database, X, y = shop()
    engine = Engine(database, database.encode(X), max_bins=4)
    classes = (np.asarray(y) == "yes").astype(np.int32)
    weights = np.arange(1, len(X) + 1, dtype=np.int64)
    state = engine.root()
    for _ in range(3):
        frontier = engine.frontier(state)
        scores = engine.score(frontier, weights, classes, CLASSES)
        np.testing.assert_array_equal(engine.sums(frontier, weights[:, None])[:, 0], scores.sum(axis=1))
        state = engine.refine(state, frontier.refinement(int(scores[:, 1].argmax())))


def test_many_values_are_ranked_part_by_part(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    values = np.where(rng.random(200) < 0.1, np.nan, rng.integers(-20, 20, 200) / 3)
    values[5] = -0.0
    distinct, codes = bins.ranks(values)
    monkeypatch.setattr(bins, "AT_ONCE", 7)
    np.testing.assert_array_equal(bins.ranks(values)[0], distinct)
    np.testing.assert_array_equal(bins.ranks(values)[1], codes)


def test_thresholds_of_all_columns_of_a_table_are_bounded(tmp_path) -> None:
    rng = np.random.default_rng(0)
    n = 400
    frames = {
        "a": pd.DataFrame(
            {"k": range(n), "x": rng.random(n), "few": rng.integers(0, 5, n), "z": rng.random(n).round(2)}
        ),
        "b": pd.DataFrame({"k": rng.integers(0, n, 3 * n), "u": rng.random(3 * n), "v": rng.random(3 * n)}),
    }
    frames["a"]["y"] = (frames["a"]["x"] > 0.4).astype(int)
    database = hb.Database.from_frames(frames, target="a", key="k", label="y", foreign_keys=[("b.k", "a.k")])
    examples = database.encode(database.examples()[0])
    free, bound = Engine(database, examples), Engine(database, examples, max_thresholds=205)
    root, rows = bound.attributes("a", True), bound.attributes("b", False)
    for attributes in (root, rows):
        attributes.codes(range(len(attributes.columns)))
    assert root.sizes.tolist() == [105, 5, 95]  # all there are of the others, and the rest
    assert rows.sizes.tolist() == [102, 102]
    every = free.attributes("b", False)
    every.codes([0])
    assert {rows.test(0, offset) for offset in range(205)} < {every.test(0, offset) for offset in range(2 * 3 * n + 1)}
    parts = database.partition(tmp_path / "parts", partitions=3, small_table=5)
    there = PartitionedEngine(parts, parts.encode(parts.examples()[0]), max_thresholds=205)
    look_around(0, bound, there, None)


def test_hornboost_bounds_thresholds_unless_bins_are_given(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{k}": rng.random(300) for k in range(4)})
    y = (X["x0"] + 0.1 * rng.random(300) > 0.5).astype(int)
    monkeypatch.setattr(gradient, "THRESHOLDS", 40)
    learned = [hb.HornBoostClassifier(random_state=0, **given).fit(X, y) for given in ({}, {"max_bins": 10})]
    assert learned[0].rules_ == learned[1].rules_
    monkeypatch.undo()
    assert hb.HornBoostClassifier(random_state=0).fit(X, y).rules_ != learned[0].rules_
