from __future__ import annotations

import numpy as np
import pytest

from hornboost.activation.strategies import STRATEGIES, Change, FeatureSet, considered_masses, evolve, ranked

TABLE_1 = """
V1  Remaining All           MI  Add 1               N
V2  Remaining Misclassified MI  Add 1               N
V3  Remaining All           MI  Add 1               Y
V4  Remaining Misclassified MI  Add 1               Y
V5  All       All           MI  Substitute n, Add 1 Y
V6  All       Misclassified MI  Substitute n, Add 1 Y
V7  All       All           MI  Substitute 1        Y
V8  All       Misclassified MI  Substitute 1        Y
V9  Remaining All           CMI Add 1               Y
V10 Remaining Misclassified CMI Add 1               Y
V11 All       All           CMI Add 1               Y
V12 All       Misclassified CMI Add 1               Y
V13 Remaining All           CMI Substitute 2        Y
V14 Remaining Misclassified CMI Substitute 2        Y
V15 All       All           CMI Substitute 2        Y
V16 All       Misclassified CMI Substitute 2        Y
"""

ORDER = [4, 0, 3, 1, 2]


def request(name, current, mi=None, cmi=None, order=ORDER):
    """One request with the scores of features 0, 1, …; a criterion that must not be looked at is left out."""

    def information(candidates):
        return np.array(mi)[candidates]

    def conditional(given, candidates):
        return np.array(cmi[given])[candidates]

    return evolve(STRATEGIES[name], current, order, information, conditional)


@pytest.mark.parametrize("line", TABLE_1.strip().splitlines(), ids=lambda line: line.split()[0])
def test_the_strategies_are_the_rows_of_the_printed_table(line):
    name, features, examples, criterion, *evolution, repartition = line.split()
    row = STRATEGIES[name]
    assert (row.features, row.examples, row.criterion) == (features.lower(), examples.lower(), criterion)
    assert row.evolution == " ".join(evolution).lower()
    assert row.repartition == (repartition == "Y")


def test_learning_starts_with_the_top_two_features():
    assert FeatureSet.start(ORDER) == FeatureSet((4, 0), frozenset({4, 0}), 2)
    assert FeatureSet.start([5]) == FeatureSet((5,), frozenset({5}), 1)


def test_the_baseline_adds_the_next_feature_of_the_initial_order_and_looks_at_nothing_else():
    features, change = request("margin", FeatureSet.start(ORDER))
    assert features == FeatureSet((4, 0, 3), frozenset({0, 3, 4}), 3)
    assert change == Change((3,), (3,), ())


@pytest.mark.parametrize("name", ["V1", "V2", "V3", "V4"])
def test_adding_by_information_takes_the_best_of_those_not_seen(name):
    features, change = request(name, FeatureSet.start(ORDER), mi=[0.9, 0.3, 0.5, 0.4, 0.9])
    assert features == FeatureSet((4, 0, 2), frozenset({0, 2, 4}), 3)
    assert change == Change((2,), (2,), ())


def test_equal_information_goes_by_the_initial_order():
    features, _ = request("V1", FeatureSet.start(ORDER), mi=[0.0, 0.4, 0.4 + 1e-15, 0.4, 0.0])
    assert features.active == (4, 0, 3)


def test_a_feature_without_a_score_comes_last():
    assert ranked(np.array([2, 0, 1]), [np.nan, 0.0, 0.1]) == [1, 0, 2]


@pytest.mark.parametrize("name", ["margin", "V1", "V9"])
def test_nothing_changes_when_nothing_remains(name):
    everything = FeatureSet((4, 0, 3, 1, 2), frozenset(range(5)), 5)
    assert request(name, everything) == (everything, Change((), (), ()))


@pytest.mark.parametrize("name", ["V5", "V6"])
def test_substituting_all_takes_as_many_top_features_and_one_more(name):
    features, change = request(name, FeatureSet.start(ORDER), mi=[0.5, 0.1, 0.9, 0.8, 0.2])
    assert features == FeatureSet((2, 3, 0), frozenset({0, 2, 3, 4}), 4)
    assert change == Change((2, 3, 0), (2, 3), (4,))


def test_substituting_all_with_every_feature_active_changes_nothing():
    everything = FeatureSet((4, 0, 3, 1, 2), frozenset(range(5)), 5)
    features, change = request("V5", everything, mi=[0.5, 0.1, 0.9, 0.8, 0.2])
    assert features == everything
    assert change == Change((2, 3, 0, 4, 1), (), ())


@pytest.mark.parametrize("name", ["V7", "V8"])
def test_the_best_inactive_feature_replaces_the_worst_active_one(name):
    features, change = request(name, FeatureSet.start(ORDER), mi=[0.9, 0.1, 0.2, 0.3, 0.5])
    assert features == FeatureSet((0, 3), frozenset({0, 3, 4}), 3)
    assert change == Change((3,), (3,), (4,))


def test_among_equally_bad_active_features_the_later_one_goes():
    features, _ = request("V7", FeatureSet.start(ORDER), mi=[0.5, 0.1, 0.2, 0.3, 0.5])
    assert features.active == (4, 3)


def test_a_feature_that_comes_back_is_counted_again():
    features, _ = request("V7", FeatureSet.start(ORDER), mi=[0.9, 0.1, 0.2, 0.3, 0.5])
    features, change = request("V7", features, mi=[0.9, 0.1, 0.2, 0.3, 0.5])
    assert change == Change((4,), (4,), (3,))
    assert features == FeatureSet((0, 4), frozenset({0, 3, 4}), 4)


def test_with_every_feature_active_there_is_none_to_substitute():
    both = FeatureSet.start([1, 0])
    assert request("V7", both, mi=[0.1, 0.2], order=[1, 0]) == (both, Change((), (), ()))


@pytest.mark.parametrize("name", ["V9", "V10"])
def test_adding_by_conditional_information_is_given_the_feature_last_activated(name):
    cmi = {0: [0.9, 0.2, 0.1, 0.3, 0.9], 3: [0.9, 0.2, 0.5, 0.9, 0.9]}
    features, _ = request(name, FeatureSet.start(ORDER), cmi=cmi)
    assert features.active == (4, 0, 3)
    features, _ = request(name, features, cmi=cmi)
    assert features.active == (4, 0, 3, 2)


@pytest.mark.parametrize("name", ["V11", "V12"])
def test_a_choice_among_all_that_is_active_already_is_logged_and_changes_nothing(name):
    start = FeatureSet.start(ORDER)
    assert request(name, start, cmi={0: [0.5, 0.2, 0.1, 0.3, 0.9]}) == (start, Change((4,), (), ()))
    features, change = request(name, start, cmi={0: [0.5, 0.2, 0.95, 0.3, 0.9]})
    assert features.active == (4, 0, 2)
    assert change == Change((2,), (2,), ())


@pytest.mark.parametrize("name", ["V13", "V14"])
def test_two_unseen_features_replace_the_active_ones(name):
    features, change = request(
        name, FeatureSet.start(ORDER), mi=[0.9, 0.3, 0.1, 0.2, 0.9], cmi={1: [0.9, 0.9, 0.7, 0.6, 0.9]}
    )
    assert features == FeatureSet((1, 2), frozenset({0, 1, 2, 4}), 4)
    assert change == Change((1, 2), (1, 2), (4, 0))


def test_with_fewer_than_two_unseen_those_not_active_are_considered():
    current = FeatureSet((1, 2), frozenset({0, 1, 2, 4}), 4)
    features, change = request("V13", current, mi=[0.4, 0.9, 0.9, 0.3, 0.5], cmi={4: [0.6, 0.9, 0.9, 0.7, 0.9]})
    assert features == FeatureSet((4, 3), frozenset(range(5)), 6)
    assert change.removed == (1, 2)


def test_with_one_inactive_feature_its_partner_comes_from_the_active_ones():
    current = FeatureSet((0, 1), frozenset({0, 1, 2}), 3)
    features, change = request("V13", current, mi=[0.4, 0.9, 0.3], cmi={2: [0.6, 0.5, 0.9]}, order=[0, 1, 2])
    assert features == FeatureSet((2, 0), frozenset({0, 1, 2}), 4)
    assert change == Change((2, 0), (2,), (1,))


@pytest.mark.parametrize("name", ["V15", "V16"])
def test_the_best_two_of_all_replace_the_active_ones(name):
    cmi = {4: [0.5, 0.2, 0.8, 0.3, 0.9]}
    features, change = request(name, FeatureSet.start(ORDER), mi=[0.4, 0.1, 0.2, 0.3, 0.5], cmi=cmi)
    assert features == FeatureSet((4, 2), frozenset({0, 2, 4}), 3)
    assert change == Change((4, 2), (2,), (0,))


def test_the_same_two_again_change_nothing():
    start = FeatureSet.start(ORDER)
    features, change = request("V15", start, mi=[0.6, 0.1, 0.2, 0.3, 0.5], cmi={0: [0.9, 0.2, 0.3, 0.3, 0.8]})
    assert features == start
    assert change == Change((0, 4), (), ())


def test_all_examples_keep_their_weights():
    weights = np.array([0.5, 0.5])
    assert considered_masses(STRATEGIES["V1"], weights, [1, -1], [1.0, 1.0]) is weights


def test_misclassified_examples_are_those_on_the_wrong_side_of_zero():
    weights = np.arange(1, 6, dtype=np.int64)
    masses = considered_masses(STRATEGIES["V4"], weights, [1, 1, -1, -1, 1], [0.1, 0.0, 0.0, 0.2, -0.1])
    assert masses.tolist() == [0, 2, 0, 4, 5]
    assert masses.dtype == np.int64


@pytest.mark.parametrize("weights", [[0.2, 0.2, 0.6], [0.2, 0.8, 0.0]])
def test_fewer_than_two_misclassified_classes_with_weight_mean_all_examples(weights):
    weights = np.array(weights)
    votes = [-1.0, -1.0, -1.0] if weights[2] else [-1.0, -1.0, 1.0]
    assert considered_masses(STRATEGIES["V2"], weights, [1, 1, -1], votes) is weights
