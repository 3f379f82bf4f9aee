from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from columns import mdl_cut_points
from hornboost.activation import spread
from hornboost.activation.discretisation import interval_codes, mdl_cuts, merged
from hornboost.activation.information import (
    coverage_information,
    entropy,
    mutual_information,
)
from hornboost.activation.spread import (
    cmi_of_paths,
    cmi_of_rows,
    has_value,
    offsets_of,
    spread_joint,
    spread_shares,
)


def conditional_mutual_information(joint):
    """CMI(C, F_j|F_k) = E(C) − E(C|F_k, F_j) of masses, class × value of F_k × value of F_j.

    As the paper writes it (Hoche and Wrobel 2003, section 4), this is the information that both features
    together carry about the class.
    """
    table = np.asarray(joint, dtype=np.float64)
    return mutual_information(table.reshape(table.shape[0], -1))


def spread_numeric(offsets, values, masses, classes):
    """The joint masses of class and interval of a number, NaN left out, the number of examples, and the cuts."""
    distinct, ranks = np.unique(values, return_inverse=True, equal_nan=True)
    distinct = distinct[~np.isnan(distinct)]
    codes = np.where(np.isnan(values), -1, ranks).astype(np.int32)
    joint = spread_joint(offsets, codes, masses, classes, len(distinct))
    cuts = mdl_cuts(distinct, joint.table, joint.n_examples)
    return merged(distinct, joint.table, cuts), joint.n_examples, cuts


@pytest.fixture
def path():
    """Forty examples of three classes with up to five entries each,
    two nominal columns on them, some values missing.
    """
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 6, size=40)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    first, second = rng.integers(-1, 4, size=offsets[-1]), rng.integers(-1, 3, size=offsets[-1])
    return offsets, first, second, rng.uniform(0.1, 1.0, size=40), rng.integers(0, 3, size=40)


def entries(offsets, example):
    return range(offsets[example], offsets[example + 1])


def test_entropy_worked_by_hand():
    assert entropy([1, 1]) == pytest.approx(math.log(2))
    assert entropy([1, 3]) == pytest.approx(0.25 * math.log(4) + 0.75 * math.log(4 / 3))
    assert entropy([5, 0]) == 0.0
    assert entropy([0, 0]) == 0.0


def test_mutual_information_worked_by_hand():
    # ½ ln(½ / (½·¾)) + ¼ ln(¼ / (½·¾)) + ¼ ln(¼ / (½·¼)) = ¾ ln(4/3)
    assert mutual_information([[0.5, 0.0], [0.25, 0.25]]) == pytest.approx(0.75 * math.log(4 / 3))


def test_mutual_information_does_not_depend_on_the_scale_of_the_masses():
    assert mutual_information(np.array([[2, 0], [1, 1]], dtype=np.int64) << 50) == pytest.approx(0.75 * math.log(4 / 3))


def test_mutual_information_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, size=200), rng.integers(0, 7, size=200)
    table = np.zeros((4, 7))
    np.add.at(table, (a, b), 1)
    assert mutual_information(table) == pytest.approx(mutual_info_score(a, b), abs=1e-12)


def test_conditional_mutual_information_worked_by_hand():
    # cells (2, 0), (0, 2), (1, 1), (1, 1): E(C) = ln 2, E(C|F_k, F_j) = ½ ln 2
    assert conditional_mutual_information([[[2, 0], [1, 1]], [[0, 2], [1, 1]]]) == pytest.approx(0.5 * math.log(2))


def test_conditional_mutual_information_is_the_usual_one_plus_that_of_the_given_feature():
    joint = np.random.default_rng(1).uniform(size=(3, 4, 2))
    slices = [joint[:, k, :] for k in range(4)]
    usual = sum(part.sum() * mutual_information(part) for part in slices) / joint.sum()
    assert conditional_mutual_information(joint) == pytest.approx(usual + mutual_information(joint.sum(axis=2)))


def test_coverage_information_is_the_mutual_information_of_covered_and_not_covered():
    rng = np.random.default_rng(2)
    plus, minus = rng.uniform(0, 0.3, size=20), rng.uniform(0, 0.7, size=20)
    expected = [mutual_information([[p, 0.3 - p], [m, 0.7 - m]]) for p, m in zip(plus, minus, strict=True)]
    assert coverage_information(plus, minus, 0.3, 0.7) == pytest.approx(np.array(expected), abs=1e-12)
    assert coverage_information([0.3, 0.0], [0.7, 0.0], 0.3, 0.7) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_mass_is_spread_over_the_rows_that_have_a_value():
    # example 0 reaches values 0, 1 and a missing one, example 1 value 1, example 2 nothing, example 3 only a missing
    # value
    offsets, codes = np.array([0, 3, 4, 4, 5]), np.array([0, 1, -1, 1, -1])
    joint = spread_joint(offsets, codes, [0.5, 0.25, 0.125, 0.125], np.array([0, 1, 1, 0]), n_values=2)
    assert joint.table.tolist() == [[0.25, 0.25], [0.0, 0.25]]
    assert joint.n_examples == 2


def test_a_spread_table_holds_the_mass_of_every_example_with_a_value(path):
    offsets, codes, _, masses, classes = path
    reaches = [any(codes[e] >= 0 for e in entries(offsets, i)) for i in range(40)]
    table, n_examples = spread_joint(offsets, codes, masses, classes, 4, 3)
    assert table.sum(axis=1) == pytest.approx(np.bincount(classes[reaches], weights=masses[reaches]))
    assert n_examples == sum(reaches)


def test_an_example_of_mass_zero_is_as_if_it_were_not_there(path):
    offsets, codes, other, masses, classes = path
    masses = np.where(np.arange(40) % 2 == 0, 0.0, masses)
    flipped = np.where(np.arange(40) % 2 == 0, 2 - classes, classes)
    one, two = (spread_joint(offsets, codes, masses, labels, 4, 3) for labels in (classes, flipped))
    assert np.array_equal(one.table, two.table)
    assert one.n_examples == two.n_examples <= 20
    given, feature = spread_shares(offsets, codes, 4), spread_shares(offsets, other, 3)
    assert cmi_of_paths(given, feature, masses, classes, 3) == cmi_of_paths(given, feature, masses, flipped, 3)


def test_fixed_point_masses_give_the_same_information(path):
    offsets, codes, _, masses, classes = path
    fixed = (masses * 2**40).astype(np.int64)
    floats = mutual_information(spread_joint(offsets, codes, masses, classes, 4, 3).table)
    assert mutual_information(spread_joint(offsets, codes, fixed, classes, 4, 3).table) == pytest.approx(
        floats, abs=1e-9
    )


def test_offsets_count_the_entries_of_each_example(path):
    offsets = path[0]
    assert offsets_of(np.repeat(np.arange(40), np.diff(offsets)), 40).tolist() == offsets.tolist()


def test_a_number_on_a_one_to_one_path_is_discretised_as_a_plain_column():
    rng = np.random.default_rng(4)
    classes = rng.integers(0, 2, size=100)
    values = np.where(np.arange(100) % 9 == 0, np.nan, 2 * classes + rng.normal(size=100))
    table, _, cuts = spread_numeric(np.arange(101), values, np.full(100, 0.01), classes)
    assert cuts.tolist() == mdl_cut_points(values, classes).tolist() != []
    codes = interval_codes(values, cuts)
    assert mutual_information(table) == pytest.approx(mutual_info_score(classes[codes >= 0], codes[codes >= 0]))


def test_many_rows_of_few_examples_do_not_count_as_many_examples():
    # four examples with 50 rows each: the classes differ, yet four examples pay only for (log2 3 + log2 7 − 2)/4 = 0.60
    offsets, classes = np.arange(0, 201, 50), np.array([0, 0, 1, 1])
    values = np.arange(200.0)
    _, n_examples, cuts = spread_numeric(offsets, values, np.full(4, 0.25), classes)
    assert n_examples == 4
    assert cuts.tolist() == [99.5]
    mixed = np.where(np.arange(200) % 2 == 0, values, values[::-1])
    assert spread_numeric(offsets, mixed, np.full(4, 0.25), classes)[2].tolist() == []


def test_shares_list_the_distinct_values_of_each_example(path):
    offsets, codes, *_ = path
    found = spread_shares(offsets, codes, 4)
    for example in range(40):
        at = slice(found.starts[example], found.starts[example + 1])
        own = [int(codes[e]) if codes[e] >= 0 else 4 for e in entries(offsets, example)] or [4]
        expected = {code: own.count(code) / len(own) for code in own}
        assert dict(zip(found.codes[at].tolist(), found.shares[at].tolist(), strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("dense", [True, False])
def test_values_of_one_table_are_paired_row_by_row(path, dense, monkeypatch):
    offsets, given, codes, masses, classes = path
    joint = np.zeros((3, 5, 4))
    for example in range(40):
        rows = entries(offsets, example)
        for e in rows:
            joint[classes[example], given[e], codes[e]] += masses[example] / len(rows)  # −1 is the last value: missing
        if not rows:
            joint[classes[example], -1, -1] += masses[example]
    if not dense:
        monkeypatch.setattr(spread, "_DENSE_PAIRS", 0)
    assert cmi_of_rows(offsets, given, codes, masses, classes, 4, 3, 3) == pytest.approx(
        conditional_mutual_information(joint)
    )


def test_values_of_different_paths_are_paired_by_the_product_of_their_distributions(path):
    offsets, given, _, masses, classes = path
    rng = np.random.default_rng(8)
    other = np.concatenate(([0], np.cumsum(rng.integers(0, 4, size=40))))
    codes = rng.integers(-1, 3, size=other[-1])
    joint = np.zeros((3, 5, 4))
    for example in range(40):
        left = [given[e] for e in entries(offsets, example)] or [-1]
        right = [codes[e] for e in entries(other, example)] or [-1]
        for a, b in itertools.product(left, right):
            joint[classes[example], a, b] += masses[example] / len(left) / len(right)
    found = cmi_of_paths(spread_shares(offsets, given, 4), spread_shares(other, codes, 3), masses, classes, 3)
    assert found == pytest.approx(conditional_mutual_information(joint))
    assert found > 0


def test_a_feature_that_is_always_absent_adds_nothing_to_the_given_one(path):
    offsets, given, _, masses, classes = path
    nothing = spread_shares(np.zeros(41, dtype=np.int64), np.empty(0, dtype=np.int32), 3)
    table = np.zeros((3, 5))
    for example in range(40):
        own = [given[e] for e in entries(offsets, example)] or [-1]
        np.add.at(table[classes[example]], own, masses[example] / len(own))
    assert cmi_of_paths(spread_shares(offsets, given, 4), nothing, masses, classes, 3) == pytest.approx(
        mutual_information(table)
    )


def test_classes_may_be_booleans():
    offsets, codes, classes = np.array([0, 2, 3], dtype=np.int32), np.array([0, 1, 1]), np.array([False, True])
    assert spread_joint(offsets, codes, [1, 1], classes, 2).table.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    given = spread_shares(offsets, codes, 2)
    # of the mass 2, 1.25 lies where both values are 1: ¼ of the first class, 1 of the second
    assert cmi_of_paths(given, given, [1, 1], classes) == pytest.approx(math.log(2) - 0.625 * entropy([1, 4]))


def test_masses_are_spread_to_the_same_bits_over_ranges_of_examples(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 6, 90))])
    codes, masses, classes = rng.integers(-1, 5, offsets[-1]), rng.random(90), rng.integers(0, 2, 90)
    whole = spread.spread_joint(offsets, codes, masses, classes, 5)
    for at_once in (1, 4, 50):
        monkeypatch.setattr(spread, "AT_ONCE", at_once)
        found = spread.spread_joint(offsets, codes, masses, classes, 5)
        assert found.table.tobytes() == whole.table.tobytes()
        assert found.n_examples == whole.n_examples


def test_many_entries_are_looked_at_in_ranges_between_which_work_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    monkeypatch.setattr(spread, "AT_ONCE", 10)
    monkeypatch.setattr(spread, "check", lambda: checks.append(1))
    offsets = np.arange(0, 1001, 2)
    codes = np.where(np.arange(1000) % 6 < 2, -1, 3)
    assert has_value(offsets, codes).tolist() == [k % 3 != 0 for k in range(500)]
    assert len(checks) >= 90
