"""Numba kernels of the boosting loops: one pass over the examples each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import jit

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@jit
def fixed_weights(density: Floats, sample: Floats, one: float) -> tuple[Ints, Any]:
    """sample·density in fixed point (a positive weight is at least one unit), and its sum.

    The density is rounded first, so that an example of weight 2 counts exactly as two of weight 1.
    """
    W = np.empty(density.size, np.int64)
    total = np.int64(0)
    for i in range(density.size):
        weight = np.int64(np.rint(sample[i] * max(np.rint(density[i] * one), 1.0)))
        if weight == 0 and sample[i] > 0.0:
            weight = np.int64(1)
        W[i] = weight
        total += weight
    return W, total


@jit
def growing_set(W: Ints, y: NDArray[np.int32], hashes: Hashes, total: int) -> tuple[Mask, Ints]:
    """The prefix in hash order whose weight comes closest to 2/3 of the total, and the weights restricted to it.

    The hash at which 2/3 is reached is found digit by digit, so that nothing is sorted. Equal hashes stay together; of
    two prefixes equally close the shorter is taken. Where so few contents occur that the prefix lacks a class, 2/3 of
    every example's weight is taken instead.
    """
    members = np.empty(W.size, np.int64)
    for i in range(W.size):
        members[i] = i
    n = W.size
    before = after = np.int64(0)
    for level in range(7, -1, -1):
        shift, last = np.uint64(8 * level), np.uint64(255)
        sums = np.zeros(256, np.int64)
        for k in range(n):
            sums[(hashes[members[k]] >> shift) & last] += W[members[k]]
        digit = 0
        while digit < 255 and 3 * (before + sums[digit]) < 2 * total:
            before += sums[digit]
            digit += 1
        after = before + sums[digit]
        kept = 0
        for k in range(n):
            if (hashes[members[k]] >> shift) & last == np.uint64(digit):
                members[kept] = members[k]
                kept += 1
        n = kept
    reached = hashes[members[0]]
    within = before == 0 or 3 * after - 2 * total < 2 * total - 3 * before
    in_G = np.empty(W.size, np.bool_)
    W_G = np.zeros(W.size, np.int64)
    of_class = np.zeros((2, 2), np.int64)
    for i in range(W.size):
        in_G[i] = hashes[i] < reached or (within and hashes[i] == reached)
        if in_G[i]:
            W_G[i] = W[i]
        of_class[0, y[i]] += W_G[i]
        of_class[1, y[i]] += W[i]
    if (of_class[0, 0] == 0 and of_class[1, 0] > 0) or (of_class[0, 1] == 0 and of_class[1, 1] > 0):
        for i in range(W.size):
            W_G[i] = W[i] - W[i] // 3
            in_G[i] = True
    return in_G, W_G


@jit
def covered_weights(W: Ints, W_G: Ints, y: NDArray[np.int32], covered: Mask, total: int) -> tuple[Any, Any, Any, Any]:
    """Shares of the total weight: covered positives and negatives of the growing set, then of all examples."""
    sums = np.zeros((2, 2), np.int64)
    for i in range(W.size):
        if covered[i]:
            sums[1, y[i]] += W[i]
            sums[0, y[i]] += W_G[i]
    return sums[0, 1] / total, sums[0, 0] / total, sums[1, 1] / total, sums[1, 0] / total


@jit
def update(
    density: Floats,
    votes: Floats,
    held_out: Floats,
    sample: Floats,
    covered: Mask,
    in_G: Mask,
    y: NDArray[np.int32],
    confidence: float,
    factors: Floats,
) -> tuple[Any, Any]:
    """Multiply the density by the factor of (not covered, covered negative, covered positive) and add the votes.

    The rows of `held_out` are the sum and the sum of squares of the votes for examples outside of G, and their number.
    Returns Σ weight·y·vote and the weight of the examples that the ensemble misclassifies.
    """
    margin = 0.0
    wrong = 0.0
    for i in range(density.size):
        if covered[i]:
            density[i] *= factors[1 + y[i]]
            votes[i] += confidence
            if not in_G[i]:
                held_out[0, i] += confidence
                held_out[1, i] += confidence * confidence
        else:
            density[i] *= factors[0]
        if not in_G[i]:
            held_out[2, i] += 1.0
        margin += sample[i] * votes[i] if y[i] == 1 else -sample[i] * votes[i]
        if (votes[i] > 0.0) != (y[i] == 1):
            wrong += sample[i]
    return margin, wrong
