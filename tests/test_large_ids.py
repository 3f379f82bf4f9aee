"""Integers that floats cannot tell apart are different examples, keys and labels of any magnitude are learned alike."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.boosting.folds import group_values
from hornboost.boosting.tuning import _standard_error
from hornboost.engine.sampling import column_bits

OFFSETS = (0, 2**53, 2**62)


def database(offset: int) -> hb.Database:
    rng = np.random.default_rng(0)
    ids = offset + np.arange(200)
    b = pd.DataFrame({"id": rng.choice(ids, 800), "v": rng.normal(size=800)})
    a = pd.DataFrame({"id": ids})
    a["y"] = np.where(a["id"].isin(b["id"][b["v"] > 1.3]) ^ (rng.random(200) < 0.15), "p", "n")
    return hb.Database.from_frames({"a": a, "b": b}, target="a", key="id", label="y", foreign_keys=[("b.id", "a.id")])


def test_integers_hash_as_the_float_that_they_are_or_by_themselves() -> None:
    edge = 2**53
    exact = np.array([0, 1, -1, edge - 1, edge, -edge, edge + 2, 2**62, -(2**63), 2**63 - 1024], np.int64)
    np.testing.assert_array_equal(column_bits(exact), column_bits(exact.astype(np.float64)))
    others = np.array([edge + 1, -edge - 1, 2**62 + 1, 2**63 - 1], np.int64)
    assert not np.isin(column_bits(others), column_bits(others.astype(np.float64))).any()
    assert np.unique(column_bits(2**62 + np.arange(10_000))).size == 10_000
    unsigned = np.array([2**64 - 1, 2**63, 2**64 - 2048], np.uint64)
    assert (column_bits(unsigned) == column_bits(unsigned.astype(np.float64))).tolist() == [False, True, True]


@pytest.mark.parametrize("offset", OFFSETS)
def test_examples_with_large_ids_are_told_apart(offset: int) -> None:
    db = database(offset)
    X, y = db.examples()
    tuned = hb.HornBoostClassifier(db, random_state=0).fit(X, y)
    assert len(tuned.tuning_) > 1
    assert tuned.tuning_.attrs["folds"] == 5
    mixed = np.random.default_rng(7).permutation(len(X))
    settings = {"rounds": 10, "max_literals": 2, "max_depth": 1, "aggregates": False, "early_stopping": 3}
    fits = [
        hb.HornBoostClassifier(db, random_state=0, **settings).fit(X.iloc[order], y.iloc[order])
        for order in (np.arange(len(X)), mixed)
    ]
    assert str(fits[0].rules_) == str(fits[1].rules_)


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_thing_is_the_same_group_beside_missing_ones(offset: int) -> None:
    rng = np.random.default_rng(0)
    ids = offset + 200 * np.arange(40) + 1
    pairs = pd.DataFrame({"k": range(300), "one": rng.choice(ids, 300), "other": rng.choice(ids, 300)})
    pairs["other"] = pairs["other"].astype("Int64").where(pairs["k"] != 3)
    pairs["y"] = rng.choice(["p", "n"], 300)
    things = pd.DataFrame({"thing": ids, "w": rng.random(40)})
    links = [("pair.one", "thing.thing"), ("pair.other", "thing.thing")]
    db = hb.Database.from_frames({"pair": pairs, "thing": things}, "pair", key="k", label="y", foreign_keys=links)
    X, y = db.examples()
    training = hb.HornBoostClassifier(db, random_state=0)._training(X, y, None)
    one, other = group_values(training, ["one", "other"])
    known = {int(value): code for value, code in zip(X["one"], one, strict=True)}
    assert all(known[int(v)] == code for v, code in zip(X["other"], other, strict=True) if not pd.isna(v))


@pytest.mark.parametrize("offset", OFFSETS)
def test_examples_with_large_ids_are_told_apart_beside_missing_ones(offset: int) -> None:
    rng = np.random.default_rng(0)
    ids = offset + np.arange(200)
    visits = pd.DataFrame({"id": rng.choice(ids, 800), "v": rng.normal(size=800)})
    rows = pd.DataFrame({"id": pd.Series(ids).astype("Int64").where(np.arange(200) != 7), "y": ["p", "n"] * 100})
    db = hb.Database.from_frames(
        {"row": rows, "person": pd.DataFrame({"id": ids}), "visit": visits},
        target="row",
        label="y",
        foreign_keys=[("row.id", "person.id"), ("visit.id", "person.id")],
    )
    X, y = db.examples()
    assert hb.HornBoostClassifier(db, random_state=0).fit(X, y).tuning_.attrs["folds"] == 5


def test_standard_errors_do_not_depend_on_the_unit() -> None:
    values = np.array([1.0, -2.0, 3.5, 0.25])
    expected = values.std(ddof=1) / 2.0
    for exponent in (-1000, -300, 0, 300, 1000):
        assert _standard_error(np.ldexp(values, exponent)) == np.ldexp(expected, exponent)
    assert _standard_error(np.zeros(3)) == 0.0
    assert _standard_error(np.ones(1)) == 0.0


def test_tuning_does_not_depend_on_the_unit_of_labels() -> None:
    db = hb.datasets.spending(150, seed=1).database()
    X, y = db.examples()
    rounds = {}
    for factor in (2.0**-300, 1.0, 2.0**450):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            tuning = hb.HornBoostRegressor(db, random_state=0, max_rules=5).fit(X, y * factor).tuning_
        rounds[factor] = tuning.drop(columns=["loss", "beside"])
    for found in rounds.values():
        pd.testing.assert_frame_equal(found, rounds[1.0])


def test_joins_with_too_many_rows_to_look_for_names_behind_them_are_not_said_to_be_left_out() -> None:
    rng = np.random.default_rng(0)

    def three(n: int) -> np.ndarray:
        return rng.integers(0, 3, n)

    t = pd.DataFrame({"k": range(3000), "g": three(3000), "y": np.where(rng.random(3000) < 0.5, "a", "b")})
    h = pd.DataFrame({"g": three(6000), "m": three(6000), "v": rng.integers(0, 50, 6000)})
    q = pd.DataFrame({"m": three(6000), "c": rng.choice(list("abc"), 6000)})
    ends = {"G": pd.DataFrame({"g": [0, 1, 2]}), "M": pd.DataFrame({"m": [0, 1, 2]})}
    links = [("t.g", "G.g"), ("h.g", "G.g"), ("h.m", "M.m"), ("q.m", "M.m")]
    db = hb.Database.from_frames({"t": t, "h": h, "q": q, **ends}, target="t", key="k", label="y", foreign_keys=links)
    model = hb.HornBoostClassifier(
        db, rounds=2, max_depth=2, max_literals=1, aggregates=False, memory_limit="40GB", random_state=0
    )
    assert model.fit(*db.examples()).refused_ == {}
