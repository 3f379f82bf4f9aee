from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import hornboost as hb
from hornboost.boosting.subgroups import sampled_out, table_wracc
from hornboost.errors import DataError


def planted(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 2, n),
            "b": rng.integers(0, 2, n),
            "c": rng.choice(["x", "y", "z"], n),
            "noise": rng.normal(size=n),
        }
    )
    p = 0.2 + 0.4 * (X["a"] == 1) + 0.25 * (X["c"] == "x")
    return X, np.where(rng.random(n) < p, "ill", "well")


def test_wracc_equals_that_of_pysubgroup_on_the_same_conditions():
    ps = pytest.importorskip("pysubgroup")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X.columns = [name.replace(" ", "_") for name in X.columns]
    found = hb.KBSSubgroups(n_subgroups=5, target=1).fit(X, y)
    assert len(found.subgroups_) == 5
    data = X.assign(target=y)
    for one in found.subgroups_:
        selectors = [
            ps.IntervalSelector(test.column, test.value, np.inf)
            if test.op == ">="
            else ps.IntervalSelector(test.column, -np.inf, np.nextafter(test.value, np.inf))
            for test in one.clause.root.tests
        ]
        quality = ps.WRAccQF()
        target = ps.BinaryTarget("target", 1)
        quality.calculate_constant_statistics(data, target)
        theirs = quality.evaluate(ps.Conjunction(selectors), target, data)
        assert one.wracc == pytest.approx(theirs, abs=1e-12)


def test_the_first_condition_is_the_best_that_pysubgroup_finds():
    ps = pytest.importorskip("pysubgroup")
    X, y = planted()
    data = X[["a", "b", "c"]].astype(str).assign(target=y)
    task = ps.SubgroupDiscoveryTask(
        data,
        ps.BinaryTarget("target", "ill"),
        ps.create_selectors(data, ignore=["target"]),
        result_set_size=1,
        depth=1,
        qf=ps.WRAccQF(),
    )
    best = ps.SimpleDFS().execute(task).to_dataframe()["quality"][0]
    found = hb.KBSSubgroups(n_subgroups=1, target="ill", max_literals=1).fit(data[["a", "b", "c"]], y)
    assert found.subgroups_[0].wracc == pytest.approx(best)


def test_figures_are_those_of_the_examples_that_the_clause_covers():
    X, y = planted()
    found = hb.KBSSubgroups(n_subgroups=4, target="ill", max_literals=2).fit(X, y)
    covered = found.covers(X)
    ill = y == "ill"
    for k, one in enumerate(found.subgroups_):
        inside = covered[:, k]
        assert one.coverage == pytest.approx(inside.mean())
        assert one.covered == pytest.approx(inside.sum())
        assert one.precision == pytest.approx(ill[inside].mean())
        assert one.lift == pytest.approx(ill[inside].mean() / ill.mean())
        assert one.wracc == pytest.approx((inside & ill).mean() - inside.mean() * ill.mean())
    assert found.subgroups_[0].wracc == pytest.approx(found.subgroups_[0].current_wracc)
    assert found.frame()["subgroup"].tolist() == [str(one.clause) for one in found.subgroups_]


def test_each_subgroup_is_about_what_the_earlier_ones_left_unexplained():
    X, y = planted()
    found = hb.KBSSubgroups(n_subgroups=2, target="ill", max_literals=1).fit(X.assign(copy=X["a"]), y)
    tests = [one.clause.root.tests[0] for one in found.subgroups_]
    assert tests[0].column == "a"
    assert (tests[1].column, tests[1].value) == ("c", "x")


def test_a_subgroup_says_nothing_once_it_is_sampled_out():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400).astype(np.int32)
    cells = (rng.random(400) < 0.3 + 0.3 * y).astype(np.intp)
    weights = np.full(400, 1 / 400)
    prior = np.bincount(y) / 400
    joint = np.array([[weights[(cells == c) & (y == k)].sum() for k in (0, 1)] for c in (0, 1)])
    after = sampled_out(weights, cells, y, joint, prior)
    table = np.array([[after[(cells == c) & (y == k)].sum() for k in (0, 1)] for c in (0, 1)])
    assert table_wracc(table) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(table.sum(axis=0), prior)


def test_a_pure_subgroup_is_explained_for_good_and_not_found_again():
    X = pd.DataFrame({"a": np.repeat([1, 0, 0], 20), "b": np.tile([0, 1], 30)})
    y = np.where((X["a"] == 1) | (X["b"] == 1), 1, 0)
    found = hb.KBSSubgroups(n_subgroups=10, max_literals=1).fit(X, y)
    assert [one.clause.root.tests[0].column for one in found.subgroups_] in (["b", "a"], ["a", "b"])
    assert all(one.precision == 1.0 for one in found.subgroups_)


def test_subgroups_over_several_tables():
    db = hb.datasets.trains(200, seed=1).database()
    X, y = db.examples()
    found = hb.KBSSubgroups(n_subgroups=3, database=db).fit(X, y)
    assert len(found.subgroups_) == 3
    assert str(found.target_) == "1"
    assert any(literal.table != "train" for one in found.subgroups_ for literal in one.clause.body)
    assert all(one.current_wracc > 0 for one in found.subgroups_)
    for k, one in enumerate(found.subgroups_):
        np.testing.assert_array_equal(found.covers(X)[:, k], db.covers(one.clause))


def test_examples_of_weight_zero_and_repetitions_count_as_such():
    X, y = planted(600)
    weight = np.random.default_rng(2).integers(0, 3, 600)
    corrupted = np.where(weight == 0, np.where(y == "ill", "well", "ill"), y)
    search = hb.KBSSubgroups(n_subgroups=3, target="ill")
    weighted = clone(search).fit(X, corrupted, sample_weight=weight)
    repeated = clone(search).fit(X.loc[np.repeat(X.index, weight)], np.repeat(y, weight))
    pd.testing.assert_frame_equal(weighted.frame(), repeated.frame(), rtol=1e-9)


def test_binomial_quality_finds_smaller_and_purer_subgroups():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.7 * rng.normal(size=2000) > 1).astype(int)
    wide, narrow = (
        hb.KBSSubgroups(n_subgroups=1, quality=quality).fit(X, y).subgroups_[0] for quality in ("wracc", "binomial")
    )
    assert narrow.coverage < wide.coverage
    assert narrow.precision > wide.precision


def test_noise_has_no_subgroups_and_an_unknown_target_is_named():
    assert hb.KBSSubgroups().fit(np.zeros((10, 2)), [0, 1] * 5).subgroups_ == []
    assert hb.KBSSubgroups().fit(np.zeros((10, 2)), [0, 1] * 5).covers(np.zeros((3, 2))).shape == (3, 0)
    with pytest.raises(DataError, match="'good' is no class of 'y'"):
        hb.KBSSubgroups(target="good").fit(np.zeros((4, 1)), ["bad", "ok", "bad", "ok"])
