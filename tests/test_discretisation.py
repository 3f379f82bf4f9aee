from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from columns import mdl_cut_points, repartition
from hornboost.activation.discretisation import interval_codes, mdl_cuts, merged, repartition_cuts


def bits(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return -float((shares * np.log2(shares)).sum())


def naive_mdl(values, labels):
    """Fayyad and Irani's recursion, every place between two distinct values tried."""
    n, distinct = len(values), np.unique(values)
    if len(distinct) < 2:
        return []
    middles = (distinct[:-1] + distinct[1:]) / 2
    rest = [sum(np.mean(side) * bits(labels[side]) for side in (values < cut, values > cut)) for cut in middles]
    best = int(np.argmax(np.array(rest) <= min(rest) + 1e-12))
    left, right = values < middles[best], values > middles[best]
    k, k1, k2 = (len(np.unique(labels[side])) for side in (np.full(n, True), left, right))
    delta = np.log2(3.0**k - 2) - (k * bits(labels) - k1 * bits(labels[left]) - k2 * bits(labels[right]))
    if bits(labels) - rest[best] <= (np.log2(n - 1) + delta) / n:
        return []
    return [*naive_mdl(values[left], labels[left]), float(middles[best]), *naive_mdl(values[right], labels[right])]


def naive_objective(values, labels, weights, cuts):
    codes = np.searchsorted(cuts, values, side="right")
    plus = np.bincount(codes, weights=weights * (labels == 1))
    minus = np.bincount(codes, weights=weights * (labels == 0))
    return float(((np.sqrt(plus) - np.sqrt(minus)) ** 2).sum())


def test_mdl_cut_points_of_iris_are_the_published_ones():
    iris = load_iris()
    cuts = [mdl_cut_points(column, iris.target).round(6).tolist() for column in iris.data.T]
    assert cuts == [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]


def test_mdl_accepts_a_perfect_cut_of_eight():
    # gain 1 against (log2 7 + log2 7 − 2)/8 = 0.452
    assert mdl_cut_points(range(8), [0] * 4 + [1] * 4).tolist() == [3.5]


def test_mdl_refuses_a_cut_whose_gain_is_too_small():
    # best gain 1 − 0.75·0.918 = 0.311 against (log2 3 + log2 7 − 2 + 2·0.918)/4 = 1.057
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 0, 1]).tolist() == []


def test_mdl_judges_by_the_number_of_examples_to_which_masses_are_scaled():
    # at 16 examples (log2 15 + 2.644)/16 = 0.409 > 0.311, at 32 (log2 31 + 2.644)/32 = 0.237 < 0.311; then 24 are left:
    # 0.252 < 0.312
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 0, 1], n=16).tolist() == []
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 0, 1], n=32).tolist() == [1.5]


def test_mdl_never_cuts_less_than_two_examples():
    assert mdl_cut_points([1, 2], [0, 1], n=2).tolist() == [1.5]
    assert mdl_cuts(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 0.5]]), 1).tolist() == []


@pytest.mark.parametrize("seed", range(12))
def test_mdl_agrees_with_the_recursion_written_out(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2 + seed % 3, size=150)
    values = (labels * (1 + seed % 2) + rng.normal(scale=0.8, size=150)).round(1)
    found = mdl_cut_points(values, labels).tolist()
    assert found == pytest.approx(naive_mdl(values, labels))
    assert found


def test_mdl_depends_on_the_masses_only_up_to_scale():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, size=200)
    values, masses = (labels + rng.normal(size=200)).round(1), rng.uniform(0.1, 1, size=200)
    floats, fixed = (
        mdl_cut_points(values, labels, masses),
        mdl_cut_points(values, labels, (masses * 2**40).astype(np.int64)),
    )
    assert floats.tolist() == fixed.tolist() == mdl_cut_points(values, labels, 1000 * masses).tolist()
    assert len(floats) > 0


@pytest.mark.parametrize("find", [mdl_cut_points, repartition])
def test_values_without_mass_and_missing_values_are_as_if_they_were_not_there(find):
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, size=300)
    values, masses = 2 * labels + rng.normal(size=300), rng.uniform(0.5, 1, size=300)
    masses[::3], values[1::7] = 0.0, np.nan
    kept = (masses > 0) & ~np.isnan(values)
    found = find(values, labels, masses).tolist()
    assert found == find(values[kept], labels[kept], masses[kept]).tolist()
    assert found


@pytest.mark.parametrize("find", [mdl_cut_points, repartition])
@pytest.mark.parametrize("values", [[], [np.nan, np.nan], [1.0, 1.0]])
def test_nothing_to_separate_gives_no_cuts(find, values):
    assert find(values, np.arange(len(values)) % 2, np.ones(len(values))).tolist() == []


def test_a_cut_separates_neighbouring_floats():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    values = np.repeat([low, high], 4)
    cuts = mdl_cut_points(values, np.repeat([0, 1], 4))
    assert interval_codes(values, cuts).tolist() == [0] * 4 + [1] * 4


def test_many_classes_do_not_overflow():
    labels = np.arange(2000) % 1000
    assert len(mdl_cut_points(np.arange(2000.0), labels)) == 0


def test_repartition_separates_what_can_be_separated():
    # before (√½ − √½)² = 0, after ½ + ½
    assert repartition([1, 2, 3, 4], [0, 0, 1, 1], [0.25] * 4, 4).tolist() == [2.5]


@pytest.mark.parametrize(("n", "depth", "cuts"), [(3, 2, []), (4, 2, [1.5]), (5, 1, [1.5]), (5, 2, [1.5, 2.5])])
def test_repartition_worked_by_hand(n, depth, cuts):
    # cutting 0 | 1 0 1 gains ¼ + (√½ − √¼)² = 0.293, then cutting 1 | 0 1 gains ¼ − 0.043 = 0.207; each must exceed 1/n
    assert repartition([1, 2, 3, 4], [0, 1, 0, 1], [0.25] * 4, n, depth).tolist() == cuts


@pytest.mark.parametrize("seed", range(6))
def test_the_first_cut_of_repartition_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, size=80)
    values, weights = (labels + rng.normal(size=80)).round(1), rng.uniform(size=80)
    weights /= weights.sum()
    (cut,) = repartition(values, labels, weights, n=10**6, depth=1)
    distinct = np.unique(values)
    every = [naive_objective(values, labels, weights, [middle]) for middle in (distinct[:-1] + distinct[1:]) / 2]
    assert naive_objective(values, labels, weights, [cut]) == pytest.approx(max(every))


def test_repartition_of_depth_two_has_at_most_three_cuts_in_order():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=500)
    cuts = repartition(rng.uniform(size=500), labels, np.ones(500), n=10**9)
    assert len(cuts) == 3
    assert (np.diff(cuts) > 0).all()


def test_repartition_does_not_depend_on_the_scale_of_the_weights():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, size=100)
    values, weights = labels + rng.normal(size=100), rng.integers(1, 2**50, size=100)
    assert (
        repartition(values, labels, weights).tolist()
        == repartition(values, labels, weights / weights.sum()).tolist()
        != []
    )


def test_merged_masses_are_those_of_the_intervals():
    distinct, table = np.array([1.0, 2.0, 3.0, 5.0]), np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]])
    assert merged(distinct, table, np.array([1.5, 4.0])).tolist() == [[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]
    assert merged(distinct, table, np.empty(0)).tolist() == [[3.0], [7.0]]


def test_a_table_without_mass_gives_no_cuts():
    empty = np.zeros((2, 3))
    assert mdl_cuts(np.arange(3.0), empty, 0).tolist() == repartition_cuts(np.arange(3.0), empty, 0).tolist() == []
