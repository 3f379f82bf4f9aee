"""Hand-worked cases of the formulas of Hoche and Wrobel 2002, Table 1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hornboost.dtypes import WEIGHT_ONE
from hornboost.learners import distribution_kernels as kernels
from hornboost.learners.objectives import confidence, loss, z, z_tilde


def test_confidence_is_half_the_log_of_the_smoothed_weight_ratio():
    # N = 4: (0.5 + 1/8) / (0.25 + 1/8) = 5/3
    assert confidence(0.5, 0.25, 4) == pytest.approx(0.5 * math.log(5 / 3), rel=1e-12)


def test_confidence_of_equal_weights_is_zero():
    assert confidence(0.3, 0.3, 10) == 0.0


def test_confidence_is_finite_for_a_clause_that_covers_nothing():
    assert confidence(0.0, 0.0, 7) == 0.0


def test_z_tilde_is_the_difference_of_the_roots():
    assert z_tilde(np.array([[16, 36], [25, 4]])).tolist() == [2.0, -3.0]


def test_z_is_the_square_of_the_difference():
    assert z(0.36, 0.16) == pytest.approx(0.04, rel=1e-14)


def test_loss_weighs_uncovered_correct_and_wrong_examples():
    # c = ln 2: 1 − 0.3 + 0.2 · ½ + 0.1 · 2
    assert loss(0.2, 0.1, math.log(2)) == pytest.approx(0.7 + 0.1 + 0.2, rel=1e-12)


def test_loss_of_a_clause_without_confidence_is_one():
    assert loss(0.2, 0.1, 0.0) == pytest.approx(1.0, rel=1e-15)


def test_update_divides_by_the_exponential_of_the_agreement_and_normalises():
    # two positives and two negatives of weight 1/4; the clause covers one positive and one negative, c = ln 2
    D = np.full(4, 0.25)
    covered, y = np.array([True, False, True, False]), np.array([1, 1, 0, 0], np.int32)
    norm = 0.5 + 0.25 * 0.5 + 0.25 * 2.0
    factors = np.array([1 / norm, 2.0 / norm, 0.5 / norm])
    votes, held_out = np.zeros(4), np.zeros((3, 4))
    in_G = np.array([True, True, False, False])
    margin, wrong = kernels.update(D, votes, held_out, np.ones(4), covered, in_G, y, math.log(2), factors)
    np.testing.assert_allclose(D, np.array([0.125, 0.25, 0.5, 0.25]) / 1.125, rtol=1e-15)
    assert math.fsum(D) == pytest.approx(1.0, rel=1e-15)
    np.testing.assert_allclose(votes, [math.log(2), 0, math.log(2), 0])
    held, squares, n_held = held_out
    np.testing.assert_allclose(held, [0, 0, math.log(2), 0])
    np.testing.assert_allclose(squares, [0, 0, math.log(2) ** 2, 0])
    np.testing.assert_allclose(n_held, [0, 0, 1, 1])
    assert margin == pytest.approx(0.0)  # one for, one against
    assert wrong == 2.0  # the uncovered positive (no vote) and the covered negative


def split(weights: list[float], hashes: list[int]) -> list[bool]:
    W, total = kernels.fixed_weights(
        np.full(len(weights), 1 / sum(weights)), np.array(weights, float), float(WEIGHT_ONE)
    )
    y = np.zeros(len(weights), np.int32)
    in_G, W_G = kernels.growing_set(W, y, np.array(hashes, np.uint64), total)
    np.testing.assert_array_equal(W_G, np.where(in_G, W, 0))
    return in_G.tolist()


def test_the_growing_set_is_the_prefix_in_hash_order_closest_to_two_thirds():
    assert split([1, 1, 1, 1, 1, 1], [60, 10, 30, 20, 50, 40]) == [False, True, True, True, False, True]


def test_examples_of_equal_content_stay_on_one_side():
    assert split([1, 1, 1, 1, 2], [5, 5, 5, 5, 2**63]) == [True, True, True, True, False]


def test_a_split_that_would_lack_a_class_takes_two_thirds_of_every_example():
    W, total = kernels.fixed_weights(np.full(4, 0.25), np.ones(4), float(WEIGHT_ONE))
    y = np.array([0, 0, 1, 1], np.int32)
    in_G, W_G = kernels.growing_set(W, y, np.array([5, 5, 2**63, 2**63], np.uint64), total)
    assert in_G.all()
    np.testing.assert_allclose(W_G / W, 2 / 3)


def test_the_split_does_not_depend_on_an_example_of_weight_zero():
    with_zero = split([1, 2, 0, 3, 1], [7, 2**62, 2**61, 2**60, 2**63])
    without = split([1, 2, 3, 1], [7, 2**62, 2**60, 2**63])
    assert [with_zero[k] for k in (0, 1, 3, 4)] == without


@pytest.mark.parametrize("seed", range(20))
def test_the_split_equals_a_plain_sort(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    weights = rng.exponential(size=n)
    hashes = rng.integers(0, 2**63, size=n, dtype=np.uint64) * np.uint64(2)
    hashes[rng.integers(0, n, size=n // 4)] = hashes[0]
    W, total = kernels.fixed_weights(np.full(n, 1 / weights.sum()), weights, float(WEIGHT_ONE))
    in_G, _ = kernels.growing_set(W, np.zeros(n, np.int32), hashes, total)
    distinct = np.unique(hashes)
    prefix = np.array([int(W[hashes <= h].sum()) for h in distinct])
    best = distinct[np.argmin(np.abs(3 * prefix - 2 * total))]
    np.testing.assert_array_equal(in_G, hashes <= best)


def test_fixed_weights_keep_every_positive_weight():
    W, total = kernels.fixed_weights(np.array([1.0, 1e-30, 1.0]), np.array([1.0, 1.0, 0.0]), float(WEIGHT_ONE))
    assert W.tolist() == [WEIGHT_ONE, 1, 0]
    assert total == WEIGHT_ONE + 1


def test_an_example_of_weight_two_counts_exactly_as_two_of_weight_one():
    twice, total_twice = kernels.fixed_weights(np.array([1 / 7, 1 / 7]), np.array([2.0, 5.0]), float(WEIGHT_ONE))
    single, total = kernels.fixed_weights(np.full(7, 1 / 7), np.ones(7), float(WEIGHT_ONE))
    assert twice.tolist() == [int(single[:2].sum()), int(single[2:].sum())]
    assert total_twice == total
